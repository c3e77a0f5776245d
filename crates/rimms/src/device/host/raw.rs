//! The host's memory by address: the one place of this backend that is unsafe.
//!
//! Two kinds of address come here: of blocks that `memory` has checked to be
//! live (and keeps locked meanwhile), and of operands, for which the maker of
//! each [`Operand`] in host memory vouches.
#![allow(unsafe_code)]

use crate::device::Operand;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::{self, NonNull};

/// What blocks are aligned to: a cache line, and enough for every vector unit.
const ALIGN: usize = 64;

/// A zeroed block, aligned to a cache line.
#[derive(Debug)]
pub(super) struct RawBlock {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the sole owner of plain memory, which is reached by address only.
unsafe impl Send for RawBlock {}

impl RawBlock {
    /// `None` where the system has no room.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout has a size above 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { start, layout })
    }

    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for RawBlock {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// Copies into a block. `memory` has checked that all of the target lies in a live one.
pub(super) fn write(to: u64, from: &[u8]) {
    // SAFETY: checked as said; a block never overlaps memory that the caller borrows.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), pointer(to), from.len()) }
}

/// Copies out of a block, checked as for `write`.
pub(super) fn read(from: u64, to: &mut [u8]) {
    // SAFETY: as for `write`.
    unsafe { ptr::copy_nonoverlapping(pointer(from), to.as_mut_ptr(), to.len()) }
}

/// Copies between blocks, checked as for `write`.
pub(super) fn copy(from: u64, to: u64, bytes: usize) {
    // SAFETY: as for `write`; `copy` allows overlap.
    unsafe { ptr::copy(pointer(from), pointer(to), bytes) }
}

/// An operand's bytes from its first to the end of its last row.
#[inline]
pub(super) fn extent<'a>(operand: &'a Operand<'_>) -> &'a [u8] {
    let span = operand.span();
    // SAFETY: the operand's maker vouches for initialised memory that nobody writes during the launch.
    // Gaps between rows may be written by others, so this is only called for operands without any.
    unsafe { std::slice::from_raw_parts(pointer(span.address), span.rows.bytes()) }
}

/// The same for an operand that is written.
#[inline]
#[allow(clippy::mut_from_ref)] // the operand is a name for memory that its maker gives up for the launch
pub(super) fn extent_mut<'a>(operand: &'a Operand<'_>) -> &'a mut [u8] {
    let span = operand.span();
    // SAFETY: as above; an Out or InOut operand is nobody else's during the launch, and is lent out once (`launch`).
    unsafe { std::slice::from_raw_parts_mut(pointer(span.address), span.rows.bytes()) }
}

/// Row `i` of an operand.
pub(super) fn row<'a>(operand: &'a Operand<'_>, i: usize) -> &'a [u8] {
    let span = operand.span();
    debug_assert!(i < span.rows.rows);
    // SAFETY: as for `extent`: a row has no gaps.
    unsafe { std::slice::from_raw_parts(pointer(span.row(i)), span.rows.row_bytes) }
}

/// Row `i` of an operand that is written.
#[allow(clippy::mut_from_ref)] // as for `extent_mut`
pub(super) fn row_mut<'a>(operand: &'a Operand<'_>, i: usize) -> &'a mut [u8] {
    let span = operand.span();
    debug_assert!(i < span.rows.rows);
    // SAFETY: as for `extent_mut`; one row at a time.
    unsafe { std::slice::from_raw_parts_mut(pointer(span.row(i)), span.rows.row_bytes) }
}
