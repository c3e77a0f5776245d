//! Next-fit: the paper's linked-list marking system with a rolling search position.
//!
//! A request takes the first free block that holds it, from where the last one was
//! taken onwards and once around; the block is split exactly, and the position moves
//! to what is left of it (or, where nothing is left, to the next block). Freeing
//! joins a block to its free neighbours. One entry of 16 bytes a block, live or free
//! (the paper's has about 17), and an index of 4-byte slots to find an entry by its
//! address, at most half full: both count as metadata.
//!
//! Invariant, besides the chain's: `position` names an entry of the chain; it follows
//! its bytes when they are joined to a neighbour.
//!
//! Cost: allocate walks O(blocks) at worst and a few steps while free space is
//! plentiful; free is expected O(1).

#[cfg(test)]
mod tests;

use crate::chain::Chain;
use crate::{Grant, Heap, HeapError, Marks, Survey, Want};

/// A heap with a rolling search position, exact to the byte.
///
/// ```
/// use rimms_heap::{MarkingSystem, NextFit};
///
/// let mut heap = NextFit::new(0, 100)?;
/// let first = heap.allocate(10, 1)?;
/// let second = heap.allocate(10, 1)?;
/// heap.free(first)?;
/// // The search goes on from the last block; it does not fall back to the hole.
/// assert_eq!(heap.allocate(10, 1)?, second + 10);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
pub type NextFit = Heap<ListMarks>;

impl NextFit {
    /// A next-fit heap over `capacity` bytes from `base`, all free.
    ///
    /// # Errors
    /// [`HeapError::BadRange`], or [`HeapError::NoMetadata`] where the host has no
    /// room for the first entries.
    pub fn new(base: u64, capacity: u64) -> Result<Self, HeapError> {
        Self::check_range(base, capacity)?;
        Self::over(base, capacity, ListMarks { chain: Chain::new(capacity)?, position: 1 })
    }
}

/// The marks of [`NextFit`]: a chain of blocks and the search position.
///
/// ```
/// let heap = rimms_heap::NextFit::new(0, 100)?;
/// assert!(format!("{:?}", heap.marks()).contains("position"));
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Debug)]
pub struct ListMarks {
    chain: Chain<()>,
    position: u32,
}

impl ListMarks {
    /// The first free block from the position on, once around, and the padding in it.
    #[inline]
    fn search(&self, want: Want) -> Option<(u32, u64)> {
        let mut at = self.position;
        loop {
            if self.chain.is_free(at)
                && let Some(padding) = want.fits(self.chain.offset(at), self.chain.size(at))
            {
                return Some((at, padding));
            }
            at = self.chain.next(at);
            if at == self.position {
                return None;
            }
        }
    }
}

impl Marks for ListMarks {
    const NAME: &'static str = "next-fit";

    #[inline(always)]
    fn place(&mut self, want: Want) -> Result<Option<Grant>, HeapError> {
        let Some((at, padding)) = self.search(want) else {
            return Ok(None);
        };
        let carved = self.chain.carve(at, want, padding)?;
        self.position = carved.rest.unwrap_or_else(|| self.chain.next(carved.live));
        // Freed at once, the block joins the rest and the position stays there, at the
        // same address: the next search starts with the same bytes.
        let repeats = carved.rest.is_some() && carved.front.is_none();
        Ok(Some(Grant { offset: carved.offset, size: want.bytes, repeats }))
    }

    #[inline(always)]
    fn release(&mut self, offset: u64) -> Option<u64> {
        let (at, position) = self.chain.find(offset)?;
        let size = self.chain.size(at);
        let (_, after) = self.chain.free_neighbours(at);
        let run = self.chain.join(at, position);
        let swallowed = self.position == at || Some(self.position) == after;
        self.position = std::hint::select_unpredictable(swallowed, run, self.position);
        Some(size)
    }

    fn size_at(&self, offset: u64) -> Option<u64> {
        self.chain.find(offset).map(|(at, _)| self.chain.size(at))
    }

    fn is_free(&self, offset: u64) -> bool {
        self.chain.is_free_at(offset)
    }

    /// O(blocks).
    fn survey(&self, as_if_free: Option<u64>) -> Survey {
        let parked = as_if_free.and_then(|offset| self.chain.find(offset));
        let (joined, swallowed) = parked.map_or((0, 0), |(at, _)| self.chain.as_if_free(at));
        let free = self.chain.iter().filter(|&at| self.chain.is_free(at));
        let largest = free.map(|at| self.chain.size(at)).max().unwrap_or(0);
        Survey {
            largest_free: largest.max(joined),
            entries: (self.chain.len() - swallowed) as u64,
            metadata_bytes: self.chain.bytes() as u64,
        }
    }
}

#[cfg(test)]
impl ListMarks {
    pub(crate) fn check(&self, capacity: u64) {
        self.chain.check(capacity);
        let known = self.position == crate::chain::END || self.chain.iter().any(|at| at == self.position);
        assert!(known, "the position names an entry of the chain");
    }
}
