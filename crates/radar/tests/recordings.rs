//! The recorded inputs, with the answers that are known for them.
#![allow(clippy::unwrap_used)]

mod common;

use rimms::device::sim::Sim;
use rimms::{MemoryMode, Runtime};
use rimms_radar::apps::{Alloc, Config, Style, sar};
use rimms_radar::sar::Brightest;
use rimms_radar::{Detection, Error, Shape, input, oracle, recordings};

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

#[test]
fn the_oracle_of_sar_agrees_with_the_known_image() {
    let Some(folder) = recordings::find("cedr/sar") else { return };
    let echoes = input::open_echoes(folder, None).unwrap();
    assert_eq!(echoes.shape().to_string(), "256x512");
    let image = oracle::sar_image(&echoes).unwrap();
    let known = echoes.image().unwrap();
    let error = image.iter().zip(known).map(|(found, known)| (found - f64::from(*known)).abs()).fold(0.0, f64::max);
    assert!(error < 7e-6, "{error}");
}

#[test]
fn sar_on_every_pe_set_in_every_mode_and_style() {
    let Some(folder) = recordings::find("cedr/sar") else { return };
    let echoes = input::open_echoes(folder, None).unwrap();
    for (pes, cpus, accelerators) in [("cpu", 1, 0), ("acc", 0, 1), ("both", 1, 1)] {
        for mode in common::MODES.into_iter().chain([MemoryMode::ZeroCopy]) {
            if mode == MemoryMode::ZeroCopy && accelerators > 0 {
                continue; // the simulated memory is not the host's
            }
            for (style, alloc) in
                [(Style::Paper, Alloc::Fragment), (Style::Paper, Alloc::Each), (Style::Best, Alloc::Fragment)]
            {
                let mut builder = Runtime::builder().cpus(cpus).memory_mode(mode);
                for _ in 0..accelerators {
                    builder = builder.device(Sim::acc("acc0", 64 << 20, Default::default()).unwrap());
                }
                // Taken in turn, so that both do their share.
                let builder = builder.policy(rimms::sched::by_name("round-robin").unwrap());
                let config = Config { style, alloc, ..Config::default() };
                let outcome = sar::run(&builder.build().unwrap(), &echoes, &config).unwrap();
                let case = format!("{pes}, {mode}, {style}, {alloc}");
                assert!(outcome.max_error.unwrap() < 1e-4, "{case}: {:?}", outcome.max_error);
                let found = Brightest::of(outcome.result.shape(), outcome.result.magnitudes());
                assert_eq!((found.peak_row, found.peak_col), (127, 306), "{case}");
                assert!((found.peak - 0.10563).abs() < 1e-4, "{case}: {found:?}");
                let busy = outcome.calls_by_pe.iter().filter(|(_, calls)| *calls > 0).count();
                assert_eq!(busy, cpus + accelerators, "{case}: {:?}", outcome.calls_by_pe);
            }
        }
    }
}

#[test]
fn sar_of_another_shape_is_refused_with_both_counts() {
    let Some(folder) = recordings::find("cedr/sar") else { return };
    let message = input::open_echoes(folder, Some("256x256".parse().unwrap())).unwrap_err().to_string();
    assert!(message.contains("131072 numbers wanted") && message.contains("262144 found"), "{message}");
}

#[test]
fn the_radar_correlators_recording_is_too_short_and_refused_with_both_counts() {
    let Some(folder) = recordings::find("cedr/radar_correlator") else { return };
    let error = input::open_reception(&folder, None).unwrap_err();
    assert!(matches!(error, Error::Count { wanted: 512, found: 202, .. }), "{error}");
    assert!(error.to_string().contains("received_input.txt"), "{error}");
    // What there is can be asked for.
    let reception = input::open_reception(&folder, Some(101)).unwrap();
    assert_eq!((reception.received().len(), reception.reference().len(), reception.lag()), (101, 101, None));
    assert!((reception.rate_hz() - 10.0).abs() < 1e-3, "{}", reception.rate_hz());
}
