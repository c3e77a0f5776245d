//! Applications on a device that has room for little more than their largest call.
#![allow(clippy::unwrap_used)]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rimms::device::sim::{ACC_MEMORY, HeapKind, Sim};
use rimms::device::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Span, Usage};
use rimms::op::Call;
use rimms::{MemoryMode, Runtime};
use rimms_radar::apps::{Alloc, Conj, Style, pulse_doppler};
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

/// The largest call, and the blocks that were evicted.
fn run(memory: u64, heap: HeapKind, mode: MemoryMode, config: &pulse_doppler::Config) -> (u64, u64) {
    let sim = Sim::acc("acc0", memory, heap).unwrap();
    let acc = Arc::new(Noting { sim, largest: AtomicU64::new(0) });
    let rt = Runtime::builder().cpus(0).shared_device(acc.clone()).memory_mode(mode).build().unwrap();
    let scene = Scene::default();
    let outcome = pulse_doppler::run(&rt, &scene.recording().unwrap(), config).unwrap();
    let (found, truth) = (outcome.result, scene.truth().detection);
    assert_eq!((found.peak_row, found.peak_col), (truth.peak_row, truth.peak_col), "{mode}, {heap}, {memory} bytes");
    (acc.largest.load(Relaxed), outcome.evictions)
}

#[test]
fn pulse_doppler_finds_its_target_with_a_tenth_more_than_the_largest_call_needs() {
    for style in [Style::Paper, Style::Best] {
        for alloc in [Alloc::Each, Alloc::Fragment] {
            let config = pulse_doppler::Config { style, conj: Conj::Device, alloc, ..Default::default() };
            let (largest, evictions) = run(ACC_MEMORY, HeapKind::TwoLevel, MemoryMode::ValidSet, &config);
            assert_eq!(evictions, 0, "there was room for all");
            for heap in [HeapKind::Bitset { block: 64 }, HeapKind::NextFit, HeapKind::TwoLevel] {
                for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
                    let (_, evictions) = run(largest + largest / 10, heap, mode, &config);
                    assert!(evictions > 0, "{style}, {alloc}, {heap}, {mode}: it was not tight");
                }
            }
        }
    }
}
