//! Memory that a device file gives: mapped, and reached by offset.
//!
//! Owns the mapping. Each access is checked to lie inside it; who reads and writes what at the same time is its users'
//! business ([`memory`](super::memory) keeps what conflicts apart, registers are volatile words).
#![allow(unsafe_code)]

use super::UdmaError;
use super::memory::LINE;
use crate::device::Lent;
use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::path::Path;
use std::ptr::{self, NonNull};

#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain shared memory, or registers, reached by address only.
unsafe impl Send for Mapping {}
// SAFETY: as above; the users of one byte are kept apart by those of this type (see the module).
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The first `bytes` bytes of a file from `offset` on.
    pub(super) fn new(path: &Path, file: impl AsFd, offset: u64, bytes: usize) -> Result<Self, UdmaError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at a place of the system's choice.
        let mapped = unsafe { mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, offset) };
        let start = mapped.map_err(|e| UdmaError::io("map", path, e.into()))?;
        let _ = start.expose_provenance();
        let start = NonNull::new(start.cast()).ok_or_else(|| UdmaError::odd(path, "it was mapped at address 0"))?;
        Ok(Self { start, bytes })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where its first byte is, as an address with exposed provenance.
    pub(super) fn address(&self) -> usize {
        self.start.as_ptr().addr()
    }

    fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        // SAFETY: inside the mapping.
        inside.then(|| unsafe { self.start.as_ptr().add(offset) })
    }

    /// Fills `into` from there; false, and nothing is done, where that is not all inside.
    #[must_use]
    pub(super) fn load(&self, offset: usize, into: &mut [u8]) -> bool {
        let Some(at) = self.at(offset, into.len()) else { return false };
        // SAFETY: inside the mapping; `into` is the caller's own memory.
        unsafe { ptr::copy_nonoverlapping(at, into.as_mut_ptr(), into.len()) };
        true
    }

    /// The other way.
    #[must_use]
    pub(super) fn store(&self, offset: usize, from: &[u8]) -> bool {
        let Some(at) = self.at(offset, from.len()) else { return false };
        // SAFETY: inside the mapping; `from` is the caller's own memory.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), at, from.len()) };
        true
    }

    /// From one place to another.
    #[must_use]
    pub(super) fn copy(&self, from: usize, to: usize, bytes: usize) -> bool {
        let (Some(from), Some(to)) = (self.at(from, bytes), self.at(to, bytes)) else { return false };
        // SAFETY: both inside the mapping; they may overlap.
        unsafe { ptr::copy(from, to, bytes) };
        true
    }

    /// What begins at `offset`, a live block's place, for the host to work on.
    pub(super) fn lend(&self, offset: usize) -> Option<Lent> {
        let start = NonNull::new(self.at(offset, 0)?)?;
        // SAFETY: mapped, and so initialised, as long as the device is there, which has the buffer; blocks begin on cache
        // lines (`memory`). Its provenance is exposed since `new`.
        start.addr().get().is_multiple_of(LINE).then(|| unsafe { Lent::new(start) })
    }

    /// The register at `offset`.
    pub(super) fn read_register(&self, offset: usize) -> Option<u32> {
        let at = self.at(offset, 4)?.cast::<u32>();
        // SAFETY: inside the mapping, and aligned.
        at.is_aligned().then(|| unsafe { at.read_volatile() })
    }

    /// Writes the register at `offset`.
    #[must_use]
    pub(super) fn write_register(&self, offset: usize, value: u32) -> bool {
        let Some(at) = self.at(offset, 4).map(<*mut u8>::cast::<u32>).filter(|at| at.is_aligned()) else {
            return false;
        };
        // SAFETY: inside the mapping, and aligned.
        unsafe { at.write_volatile(value) };
        true
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nobody has its addresses any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
