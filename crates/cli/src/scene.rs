//! `rimms scene`: a synthetic recording that `run --input` reads, with its truth.

use std::fmt::Write;

use rimms_radar::Geometry;
use rimms_radar::scene::{Scene, targets};

use crate::cli::SceneArgs;
use crate::output::Failure;

pub(crate) fn run(args: &SceneArgs) -> Result<String, Failure> {
    let mut scene = Scene::new(Geometry::new(args.shape, args.pri)?).with_noise(args.noise)?.with_seed(args.seed);
    if let Some(list) = &args.targets {
        scene = scene.with_targets(targets(list)?)?;
    }
    scene.write(&args.output)?;

    let truth = scene.truth();
    let found = truth.detection;
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}: pulses.npy, pulse.npy, truth.json", args.output.display());
    let _ = writeln!(
        text,
        "{} pulses x samples, PRI {} s, noise {}, seed {}",
        truth.shape, truth.pri_s, truth.noise, truth.seed
    );
    for target in &truth.targets {
        let _ = writeln!(text, "target: {target} (delay in s : Doppler in Hz : amplitude)");
    }
    let _ = writeln!(
        text,
        "truth: Doppler {:.6} Hz, delay {:.6e} s, magnitude {:.4}, cell ({}, {})",
        found.doppler_hz, found.delay_s, found.magnitude, found.peak_row, found.peak_col
    );
    Ok(text)
}
