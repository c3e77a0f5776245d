//! Blocks of memory, of a device or pinned.

use std::alloc::{Layout, alloc, dealloc};

const ALIGN: usize = 256;
/// What nobody has written.
const POISON: u8 = 0xCD;

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    layout: Layout,
}

impl Block {
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: a layout of at least one byte.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return None;
        }
        // SAFETY: so many bytes were allocated.
        unsafe { start.write_bytes(POISON, layout.size()) };
        Some(Self { start: start.expose_provenance(), bytes, layout })
    }

    pub(crate) fn holds(&self, address: usize, bytes: usize) -> bool {
        self.start <= address && address.checked_add(bytes).is_some_and(|end| end <= self.start + self.bytes)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(self.start), self.layout) };
    }
}
