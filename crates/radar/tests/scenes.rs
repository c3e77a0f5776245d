//! Random scenes on random machines, against the float64 oracle.
#![allow(clippy::unwrap_used, clippy::panic)]

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rimms::device::sim::Sim;
use rimms::{MemoryMode, Runtime, sched};
use rimms_radar::apps::{Alloc, Conj, Style, pulse_doppler};
use rimms_radar::scene::{Scene, Target};
use rimms_radar::{Geometry, Shape, oracle};

const SCENES: u64 = 60;

/// Single precision against double, over FFTs of a few hundred samples.
const TOLERANCE: f64 = 1e-4;

fn scene(random: &mut ChaCha8Rng) -> Scene {
    let shape = Shape::new(random.random_range(2..=80), random.random_range(2..=70)).unwrap();
    let geometry = Geometry::new(shape, random.random_range(1e-6..1e-2)).unwrap();
    let cols = shape.cols();
    // Delays for which the whole echo, a quarter of the samples, is received.
    let last = cols - (cols / 4).max(1);
    let targets = (0..random.random_range(1..=3)).map(|_| Target {
        delay_s: geometry.delay_s(cols - 1 + random.random_range(0..=last)),
        doppler_hz: geometry.doppler_hz(random.random_range(0..shape.rows())),
        amplitude: random.random_range(0.1..10.0),
    });
    let targets = targets.collect();
    let scene = Scene::new(geometry).with_targets(targets).unwrap();
    scene.with_noise(random.random_range(0.0..1.0)).unwrap().with_seed(random.random())
}

fn machine(random: &mut ChaCha8Rng) -> Runtime {
    let heap = ["bitset:1KiB", "next-fit", "two-level"].choose(random).unwrap().parse().unwrap();
    let modes = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];
    let mut builder = Runtime::builder()
        .cpus(random.random_range(0..=2))
        .device(Sim::acc("acc0", 8 << 20, heap).unwrap())
        .memory_mode(*modes.choose(random).unwrap())
        .policy(sched::by_name(sched::POLICIES.choose(random).unwrap()).unwrap());
    if random.random() {
        // Too small for everything, so that some calls have to go elsewhere.
        builder = builder.device(Sim::fft("fft0", 64 << 10, heap).unwrap());
        builder = builder.device(Sim::zip("zip0", 64 << 10, heap).unwrap());
    }
    builder.build().unwrap()
}

#[test]
fn sixty_random_scenes() {
    for seed in 0..SCENES {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let recording = scene(random).recording().unwrap();
        let rt = machine(random);
        let config = pulse_doppler::Config {
            style: *Style::ALL.choose(random).unwrap(),
            conj: *Conj::ALL.choose(random).unwrap(),
            alloc: *Alloc::ALL.choose(random).unwrap(),
            ..Default::default()
        };
        let case = format!("seed {seed}: {} {config:?} {rt:?}", recording.geometry().shape());
        let outcome = pulse_doppler::run(&rt, &recording, &config);
        let found = outcome.unwrap_or_else(|error| panic!("{case}: {error}")).result;

        let map = oracle::range_doppler(&recording).unwrap();
        let peak = map.peak();
        assert!((found.magnitude / peak.magnitude - 1.0).abs() < TOLERANCE, "{case}: {found:?}, {peak:?}");
        // Of cells that differ by less than the tolerance, any is right.
        let there = map.magnitude(found.peak_row, found.peak_col).unwrap();
        assert!((there / peak.magnitude - 1.0).abs() < TOLERANCE, "{case}: {found:?}, {peak:?}");
        assert_eq!(found, recording.geometry().detection(found.peak_row, found.peak_col, found.magnitude));
    }
}
