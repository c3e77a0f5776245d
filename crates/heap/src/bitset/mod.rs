//! Bitset: the paper's marking system of one bit a block, first fit.
//!
//! Owns the grid of blocks: block `i` is the bytes from `i * block` on, from the start
//! of the range; the last block may be shorter. A request takes the first run of free
//! blocks that is long enough. An address aligned finer than the start of the range
//! lies inside the first block of its run, so every alignment can be served from a
//! range at any address.
//!
//! Three kinds of metadata, each with its own figure:
//! * **marks**, exactly one bit a block ([`BitMarks::marking_bytes`]);
//! * a **summary** of at most 1/64 of that ([`BitMarks::summary_bytes`]);
//! * the **lengths** of live blocks ([`BitMarks::length_bytes`]). Bits do not tell where
//!   one live run ends and the next begins, and [`free`](crate::MarkingSystem::free)
//!   is given an address alone, so a table holds 16 bytes a live block, at most half
//!   full. It grows with the live blocks, not with the range.
//!
//! Cost: allocate starts where the first run for its size class may begin (see `starts`),
//! passes lines of 512 blocks by one byte each, eight at a time, and reads the words of
//! those that may hold the run, 64 blocks at a time. Marking and clearing write one word
//! for 64 blocks. The rest of free is expected O(1).

mod bits;
mod starts;
#[cfg(test)]
mod tests;

use crate::table::Table;
use crate::{Grant, Heap, HeapError, Marks, Survey, Want};
use bits::Bits;
use starts::Starts;

/// A heap of fixed blocks, first fit.
///
/// ```
/// use rimms_heap::{Bitset, MarkingSystem};
///
/// let mut heap = Bitset::new(0, 1 << 20, 4096)?;
/// assert_eq!(heap.allocate(1, 1)?, 0);
/// assert_eq!(heap.allocate(5000, 1)?, 4096);
/// assert_eq!(heap.report().used, 3 * 4096);
/// assert_eq!(heap.marks().marking_bytes(), 256 / 8);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
pub type Bitset = Heap<BitMarks>;

impl Bitset {
    /// A bitset heap over `capacity` bytes from `base` in blocks of `block` bytes, a
    /// power of two; all free.
    ///
    /// # Errors
    /// [`HeapError::BadRange`], [`HeapError::BadBlockSize`], or
    /// [`HeapError::NoMetadata`] where the host has no room for a bit a block.
    pub fn new(base: u64, capacity: u64, block: u64) -> Result<Self, HeapError> {
        Self::check_range(base, capacity)?;
        if !block.is_power_of_two() {
            return Err(HeapError::BadBlockSize { block });
        }
        let blocks = ((capacity - 1) >> block.trailing_zeros()) + 1;
        let marks = BitMarks {
            bits: Bits::new(blocks)?,
            starts: Starts::default(),
            lengths: Table::new()?,
            block_log2: block.trailing_zeros(),
            blocks,
            capacity,
        };
        Self::over(base, capacity, marks)
    }
}

/// The marks of [`Bitset`]: a bit a block, and the lengths of live blocks.
///
/// ```
/// let heap = rimms_heap::Bitset::new(0, 64 << 20, 8)?;
/// let marks = heap.marks();
/// assert_eq!(marks.marking_bytes(), (64 << 20) / 8 / 8);
/// assert!(marks.summary_bytes() <= marks.marking_bytes() / 64);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Debug)]
pub struct BitMarks {
    bits: Bits,
    starts: Starts,
    lengths: Table<Length>,
    block_log2: u32,
    blocks: u64,
    capacity: u64,
}

/// A live block, as the table of lengths holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Length {
    /// Its offset plus 1, so that 0 is no block. An offset is below 2^64 - 1.
    key: u64,
    blocks: u64,
}

fn key_of(length: Length) -> u64 {
    length.key
}

impl BitMarks {
    /// Bytes of a block.
    pub fn block(&self) -> u64 {
        1 << self.block_log2
    }

    /// Bytes of the marks: a bit a block, rounded up to a word of 64.
    pub fn marking_bytes(&self) -> u64 {
        self.bits.marking_bytes() as u64
    }

    /// Bytes of the summary: at most 1/64 of the marks.
    pub fn summary_bytes(&self) -> u64 {
        self.bits.summary_bytes() as u64
    }

    /// Bytes of the table of live blocks' lengths.
    pub fn length_bytes(&self) -> u64 {
        self.lengths.bytes() as u64
    }

    fn find(&self, offset: u64) -> Option<(Length, usize)> {
        self.lengths.find(offset + 1, key_of)
    }

    /// Bytes of `count` blocks from `first` on: the last block may be short.
    #[inline]
    fn bytes(&self, first: u64, count: u64) -> u64 {
        if first + count == self.blocks { self.capacity - (first << self.block_log2) } else { count << self.block_log2 }
    }

    /// A run for a request, if there is one.
    #[inline]
    fn search(&mut self, want: Want) -> Option<Run> {
        // Padding to alignments within a block is the same in every block.
        let within = Want { align: want.align.min(self.block()), ..want };
        let padding = within.padding(0);
        let taken = want.bytes.checked_add(padding)?;
        let count = ((taken - 1) >> self.block_log2) + 1;
        // Larger ones choose among the blocks.
        let step = (want.align >> self.block_log2).max(1);
        let phase = (want.base.wrapping_add(padding) >> self.block_log2).wrapping_neg() & (step - 1);
        let found = self.bits.first_aligned_run(count, self.starts.from(count), step, phase);
        let Some((first, is_first)) = found else {
            if step == 1 {
                self.starts.none(count);
            }
            return None;
        };
        // Only the last run can end in the short block, so where that is too short for
        // the request no other run is left to try.
        let bytes = self.bytes(first, count);
        (taken <= bytes).then_some(Run { first, count, bytes, padding, is_first })
    }
}

/// A run of free blocks for a request.
struct Run {
    first: u64,
    count: u64,
    /// Bytes of the run.
    bytes: u64,
    /// Bytes from the run's start to the address.
    padding: u64,
    /// Whether it is the first of its length, alignment aside.
    is_first: bool,
}

impl Marks for BitMarks {
    const NAME: &'static str = "bitset";

    #[inline(always)]
    fn place(&mut self, want: Want) -> Result<Option<Grant>, HeapError> {
        let Some(Run { first, count, bytes, padding, is_first }) = self.search(want) else {
            return Ok(None);
        };
        let offset = (first << self.block_log2) + padding;
        let length = Length { key: offset + 1, blocks: count };
        self.lengths.insert(length.key, length, key_of)?;
        self.bits.set(first..first + count);
        if is_first {
            self.starts.taken(first, count);
        }
        // First fit depends on the marks alone, and releasing restores them.
        Ok(Some(Grant { offset, size: bytes, repeats: true }))
    }

    #[inline(always)]
    fn release(&mut self, offset: u64) -> Option<u64> {
        let (Length { blocks: count, .. }, position) = self.find(offset)?;
        self.lengths.remove(position);
        let first = offset >> self.block_log2;
        if let Some((start, len)) = self.bits.clear(first..first + count) {
            self.starts.freed(start, len);
        }
        Some(self.bytes(first, count))
    }

    fn size_at(&self, offset: u64) -> Option<u64> {
        let (length, _) = self.find(offset)?;
        Some(self.bytes(offset >> self.block_log2, length.blocks))
    }

    fn is_free(&self, offset: u64) -> bool {
        !self.bits.is_set(offset >> self.block_log2)
    }

    /// O(words of marks).
    fn survey(&self, as_if_free: Option<u64>) -> Survey {
        let parked = as_if_free.and_then(|offset| {
            let first = offset >> self.block_log2;
            self.find(offset).map(|(length, _)| first..first + length.blocks)
        });
        let (mut largest, mut joined) = (0, parked.clone());
        for run in self.bits.runs() {
            largest = largest.max(self.bytes(run.start, run.end - run.start));
            if let Some(joined) = &mut joined {
                if run.end == joined.start {
                    joined.start = run.start;
                } else if run.start == joined.end {
                    joined.end = run.end;
                }
            }
        }
        let joined = joined.map_or(0, |run| self.bytes(run.start, run.end - run.start));
        Survey {
            largest_free: largest.max(joined),
            entries: self.lengths.len() as u64 - u64::from(parked.is_some()),
            metadata_bytes: self.marking_bytes() + self.summary_bytes() + self.length_bytes(),
        }
    }
}
