//! The buffer table: from index to slot to storage, without locks.
//!
//! Owns the slots. They lie in chunks that are made when first needed and never move; the directory of chunks has its
//! full size from the start, so a reader follows two pointers that never change once set.
//!
//! Who writes a slot: the holder of its index (an index is either free, with one holder, or in use). While
//! in use, whoever exchanges the storage pointer for [`NOTHING`] becomes the holder.

use std::alloc::{self, Layout};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use super::block::{Block, NOTHING, Retired, Storage};
use super::hazard::Pin;
use crate::{Address, AddressLayout, FreedAt};

/// What is known of one buffer index. All zero is a slot never used.
pub(crate) struct Slot {
    /// The live buffer's storage; null when there is none, [`NOTHING`] while it is being freed.
    block: AtomicPtr<Block>,
    /// How many buffers have been in this slot, the live one included.
    uses: AtomicU64,
    /// Where the last buffer was freed.
    freed_label: AtomicU64,
    freed_location: AtomicPtr<Location<'static>>,
}

/// Chunks of slots.
pub(crate) struct Table {
    directory: Box<[AtomicPtr<Slot>]>,
    chunk_bits: u32,
    layout: AddressLayout,
}

/// A buffer that stays while this is held.
pub(crate) struct Pinned<'a, const WORD: usize> {
    block: &'a Block,
    _pin: Pin<WORD>,
}

impl<const WORD: usize> Pinned<'_, WORD> {
    // Lent for as long as the pin is held, not for longer.
    #[inline(always)]
    pub(crate) fn block(&self) -> &Block {
        self.block
    }
}

impl Table {
    pub(crate) fn new(layout: AddressLayout) -> Self {
        let chunk_bits = layout.index_bits().div_ceil(2);
        let chunks = 1usize << (layout.index_bits() - chunk_bits);
        let directory = Box::new_zeroed_slice(chunks);
        // SAFETY: a null AtomicPtr is all zero.
        let directory = unsafe { directory.assume_init() };
        Table { directory, chunk_bits, layout }
    }

    /// Whether `index` is the first of its chunk.
    pub(crate) fn begins_chunk(&self, index: u32) -> bool {
        index.trailing_zeros() >= self.chunk_bits
    }

    /// The slot, if its chunk has been made.
    #[inline(always)]
    pub(crate) fn slot(&self, index: u64) -> Option<&Slot> {
        let entry = self.directory.get((index >> self.chunk_bits) as usize)?;
        let chunk = NonNull::new(entry.load(Ordering::Acquire))?;
        let within = (index & ((1 << self.chunk_bits) - 1)) as usize;
        // SAFETY: a chunk has 2^chunk_bits slots, initialised, and lives as long as the table.
        Some(unsafe { chunk.add(within).as_ref() })
    }

    /// The slot, its chunk being made where needed; `None` when the host has no memory for it.
    pub(crate) fn slot_or_grow(&self, index: u64) -> Option<&Slot> {
        if let Some(slot) = self.slot(index) {
            return Some(slot);
        }
        let entry = self.directory.get((index >> self.chunk_bits) as usize)?;
        let layout = self.chunk_layout()?;
        // SAFETY: the size of a chunk is not 0.
        let chunk = unsafe { alloc::alloc_zeroed(layout) }.cast::<Slot>();
        if chunk.is_null() {
            return None;
        }
        let null = ptr::null_mut();
        if entry.compare_exchange(null, chunk, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: another thread was faster; ours, of this layout, was seen by nobody.
            unsafe { alloc::dealloc(chunk.cast(), layout) };
        }
        self.slot(index)
    }

    fn chunk_layout(&self) -> Option<Layout> {
        Layout::array::<Slot>(1 << self.chunk_bits).ok()
    }

    /// The buffer now in the slot that `address` names, if any, of whatever generation. It stays until the result is dropped.
    #[inline(always)]
    pub(crate) fn pin<const WORD: usize>(&self, address: Address) -> Option<Pinned<'_, WORD>> {
        let slot = self.slot(self.layout.index_of(address))?;
        let pin = Pin::announce(address.raw());
        let block = NonNull::new(slot.block.load(Ordering::Acquire))?;
        // SAFETY: the address was announced before the block was found in its slot, so it is not reclaimed until the
        // pin is dropped (see the module `raw`); `Pinned::block` lends it no longer than that.
        Some(Pinned { block: unsafe { block.as_ref() }, _pin: pin })
    }

    /// Takes the buffer that begins at `address` out of its slot, whose index then is the caller's; `None` when it is not there (any more).
    pub(crate) fn unlink(&self, address: Address, freed: FreedAt) -> Option<Retired> {
        let slot = self.slot(self.layout.index_of(address))?;
        let nothing = ptr::from_ref(&NOTHING).cast_mut();
        let block = {
            let pinned = self.pin::<0>(address)?;
            if pinned.block().base() != address.raw() {
                return None;
            }
            let block = ptr::from_ref(pinned.block).cast_mut();
            // While the block is pinned it is not reused, so an equal pointer is the same buffer.
            slot.block.compare_exchange(block, nothing, Ordering::AcqRel, Ordering::Relaxed).ok()?
        };
        fence(Ordering::Release);
        slot.freed_label.store(freed.label, Ordering::Relaxed);
        slot.freed_location.store(ptr::from_ref(freed.location).cast_mut(), Ordering::Relaxed);
        slot.block.store(ptr::null_mut(), Ordering::Release);
        // SAFETY: published until now, and the exchange succeeded for this caller alone.
        NonNull::new(block).map(|block| unsafe { Retired::new(block) })
    }
}

impl Slot {
    /// How many buffers have been in this slot.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Acquire)
    }

    /// Counts one more buffer in this slot. Only for the holder of its index.
    pub(crate) fn count_use(&self) -> u64 {
        let uses = self.uses.load(Ordering::Relaxed) + 1;
        self.uses.store(uses, Ordering::Release);
        uses
    }

    /// Lets everybody see the buffer. Only for the holder of the slot's index, who is it no more.
    pub(crate) fn publish(&self, storage: Storage) {
        self.block.store(storage.into_raw(), Ordering::Release);
    }

    /// Where the last buffer was freed, unless the slot is changing right now.
    pub(crate) fn freed(&self) -> Option<FreedAt> {
        let before = self.block.load(Ordering::Acquire);
        let label = self.freed_label.load(Ordering::Relaxed);
        let location = NonNull::new(self.freed_location.load(Ordering::Relaxed))?;
        // Pairs with the fence in `unlink`: whoever sees one of its two writes sees that the slot changed.
        fence(Ordering::Acquire);
        let after = self.block.load(Ordering::Relaxed);
        if before != after || ptr::eq(before, &NOTHING) {
            return None;
        }
        // SAFETY: `unlink` put a &'static Location there.
        Some(FreedAt { label, location: unsafe { location.as_ref() } })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let Some(layout) = self.chunk_layout() else { return };
        for entry in &mut self.directory {
            let Some(chunk) = NonNull::new(*entry.get_mut()) else { continue };
            for i in 0..1usize << self.chunk_bits {
                // SAFETY: a chunk has 2^chunk_bits slots, and `&mut self` says that they are ours alone.
                let slot = unsafe { chunk.add(i).as_mut() };
                let block = NonNull::new(*slot.block.get_mut());
                // SAFETY: a block in a slot was published; nobody can be at work on it, for that takes a borrow
                // of the table. (NOTHING is there only within `unlink`.)
                drop(block.map(|block| unsafe { Storage::from_raw(block) }));
            }
            // SAFETY: made by `slot_or_grow` with this layout.
            unsafe { alloc::dealloc(chunk.as_ptr().cast(), layout) };
        }
    }
}
