//! Host storage of one datum: from the system allocator, aligned to 64 bytes by hand.
//!
//! By hand, because an aligned allocation costs the system allocator several
//! times a plain one. NUMA placement and protection are the system's business.
#![allow(unsafe_code)]

use crate::error::{Error, Result};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// What host storage is aligned to: a cache line, and enough for every vector unit.
pub(crate) const HOST_ALIGN: usize = 64;

/// Bytes on the host whose contents are unspecified until somebody writes them.
#[derive(Debug)]
pub(crate) struct HostBuffer {
    start: NonNull<u8>,
    raw: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is the sole owner of plain memory; who may touch which bytes when is decided above.
unsafe impl Send for HostBuffer {}
// SAFETY: as above; it hands out no references, only the address.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// # Errors
    /// Where the system refuses, or the size is absurd.
    #[inline]
    pub(crate) fn new(bytes: usize, align: usize) -> Result<Self> {
        let align = align.max(HOST_ALIGN);
        let padded = bytes.checked_add(align - 1).ok_or(Error::HostMemory { bytes })?;
        let layout = Layout::from_size_align(padded.max(1), 1).map_err(|_| Error::HostMemory { bytes })?;
        // SAFETY: the layout has a size above 0.
        let raw = NonNull::new(unsafe { alloc(layout) }).ok_or(Error::HostMemory { bytes })?;
        let gap = raw.as_ptr().align_offset(align);
        // SAFETY: gap < align, and align − 1 bytes more than asked for were allocated.
        let start = unsafe { raw.add(gap) };
        freeze(start);
        // Kernels get addresses as numbers.
        let _ = start.as_ptr().expose_provenance();
        Ok(Self { start, raw, layout })
    }

    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for HostBuffer {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.raw.as_ptr(), self.layout) }
    }
}

/// Makes the bytes behind `start` arbitrary but fixed, where fresh memory is
/// formally undefined: an op's Out operand may then be lent to a kernel as a
/// plain slice. Costs nothing.
#[inline]
fn freeze(start: NonNull<u8>) {
    // SAFETY: the assembly is empty. To the compiler it is opaque and may have
    // written all memory reachable from the pointer, so from here on it must
    // treat every byte as having been given some value.
    unsafe { std::arch::asm!("/* {0} */", in(reg) start.as_ptr(), options(nostack, preserves_flags)) }
}
