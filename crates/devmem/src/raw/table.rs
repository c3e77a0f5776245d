//! The buffer table: from index to slot to storage, without locks.
//!
//! Owns the slots. They lie in chunks that are made when first needed and never move; the directory of chunks has its
//! full size from the start, so a reader follows two pointers that never change once set. The first chunk is
//! there from the start, and reached without the directory.
//!
//! Who writes a slot: the owner of its index (an index is either free, with one owner, or in use). While in use, whoever
//! closes its [`Holds`] becomes the owner.

use std::alloc::{self, Layout};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use std::thread;

use super::block::{Block, Lent, NOTHING, Retired, Storage};
use super::hazard::Pin;
use super::holds::{Close, Holds};
use crate::{Address, AddressLayout, FreedAt};

/// What is known of one buffer index. All zero is a slot never used.
pub(crate) struct Slot {
    /// The live buffer's storage; null when there is none, [`NOTHING`] while it is being freed.
    block: AtomicPtr<Block>,
    /// How many buffers have been in this slot, the live one included.
    uses: AtomicU64,
    holds: Holds,
    /// Where the last buffer was freed.
    freed_label: AtomicU64,
    freed_location: AtomicPtr<Location<'static>>,
    /// Whether something is noted of the buffer elsewhere, such as its name.
    noted: AtomicU64,
    /// 1 while a thread does an atomic operation on the buffer that the host's hardware cannot.
    lock: AtomicU64,
    /// To a power of two: indices are turned into addresses by a shift.
    _rest: u64,
}

/// Why a buffer cannot be taken out of its slot.
pub(crate) enum NotUnlinked {
    /// It is not there (any more).
    NotThere,
    /// It is held.
    Held,
}

/// Slots in a chunk (in the only one, where a layout has fewer indices) of a memory with many buffers. The host fills
/// in its pages as they are touched.
const LARGE_CHUNK: u64 = 1 << 16;

/// The least chunk of a memory with few buffers, and the most entries that its directory has if chunks need not be larger.
const SMALL_CHUNK: u64 = 1 << 6;
const SMALL_DIRECTORY: u64 = 1 << 10;

/// Chunks of slots.
pub(crate) struct Table {
    first: NonNull<Slot>,
    /// Bits of an address below the index.
    index_shift: u32,
    /// Slots in each chunk there is.
    chunk: u64,
    directory: Box<[AtomicPtr<Slot>]>,
    /// No slot from this index on has been used.
    end: AtomicU64,
}

// SAFETY: `first` is shared as the directory's pointers are: slots are only read and written atomically.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

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
    /// A table for many buffers, or one that is made and dropped quickly.
    pub(crate) fn new(layout: AddressLayout, large: bool) -> Self {
        let indices = layout.greatest_index() + 1;
        let chunk = if large { LARGE_CHUNK } else { SMALL_CHUNK.max(indices / SMALL_DIRECTORY) }.min(indices);
        let directory = Box::new_zeroed_slice((indices / chunk) as usize);
        // SAFETY: a null AtomicPtr is all zero.
        let directory = unsafe { directory.assume_init() };
        let (first, index_shift) = (NonNull::dangling(), 64 - layout.index_bits());
        let mut table = Table { first, index_shift, chunk, directory, end: AtomicU64::new(1) };
        match table.make_chunk(0) {
            Some(first) => table.first = first,
            None => alloc::handle_alloc_error(table.chunk_layout()),
        }
        table
    }

    /// Whether `index` is the first of its chunk.
    pub(crate) fn begins_chunk(&self, index: u64) -> bool {
        index & (self.chunk - 1) == 0
    }

    /// Bits of an address below the index.
    pub(super) fn index_shift(&self) -> u32 {
        self.index_shift
    }

    /// The slot that an address names, if its chunk has been made.
    #[inline(always)]
    pub(crate) fn slot(&self, address: Address) -> Option<&Slot> {
        let index = address.raw() >> self.index_shift;
        if index < self.chunk {
            // SAFETY: the first chunk has `chunk` slots; it is initialised and lives as long as the table.
            return Some(unsafe { self.first.add(index as usize).as_ref() });
        }
        self.slot_beyond(index)
    }

    #[cold]
    #[inline(never)]
    fn slot_beyond(&self, index: u64) -> Option<&Slot> {
        let entry = self.directory.get((index / self.chunk) as usize)?;
        let chunk = NonNull::new(entry.load(Ordering::Acquire))?;
        // SAFETY: a chunk has `chunk` slots, initialised, and lives as long as the table.
        Some(unsafe { chunk.add((index % self.chunk) as usize).as_ref() })
    }

    /// The slot that an address names, its chunk being made where needed; `None` when the host has no memory for it.
    pub(crate) fn slot_or_grow(&self, address: Address) -> Option<&Slot> {
        let index = address.raw() >> self.index_shift;
        if index >= self.end.load(Ordering::Relaxed) {
            self.end.fetch_max(index + 1, Ordering::Relaxed);
        }
        if self.slot(address).is_none() {
            self.make_chunk(index / self.chunk)?;
        }
        self.slot(address)
    }

    /// The chunk, now that somebody needs it; `None` when the host has no memory for it.
    fn make_chunk(&self, number: u64) -> Option<NonNull<Slot>> {
        let entry = self.directory.get(number as usize)?;
        let layout = self.chunk_layout();
        // SAFETY: the size of a chunk is not 0.
        let chunk = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }.cast::<Slot>())?;
        match entry.compare_exchange(ptr::null_mut(), chunk.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(chunk),
            Err(faster) => {
                // SAFETY: another thread was faster; ours, of this layout, was seen by nobody.
                unsafe { alloc::dealloc(chunk.as_ptr().cast(), layout) };
                NonNull::new(faster)
            }
        }
    }

    fn chunk_layout(&self) -> Layout {
        let size = size_of::<Slot>() << self.chunk.ilog2();
        // SAFETY: the alignment is that of a type, and at most 2^22 slots do not exceed any address range.
        unsafe { Layout::from_size_align_unchecked(size, align_of::<Slot>()) }
    }

    /// The buffer now in the slot that `address` names, if any, of whatever generation. It stays until the
    /// result is dropped.
    #[inline(always)]
    pub(crate) fn pin<const WORD: usize>(&self, address: Address) -> Option<Pinned<'_, WORD>> {
        let slot = self.slot(address)?;
        let pin = Pin::announce(address.raw());
        let block = NonNull::new(slot.block.load(Ordering::Acquire))?;
        // SAFETY: the address was announced before the block was found in its slot, so it is not reclaimed until the
        // pin is dropped (see the module `raw`); `Pinned::block` lends it no longer than that.
        Some(Pinned { block: unsafe { block.as_ref() }, _pin: pin })
    }

    /// Takes the buffer that begins at `address` out of its slot, whose index then is the caller's.
    pub(crate) fn unlink(&self, address: Address, freed: FreedAt) -> Result<Retired, NotUnlinked> {
        let slot = self.slot(address).ok_or(NotUnlinked::NotThere)?;
        match slot.holds.close(|| self.is_at(address)) {
            Close::Done => {}
            Close::NotThere => return Err(NotUnlinked::NotThere),
            Close::Held => return Err(NotUnlinked::Held),
        }
        let nothing = ptr::from_ref(&NOTHING).cast_mut();
        let block = slot.block.swap(nothing, Ordering::AcqRel);
        fence(Ordering::Release);
        slot.freed_label.store(freed.label, Ordering::Relaxed);
        slot.freed_location.store(ptr::from_ref(freed.location).cast_mut(), Ordering::Relaxed);
        slot.block.store(ptr::null_mut(), Ordering::Release);
        // SAFETY: published until now, and `holds` was closed by this caller alone.
        NonNull::new(block).map(|block| unsafe { Retired::new(block) }).ok_or(NotUnlinked::NotThere)
    }

    /// Keeps the buffer that begins at `address` from being freed until [`release`](Self::release); whether it is there.
    pub(crate) fn hold(&self, address: Address) -> bool {
        self.slot(address).is_some_and(|slot| slot.holds.take(|| self.is_at(address)))
    }

    /// As [`hold`](Self::hold), and the block, which is as good as pinned until then; `None` when it is not there.
    pub(super) fn hold_block(&self, address: Address) -> Option<NonNull<Block>> {
        // Held, so the slot has no other block before the release.
        if self.hold(address) { NonNull::new(self.slot(address)?.block.load(Ordering::Acquire)) } else { None }
    }

    /// Whether the buffer that begins at `address` is in its slot.
    fn is_at(&self, address: Address) -> bool {
        self.pin::<0>(address).is_some_and(|pinned| pinned.block().base() == address.raw())
    }

    /// Ends one [`hold`](Self::hold) of the buffer; the caller has one.
    pub(crate) fn release(&self, address: Address) {
        if let Some(slot) = self.slot(address) {
            slot.holds.release();
        }
    }

    /// A part of the buffer at `address`, which is held for it; `None` when the buffer is not there, the part is not
    /// in it, or does not begin where a part may.
    pub(crate) fn lend(&self, layout: AddressLayout, address: Address, origin: u64, size: u64) -> Option<Lent> {
        let pinned = self.pin::<1>(address)?;
        if pinned.block().base() != address.raw() {
            return None;
        }
        let lent = pinned.block().lend(origin, size)?;
        // While a part is pinned, its root is held for it.
        self.hold(Address::from_raw(layout.base_of(pinned.block().root()))).then_some(lent)
    }

    /// Ends the hold on the buffer that `root` is in, for a part that nobody is at work on any more.
    pub(crate) fn give_back(&self, layout: AddressLayout, root: u64) {
        self.release(Address::from_raw(layout.base_of(root)));
    }

    /// No index from this on has ever been used.
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

impl Slot {
    /// How many buffers have been in this slot.
    pub(crate) fn uses(&self) -> u64 {
        self.uses.load(Ordering::Acquire)
    }

    /// Counts one more buffer in this slot. Only for the owner of its index.
    pub(crate) fn count_use(&self) -> u64 {
        let uses = self.uses.load(Ordering::Relaxed) + 1;
        self.uses.store(uses, Ordering::Release);
        uses
    }

    /// How many hold the live buffer; `None` when there is none.
    pub(crate) fn holds(&self) -> Option<u64> {
        self.holds.count()
    }

    /// Whether something is noted of the buffer elsewhere.
    pub(crate) fn is_noted(&self) -> bool {
        self.noted.load(Ordering::Acquire) != 0
    }

    pub(crate) fn set_noted(&self, noted: bool) {
        self.noted.store(u64::from(noted), Ordering::Release);
    }

    /// Does something while no other thread does so for this slot. For a few instructions only.
    pub(crate) fn locked<R>(&self, act: impl FnOnce() -> R) -> R {
        while self.lock.swap(1, Ordering::Acquire) != 0 {
            thread::yield_now();
        }
        let result = act();
        self.lock.store(0, Ordering::Release);
        result
    }

    /// Lets everybody see the buffer. Only for the owner of the slot's index, who is it no more.
    pub(crate) fn publish(&self, storage: Storage) {
        self.holds.begin(self.uses.load(Ordering::Relaxed));
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
        let layout = self.chunk_layout();
        let end = *self.end.get_mut();
        // Chunks are made for indices in use, but for the first.
        let chunks = end.div_ceil(self.chunk) as usize;
        for (number, entry) in self.directory.iter_mut().take(chunks).enumerate() {
            let Some(chunk) = NonNull::new(*entry.get_mut()) else { continue };
            // Slots that were never used are not looked at: the host need not fill in their pages.
            let used = end.saturating_sub(number as u64 * self.chunk).min(self.chunk);
            for i in 0..used as usize {
                // SAFETY: a chunk has `chunk` slots, and `&mut self` says that they are ours alone.
                let slot = unsafe { chunk.add(i).as_mut() };
                let block = NonNull::new(*slot.block.get_mut());
                // SAFETY: a block in a slot was published; nobody can be at work on it, for that takes a borrow
                // of the table. (NOTHING is there only within `unlink`.)
                drop(block.map(|block| unsafe { Storage::from_raw(block) }));
            }
            // SAFETY: made by `make_chunk` with this layout.
            unsafe { alloc::dealloc(chunk.as_ptr().cast(), layout) };
        }
    }
}
