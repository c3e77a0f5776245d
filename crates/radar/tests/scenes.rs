//! Random scenes on random machines, against the float64 oracle.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rimms_radar::apps::{Config, Style, pulse_doppler, radar_correlator, sar};
use rimms_radar::reception::Echo;
use rimms_radar::sar::{Scatterer, Scene as SarScene};
use rimms_radar::scene::{Scene, Target};
use rimms_radar::{Geometry, Shape, oracle};

const SCENES: u64 = 60;

/// Single precision against double, over FFTs of some hundred samples.
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

#[test]
fn pulse_doppler_on_sixty_random_scenes() {
    for seed in 0..SCENES {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let recording = scene(random).recording().unwrap();
        let (rt, config) = (common::random(random), common::config(random));
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

#[test]
fn sar_on_sixty_random_scenes() {
    for seed in 0..SCENES {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape::new(random.random_range(2..=64), random.random_range(2..=96)).unwrap();
        let scatterers = (0..random.random_range(1..=4)).map(|_| Scatterer {
            row: random.random_range(0..shape.rows()),
            col: random.random_range(0..shape.cols()),
            amplitude: random.random_range(0.1..10.0),
        });
        let scene = SarScene::new(shape).unwrap().with_scatterers(scatterers.collect()).unwrap();
        let noise = if random.random() { random.random_range(0.0..1.0) } else { 0.0 };
        let scene = scene.with_noise(noise).unwrap().with_seed(random.random());
        let echoes = scene.echoes().unwrap();
        let (rt, config) = (common::random(random), common::config(random));
        let case = format!("seed {seed}: {scene:?} {config:?} {rt:?}");
        let outcome = sar::run(&rt, &echoes, &config).unwrap_or_else(|error| panic!("{case}: {error}"));

        let image = oracle::sar_image(&echoes).unwrap();
        let brightest = image.iter().copied().fold(0.0, f64::max);
        for (found, wanted) in outcome.result.magnitudes().iter().zip(&image) {
            assert!((f64::from(*found) - wanted).abs() < TOLERANCE * brightest, "{case}: {found}, {wanted}");
        }
        if noise == 0.0 {
            // The closed form agrees with both.
            assert!(outcome.max_error.unwrap() < TOLERANCE * brightest, "{case}: {:?}", outcome.max_error);
            let truth = scene.brightest().unwrap();
            let there = image[truth.peak_row * shape.cols() + truth.peak_col];
            assert!((there / brightest - 1.0).abs() < TOLERANCE, "{case}: {truth:?}");
        }
    }
}

#[test]
fn radar_correlator_on_sixty_random_echoes() {
    for seed in 0..SCENES {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let samples = random.random_range(1..=600_usize);
        let echo = Echo::new(samples).unwrap().with_lag(random.random_range(0..=samples / 2)).unwrap();
        let echo = echo.with_noise(random.random_range(0.0..2.0)).unwrap().with_seed(random.random());
        let reception = echo.with_rate(random.random_range(1.0..1e9)).reception().unwrap();
        let (rt, config) = (common::random(random), common::config(random));
        let case = format!("seed {seed}: {samples} samples {config:?} {rt:?}");
        let outcome = radar_correlator::run(&rt, &reception, &config);
        let found = outcome.unwrap_or_else(|error| panic!("{case}: {error}")).result;

        let correlation = oracle::correlation(&reception).unwrap();
        let largest = correlation.iter().map(|x| x.norm()).fold(0.0, f64::max);
        assert!((found.magnitude / largest - 1.0).abs() < TOLERANCE, "{case}: {found:?}, {largest}");
        // Of lags that differ by less than the tolerance, any is right.
        let index = found.lag_samples.rem_euclid(2 * samples as i64) as usize;
        assert!((correlation[index].norm() / largest - 1.0).abs() < TOLERANCE, "{case}: {found:?}");
        assert_eq!(found.lag_s, found.lag_samples as f64 / reception.rate_hz());
    }
}

#[test]
fn the_picture_that_is_handed_out_is_that_of_the_definition_and_costs_no_copies() {
    let recording = Scene::new(Geometry::new(Shape::new(21, 16).unwrap(), 1e-4).unwrap()).recording().unwrap();
    let map = oracle::range_doppler(&recording).unwrap();
    for style in [Style::Paper, Style::Best] {
        for mode in common::MODES {
            let run = |picture| {
                let config = Config { style, picture, ..Config::default() };
                pulse_doppler::run(&common::accelerator(mode, 0), &recording, &config).unwrap()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!((with.traffic, without.picture), (without.traffic, None));
            let image = with.picture.unwrap();
            assert_eq!(image.shape().to_string(), "21x32");
            for (found, wanted) in image.magnitudes().iter().zip(map.magnitudes()) {
                assert!((f64::from(*found) - wanted).abs() < TOLERANCE * map.peak().magnitude, "{style} {mode}");
            }
        }
    }
}
