//! The storage of one buffer: header and bytes.
//!
//! A block has bytes of its own behind the header. Its buffer's bytes are those, or the caller's ([`HostBytes`], which
//! the header keeps), or a part of another buffer's ([`Lent`]: that buffer is not freed before the part was given back).
//!
//! Invariants: what is reached through a [`Block`] pointer is initialised; `data` leads to at least
//! max(`readable`, `writable`) bytes in whole words, aligned to 8; the header changes only while the block is
//! [`Storage`].

use std::alloc::{self, Layout};
use std::ptr::{self, NonNull};

use super::hazard::Announced;
use super::host::HostBytes;
use super::words::Bytes;
use crate::{AddressLayout, Flags, Init};

/// Bytes of a cache line, to which header and data are aligned.
const LINE: usize = 64;

/// What the host's allocator aligns to without copying or clearing pages itself.
const HOST_ALIGN: usize = 16;

/// The header of a buffer's storage, one cache line, in front of the bytes.
#[repr(C, align(64))]
pub(crate) struct Block {
    /// Address of the buffer's first byte: index, generation, offset 0.
    base: u64,
    /// Bytes from `base` on that may be loaded: all or none, by the flags.
    readable: u64,
    /// Bytes from `base` on that may be stored to: all or none, by the flags.
    writable: u64,
    data: *mut u8,
    /// Where the first byte is in the buffer that the bytes belong to: `base`, but for a part of another buffer.
    root: u64,
    /// Own bytes behind the header.
    capacity: usize,
    /// The caller's bytes, where the buffer is made of them.
    host: Option<HostBytes>,
    flags: Flags,
    /// Whether the own bytes are known to be 0, as the host gave them.
    fresh: bool,
    /// Whether the bytes are a part of the buffer at `root`, which is held for it.
    part: bool,
    /// Bytes of the allocation before the header.
    lead: u8,
}

/// Stands in a slot while its buffer is being freed.
pub(crate) static NOTHING: Block = Block::EMPTY;

// SAFETY: a shared block is only read, and its bytes only touched by atomic operations (`words`).
unsafe impl Sync for Block {}

impl Block {
    /// The header of a block that is no buffer: no byte of it may be touched.
    const EMPTY: Block = Block {
        base: u64::MAX,
        readable: 0,
        writable: 0,
        data: ptr::null_mut(),
        root: u64::MAX,
        capacity: 0,
        host: None,
        flags: Flags::READ_WRITE,
        fresh: false,
        part: false,
        lead: 0,
    };

    #[inline(always)]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Whether this is a buffer's, not the stand-in for one that is being freed.
    pub(crate) fn is_live(&self) -> bool {
        !ptr::eq(self, &NOTHING)
    }

    pub(crate) fn length(&self) -> u64 {
        // Flags allow one or the other at least.
        self.readable.max(self.writable)
    }

    /// Where the buffer's first byte is in the buffer that the bytes belong to.
    #[inline(always)]
    pub(crate) fn root(&self) -> u64 {
        self.root
    }

    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }

    /// Where its first byte is in the buffer that it is a part of.
    pub(crate) fn part_of(&self) -> Option<u64> {
        self.part.then_some(self.root)
    }

    /// The bytes at `address` if they may be loaded and the offset is a multiple of `alignment` (a power of two);
    /// `None` also for no bytes at all.
    #[inline(always)]
    pub(crate) fn readable(&self, address: u64, size: u64, alignment: u64) -> Option<Bytes<'_>> {
        self.within(self.readable, address, size, alignment)
    }

    /// The bytes at `address` if they may be stored to and the offset is a multiple of `alignment` (a power of two);
    /// `None` also for no bytes at all.
    #[inline(always)]
    pub(crate) fn writable(&self, address: u64, size: u64, alignment: u64) -> Option<Bytes<'_>> {
        self.within(self.writable, address, size, alignment)
    }

    /// The bytes at `address` if they may be loaded and stored to and the offset is a multiple of `alignment`.
    #[inline(always)]
    pub(crate) fn changeable(&self, address: u64, size: u64, alignment: u64) -> Option<Bytes<'_>> {
        self.within(self.readable.min(self.writable), address, size, alignment)
    }

    /// As [`readable`](Self::readable), for `SIZE` bytes at a multiple of as many: 4, 8 or 16.
    #[inline(always)]
    pub(crate) fn readable_unit<const SIZE: u64>(&self, address: u64) -> Option<Bytes<'_>> {
        self.unit_within::<SIZE>(self.readable, address)
    }

    /// As [`writable`](Self::writable), likewise.
    #[inline(always)]
    pub(crate) fn writable_unit<const SIZE: u64>(&self, address: u64) -> Option<Bytes<'_>> {
        self.unit_within::<SIZE>(self.writable, address)
    }

    /// As [`changeable`](Self::changeable), likewise.
    #[inline(always)]
    pub(crate) fn changeable_unit<const SIZE: u64>(&self, address: u64) -> Option<Bytes<'_>> {
        self.unit_within::<SIZE>(self.readable.min(self.writable), address)
    }

    /// A part of this buffer as a buffer of its own, for the holder of the buffer that the bytes belong to.
    pub(super) fn lend(&self, origin: u64, size: u64) -> Option<Lent> {
        let fits = origin.checked_add(size)? <= self.length() && origin.is_multiple_of(PART_ALIGN);
        let root = self.root.checked_add(origin)?;
        fits.then(|| Lent { data: self.data.wrapping_add(origin as usize), root, size })
    }

    /// One subtraction checks index, generation and bounds: an address of another buffer is at least the greatest
    /// buffer away from `base`, and `size` is not 0.
    #[inline(always)]
    fn within(&self, limit: u64, address: u64, size: u64, alignment: u64) -> Option<Bytes<'_>> {
        let offset = address.wrapping_sub(self.base);
        if size == 0 || size > limit || offset > limit - size || offset & (alignment - 1) != 0 {
            return None;
        }
        // SAFETY: offset + size ≤ limit bytes lie at `data`, in whole words; the block is published, so it and they
        // live as long as the pin that lent `self`, and the bytes are only used through `Bytes`.
        Some(unsafe { Bytes::new(self.data, offset as usize, size as usize) })
    }

    /// One comparison checks index, generation, bounds and alignment. A buffer has `limit / SIZE` units; the offset is
    /// `SIZE` times the number of one of them exactly if, rotated, it is less than that: bits of a misaligned one come to
    /// the top, where those of a foreign address are already.
    #[inline(always)]
    fn unit_within<const SIZE: u64>(&self, limit: u64, address: u64) -> Option<Bytes<'_>> {
        const { assert!(SIZE == 4 || SIZE == 8 || SIZE == 16) };
        let offset = address.wrapping_sub(self.base);
        if offset.rotate_right(SIZE.ilog2()) >= limit >> SIZE.ilog2() {
            return None;
        }
        // SAFETY: no buffer has 2^63 bytes, so no bit was rotated to the top: offset is a multiple of SIZE, and with it of a
        // word, and offset + SIZE ≤ limit bytes lie at `data`; the rest as for `within`.
        Some(unsafe { Bytes::of_words(self.data, offset as usize, SIZE as usize) })
    }
}

/// What a part of a buffer must begin at a multiple of, bytes: the greatest alignment of any plain type.
pub(crate) const PART_ALIGN: u64 = 16;

/// A part of a buffer, and the hold that keeps the buffer from being freed; who has it owes its return
/// ([`Table::give_back`](super::table::Table::give_back)).
pub(crate) struct Lent {
    data: *mut u8,
    root: u64,
    size: u64,
}

// SAFETY: what it leads to may be used by any thread while the hold lasts.
unsafe impl Send for Lent {}

impl Lent {
    /// The address of its first byte in the buffer that it is a part of.
    pub(crate) fn root(&self) -> u64 {
        self.root
    }
}

/// A block that one holder has for itself. Dropping it gives it back to the host.
pub(crate) struct Storage(NonNull<Block>);

// SAFETY: it is the only way to the block, whose memory any thread may use and free.
unsafe impl Send for Storage {}

impl Storage {
    /// Storage for at least `size` bytes from the host, all 0; `None` when the host has no memory.
    ///
    /// Large storage costs nothing until touched: the host's pages are filled in lazily.
    pub(crate) fn from_host(size: usize) -> Option<Self> {
        let capacity = size.checked_next_multiple_of(LINE)?.max(LINE);
        // SAFETY: the layout's size is not 0.
        let host = unsafe { alloc::alloc_zeroed(host_layout(capacity)?) };
        if host.is_null() {
            return None;
        }
        let lead = host.align_offset(LINE);
        // SAFETY: the layout has room for the way to the next line, the header and `capacity` bytes.
        let header = unsafe { host.add(lead) }.cast::<Block>();
        let block = Block { capacity, fresh: true, lead: lead as u8, ..Block::EMPTY };
        // SAFETY: `header` is aligned, inside the allocation, and nobody else has it.
        unsafe { header.write(block) };
        NonNull::new(header).map(Storage)
    }

    /// Bytes of data it has room for.
    pub(crate) fn capacity(&self) -> usize {
        // SAFETY: initialised, and ours alone.
        unsafe { self.0.as_ref() }.capacity
    }

    /// Makes it the buffer at `base` with these `size` bytes. The caller has checked that `Init::Bytes` are
    /// `size` bytes, and that they fit; what does not fit is left out.
    pub(crate) fn prepare(&mut self, base: u64, size: usize, flags: Flags, init: Init<'_>) {
        // SAFETY: own bytes lie behind the header.
        let data = unsafe { self.0.as_ptr().add(1).cast::<u8>() };
        // SAFETY: initialised, and ours alone.
        let block = unsafe { self.0.as_mut() };
        let size = size.min(block.capacity);
        // SAFETY: size ≤ capacity bytes at `data` are ours alone until the block is published.
        unsafe {
            match init {
                Init::Zeroed if block.fresh => {}
                Init::Zeroed => data.write_bytes(0, size),
                Init::Poison(pattern) => data.write_bytes(pattern, size),
                Init::Bytes(bytes) => data.copy_from_nonoverlapping(bytes.as_ptr(), size.min(bytes.len())),
            }
        }
        block.fresh = false;
        block.become_buffer(base, data, size as u64, flags, base);
    }

    /// Makes it a buffer at `base` of the caller's bytes.
    pub(crate) fn prepare_host(&mut self, base: u64, bytes: HostBytes, flags: Flags) {
        // SAFETY: initialised, and ours alone.
        let block = unsafe { self.0.as_mut() };
        block.become_buffer(base, bytes.data(), bytes.len(), flags, base);
        block.host = Some(bytes);
    }

    /// Makes it a buffer at `base` of another buffer's bytes.
    pub(crate) fn prepare_part(&mut self, base: u64, lent: &Lent, flags: Flags) {
        // SAFETY: initialised, and ours alone.
        let block = unsafe { self.0.as_mut() };
        block.become_buffer(base, lent.data, lent.size, flags, lent.root);
        block.part = true;
    }

    /// Gives the block away, to be published.
    pub(super) fn into_raw(self) -> *mut Block {
        let block = self.0.as_ptr();
        std::mem::forget(self);
        block
    }

    /// # Safety
    /// `block` came from [`into_raw`](Self::into_raw), is not published any more, and nobody can be at work on it.
    pub(super) unsafe fn from_raw(block: NonNull<Block>) -> Self {
        Storage(block)
    }
}

impl Block {
    fn become_buffer(&mut self, base: u64, data: *mut u8, size: u64, flags: Flags, root: u64) {
        self.base = base;
        self.readable = if flags.readable() { size } else { 0 };
        self.writable = if flags.writable() { size } else { 0 };
        self.data = data;
        self.root = root;
        self.flags = flags;
        self.part = false;
        self.host = None;
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: initialised, and ours alone.
        let block = unsafe { self.0.as_mut() };
        block.host = None;
        let (lead, capacity) = (block.lead, block.capacity);
        if let Some(layout) = host_layout(capacity) {
            // SAFETY: `from_host` got it with this layout, `lead` bytes before the header; this is the only drop.
            unsafe { alloc::dealloc(self.0.as_ptr().cast::<u8>().sub(lead.into()), layout) };
        }
    }
}

fn host_layout(capacity: usize) -> Option<Layout> {
    let size = capacity.checked_add(size_of::<Block>() + LINE - HOST_ALIGN)?;
    Layout::from_size_align(size, HOST_ALIGN).ok()
}

/// A block taken out of its slot, on which accesses that began before may still be at work. Dropping it leaks it.
pub(crate) struct Retired(NonNull<Block>);

// SAFETY: as for `Storage`; until it is that again, only the header is read, which any thread may.
unsafe impl Send for Retired {}

impl Retired {
    /// # Safety
    /// `block` was published and has just been taken out of its slot, by this caller alone.
    pub(super) unsafe fn new(block: NonNull<Block>) -> Self {
        Retired(block)
    }

    /// Bytes of capacity the buffer had: none as a part of another.
    pub(crate) fn charged(&self) -> u64 {
        // SAFETY: a retired block lives, and its header does not change.
        let block = unsafe { self.0.as_ref() };
        if block.part { 0 } else { block.length() }
    }

    /// Where its first byte was in the buffer that it was a part of.
    pub(crate) fn part_of(&self) -> Option<u64> {
        // SAFETY: a retired block lives, and its header does not change.
        unsafe { self.0.as_ref() }.part_of()
    }

    /// Bytes of data it has room for.
    pub(crate) fn capacity(&self) -> usize {
        // SAFETY: a retired block lives, and its header does not change.
        unsafe { self.0.as_ref() }.capacity
    }

    /// The block as storage, if by a look made after it was retired nobody is at work on it.
    pub(crate) fn reclaim(self, announced: &Announced, layout: AddressLayout) -> Result<Storage, Retired> {
        // SAFETY: a retired block lives, and its header does not change.
        let base = unsafe { self.0.as_ref() }.base;
        match announced {
            Announced::Addresses(addresses) if addresses.iter().all(|&a| layout.base_of(a) != base) => {
                let mut storage = Storage(self.0);
                // SAFETY: initialised, and ours alone. What is kept for another buffer keeps no caller's bytes.
                unsafe { storage.0.as_mut() }.host = None;
                Ok(storage)
            }
            _ => Err(self),
        }
    }

    /// The block as storage.
    ///
    /// # Safety
    /// No access to the block's memory is at work.
    pub(super) unsafe fn reclaim_unseen(self) -> Storage {
        Storage(self.0)
    }
}
