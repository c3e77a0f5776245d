//! `rimms run`: an application on chosen PEs, and the same once more in mode `reference`.
//!
//! [`RunArgs`] says what is wanted; here it is checked as a whole, made into the application's config, and
//! run in both modes, each on devices of its own. [`report`] holds what came of it, [`text`] prints it for people.

mod report;
mod text;

use std::num::NonZeroUsize;

use rimms::{Complex32, MemoryMode, Runtime, sched};
use rimms_radar::apps::{Alloc, Placement, Style, pulse_doppler, two_fft};
use rimms_radar::scene::Scene;
use rimms_radar::{Detection, Geometry, Recording, Shape, geometry, input};

use crate::cli::{App, RunArgs};
use crate::machine::{self, Machine};
use crate::output::{self, Failure};
use crate::watch::{Watched, Watching};
use report::Report;

/// Samples of 2FFT where none are asked for.
const POINTS: usize = 1024;

/// An application with its input and config, ready to run on any runtime.
enum Task {
    TwoFft { samples: Vec<Complex32>, config: two_fft::Config },
    PulseDoppler { recording: Recording, config: pulse_doppler::Config },
}

pub(crate) fn run(args: &RunArgs) -> Result<String, Failure> {
    refuse_what_does_not_apply(args)?;
    let watching = Watching { check: args.check, count: args.mem_counts };
    let machine = Machine { device_memory: args.device_memory, heap: args.heap, watchdog: args.watchdog, watching };
    let runtime = |mode| machine.runtime(args.on.as_deref(), mode, sched::by_name(&args.policy)?);
    // Mistakes in the arguments come before the files.
    let (rt, watched) = runtime(args.memory)?;
    let (reference_rt, reference_watched) = runtime(MemoryMode::Reference)?;
    let task = Task::new(args)?;

    // Neither run pays for what the first call of a process pays: FFT plans, fresh pages, unmeasured costs. Where memory is
    // watched, times mean little, and nothing is to be counted twice.
    if !watching.any() {
        for rt in [&rt, &reference_rt] {
            task.run(rt, NonZeroUsize::MIN)?;
        }
    }
    let run = |rt, watched: &Watched| match task.run(rt, args.repeat) {
        Ok(report) => Ok(report.watched(watching, watched)),
        Err(failure) => {
            // What was found may be why.
            watched.found().iter().for_each(|found| output::note(&found.line()));
            Err(failure)
        }
    };
    let report = run(&rt, &watched)?.beside(run(&reference_rt, &reference_watched)?);
    let simulated: Vec<&str> =
        rt.allowed_pes().map(|pe| pe.name()).filter(|name| machine::is_simulated(name)).collect();
    if !simulated.is_empty() {
        output::note(&format!("{}; simulated: {}", machine::NO_REAL_ONE, simulated.join(", ")));
    }
    let result = if args.json { output::json(&report)? } else { text::of(&report, &task.input(), task.truth()) };
    verdict(result, report.found().count())
}

/// A run with findings has not gone well.
fn verdict(result: String, findings: usize) -> Result<String, Failure> {
    if findings == 0 { Ok(result) } else { Err(Failure::Found { result, findings }) }
}

/// Options of the other application, or of the other style, are mistakes, not silently ignored.
fn refuse_what_does_not_apply(args: &RunArgs) -> Result<(), Failure> {
    let (app, others): (_, &[(&str, bool)]) = match args.app {
        App::TwoFft => (
            "2fft",
            &[
                ("--input", args.input.is_some()),
                ("--shape", args.shape.is_some()),
                ("--pri", args.pri.is_some()),
                ("--conj", args.conj.is_some()),
            ],
        ),
        App::PulseDoppler => ("pulse-doppler", &[("--points", args.points.is_some())]),
    };
    match others.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::Usage(format!("{option} does not apply to {app}"))),
        None if args.style == Style::Best && args.alloc == Alloc::Each => {
            let why = "--alloc each does not apply to --style best: it works on whole matrices, and has no rows";
            Err(Failure::Usage(why.to_owned()))
        }
        None => Ok(()),
    }
}

impl Task {
    fn new(args: &RunArgs) -> Result<Self, Failure> {
        let placement: Placement = args.map.clone().unwrap_or_default();
        let RunArgs { style, alloc, repeat, .. } = *args;
        Ok(match args.app {
            App::TwoFft => {
                placement.check(two_fft::STAGES)?;
                let points = args.points.map_or(POINTS, usize::from);
                let config = two_fft::Config { style, alloc, placement, repeat };
                Self::TwoFft { samples: two_fft::samples(points)?, config }
            }
            App::PulseDoppler => {
                placement.check(pulse_doppler::stages(style))?;
                let conj = args.conj.unwrap_or_default();
                let config = pulse_doppler::Config { style, conj, alloc, placement, repeat };
                Self::PulseDoppler { recording: recording(args)?, config }
            }
        })
    }

    fn run(&self, rt: &Runtime, repeat: NonZeroUsize) -> Result<Report, Failure> {
        Ok(match self {
            Self::TwoFft { samples, config } => {
                let config = two_fft::Config { repeat, ..config.clone() };
                let outcome = two_fft::run(rt, samples, &config)?;
                Report::new("2fft", config.style, rt, outcome.map(|_| None))
            }
            Self::PulseDoppler { recording, config } => {
                let config = pulse_doppler::Config { repeat, ..config.clone() };
                let outcome = pulse_doppler::run(rt, recording, &config)?;
                finite(outcome.result)?;
                Report::new("pulse-doppler", config.style, rt, outcome.map(Some))
            }
        })
    }

    fn truth(&self) -> Option<Detection> {
        match self {
            Self::TwoFft { .. } => None,
            Self::PulseDoppler { recording, .. } => recording.truth().map(|truth| truth.detection),
        }
    }

    /// What the application works on, for people.
    fn input(&self) -> String {
        match self {
            Self::TwoFft { samples, .. } => format!("{} samples of a chirp", samples.len()),
            Self::PulseDoppler { recording, .. } => {
                let geometry = recording.geometry();
                let what = recording.path().map_or_else(|| "a synthetic scene".into(), |path| path.to_string_lossy());
                format!("{what}, {} pulses x samples, PRI {:e} s", geometry.shape(), geometry.pri_s())
            }
        }
    }
}

fn recording(args: &RunArgs) -> Result<Recording, Failure> {
    Ok(match &args.input {
        Some(path) => input::open(path, args.shape, args.pri)?,
        None => {
            let shape = args.shape.unwrap_or(Shape::STANDARD);
            Scene::new(Geometry::new(shape, args.pri.unwrap_or(geometry::STANDARD_PRI_S))?).recording()?
        }
    })
}

/// Finite samples may still be too large for their products.
fn finite(found: Detection) -> Result<(), Failure> {
    if found.magnitude.is_finite() {
        return Ok(());
    }
    let why =
        anyhow::anyhow!("the largest magnitude is {}: the samples are too large for single precision", found.magnitude);
    Err(Failure::Failed(why))
}
