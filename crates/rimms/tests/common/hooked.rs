//! A device whose operations are seen, and held up, by a test.

use rimms::device::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Operation, Span, Usage};
use rimms::op::Call;
use std::any::Any;
use std::fmt;

/// Wraps a device: `before` runs first in each operation.
pub(crate) struct Hooked<D, F> {
    inner: D,
    before: F,
    /// Its peers do not recognise it as one of theirs: bytes go through the host.
    is_foreign: bool,
}

impl<D: Device, F: Fn(Operation) + Send + Sync> Hooked<D, F> {
    pub(crate) fn new(inner: D, is_foreign: bool, before: F) -> Self {
        Self { inner, before, is_foreign }
    }
}

impl<D: fmt::Debug, F> fmt::Debug for Hooked<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hooked").field(&self.inner).finish()
    }
}

impl<D: Device + 'static, F: Fn(Operation) + Send + Sync + 'static> Device for Hooked<D, F> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        (self.before)(Operation::Allocate);
        self.inner.allocate(bytes)
    }
    fn footprint(&self, bytes: u64) -> u64 {
        self.inner.footprint(bytes)
    }
    fn free(&self, address: u64) -> Result<(), DeviceError> {
        (self.before)(Operation::Free);
        self.inner.free(address)
    }
    fn usage(&self) -> Usage {
        self.inner.usage()
    }
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        (self.before)(Operation::Upload);
        self.inner.upload(from, to)
    }
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        (self.before)(Operation::Download);
        self.inner.download(from, to)
    }
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        (self.before)(Operation::Copy);
        self.inner.copy_within(from, to)
    }
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        (self.before)(Operation::Copy);
        self.inner.copy_from(peer, from, to)
    }
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        (self.before)(Operation::Launch);
        self.inner.launch(unit, call, operands)
    }
    fn as_any(&self) -> &dyn Any {
        if self.is_foreign { self } else { self.inner.as_any() }
    }
}
