//! What is measured: glibc malloc, the marking systems, and two crates.

use std::alloc::{GlobalAlloc, Layout, System};

use buddy_system_allocator::FrameAllocator;
use rimms_heap::{HeapKind, MarkingSystem};

/// Bytes of the rivals' unit: they count in units and know no bytes.
const UNIT: u64 = 16;

/// The alignment asked of every contender: malloc's own.
const ALIGN: u64 = 16;

/// What the patterns drive.
pub(crate) trait Contender {
    /// How a live block is named.
    type Token: Copy;
    fn allocate(&mut self, bytes: u64) -> Option<Self::Token>;
    fn free(&mut self, token: Self::Token);
}

pub(crate) struct Malloc;

fn layout(bytes: u64) -> Layout {
    Layout::from_size_align(bytes as usize, ALIGN as usize).expect("a valid layout")
}

#[allow(unsafe_code)]
impl Contender for Malloc {
    type Token = (*mut u8, u64);

    #[inline]
    fn allocate(&mut self, bytes: u64) -> Option<Self::Token> {
        // SAFETY: every pattern asks for at least one byte.
        let pointer = unsafe { System.alloc(layout(bytes)) };
        (!pointer.is_null()).then_some((pointer, bytes))
    }

    #[inline]
    fn free(&mut self, (pointer, bytes): Self::Token) {
        // SAFETY: the token came from `allocate` with this size, and is freed once.
        unsafe { System.dealloc(pointer, layout(bytes)) }
    }
}

/// A marking system behind its trait object.
pub(crate) struct Marking(Box<dyn MarkingSystem>);

impl Marking {
    pub(crate) fn new(kind: HeapKind, capacity: u64) -> Self {
        // Through black_box the compiler does not know which system it calls.
        Self(std::hint::black_box(kind.build(0x1_0000_0000, capacity).expect("a heap")))
    }
}

impl Contender for Marking {
    type Token = u64;

    #[inline]
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.0.allocate(bytes, ALIGN).ok()
    }

    #[inline]
    fn free(&mut self, address: u64) {
        self.0.free(address).expect("a live block");
    }
}

/// The crate offset-allocator, which has no alignment: units of malloc's.
pub(crate) struct Offset(offset_allocator::Allocator);

impl Offset {
    pub(crate) fn new(capacity: u64) -> Self {
        Self(offset_allocator::Allocator::new((capacity / UNIT) as u32))
    }
}

impl Contender for Offset {
    type Token = offset_allocator::Allocation;

    #[inline]
    fn allocate(&mut self, bytes: u64) -> Option<Self::Token> {
        self.0.allocate(bytes.div_ceil(UNIT) as u32)
    }

    #[inline]
    fn free(&mut self, token: Self::Token) {
        self.0.free(token);
    }
}

/// The crate buddy_system_allocator, which is given the size to free.
pub(crate) struct Buddy(FrameAllocator<33>);

impl Buddy {
    pub(crate) fn new(capacity: u64) -> Self {
        let mut frames = FrameAllocator::new();
        frames.add_frame(0, (capacity / UNIT) as usize);
        Self(frames)
    }
}

impl Contender for Buddy {
    type Token = (usize, usize);

    #[inline]
    fn allocate(&mut self, bytes: u64) -> Option<Self::Token> {
        let units = bytes.div_ceil(UNIT) as usize;
        self.0.alloc(units).map(|first| (first, units))
    }

    #[inline]
    fn free(&mut self, (first, units): Self::Token) {
        self.0.dealloc(first, units);
    }
}
