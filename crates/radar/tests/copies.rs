//! Exactly as many copies as there must be: one simulated device that does every op, 128x64.
//!
//! Copies are counted as one buffer of one call; the final ones, the host's reads of the last op's
//! output, apart.
#![allow(clippy::unwrap_used)]

use std::num::NonZeroUsize;

use rimms::device::sim::{ACC_MEMORY, Sim};
use rimms::{Complex32, MemoryMode, Runtime};
use rimms_radar::apps::{Alloc, Conj, Style, Traffic, pulse_doppler, two_fft};
use rimms_radar::scene::Scene;

use Conj::{Device, Host};
use MemoryMode::{LastResource, Reference, ValidSet};
use Style::{Best, Paper};

fn runtime(mode: MemoryMode, cpus: usize) -> Runtime {
    let acc = Sim::acc("acc0", ACC_MEMORY, "next-fit".parse().unwrap()).unwrap();
    Runtime::builder().cpus(cpus).device(acc).memory_mode(mode).build().unwrap()
}

fn counts(traffic: Traffic) -> (u64, u64) {
    assert_eq!(traffic.device_to_device.copies, 0);
    (traffic.copies(), traffic.last.copies)
}

fn pulse_doppler(mode: MemoryMode, style: Style, conj: Conj) -> (u64, u64) {
    let scene = Scene::default();
    let recording = scene.recording().unwrap();
    let [each, fragment] = [Alloc::Each, Alloc::Fragment].map(|alloc| {
        let config = pulse_doppler::Config { style, conj, alloc, ..Default::default() };
        let outcome = pulse_doppler::run(&runtime(mode, 0), &recording, &config).unwrap();
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
                let config = two_fft::Config { style, alloc, placement, ..Default::default() };
                let samples: Vec<Complex32> = (0..1024).map(|i| Complex32::new(i as f32, -1.0)).collect();
                let outcome = two_fft::run(&runtime(mode, 1), &samples, &config).unwrap();
                assert!(outcome.max_error.unwrap() < 1e-3, "{:?}", outcome.max_error);
                assert_eq!(counts(outcome.traffic), wanted, "{mode} {config:?}");
                let bytes = 1024 * size_of::<Complex32>() as u64;
                assert_eq!(outcome.traffic.host_to_device.bytes, outcome.traffic.host_to_device.copies * bytes);
                assert_eq!(outcome.traffic.last.bytes, outcome.traffic.last.copies * bytes);
            }
        }
    }
}

#[test]
fn every_repetition_copies_the_same_and_nothing_stays_behind() {
    let recording = Scene::default().recording().unwrap();
    for (mode, each) in [(Reference, 1408), (LastResource, 512), (ValidSet, 385)] {
        let rt = runtime(mode, 0);
        let config = pulse_doppler::Config { repeat: NonZeroUsize::new(3).unwrap(), ..Default::default() };
        let outcome = pulse_doppler::run(&rt, &recording, &config).unwrap();
        assert_eq!(outcome.traffic.copies(), 3 * each);
        assert_eq!(outcome.calls_by_pe, [("acc0".into(), 3 * (4 * 128 + 128))]);
        let acc = rt.resources()[1].id;
        assert_eq!(rt.usage(acc).unwrap().blocks, 0);
    }
}
