//! The applications on a system whose accelerator shares the CPU's memory by a DMA buffer: an AXI DMA and a block for FFTs,
//! imitated down to caches and registers. The block does the transforms, the CPU the rest.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use rimms::device::udma::Direction::{FromDevice, ToDevice};
use rimms::device::udma::Side;
use rimms::device::udma::imitation::System;
use rimms::{MemoryMode, Runtime};
use rimms_radar::apps::{
    Alloc, Config, Outcome, Style, pulse_doppler, radar_correlator, sar, three_zip, two_fft, two_fzf,
};
use rimms_radar::reception::Echo;
use rimms_radar::scene::Scene;
use rimms_radar::{Shape, input, recordings};
use tempfile::TempDir;

/// A system of its own, which lives as long as its folder.
fn system() -> (TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    let system = System::new(folder.path(), 32 << 20).unwrap();
    (folder, system)
}

fn runtime(system: &System, mode: MemoryMode) -> Runtime {
    let device = system.device("two-level".parse().unwrap()).unwrap();
    // The next in turn, so that both do transforms.
    let policy = rimms::sched::by_name("round-robin").unwrap();
    Runtime::builder().cpus(1).device(device).memory_mode(mode).policy(policy).build().unwrap()
}

/// Runs an application in all modes and styles, and looks at what was copied.
fn in_every_mode<T>(app: &str, run: impl Fn(&Runtime, &Config) -> Outcome<T>) {
    for mode in common::MODES.into_iter().chain([MemoryMode::ZeroCopy]) {
        for style in Style::ALL {
            let (_folder, system) = system();
            let rt = runtime(&system, mode);
            let outcome = run(&rt, &Config { style: *style, alloc: Alloc::Fragment, ..Config::default() });
            let case = format!("{app}, {mode}, {style}");
            if app != "3zip" {
                assert!(outcome.calls_by_pe.iter().all(|(_, calls)| *calls > 0), "{case}: {:?}", outcome.calls_by_pe);
                assert!(!system.maintained().is_empty(), "{case}");
            }
            assert_eq!(outcome.retries, 0, "{case}");
            if mode == MemoryMode::ZeroCopy {
                let counters = rt.counters();
                assert_eq!((counters.copies(), counters.bytes()), (0, 0), "{case}");
            }
            assert_eq!(rt.usage(rt.resources()[1].id).unwrap().blocks, 0, "{case}");
        }
    }
}

#[test]
fn two_fft() {
    let samples: Vec<_> = (0..1024).map(|i| rimms::Complex32::new(i as f32, -1.0)).collect();
    in_every_mode("2fft", |rt, config| {
        let outcome = two_fft::run(rt, &samples, config).unwrap();
        assert!(outcome.max_error.unwrap() < 1e-3, "{:?}", outcome.max_error);
        outcome
    });
}

#[test]
fn products() {
    let input = two_fzf::Input::synthetic(1024).unwrap();
    in_every_mode("2fzf", |rt, config| {
        let outcome = two_fzf::run(rt, &input, config).unwrap();
        assert!(outcome.max_error.unwrap() < 1e-5, "{:?}", outcome.max_error);
        outcome
    });
    let input = three_zip::Input::synthetic(1000).unwrap();
    in_every_mode("3zip", |rt, config| three_zip::run(rt, &input, config).unwrap());
}

#[test]
fn radar_correlator() {
    let reception = Echo::new(256).unwrap().reception().unwrap();
    in_every_mode("radar-correlator", |rt, config| {
        let outcome = radar_correlator::run(rt, &reception, config).unwrap();
        assert_eq!(outcome.max_error, Some(0.0), "{:?}", outcome.result);
        outcome
    });
}

#[test]
fn pulse_doppler() {
    let scene = Scene::default();
    let synthetic = scene.recording().unwrap();
    let truth = (scene.truth().detection.peak_row, scene.truth().detection.peak_col);
    let mut recorded = vec![(synthetic, truth)];
    if let Some(path) = recordings::find("cedr/pulse_doppler") {
        recorded.push((input::open(path, None, None).unwrap(), (64, 82)));
    }
    for (recording, cell) in recorded {
        in_every_mode("pulse-doppler", |rt, config| {
            let outcome = pulse_doppler::run(rt, &recording, config).unwrap();
            assert_eq!((outcome.result.peak_row, outcome.result.peak_col), cell);
            outcome
        });
    }
}

#[test]
fn sar() {
    let echoes = match recordings::find("cedr/sar") {
        Some(folder) => input::open_echoes(folder, None).unwrap(),
        None => rimms_radar::sar::Scene::new("64x128".parse::<Shape>().unwrap()).unwrap().echoes().unwrap(),
    };
    in_every_mode("sar", |rt, config| {
        let outcome = sar::run(rt, &echoes, config).unwrap();
        assert!(outcome.max_error.unwrap() < 1e-4, "{:?}", outcome.max_error);
        outcome
    });
}

#[test]
fn what_2fft_has_maintained_without_copies_is_what_changes_hands() {
    let (_folder, system) = system();
    let rt = runtime(&system, MemoryMode::ZeroCopy);
    let samples: Vec<_> = (0..1024).map(|i| rimms::Complex32::new(i as f32, -1.0)).collect();
    let placement = "fft=fft0,ifft=fft0".parse().unwrap();
    let outcome = two_fft::run(&rt, &samples, &Config { placement, ..Config::default() }).unwrap();
    assert!(outcome.max_error.unwrap() < 1e-3);
    let asked: Vec<_> =
        system.maintained().iter().map(|r| (r.next, r.direction, r.range.end - r.range.start)).collect();
    let all = 8 * 1024;
    let written_by_the_cpu = (Side::Device, ToDevice, all);
    let written_next_by_the_block = (Side::Device, FromDevice, all);
    let read_by_the_cpu = (Side::Cpu, FromDevice, all);
    assert_eq!(
        asked,
        [
            written_by_the_cpu,
            written_next_by_the_block,
            // The spectrum stays where it is.
            written_next_by_the_block,
            // The block leaves the division by n to the CPU.
            read_by_the_cpu,
            written_by_the_cpu,
            read_by_the_cpu,
        ]
    );
}
