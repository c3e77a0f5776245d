//! Memory that the host and a device reach at any time, at the same addresses: fine-grain shared virtual memory
//! (OpenCL 2.0; optional since 3.0).
//!
//! Owns [`Svm`]. To the rest it is a buffer like any other, made [over](Svm::buffer) it, whose storage the memory is.
#![allow(unsafe_code)]

use super::raw::{Buffer, Code, Context, Result};
use cl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE;
use cl3::memory::{self, CL_MEM_READ_WRITE, CL_MEM_SVM_FINE_GRAIN_BUFFER};
use std::ptr::NonNull;
use std::sync::Arc;

/// The largest type of OpenCL C, and so the alignment of everything.
pub(super) const ALIGN: u32 = 128;

/// A piece of such memory. Whoever drops it has waited for the commands that use it.
#[derive(Debug)]
pub(super) struct Svm {
    start: NonNull<u8>,
    bytes: usize,
    context: Arc<Context>,
}

// SAFETY: the sole owner of the memory.
unsafe impl Send for Svm {}
// SAFETY: what reaches the memory itself says what it asks for.
unsafe impl Sync for Svm {}

impl Svm {
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
        // SAFETY: the flags are those of such memory.
        let start = unsafe { memory::svm_alloc(context.raw(), flags, bytes, ALIGN) };
        let start = start.ok().and_then(|start| NonNull::new(start.cast()));
        // The driver says no more than that there is none.
        let start = start.ok_or(Code(CL_MEM_OBJECT_ALLOCATION_FAILURE))?;
        Ok(Self { start, bytes, context: context.clone() })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Puts bytes there.
    ///
    /// # Safety
    /// They end inside the piece, and nobody else is at their place: no command, and nobody to whom it was lent.
    pub(super) unsafe fn store(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: the caller's.
        unsafe { self.start.add(offset).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
    }

    /// Fetches bytes from there.
    ///
    /// # Safety
    /// The same, but for those who read it too.
    pub(super) unsafe fn load(&self, offset: usize, bytes: &mut [u8]) {
        let len = bytes.len();
        // SAFETY: the caller's.
        unsafe { NonNull::from(bytes).cast().copy_from_nonoverlapping(self.start.add(offset), len) }
    }

    /// Copies bytes here from another piece, or from another place of this one.
    ///
    /// # Safety
    /// The same at both ends.
    pub(super) unsafe fn take(&self, offset: usize, source: &Self, start: usize, bytes: usize) {
        // SAFETY: the caller's.
        unsafe { self.start.add(offset).copy_from(source.start.add(start), bytes) }
    }

    /// The same as a buffer, which has to go first.
    pub(super) fn buffer(&self) -> Result<Buffer> {
        // SAFETY: the memory lives as long as the buffer and its commands, as its users see to; both sides may reach it at
        // any time, and who may read and write what is settled above.
        unsafe { self.context.buffer_over(self.start, self.bytes) }
    }
}

impl Drop for Svm {
    fn drop(&mut self) {
        // SAFETY: ours, of this context, and no command uses it, as whoever drops it vouches.
        let _ = unsafe { memory::svm_free(self.context.raw(), self.start.as_ptr().cast()) };
    }
}
