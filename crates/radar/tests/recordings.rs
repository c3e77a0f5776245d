//! The recorded inputs, with the answers that are known for them.
#![allow(clippy::unwrap_used)]

use rimms_radar::{Detection, Shape, input, oracle, recordings};

fn found(path: &str, shape: Option<&str>) -> Option<Detection> {
    let path = recordings::find(path)?;
    let shape = shape.map(|shape| shape.parse::<Shape>().unwrap());
    let recording = input::open(path, shape, None).unwrap();
    Some(oracle::range_doppler(&recording).unwrap().peak())
}

fn assert_answer(found: Detection, cell: (usize, usize), doppler: &str, delay: &str, magnitude: f64) {
    assert_eq!((found.peak_row, found.peak_col), cell);
    assert_eq!(format!("{:.6}", found.doppler_hz), doppler);
    assert_eq!(format!("{:.6e}", found.delay_s), delay);
    assert!((found.magnitude / magnitude - 1.0).abs() < 1e-7, "{found:?}");
}

#[test]
fn the_standard_recording() {
    for path in ["cedr/pulse_doppler", "cedr/pulse_doppler/pulses_128x64.txt"] {
        let Some(found) = found(path, None) else { return };
        assert_answer(found, (64, 82), "62.000124", "3.830159e-5", 416.82054);
    }
}

#[test]
fn the_older_recording() {
    for path in ["cedr/pulse_doppler", "cedr/pulse_doppler/input_pd_ps.txt"] {
        let Some(found) = found(path, Some("20x120")) else { return };
        assert_answer(found, (10, 122), "414.421881", "3.201681e-6", 130.611978);
    }
}

#[test]
fn the_older_recording_in_the_standard_shape_is_refused_with_both_counts() {
    let Some(path) = recordings::find("cedr/pulse_doppler/input_pd_ps.txt") else { return };
    let message = input::open(path, None, None).unwrap_err().to_string();
    assert!(message.contains("input_pd_ps.txt: 16384 numbers wanted"), "{message}");
    assert!(message.ends_with("4800 found"), "{message}");
}
