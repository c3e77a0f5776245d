//! A device that fails on command: wraps any other, for tests of what happens then.
//!
//! Every operation is counted, from 0. The plan names operations by number and
//! says what goes wrong with each; all others pass through. A device that is lost
//! stays lost: from that operation on it does nothing more.

mod plan;

pub use plan::{Fault, Plan};

use super::{
    Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Limits, Operand, Operation, Rows,
    Span, Usage,
};
use crate::op::Call;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Wraps a device and makes chosen operations fail, come late, or stop half-way.
///
/// ```
/// use rimms::device::{faulty::{Fault, Faulty, Plan}, sim::Sim};
/// use rimms::{Complex32, Runtime};
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let acc = Faulty::new(acc, Plan::nth(1, Fault::Fail));    // 0 is the allocation, 1 the copy in
/// let rt = Runtime::builder().cpus(0).device(acc).build()?.blocking();
/// let mut x = rt.alloc::<Complex32>(64)?;
/// x.overwrite()?.fill(Complex32::ONE)?;
/// let error = rt.fft_in_place(&mut x).unwrap_err();
/// assert!(error.to_string().contains("copy host to device failed on acc0"), "{error}");
/// assert_eq!(x.read()?[0], Complex32::ONE);                 // the input is intact
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Device>,
    plan: Plan,
    done: AtomicU64,
    lost: AtomicBool,
}

impl Faulty {
    /// `inner`, with the faults of `plan`.
    pub fn new(inner: impl Device + 'static, plan: Plan) -> Self {
        Self { inner: Arc::new(inner), plan, done: AtomicU64::new(0), lost: AtomicBool::new(false) }
    }

    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Counts an operation and lets it pass, late or not at all. `cut` does half of it.
    fn pass<T>(
        &self,
        operation: Operation,
        whole: impl FnOnce() -> Result<T, DeviceError>,
        cut: impl FnOnce(),
    ) -> Result<T, DeviceError> {
        let n = self.done.fetch_add(1, Relaxed);
        let fail_as = |kind, how: &str| {
            let message = format!("operation {n} {how}, as planned");
            Err(DeviceError::new(self.inner.info(), operation, kind, message))
        };
        let fail = |how| fail_as(DeviceErrorKind::Failed, how);
        let fault = self.plan.fault(n);
        if fault == Some(Fault::Lose) {
            self.lost.store(true, Relaxed);
        }
        if self.lost.load(Relaxed) {
            return fail_as(DeviceErrorKind::Lost, "found no device");
        }
        match fault {
            None => whole(),
            Some(Fault::Delay(time)) => {
                std::thread::sleep(time);
                whole()
            }
            // Handled above; nothing else is lost.
            Some(Fault::Fail | Fault::Lose) => fail("failed"),
            Some(Fault::CutOff) => {
                cut();
                fail("was cut off")
            }
        }
    }
}

/// The first half of a region's rows, or of its only row.
fn half(span: &Span) -> Span {
    let r = span.rows;
    let rows = if r.rows > 1 { Rows { rows: r.rows / 2, ..r } } else { Rows::run(r.row_bytes / 2) };
    Span { rows, ..*span }
}

impl Device for Faulty {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.pass(Operation::Allocate, || self.inner.allocate(bytes), || {})
    }

    fn limits(&self) -> Option<Limits> {
        self.inner.limits()
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.inner.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.pass(Operation::Free, || self.inner.free(address), || {})
    }

    fn usage(&self) -> Usage {
        self.inner.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        let cut = || {
            let to = half(to);
            let part = from.first(to.rows);
            // Half a transfer may itself fail; it is reported as failed either way.
            let _ = self.inner.upload(&part, &to);
        };
        self.pass(Operation::Upload, || self.inner.upload(from, to), cut)
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        let n = self.done.load(Relaxed);
        if self.plan.fault(n) == Some(Fault::CutOff) && !self.lost.load(Relaxed) {
            // What a failed transfer leaves is undefined: the rest is made to show it.
            for i in 0..to.rows().rows {
                to.row(i).fill(0xee);
            }
            let from = half(from);
            let _ = self.inner.download(&from, &mut to.first(from.rows));
        }
        self.pass(Operation::Download, || self.inner.download(from, to), || {})
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        let cut = || drop(self.inner.copy_within(&half(from), &half(to)));
        self.pass(Operation::Copy, || self.inner.copy_within(from, to), cut)
    }

    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        let cut = || drop(self.inner.copy_from(peer, &half(from), &half(to)));
        self.pass(Operation::Copy, || self.inner.copy_from(peer, from, to), cut)
    }

    /// Cut off, a launch has done its work but reports failure: the outputs are there, and must not be believed.
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        let cut = || drop(self.inner.launch(unit, call, operands));
        self.pass(Operation::Launch, || self.inner.launch(unit, call, operands), cut)
    }

    /// Not counted: how often it is asked for depends on who waits.
    fn finish(&self) -> Result<(), DeviceError> {
        self.inner.finish()
    }

    fn flush(&self, span: &Span) -> Result<(), DeviceError> {
        self.pass(Operation::Maintain, || self.inner.flush(span), || {})
    }

    fn invalidate(&self, span: &Span) -> Result<(), DeviceError> {
        self.pass(Operation::Maintain, || self.inner.invalidate(span), || {})
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
