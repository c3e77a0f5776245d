//! A device that waits for a sign: wraps any other, for tests of what happens while calls are in flight.

use super::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Lent, Limits, Operand, Span, Usage};
use crate::op::Call;
use parking_lot::{Condvar, Mutex};
use std::any::Any;
use std::sync::Arc;

/// Opens once, for all that wait and all that come. A cheap handle.
///
/// ```
/// let gate = rimms::device::gated::Gate::default();
/// assert_eq!(gate.waiting(), 0);
/// gate.open();
/// gate.pass(); // does not wait any more
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    waiting: usize,
}

impl Gate {
    /// Lets all pass from now on.
    pub fn open(&self) {
        self.0.0.lock().is_open = true;
        self.0.1.notify_all();
    }

    /// Returns once the gate is open.
    pub fn pass(&self) {
        let mut state = self.0.0.lock();
        state.waiting += 1;
        while !state.is_open {
            self.0.1.wait(&mut state);
        }
        state.waiting -= 1;
    }

    /// How many wait in front of it.
    pub fn waiting(&self) -> usize {
        self.0.0.lock().waiting
    }
}

/// Wraps a device whose launches wait for a [`Gate`].
///
/// ```
/// use rimms::device::{gated::{Gate, Gated}, sim::Sim};
/// use rimms::Runtime;
/// let gate = Gate::default();
/// let acc = Gated::new(Sim::acc("acc0", 1 << 20, Default::default())?, gate.clone());
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// let filled = rt.fill(1.0, &mut x)?; // accepted; the device does not run it yet
/// assert!(!rt.is_done(filled));
/// gate.open();
/// assert_eq!(x.read()?[0], 1.0);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug)]
pub struct Gated {
    inner: Arc<dyn Device>,
    gate: Gate,
}

impl Gated {
    /// `inner`, whose launches wait for `gate`.
    pub fn new(inner: impl Device + 'static, gate: Gate) -> Self {
        Self { inner: Arc::new(inner), gate }
    }
}

impl Device for Gated {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.inner.allocate(bytes)
    }

    fn limits(&self) -> Option<Limits> {
        self.inner.limits()
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.inner.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.inner.free(address)
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
        self.gate.pass();
        self.inner.launch(unit, call, operands)
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.inner.finish()
    }

    fn flush(&self, span: &Span) -> Result<(), DeviceError> {
        self.inner.flush(span)
    }

    fn invalidate(&self, span: &Span) -> Result<(), DeviceError> {
        self.inner.invalidate(span)
    }

    fn queues_launches(&self) -> bool {
        self.inner.queues_launches()
    }

    fn lends_memory(&self) -> bool {
        self.inner.lends_memory()
    }

    fn zero_copy_from(&self, lender: Option<&dyn Device>) -> Option<u64> {
        self.inner.zero_copy_from(lender)
    }

    fn lend(&self, address: u64) -> Option<Lent> {
        self.inner.lend(address)
    }

    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }
}
