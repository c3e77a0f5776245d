//! Accelerators in programmable logic that share the CPU's memory by DMA buffers: Zynq and its kind.
//!
//! A buffer lies in one piece of physical memory, which the CPU has mapped
//! ([`UdmaRoot`] opens it, or a [`DmaHeap`] allocates it: [`DmaBuffer`]). A [`Udma`] is the device: the buffer under a
//! marking system, whose addresses are the physical ones, and the
//! [accelerators](Accelerator) that work there, each a PE. An [AXI DMA with a block for
//! FFTs](axi) is one.
//!
//! * **Caches.** Where bytes change hands between CPU and accelerators, the ranges that moved are
//!   [maintained](Maintenance), in the direction in which they moved, and no others.
//! * **Lines.** What an accelerator writes shares no cache line with anything else, as the CPU might be
//!   writing that line back. Blocks begin and end so; a fragment that does not is refused, and the
//!   call done elsewhere, unless caches need no maintenance at all.
//! * **Zero-copy.** In that mode data lie in the buffer ([`Device::lend`]), and nothing is copied:
//!   flushing and invalidating is all that is done. What an accelerator is going to write is
//!   forgotten by the caches first, as the CPU may have written there before.
//! * **Failures.** An accelerator that fails, or is not done in time, is stopped, and used again. If it cannot be,
//!   it may write memory at any time: the device is lost then, with all that it holds.
//!
//! Who checks what: that operands lie in the buffer, and what an accelerator asks of their layout, is checked here.
//! [`imitation`] is a system in software to test all this on.

mod accelerator;
pub mod axi;
mod buffer;
mod dma_heap;
mod error;
pub mod imitation;
mod launch;
mod maintenance;
mod mapping;
mod memory;
mod registers;
mod root;

pub use accelerator::{Accelerator, AcceleratorError, PhysicalRange};
pub use buffer::DmaBuffer;
pub use dma_heap::{DmaHeap, HeapDriver};
pub use error::UdmaError;
pub use maintenance::{Direction, Maintenance, Side};
pub use registers::{MappedRegisters, Registers};
pub use root::{Caching, UdmaRoot};

use super::{
    Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Operand, Operation, Span, UnitInfo,
    Usage,
};
use crate::op::{Call, Target};
use memory::DmaMemory;
use parking_lot::Mutex;
use rimms_heap::HeapKind;
use std::any::Any;
use std::time::Duration;

/// How long one piece of a call may take, unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// A DMA buffer and the accelerators that work in it.
///
/// ```
/// use rimms::device::udma::imitation::System;
/// use rimms::{Complex32, Runtime};
/// # let folder = tempfile::tempdir().unwrap();
/// // A board would be `UdmaRoot::system().open("udmabuf0", …)` and `AxiFft` on `MappedRegisters`; here both are imitated.
/// let system = System::new(folder.path(), 1 << 20)?;
/// let device = system.device("two-level".parse()?)?;
/// let rt = Runtime::builder().cpus(1).device(device).build()?;
/// let (mut x, mut y) = (rt.alloc::<Complex32>(256)?, rt.alloc(256)?);
/// x.overwrite()?.fill(Complex32::ONE)?;
/// rt.on("fft0")?.fft(&x, &mut y)?;
/// assert_eq!(y.read()?[0], Complex32::new(256.0, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Udma {
    info: DeviceInfo,
    memory: DmaMemory,
    units: Vec<Mutex<Box<dyn Accelerator>>>,
    time_limit: Duration,
}

impl Udma {
    /// The buffer under a marking system, with the buffer's name, and no accelerators yet.
    ///
    /// # Errors
    /// A buffer that cannot be, or that is too small for the marking system.
    pub fn new(buffer: DmaBuffer, heap: HeapKind) -> Result<Self, UdmaError> {
        buffer.check()?;
        let (name, bytes) = (buffer.name().into(), buffer.bytes());
        let caches = if buffer.is_maintained() { "caches maintained" } else { "coherent or uncached" };
        let info = DeviceInfo {
            description: format!("DMA buffer, {} KiB at {:#x}, {caches}, {heap} heap", bytes >> 10, buffer.physical())
                .into(),
            target: Target::Dma,
            capacity: Some(bytes),
            shares_host_memory: true,
            units: Vec::new(),
            name,
        };
        let memory = DmaMemory::new(buffer, heap)?;
        Ok(Self { info, memory, units: Vec::new(), time_limit: TIME_LIMIT })
    }

    /// With this accelerator as the next unit, which becomes the PE of this name: a kind and a number, `fft0`.
    #[must_use]
    pub fn with(mut self, name: &str, accelerator: impl Accelerator + 'static) -> Self {
        self.info.units.push(UnitInfo { name: name.into(), capability: accelerator.capability() });
        self.units.push(Mutex::new(Box::new(accelerator)));
        self
    }

    /// Gives accelerators so long for one piece of a call; 1 s by default.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    fn fail(&self, operation: Operation, kind: DeviceErrorKind, message: impl Into<Box<str>>) -> DeviceError {
        DeviceError::new(&self.info, operation, kind, message)
    }
}

impl Device for Udma {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.memory.allocate(&self.info, bytes)
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.memory.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.memory.free(&self.info, address)
    }

    fn usage(&self) -> Usage {
        self.memory.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.memory.write(&self.info, from, to)
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.memory.read(&self.info, from, to)
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.memory.copy(&self.info, from, to)
    }

    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        launch::run(self, unit, call, operands)
    }

    fn flush(&self, span: &Span) -> Result<(), DeviceError> {
        self.memory.maintain_lent(&self.info, span, Side::Device, Direction::ToDevice)
    }

    fn invalidate(&self, span: &Span) -> Result<(), DeviceError> {
        self.memory.maintain_lent(&self.info, span, Side::Cpu, Direction::FromDevice)
    }

    fn lends_memory(&self) -> bool {
        true
    }

    fn lend(&self, address: u64) -> Option<Lent> {
        self.memory.lend(address)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
