//! What all marking systems share: a range of addresses over [`Marks`] of offsets.
//!
//! Owns the checks of every argument, the choice of error, the totals, and the memo
//! of the newest block. Invariants: `used` and `live` are the sums over the blocks
//! that `marks` holds, a parked one included; a parked block is live to `marks` and
//! free to everyone else; no call but a repeat of the newest request sees it parked.

use crate::{Grant, HeapError, HeapReport, MarkingSystem, Marks, Want};

/// A range of addresses kept by the marking system `M`.
///
/// Use it through [`Bitset`](crate::Bitset), [`NextFit`](crate::NextFit),
/// [`TwoLevel`](crate::TwoLevel), or with [`Marks`] of your own.
///
/// ```
/// use rimms_heap::{Bitset, MarkingSystem};
///
/// let mut heap = Bitset::new(0x1000, 1 << 16, 512)?;
/// assert_eq!(heap.allocate(600, 512)?, 0x1000);
/// assert_eq!(heap.report().used, 1024);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Debug)]
pub struct Heap<M> {
    newest: Newest,
    base: u64,
    capacity: u64,
    used: u64,
    live: u64,
    marks: M,
}

/// The block handed out last, and whether it was freed since.
#[derive(Debug)]
struct Newest {
    state: State,
    bytes: u64,
    align: u64,
    address: u64,
    size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Something was freed since, or the block would not be placed there again.
    Forgotten,
    /// Live; the same request after its release would give it again.
    Live,
    /// Freed by the user, its marks still set.
    Parked,
}

impl<M: Marks> Heap<M> {
    /// A heap over `capacity` bytes from `base` whose offsets `marks` keeps, all free.
    ///
    /// # Errors
    /// [`HeapError::BadRange`] where the range is empty or ends past 2^64.
    pub fn over(base: u64, capacity: u64, marks: M) -> Result<Self, HeapError> {
        Self::check_range(base, capacity)?;
        let newest = Newest { state: State::Forgotten, bytes: 0, align: 0, address: 0, size: 0 };
        Ok(Self { newest, base, capacity, used: 0, live: 0, marks })
    }

    /// Refuses a range that is none, before any metadata is made for it.
    pub(crate) fn check_range(base: u64, capacity: u64) -> Result<(), HeapError> {
        match capacity.checked_sub(1).and_then(|last| base.checked_add(last)) {
            Some(_) => Ok(()),
            None => Err(HeapError::BadRange { base, capacity }),
        }
    }

    /// The marking system, for figures of its own.
    pub fn marks(&self) -> &M {
        &self.marks
    }

    /// The offset of an address inside the range. One that lies before the range wraps to
    /// an offset past its end, since the range ends at 2^64 at most.
    #[inline]
    fn offset(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        if offset < self.capacity { Some(offset) } else { None }
    }

    fn parked(&self) -> Option<u64> {
        (self.newest.state == State::Parked).then(|| self.newest.address - self.base)
    }

    /// Clears the marks of a parked block and forgets the newest.
    #[inline]
    fn settle(&mut self) {
        if self.newest.state == State::Parked {
            self.unpark();
        }
        self.newest.state = State::Forgotten;
    }

    #[inline(never)]
    fn unpark(&mut self) {
        self.release(self.newest.address - self.base);
    }

    #[inline]
    fn release(&mut self, offset: u64) -> Option<u64> {
        let size = self.marks.release(offset)?;
        self.used -= size;
        self.live -= 1;
        Some(size)
    }

    /// [`MarkingSystem::allocate`] when the newest block does not serve. Apart, so that
    /// the answer from the memo saves no registers.
    #[inline(never)]
    fn place(&mut self, bytes: u64, align: u64) -> Result<u64, HeapError> {
        self.settle();
        // One comparison for too much and for nothing at all.
        if bytes.wrapping_sub(1) >= self.capacity - self.used || !align.is_power_of_two() {
            return Err(self.refusal(bytes, align));
        }
        let Some(grant) = self.marks.place(Want { bytes, align, base: self.base })? else {
            return Err(self.refusal(bytes, align));
        };
        let Grant { offset, size, repeats } = grant;
        self.used += size;
        self.live += 1;
        let address = self.base + offset;
        let state = if repeats { State::Live } else { State::Forgotten };
        self.newest = Newest { state, bytes, align, address, size };
        Ok(address)
    }

    /// Why a request cannot be served.
    #[cold]
    fn refusal(&self, wanted: u64, align: u64) -> HeapError {
        let (capacity, free) = (self.capacity, self.capacity - self.used);
        if wanted == 0 {
            HeapError::ZeroSize
        } else if !align.is_power_of_two() {
            HeapError::BadAlign { align }
        } else if (Want { bytes: wanted, align, base: self.base }).fits(0, capacity).is_none() {
            HeapError::NeverFits { wanted, align, capacity }
        } else if wanted > free {
            HeapError::Full { wanted, align, free, capacity }
        } else {
            let largest_free = self.marks.survey(None).largest_free;
            HeapError::Fragmented { wanted, align, free, largest_free }
        }
    }

    /// [`MarkingSystem::free`] of another block than the newest.
    #[inline(never)]
    fn take_back(&mut self, address: u64) -> Result<u64, HeapError> {
        let Some(offset) = self.offset(address) else {
            return Err(HeapError::Foreign { address, base: self.base, capacity: self.capacity });
        };
        self.settle();
        match self.release(offset) {
            Some(size) => Ok(size),
            None => Err(self.no_block(address, offset)),
        }
    }

    /// What is wrong with an address in the range at which no block starts.
    #[cold]
    fn no_block(&self, address: u64, offset: u64) -> HeapError {
        if self.marks.is_free(offset) { HeapError::DoubleFree { address } } else { HeapError::Misaligned { address } }
    }
}

impl<M: Marks> MarkingSystem for Heap<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    #[inline]
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, HeapError> {
        let newest = &mut self.newest;
        if newest.state == State::Parked && newest.bytes == bytes && newest.align == align {
            newest.state = State::Live;
            return Ok(newest.address);
        }
        self.place(bytes, align)
    }

    #[inline]
    fn free(&mut self, address: u64) -> Result<u64, HeapError> {
        let newest = &mut self.newest;
        if newest.state == State::Live && newest.address == address {
            newest.state = State::Parked;
            return Ok(newest.size);
        }
        self.take_back(address)
    }

    fn report(&self) -> HeapReport {
        let parked = self.parked();
        let survey = self.marks.survey(parked);
        let (size, count) = match parked {
            Some(_) => (self.newest.size, 1),
            None => (0, 0),
        };
        let used = self.used - size;
        HeapReport {
            base: self.base,
            capacity: self.capacity,
            used,
            free: self.capacity - used,
            largest_free: survey.largest_free,
            live: self.live - count,
            entries: survey.entries,
            metadata_bytes: survey.metadata_bytes,
        }
    }

    fn size_of(&self, address: u64) -> Option<u64> {
        let offset = self.offset(address)?;
        if self.parked() == Some(offset) {
            return None;
        }
        self.marks.size_at(offset)
    }
}
