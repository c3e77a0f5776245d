//! Applications on a device that has room for little more than their largest call.
#![allow(clippy::unwrap_used)]

mod common;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rimms::device::sim::{ACC_MEMORY, HeapKind, Sim};
use rimms::device::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Span, Usage};
use rimms::op::Call;
use rimms::{MemoryMode, Runtime};
use rimms_radar::apps::{Alloc, Config, Style, pulse_doppler, sar};
use rimms_radar::sar::Scene as SarScene;
use rimms_radar::scene::Scene;

/// A simulated device that notes the most bytes that the operands of one call had.
#[derive(Debug)]
struct Noting {
    sim: Sim,
    largest: AtomicU64,
}

impl Device for Noting {
    fn info(&self) -> &DeviceInfo {
        self.sim.info()
    }
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.sim.allocate(bytes)
    }
    fn footprint(&self, bytes: u64) -> u64 {
        self.sim.footprint(bytes)
    }
    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.sim.free(address)
    }
    fn usage(&self) -> Usage {
        self.sim.usage()
    }
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.sim.upload(from, to)
    }
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.sim.download(from, to)
    }
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.sim.copy_within(from, to)
    }
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        let bytes: usize = operands.iter().map(|o| o.span().rows.bytes()).sum();
        self.largest.fetch_max(bytes as u64, Relaxed);
        self.sim.launch(unit, call, operands)
    }
    fn as_any(&self) -> &dyn Any {
        self.sim.as_any()
    }
}

/// Runs an application on a device with so much memory: the largest call, and the blocks that were evicted.
fn run(memory: u64, heap: HeapKind, mode: MemoryMode, app: &dyn Fn(&Runtime) -> u64) -> (u64, u64) {
    let sim = Sim::acc("acc0", memory, heap).unwrap();
    let acc = Arc::new(Noting { sim, largest: AtomicU64::new(0) });
    let rt = Runtime::builder().cpus(0).shared_device(acc.clone()).memory_mode(mode).build().unwrap();
    let evictions = app(&rt);
    (acc.largest.load(Relaxed), evictions)
}

/// With room for a tenth more than the largest call needs, `app`, which checks its answer and says what was evicted,
/// is right on every heap and in every mode.
fn gets_by_with_a_tenth_more(what: &str, app: &dyn Fn(&Runtime) -> u64) {
    let (largest, evictions) = run(ACC_MEMORY, HeapKind::TwoLevel, MemoryMode::ValidSet, app);
    assert_eq!(evictions, 0, "{what}: there was room for all");
    for heap in [HeapKind::Bitset { block: 64 }, HeapKind::NextFit, HeapKind::TwoLevel] {
        for mode in common::MODES {
            let (_, evictions) = run(largest + largest / 10, heap, mode, app);
            assert!(evictions > 0, "{what}, {heap}, {mode}: it was not tight");
        }
    }
}

/// The ways to write and to allocate that there are.
const WAYS: [(Style, Alloc); 3] =
    [(Style::Paper, Alloc::Each), (Style::Paper, Alloc::Fragment), (Style::Best, Alloc::Fragment)];

#[test]
fn pulse_doppler_finds_its_target() {
    let scene = Scene::default();
    let (recording, truth) = (scene.recording().unwrap(), scene.truth().detection);
    for (style, alloc) in WAYS {
        let config = Config { style, alloc, ..Config::default() };
        gets_by_with_a_tenth_more(&format!("{config:?}"), &|rt| {
            let outcome = pulse_doppler::run(rt, &recording, &config).unwrap();
            assert_eq!((outcome.result.peak_row, outcome.result.peak_col), (truth.peak_row, truth.peak_col));
            outcome.evictions
        });
    }
}

#[test]
fn sar_makes_its_image() {
    let echoes = SarScene::new("48x40".parse().unwrap()).unwrap().echoes().unwrap();
    for (style, alloc) in WAYS {
        let config = Config { style, alloc, ..Config::default() };
        gets_by_with_a_tenth_more(&format!("{config:?}"), &|rt| {
            let outcome = sar::run(rt, &echoes, &config).unwrap();
            assert!(outcome.max_error.unwrap() < 1e-5, "{:?}", outcome.max_error);
            outcome.evictions
        });
    }
}
