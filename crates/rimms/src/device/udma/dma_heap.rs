//! Linux dma-heaps: memory that the kernel allocates to be shared with devices, each buffer a file of its own.
//!
//! A heap tells no physical address: whoever has the buffer attached does, the driver of the accelerator mostly; of a heap
//! over reserved memory, the device tree.
//!
//! Nor can its caches be maintained by range: the kernel's request (`DMA_BUF_IOCTL_SYNC`) is for a whole buffer, and what
//! the CPU has just written elsewhere in it would be thrown away with the rest. So a buffer from a heap is for
//! accelerators that see the CPU's caches (a coherent port), or from a heap that has none in between (an uncached one);
//! or its user has a way to [maintain](DmaBuffer::maintained) ranges.
#![allow(unsafe_code)]

use super::mapping::Mapping;
use super::root::plain_name;
use super::{DmaBuffer, UdmaError, UdmaRoot};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Updater, ioctl, opcode};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Where the heaps are.
const FOLDER: &str = "dev/dma_heap";

/// Allocates from an open heap: the kernel, unless a test has another.
///
/// ```
/// use rimms::device::udma::HeapDriver;
/// use std::{io, os::fd::{BorrowedFd, OwnedFd}};
/// #[derive(Debug)]
/// struct Full;
/// impl HeapDriver for Full {
///     fn allocate(&self, _heap: BorrowedFd<'_>, _bytes: usize) -> io::Result<OwnedFd> {
///         Err(io::ErrorKind::OutOfMemory.into())
///     }
/// }
/// ```
pub trait HeapDriver: Send + Sync + fmt::Debug {
    /// A buffer of so many bytes.
    ///
    /// # Errors
    /// Where there is no more.
    fn allocate(&self, heap: BorrowedFd<'_>, bytes: usize) -> io::Result<OwnedFd>;
}

/// A dma-heap.
///
/// ```no_run
/// use rimms::device::udma::{Udma, UdmaRoot};
/// # fn where_it_lies(_: std::os::fd::BorrowedFd<'_>) -> std::io::Result<u64> { Ok(0x7000_0000) }
/// let heap = UdmaRoot::system().open_heap("reserved")?;
/// // Where the buffer lies says the accelerator's driver, which it is attached to.
/// let buffer = heap.allocate(16 << 20, where_it_lies)?;
/// let device = Udma::new(buffer, "two-level".parse()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DmaHeap {
    name: Box<str>,
    path: PathBuf,
    file: OwnedFd,
    driver: Box<dyn HeapDriver>,
}

impl UdmaRoot {
    /// Names of the dma-heaps there are, in order.
    pub fn heaps(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(FOLDER)).into_iter().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Opens a dma-heap.
    ///
    /// # Errors
    /// [`UdmaError`]: no such heap; a file that cannot be opened, mostly for want of rights.
    pub fn open_heap(&self, name: &str) -> Result<DmaHeap, UdmaError> {
        let path = self.path(FOLDER).join(name);
        if !plain_name(name) || !path.exists() {
            return Err(UdmaError::NoSuchHeap { name: name.into(), known: self.heaps().join(", ").into() });
        }
        let file = open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let file = file.map_err(|e| UdmaError::io("open", &path, e.into()))?;
        Ok(DmaHeap { name: name.into(), path, file, driver: Box::new(Kernel) })
    }
}

impl DmaHeap {
    /// The same, with allocations made so.
    #[must_use]
    pub fn with_driver(self, driver: impl HeapDriver + 'static) -> Self {
        Self { driver: Box::new(driver), ..self }
    }

    /// A buffer of so many bytes, rounded up to whole pages by the kernel, mapped for the CPU. `physical` says where it begins for
    /// devices. Its caches are not maintained (see the module).
    ///
    /// # Errors
    /// [`UdmaError`]: the heap is empty, the buffer cannot be mapped, nobody knows where it lies.
    pub fn allocate(
        &self,
        bytes: usize,
        physical: impl FnOnce(BorrowedFd<'_>) -> io::Result<u64>,
    ) -> Result<DmaBuffer, UdmaError> {
        if bytes == 0 {
            return Err(UdmaError::odd(&self.path, "a buffer of 0 bytes was asked for"));
        }
        let buffer = self.driver.allocate(self.file.as_fd(), bytes);
        let buffer = buffer.map_err(|e| UdmaError::io("allocate from", &self.path, e))?;
        let physical = physical(buffer.as_fd()).map_err(|e| UdmaError::io("find a buffer of", &self.path, e))?;
        // The mapping keeps the buffer, and with it the memory.
        let mapping = Mapping::new(&self.path, &buffer, 0, bytes)?;
        Ok(DmaBuffer::new(&self.name, mapping, physical))
    }
}

/// The kernel's allocation.
#[derive(Debug)]
struct Kernel;

/// What it is asked with: `struct dma_heap_allocation_data`.
#[repr(C)]
struct Allocation {
    len: u64,
    fd: u32,
    fd_flags: u32,
    heap_flags: u64,
}

const ALLOCATE: rustix::ioctl::Opcode = opcode::read_write::<Allocation>(b'H', 0);

impl HeapDriver for Kernel {
    fn allocate(&self, heap: BorrowedFd<'_>, bytes: usize) -> io::Result<OwnedFd> {
        let fd_flags = (OFlags::RDWR | OFlags::CLOEXEC).bits();
        let mut asked = Allocation { len: bytes as u64, fd: 0, fd_flags, heap_flags: 0 };
        // SAFETY: the request's number is made of this type, which is laid out as the kernel has it; whoever is no heap
        // refuses it.
        unsafe { ioctl(heap, Updater::<ALLOCATE, Allocation>::new(&mut asked))? };
        let fd = i32::try_from(asked.fd).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        // SAFETY: given to us just now, and to nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_the_kernels() {
        // linux/dma-heap.h: _IOWR('H', 0x0, struct dma_heap_allocation_data), which has 24 bytes.
        assert_eq!((size_of::<Allocation>(), ALLOCATE), (24, 0xc018_4800));
    }
}
