//! Devices: the contract that every backend keeps, and the backends.
//!
//! A [`Device`] owns one resource (a memory) and one or more units that execute
//! calls on it (each becomes a PE). It is driven from above and validates
//! nothing that is validated above:
//!
//! * **Who checks what.** Shapes, roles and types are checked by `op` before a
//!   call gets here; which unit can run it is decided from the declared
//!   [`Capability`]; addresses come from this device's own `allocate`, and
//!   spans stay inside their block (checked by `memory`). A device reports only
//!   what its caller cannot foresee: no room, a failed transfer, a failed
//!   kernel, a lost device. A device that can check more does (the simulated
//!   one does) and reports it.
//! * **What a failure leaves.** A failed `allocate` or `free` changes nothing.
//!   A failed transfer leaves its target undefined, its source untouched. A
//!   failed launch leaves Out and InOut operands undefined, In operands untouched;
//!   but one that is refused as [`Unsupported`](DeviceErrorKind::Unsupported), since a unit does not reach operands
//!   where they lie (tiles that share cache lines with others, say), has done nothing.
//! * **Fresh memory** holds no particular bytes; a simulated device poisons it.
//! * **Time.** A device may return from a launch, an upload or a copy when it
//!   is queued, as long as all that it is asked for afterwards comes after it.
//!   A download has arrived when it returns; it comes after what was asked for before in the block that it reads, and need not
//!   wait for the rest. A launch on operands in the host's
//!   memory is over, unless all of that is [lent](Device::lend) by this device or by a peer of the same backend, which then
//!   waits for it like for its own. A copy from a peer comes after what the
//!   peer was asked for before, and before what it is asked for later. [`finish`](Device::finish) waits for all,
//!   [`invalidate`](Device::invalidate) for what this device wrote there, and [`free`](Device::free) for what uses the block,
//!   on a peer too. What fails
//!   after its operation has returned is told by a later one, as
//!   [`Lost`](DeviceErrorKind::Lost): nobody can say any more what it left.
//! * **Threads.** Every method may be called from any thread at any time. The
//!   caller sees to it that no two of them write the same bytes at once, and
//!   holds none of the runtime's global locks meanwhile.
//!
//! One folder a backend, with the same file names in each: `mod.rs` (the type
//! and its construction), `memory.rs` (allocate and transfer), `launch.rs`
//! (execution). [`faulty`] wraps any device. [`conformance`] is the suite that
//! every backend passes. To add a device, add a folder; nothing else changes.

#[cfg(any(feature = "opencl", feature = "cuda"))]
mod cache;
mod capability;
pub mod conformance;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod faulty;
pub mod gated;
pub mod host;
#[cfg(any(feature = "opencl", feature = "cuda"))]
mod living;
#[cfg(feature = "opencl")]
pub mod opencl;
pub mod sim;
mod span;
mod staging;
#[cfg(unix)]
pub mod udma;

pub use capability::{Capability, Lengths, OpSupport};
pub use error::{DeviceError, DeviceErrorKind, Operation};
pub(crate) use host::launch::panic_message;
pub use span::{HostSource, HostTarget, Lent, Operand, Rows, Span};

use crate::op::{Call, Target};
use std::any::Any;
use std::fmt;

/// What a device is, fixed for its life.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    /// Its name, unique in a runtime: `acc0`.
    pub name: Box<str>,
    /// One line for people: `simulated accelerator, 64 MiB, two-level heap`.
    pub description: Box<str>,
    /// Which kernels of a user-defined op it runs.
    pub target: Target,
    /// Bytes of its memory; `None` where only the driver knows.
    pub capacity: Option<u64>,
    /// Does it work on the host's memory directly? Only such devices can run `zero-copy`.
    pub shares_host_memory: bool,
    /// The units that execute calls.
    pub units: Vec<UnitInfo>,
}

/// One unit of a device: what becomes a PE.
#[derive(Debug, Clone)]
pub struct UnitInfo {
    /// Its name, unique in a runtime: a kind and a number, `fft0`.
    pub name: Box<str>,
    /// What it can do. It is never given anything else.
    pub capability: Capability,
}

/// How a device's memory is used just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes in live blocks, rounding included.
    pub used: u64,
    /// Bytes free.
    pub free: u64,
    /// Bytes of the largest free block.
    pub largest_free: u64,
    /// Live blocks.
    pub blocks: u64,
    /// Bytes the marking system itself takes.
    pub metadata: u64,
}

/// A size for people.
#[cfg(any(feature = "opencl", feature = "cuda"))]
fn in_words(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}

/// What can never be exceeded, however empty the memory is.
///
/// ```
/// use rimms::device::{Device, sim::Sim};
/// let acc = Sim::acc("acc0", 1 << 20, Default::default()).unwrap();
/// assert_eq!(acc.limits().unwrap().block, 1 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all live blocks together.
    pub total: u64,
    /// Bytes of one.
    pub block: u64,
    /// Bytes of an operand in the host's own memory, from its first to its last.
    pub on_host: u64,
}

/// A device: see the [module](self) for the contract.
pub trait Device: Send + Sync + fmt::Debug {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// A block of `bytes` bytes, aligned for every element type the device knows.
    ///
    /// # Errors
    /// [`DeviceErrorKind::Full`], `Fragmented` or `NeverFits`, told apart.
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError>;

    /// What can never be exceeded: operands that would are refused before anything is done. `None` where nobody knows.
    fn limits(&self) -> Option<Limits> {
        self.info().capacity.map(|total| Limits { total, block: total, on_host: u64::MAX })
    }

    /// How many bytes of an empty memory a block of `bytes` bytes takes, with what rounding leaves unusable behind it.
    /// Operands whose footprints exceed the [limits](Self::limits) together are refused before anything is done.
    fn footprint(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Gives a block back.
    ///
    /// # Errors
    /// Where `address` is not the start of a live block.
    fn free(&self, address: u64) -> Result<(), DeviceError>;

    /// How full the memory is.
    fn usage(&self) -> Usage;

    /// Host → device.
    ///
    /// # Errors
    /// Where the transfer fails.
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError>;

    /// Device → host.
    ///
    /// # Errors
    /// Where the transfer fails.
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError>;

    /// From one place of this memory to another that does not overlap it.
    ///
    /// # Errors
    /// Where the transfer fails.
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError>;

    /// Directly from another device's memory.
    ///
    /// # Errors
    /// [`DeviceErrorKind::Unsupported`] where the two have no direct way: the caller then goes through the host.
    fn copy_from(&self, _peer: &dyn Device, _from: &Span, _to: &Span) -> Result<(), DeviceError> {
        Err(DeviceError::unsupported(self.info(), Operation::Copy))
    }

    /// Runs `call` on unit `unit`, or queues it.
    ///
    /// # Errors
    /// Where the device, or the kernel, fails.
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError>;

    /// Does a launch on blocks of this memory return when it is queued? Otherwise the runtime copies away what the next call has no
    /// room beside while this one runs, from another thread.
    fn queues_launches(&self) -> bool {
        false
    }

    /// Returns when all that was asked for before is over; at once where nothing is ever queued.
    ///
    /// # Errors
    /// Where something failed that has not been told of.
    fn finish(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Makes what the host wrote visible to the device: for devices that share memory but not caches.
    ///
    /// # Errors
    /// Where the device fails.
    fn flush(&self, _span: &Span) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Makes what the device wrote visible to the host: the other half of [`flush`](Self::flush). It is written when this
    /// returns.
    ///
    /// # Errors
    /// Where the device fails.
    fn invalidate(&self, _span: &Span) -> Result<(), DeviceError> {
        Ok(())
    }

    /// May the host work on blocks of this memory as on its own? Data of a runtime in mode `zero-copy` lie there then, and
    /// operands in such blocks are reached by the device. Asked once, when a runtime is built.
    fn lends_memory(&self) -> bool {
        false
    }

    /// From how many bytes of a datum on it costs less to work on it where the host has it than to copy it in and out: in
    /// [memory that a device lends](Self::lends_memory), this one perhaps, or in the host's own. `None` where it never does,
    /// or nobody knows: a runtime copies then, unless told otherwise. May measure when first asked.
    fn zero_copy_from(&self, _lender: Option<&dyn Device>) -> Option<u64> {
        None
    }

    /// The block at this address, for the host to work on until it is freed; `None` where that cannot be.
    fn lend(&self, _address: u64) -> Option<Lent> {
        None
    }

    /// The device itself, for a peer of the same backend that looks for a direct way. A wrapper gives what it wraps.
    fn as_any(&self) -> &dyn Any;
}
