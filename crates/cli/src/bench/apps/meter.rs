//! How long a simulated accelerator takes for its heap.
//!
//! Blocks on a device are allocated when they are first needed there, which is in the middle of a Computation. The paper
//! counts them as `hete_Malloc`. So two clocks are needed: one around the marking system, which is what is of interest,
//! and one around all that the simulation does with a fresh block (it fills it with NaN), which no real device does, and
//! which is counted nowhere.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rimms::device::sim::{MarkingSystem, Sim};
use rimms::device::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Span, Usage};
use rimms::op::Call;
use rimms_heap::{HeapError, HeapReport};

/// Times of allocations and frees, since the last look.
#[derive(Debug, Default)]
pub(super) struct Meter {
    allocate: Timer,
    free: Timer,
    mark: Timer,
    clear: Timer,
}

/// What a meter says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// In the device's `allocate` and `free`, all in all.
    pub(super) allocate: Duration,
    pub(super) free: Duration,
    /// Of that, in the marking system.
    pub(super) mark: Duration,
    pub(super) clear: Duration,
}

impl Meter {
    /// Reads the meter, which goes back to zero.
    pub(super) fn take(&self) -> Reading {
        let [allocate, free, mark, clear] = [&self.allocate, &self.free, &self.mark, &self.clear].map(Timer::take);
        Reading { allocate, free, mark, clear }
    }

    /// An accelerator with this meter.
    pub(super) fn of(self: &Arc<Self>, sim: Sim) -> Metered {
        let heap = self.clone();
        Metered { inner: sim.wrapping_heap(|inner| Box::new(MeteredHeap { inner, meter: heap })), meter: self.clone() }
    }
}

#[derive(Debug, Default)]
struct Timer {
    ns: AtomicU64,
}

impl Timer {
    fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let spent = start.elapsed().saturating_sub(clock());
        self.ns.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        done
    }

    fn take(&self) -> Duration {
        Duration::from_nanos(self.ns.swap(0, Relaxed))
    }
}

/// What looking at the clock takes of an interval: much of it where a marking system takes 20 ns.
fn clock() -> Duration {
    static COST: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *COST.get_or_init(|| {
        let mut empty: Vec<Duration> = (0..1001).map(|_| Instant::now().elapsed()).collect();
        empty.sort_unstable();
        empty.get(500).copied().unwrap_or_default()
    })
}

/// A marking system under the meter.
#[derive(Debug)]
struct MeteredHeap {
    inner: Box<dyn MarkingSystem>,
    meter: Arc<Meter>,
}

impl MarkingSystem for MeteredHeap {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, HeapError> {
        let Self { inner, meter } = self;
        meter.mark.time(|| inner.allocate(bytes, align))
    }

    fn free(&mut self, address: u64) -> Result<u64, HeapError> {
        let Self { inner, meter } = self;
        meter.clear.time(|| inner.free(address))
    }

    fn report(&self) -> HeapReport {
        self.inner.report()
    }

    fn size_of(&self, address: u64) -> Option<u64> {
        self.inner.size_of(address)
    }
}

/// A simulated accelerator under the meter.
#[derive(Debug)]
pub(super) struct Metered {
    inner: Sim,
    meter: Arc<Meter>,
}

impl Device for Metered {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.meter.allocate.time(|| self.inner.allocate(bytes))
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.inner.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.meter.free.time(|| self.inner.free(address))
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.inner.upload(from, to)
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.inner.download(from, to)
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.inner.copy_within(from, to)
    }

    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.inner.copy_from(peer, from, to)
    }

    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.inner.launch(unit, call, operands)
    }

    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
