//! Registers of a block in programmable logic: 32-bit words at byte offsets.

use super::UdmaError;
use super::mapping::Mapping;
use rustix::fs::{Mode, OFlags, open};
use std::fmt;
use std::path::Path;

/// A block's registers.
///
/// ```
/// use rimms::device::udma::Registers;
/// use std::sync::Mutex;
/// #[derive(Debug, Default)]
/// struct Words(Mutex<[u32; 4]>); // for a test, say
/// impl Registers for Words {
///     fn read(&self, offset: usize) -> u32 {
///         self.0.lock().unwrap()[offset / 4]
///     }
///     fn write(&self, offset: usize, value: u32) {
///         self.0.lock().unwrap()[offset / 4] = value;
///     }
/// }
/// let words = Words::default();
/// words.write(8, 42);
/// assert_eq!(words.read(8), 42);
/// ```
pub trait Registers: Send + Sync + fmt::Debug {
    /// The register at `offset`, a multiple of 4.
    fn read(&self, offset: usize) -> u32;

    /// Writes the register at `offset`.
    fn write(&self, offset: usize, value: u32);
}

impl<R: Registers + ?Sized> Registers for std::sync::Arc<R> {
    fn read(&self, offset: usize) -> u32 {
        (**self).read(offset)
    }

    fn write(&self, offset: usize, value: u32) {
        (**self).write(offset, value);
    }
}

/// Registers that are mapped from a device file: `/dev/uioN` (from 0 on), or `/dev/mem` at their physical address.
///
/// What lies beyond the mapped bytes reads as all ones, as on a bus that nobody answers on, and writes there are lost.
///
/// ```no_run
/// use rimms::device::udma::{MappedRegisters, axi::AxiFft};
/// let dma = MappedRegisters::open("/dev/uio0", 0, 0x1000)?;
/// let control = MappedRegisters::open("/dev/uio1", 0, 0x1000)?;
/// let fft = AxiFft::new(dma, control);
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug)]
pub struct MappedRegisters(Mapping);

impl MappedRegisters {
    /// Maps `bytes` bytes of the file from `offset` on, which is a multiple of the system's page size.
    ///
    /// # Errors
    /// [`UdmaError::Io`]: no such file, no right to use it, an offset or size that it does not have.
    pub fn open(path: impl AsRef<Path>, offset: u64, bytes: usize) -> Result<Self, UdmaError> {
        let path = path.as_ref();
        let flags = OFlags::RDWR | OFlags::SYNC | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty()).map_err(|e| UdmaError::io("open", path, e.into()))?;
        Mapping::new(path, file, offset, bytes).map(Self)
    }
}

impl Registers for MappedRegisters {
    fn read(&self, offset: usize) -> u32 {
        self.0.read_register(offset).unwrap_or(u32::MAX)
    }

    fn write(&self, offset: usize, value: u32) {
        let _inside = self.0.write_register(offset, value);
    }
}
