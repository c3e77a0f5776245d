use rand::RngExt;

use super::*;
use crate::oracle;

fn geometry(rows: usize, cols: usize) -> Geometry {
    Geometry::new(Shape::new(rows, cols).unwrap(), STANDARD_PRI_S).unwrap()
}

fn at_cell(geometry: Geometry, row: f64, col: f64, amplitude: f64) -> Target {
    // The formulas are linear: go half a cell at a time from the known ones.
    let between = |low: f64, high: f64, fraction: f64| low + (high - low) * fraction;
    Target {
        delay_s: between(geometry.delay_s(0), geometry.delay_s(1), col),
        doppler_hz: between(geometry.doppler_hz(0), geometry.doppler_hz(1), row),
        amplitude,
    }
}

#[test]
fn on_the_grid_and_without_noise_the_answer_is_exact() {
    for (rows, cols) in [(2, 2), (3, 4), (16, 8), (20, 120), (31, 33), (128, 64)] {
        let geometry = geometry(rows, cols);
        let pulse = pulse_len(geometry);
        for row in [0, rows / 3, rows / 2, rows - 1] {
            for delay in [0, (cols - pulse) / 2, cols - pulse] {
                let target = at_cell(geometry, row as f64, (cols - 1 + delay) as f64, 2.5);
                let scene = Scene::new(geometry).with_targets(vec![target]).unwrap();
                let scene = scene.with_noise(0.0).unwrap();
                let truth = scene.truth().detection;
                assert_eq!((truth.peak_row, truth.peak_col), (row, cols - 1 + delay));
                let gain = 2.5 * (pulse * rows) as f64;
                assert!((truth.magnitude - gain).abs() < 1e-6 * gain, "{truth:?}");
                let found = oracle::range_doppler(&scene.recording().unwrap()).unwrap().peak();
                assert_eq!((found.peak_row, found.peak_col), (row, cols - 1 + delay));
                assert!((found.magnitude - gain).abs() < 1e-5 * gain, "{found:?}");
            }
        }
    }
}

#[test]
fn sixty_random_scenes_are_found() {
    let mut random = ChaCha8Rng::seed_from_u64(2025);
    for seed in 0..60 {
        let geometry = geometry(random.random_range(8..=160), random.random_range(16..=130));
        let shape = geometry.shape();
        let (rows, cols) = (shape.rows(), shape.cols());
        let mut target = |amplitude: f64| {
            let row = random.random_range(0..rows) as f64 + random.random_range(-0.3..0.3);
            let delay = random.random_range(0..=cols - pulse_len(geometry));
            let col = (cols - 1 + delay) as f64 + random.random_range(-0.3..0.3);
            at_cell(geometry, row, col, amplitude)
        };
        let targets = vec![target(0.2), target(1.0), target(0.1)];
        let scene =
            Scene::new(geometry).with_targets(targets.clone()).unwrap().with_noise(0.2).unwrap().with_seed(seed);
        let truth = scene.truth().detection;
        let (row, col) = nearest_cell(geometry, &targets[1]);
        assert_eq!((truth.peak_row, truth.peak_col), (row, col), "seed {seed}");
        let found = oracle::range_doppler(&scene.recording().unwrap()).unwrap().peak();
        assert_eq!((found.peak_row, found.peak_col), (row, col), "seed {seed} {shape}");
        assert_eq!(found.doppler_hz, truth.doppler_hz);
        assert_eq!(found.delay_s, truth.delay_s);
    }
}

#[test]
fn between_cells_the_expected_magnitude_is_what_comes_out() {
    let geometry = geometry(64, 48);
    for (row, col) in [(20.25, 60.0), (20.0, 60.3), (10.4, 70.4), (50.5, 55.49)] {
        let scene =
            Scene::new(geometry).with_targets(vec![at_cell(geometry, row, col, 1.0)]).unwrap().with_noise(0.0).unwrap();
        let truth = scene.truth().detection;
        let map = oracle::range_doppler(&scene.recording().unwrap()).unwrap();
        let there = map.magnitude(truth.peak_row, truth.peak_col).unwrap();
        assert!((there / truth.magnitude - 1.0).abs() < 1e-5, "{there} {truth:?}");
    }
}

#[test]
fn a_scene_is_the_same_every_time_and_its_noise_has_the_strength_asked_for() {
    let scene = Scene::default();
    let first = scene.recording().unwrap();
    assert_eq!(first, scene.recording().unwrap());
    assert_ne!(first.pulses(), scene.clone().with_seed(2).recording().unwrap().pulses());

    let quiet = scene.clone().with_noise(0.0).unwrap().recording().unwrap();
    let loud = scene.with_noise(3.0).unwrap().recording().unwrap();
    let power: f32 = loud.pulses().iter().zip(quiet.pulses()).map(|(a, b)| (a - b).norm_sqr()).sum();
    let rms = (power / quiet.pulses().len() as f32).sqrt();
    assert!((rms - 3.0).abs() < 0.1, "{rms}");
}

/// Noise of a seed is part of what a scene means: it must not change with a dependency.
#[test]
fn the_noise_of_a_seed_stays_as_it_is() {
    let scene = Scene::default().with_seed(42);
    let loud = scene.clone().with_noise(1.0).unwrap().recording().unwrap();
    let quiet = scene.with_noise(0.0).unwrap().recording().unwrap();
    let noise: Vec<String> =
        (0..3).map(|i| loud.pulses()[i] - quiet.pulses()[i]).map(|n| format!("{:.4} {:.4}", n.re, n.im)).collect();
    assert_eq!(noise, ["0.3380 0.9433", "-0.1491 0.3368", "-0.3621 -0.6604"]);
}

#[test]
fn the_pulse_is_a_quarter_of_the_window() {
    let recording = Scene::default().recording().unwrap();
    let sent = recording.reference();
    assert!(sent[..16].iter().all(|sample| (sample.norm() - 1.0).abs() < 1e-6));
    assert!(sent[16..].iter().all(|sample| *sample == Complex32::ZERO));
}

#[test]
fn what_cannot_be_in_a_scene_is_refused() {
    let scene = Scene::default();
    for (list, part) in [
        ("1e-5:0", "delay:doppler:amplitude wanted"),
        ("1e-5:0:1:1", "delay:doppler:amplitude wanted"),
        ("", "delay:doppler:amplitude wanted"),
        ("1e-5:0:1,", "delay:doppler:amplitude wanted"),
        ("x:0:1", "its delay `x` is not a finite number"),
        ("0:nan:1", "its Doppler shift `nan` is not a finite number"),
        ("0:0:", "its amplitude `` is not a finite number"),
        ("0:0:0", "amplitude above 0"),
        ("0:0:-1", "amplitude above 0"),
        ("-1e-5:0:1", "a delay from 0 to 9.6"),
        ("1.1e-4:0:1", "a delay from 0 to 9.6"),
        ("1e300:0:1", "a delay from 0 to 9.6"),
        ("0:5000:1", "a Doppler shift from -3906.007812 to 3968.007936 Hz"),
        ("0:-5000:1", "a Doppler shift from"),
    ] {
        let error = targets(list).and_then(|list| scene.clone().with_targets(list)).unwrap_err();
        assert!(error.is_argument());
        assert!(error.to_string().contains(part), "{part:?} not in {error}");
    }
    assert!(scene.clone().with_targets(vec![]).is_err());
    for noise in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(scene.clone().with_noise(noise).unwrap_err().is_argument());
    }
    let blinding = scene.clone().with_noise(1e200).unwrap();
    assert!(blinding.recording().unwrap_err().to_string().contains("too strong"));
    assert!(targets("0:0:1e300").and_then(|list| scene.with_targets(list)?.recording()).is_err());
}

#[test]
fn a_scene_that_no_memory_holds_is_an_error() {
    let huge = Geometry::new(Shape::new(1 << 28, 1 << 27).unwrap(), 1e-3).unwrap();
    let error = Scene::new(huge).recording().unwrap_err();
    assert!(matches!(error, Error::Memory { bytes, .. } if bytes == 1 << 58), "{error}");
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    let scene = Scene::new(geometry(12, 20)).with_seed(u64::MAX);
    scene.write(&inner).unwrap();
    let (read, made) = (crate::input::open(&inner, None, None).unwrap(), scene.recording().unwrap());
    assert_eq!((read.pulses(), read.reference()), (made.pulses(), made.reference()));
    assert_eq!((read.truth(), read.geometry()), (made.truth(), made.geometry()));
    assert!(matches!(scene.write(inner.join("truth.json")), Err(Error::Io { .. })));
}
