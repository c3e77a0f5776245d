//! Exactly as many copies as there must be: one simulated device that does every op.
//!
//! Copies are counted as one buffer of one call; the final ones, the host's reads of the last op's
//! output, apart.
#![allow(clippy::unwrap_used)]

mod common;

use std::num::NonZeroUsize;

use common::accelerator;
use rimms::{Complex32, MemoryMode};
use rimms_radar::apps::{
    Alloc, Config, Conj, Style, Traffic, pulse_doppler, radar_correlator, sar, three_zip, two_fft, two_fzf,
};
use rimms_radar::reception::Echo;
use rimms_radar::sar::Scene as SarScene;
use rimms_radar::scene::Scene;

use Conj::{Device, Host};
use MemoryMode::{LastResource, Reference, ValidSet};
use Style::{Best, Paper};

fn counts(traffic: Traffic) -> (u64, u64) {
    assert_eq!(traffic.device_to_device.copies, 0);
    (traffic.copies(), traffic.last.copies)
}

fn pulse_doppler(mode: MemoryMode, style: Style, conj: Conj) -> (u64, u64) {
    let scene = Scene::default();
    let recording = scene.recording().unwrap();
    let [each, fragment] = [Alloc::Each, Alloc::Fragment].map(|alloc| {
        let config = Config { style, conj, alloc, ..Default::default() };
        let outcome = pulse_doppler::run(&accelerator(mode, 0), &recording, &config).unwrap();
        assert_eq!(outcome.result.peak_row, scene.truth().detection.peak_row);
        assert_eq!(outcome.result.peak_col, scene.truth().detection.peak_col);
        assert_eq!(outcome.retries, 0);
        counts(outcome.traffic)
    });
    assert_eq!(each, fragment, "however it is allocated");
    fragment
}

#[test]
fn pulse_doppler_in_paper_style_conjugated_by_the_host() {
    assert_eq!(pulse_doppler(Reference, Paper, Host), (1408, 0));
    assert_eq!(pulse_doppler(LastResource, Paper, Host), (768, 128));
    assert_eq!(pulse_doppler(ValidSet, Paper, Host), (641, 128));
}

#[test]
fn pulse_doppler_in_paper_style_conjugated_by_the_product() {
    assert_eq!(pulse_doppler(Reference, Paper, Device), (1408, 0));
    assert_eq!(pulse_doppler(LastResource, Paper, Device), (512, 128));
    assert_eq!(pulse_doppler(ValidSet, Paper, Device), (385, 128));
}

#[test]
fn pulse_doppler_in_best_style() {
    for conj in [Host, Device] {
        // Every operand of the eleven calls, there and back.
        assert_eq!(pulse_doppler(Reference, Best, conj), (22, 0));
        assert_eq!(pulse_doppler(LastResource, Best, conj), (2, 1));
        assert_eq!(pulse_doppler(ValidSet, Best, conj), (2, 1));
    }
}

#[test]
fn two_fft() {
    for (placement, reference, last_resource, valid_set) in [
        ("fft=acc,ifft=acc", (4, 0), (1, 1), (1, 1)),
        ("fft=cpu,ifft=acc", (2, 0), (1, 1), (1, 1)),
        ("fft=acc,ifft=cpu", (2, 0), (2, 0), (2, 0)),
        ("fft=cpu,ifft=cpu", (0, 0), (0, 0), (0, 0)),
    ] {
        for (mode, wanted) in [(Reference, reference), (LastResource, last_resource), (ValidSet, valid_set)] {
            for (style, alloc) in [(Paper, Alloc::Each), (Paper, Alloc::Fragment), (Best, Alloc::Each)] {
                let placement = placement.parse().unwrap();
                let config = Config { style, alloc, placement, ..Default::default() };
                let samples: Vec<Complex32> = (0..1024).map(|i| Complex32::new(i as f32, -1.0)).collect();
                let outcome = two_fft::run(&accelerator(mode, 1), &samples, &config).unwrap();
                assert!(outcome.max_error.unwrap() < 1e-3, "{:?}", outcome.max_error);
                assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
                let bytes = 1024 * size_of::<Complex32>() as u64;
                assert_eq!(outcome.traffic.host_to_device.bytes, outcome.traffic.host_to_device.copies * bytes);
                assert_eq!(outcome.traffic.last.bytes, outcome.traffic.last.copies * bytes);
            }
        }
    }
}

/// The ways to write and to allocate that there are.
const WAYS: [(Style, Alloc); 3] = [(Paper, Alloc::Each), (Paper, Alloc::Fragment), (Best, Alloc::Fragment)];

#[test]
fn two_fzf() {
    let input = two_fzf::Input::synthetic(1000).unwrap();
    for (mode, wanted) in [(Reference, (9, 0)), (LastResource, (2, 1)), (ValidSet, (2, 1))] {
        for (style, alloc) in WAYS {
            let config = Config { style, alloc, ..Config::default() };
            let outcome = two_fzf::run(&accelerator(mode, 0), &input, &config).unwrap();
            assert!(outcome.max_error.unwrap() < 1e-5, "{:?}", outcome.max_error);
            assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
        }
    }
}

#[test]
fn three_zip() {
    let input = three_zip::Input::synthetic(1000).unwrap();
    for (mode, wanted) in [(Reference, (9, 0)), (LastResource, (4, 1)), (ValidSet, (4, 1))] {
        for (style, alloc) in WAYS {
            let config = Config { style, alloc, ..Config::default() };
            let outcome = three_zip::run(&accelerator(mode, 0), &input, &config).unwrap();
            assert!(outcome.max_error.unwrap() < 1e-4, "of 125: {:?}", outcome.max_error);
            assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
        }
    }
}

#[test]
fn radar_correlator() {
    let reception = Echo::new(256).unwrap().reception().unwrap();
    for (style, conj, reference, others) in [
        (Paper, Host, 9, (4, 1)),
        (Paper, Device, 9, (2, 1)),
        // Every operand of the calls, there and back: six in host style, and the two that write zeros.
        (Best, Host, 1 + 2 + 2 + 3 + 2 + 2 + 2, (2, 1)),
        (Best, Device, 2 + 2 + 2 + 3 + 2 + 2 + 2, (2, 1)),
    ] {
        for (mode, wanted) in [(Reference, (reference, 0)), (LastResource, others), (ValidSet, others)] {
            for (_, alloc) in WAYS.iter().filter(|(of, _)| *of == style) {
                let config = Config { style, conj, alloc: *alloc, ..Config::default() };
                let outcome = radar_correlator::run(&accelerator(mode, 0), &reception, &config).unwrap();
                assert_eq!(outcome.max_error, Some(0.0), "{:?}", outcome.result);
                assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
            }
        }
    }
}

#[test]
fn sar_of_256_rows_of_512() {
    let scene = SarScene::new(rimms_radar::sar::standard_shape()).unwrap();
    let echoes = scene.echoes().unwrap();
    for (style, reference, last_resource, valid_set) in [
        (Paper, (5378, 0), (3073, 512), (2562, 512)),
        // Every operand of the thirteen calls, there and back.
        (Best, (28, 0), (3, 1), (3, 1)),
    ] {
        for (mode, wanted) in [(Reference, reference), (LastResource, last_resource), (ValidSet, valid_set)] {
            for (_, alloc) in WAYS.iter().filter(|(of, _)| *of == style) {
                let config = Config { style, alloc: *alloc, ..Config::default() };
                let outcome = sar::run(&accelerator(mode, 0), &echoes, &config).unwrap();
                assert!(outcome.max_error.unwrap() < 1e-5, "{:?}", outcome.max_error);
                assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
            }
        }
    }
}

#[test]
fn placement_moves_the_copies_of_the_new_applications_too() {
    // The reference is transformed on the CPU: its spectrum goes up instead of itself.
    let reception = Echo::new(64).unwrap().reception().unwrap();
    let placement = "fft-reference=cpu,fft-received=acc,zip=acc,ifft=acc".parse().unwrap();
    let config = Config { placement, ..Config::default() };
    let outcome = radar_correlator::run(&accelerator(ValidSet, 1), &reception, &config).unwrap();
    assert_eq!(counts(outcome.traffic), (2, 1));
    // The first product comes down, and the last stays on the host.
    let placement = "zip-0=acc,zip-1=cpu,zip-2=cpu".parse().unwrap();
    let config = Config { placement, ..Config::default() };
    let input = three_zip::Input::synthetic(64).unwrap();
    let outcome = three_zip::run(&accelerator(ValidSet, 1), &input, &config).unwrap();
    assert_eq!(counts(outcome.traffic), (3, 0));
}

#[test]
fn every_repetition_copies_the_same_and_nothing_stays_behind() {
    let recording = Scene::default().recording().unwrap();
    for (mode, each) in [(Reference, 1408), (LastResource, 512), (ValidSet, 385)] {
        let rt = accelerator(mode, 0);
        let config = Config { repeat: NonZeroUsize::new(3).unwrap(), ..Default::default() };
        let outcome = pulse_doppler::run(&rt, &recording, &config).unwrap();
        assert_eq!(outcome.traffic.copies(), 3 * each);
        assert_eq!(outcome.calls_by_pe, [("acc0".into(), 3 * (4 * 128 + 128))]);
        let acc = rt.resources()[1].id;
        assert_eq!(rt.usage(acc).unwrap().blocks, 0);
    }
}
