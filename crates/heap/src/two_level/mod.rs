//! Two-level segregated fit: free blocks in lists by size class, found through bitmaps.
//!
//! Owns the lists. Invariants, besides the chain's: a free block is in exactly the
//! list of its size's class; a list's first block holds `HEAD | class` where others
//! hold their predecessor, so that it can be unlinked without knowing its size.
//!
//! Cost: allocate looks at the heads of at most three lists, free at the block's two
//! neighbours: O(1), whatever the number of blocks. Honest bounds:
//! * Where no list is sure to serve a request, that is just before the heap would
//!   refuse, the lists that *may* (blocks up to 1/32 larger than the request, or up to
//!   its alignment) are walked, so that the heap can hand out its own largest run. A
//!   heap that never comes to that is O(1) without exception.
//! * Metadata grows by doubling, amortised O(1), when more blocks are live than ever
//!   before; the index from an address to its entry probes at most 32 slots.
//! * Refusing a bad address walks the chain to say why.
//!
//! Source: Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for
//! real-time systems", 2004. Entries of 24 bytes, apart from the memory managed.

mod classes;
#[cfg(test)]
mod tests;

use crate::chain::{Carved, Chain, END};
use crate::{Grant, Heap, HeapError, Marks, Survey, Want};
use classes::{Classes, class_of, class_sure_for};

/// Set in [`Links::prev`] of the first block of a list; the rest is the class.
const HEAD: u32 = 1 << 31;

/// A heap with O(1) allocate and free, exact to the byte.
///
/// ```
/// use rimms_heap::{MarkingSystem, TwoLevel};
///
/// let mut heap = TwoLevel::new(0x4000_0000, 1 << 30)?;
/// let blocks = (1..1000).map(|bytes| heap.allocate(bytes, 64)).collect::<Result<Vec<_>, _>>()?;
/// for block in blocks {
///     heap.free(block)?;
/// }
/// assert_eq!(heap.report().largest_free, 1 << 30);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
pub type TwoLevel = Heap<SegregatedMarks>;

impl TwoLevel {
    /// A two-level heap over `capacity` bytes from `base`, all free.
    ///
    /// # Errors
    /// [`HeapError::BadRange`], or [`HeapError::NoMetadata`] where the host has no
    /// room for the lists' heads.
    pub fn new(base: u64, capacity: u64) -> Result<Self, HeapError> {
        Self::check_range(base, capacity)?;
        let mut marks = SegregatedMarks { chain: Chain::new(capacity)?, classes: Classes::new(capacity)? };
        marks.enlist(1, class_of(capacity));
        Self::over(base, capacity, marks)
    }
}

/// The marks of [`TwoLevel`]: a chain of blocks and the lists of the free ones.
///
/// ```
/// let heap = rimms_heap::TwoLevel::new(0, 100)?;
/// assert!(format!("{:?}", heap.marks()).contains("classes"));
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Debug)]
pub struct SegregatedMarks {
    chain: Chain<Links>,
    classes: Classes,
}

/// A free block's neighbours in its list.
#[derive(Clone, Copy, Debug, Default)]
struct Links {
    /// The block before, or [`HEAD`] and the class.
    prev: u32,
    /// The block after, or [`END`].
    next: u32,
}

impl SegregatedMarks {
    #[inline]
    fn enlist(&mut self, at: u32, class: u32) {
        let next = self.classes.push(class, at);
        if next != END {
            self.chain.links_mut(next).prev = at;
        }
        *self.chain.links_mut(at) = Links { prev: HEAD | class, next };
    }

    #[inline]
    fn delist(&mut self, at: u32) {
        let Links { prev, next } = self.chain.links(at);
        if next != END {
            self.chain.links_mut(next).prev = prev;
        }
        if prev & HEAD == 0 {
            self.chain.links_mut(prev).next = next;
        } else {
            self.classes.set_head(prev & !HEAD, next);
        }
    }

    /// Moves a listed block whose size has changed to the list it belongs to now.
    #[inline]
    fn relist(&mut self, at: u32, was: u32) {
        let class = class_of(self.chain.size(at));
        if class != was {
            self.delist(at);
            self.enlist(at, class);
        }
    }

    #[inline]
    fn fits(&self, at: u32, want: Want) -> Option<(u32, u64)> {
        want.fits(self.chain.offset(at), self.chain.size(at)).map(|padding| (at, padding))
    }

    /// A free block for the request, and the padding in it.
    #[inline]
    fn search(&self, want: Want) -> Option<(u32, u64)> {
        // A block of the request's own class wastes least, if the first one happens to fit.
        let own = self.classes.head(class_of(want.bytes));
        if own != END
            && let Some(found) = self.fits(own, want)
        {
            return Some(found);
        }
        let sure = |bytes| self.classes.first_from(class_sure_for(bytes)?);
        let found = sure(want.bytes).and_then(|head| self.fits(head, want));
        if found.is_some() || want.align == 1 {
            return found.or_else(|| self.walk(want));
        }
        let padded = want.bytes.saturating_add(want.align - 1);
        sure(padded).and_then(|head| self.fits(head, want)).or_else(|| self.walk(want))
    }

    /// The last resort: every list whose blocks may hold the request.
    #[cold]
    fn walk(&self, want: Want) -> Option<(u32, u64)> {
        let most = want.bytes.saturating_add(want.align - 1);
        (class_of(want.bytes)..=class_sure_for(most).unwrap_or(u32::MAX))
            .take_while(|&class| class < self.classes.len())
            .flat_map(|class| self.list(class))
            .find_map(|at| self.fits(at, want))
    }

    fn list(&self, class: u32) -> impl Iterator<Item = u32> {
        let block = |at| Some(at).filter(|&at| at != END);
        std::iter::successors(block(self.classes.head(class)), move |&at| block(self.chain.links(at).next))
    }
}

impl Marks for SegregatedMarks {
    const NAME: &'static str = "two-level";

    #[inline(always)]
    fn place(&mut self, want: Want) -> Result<Option<Grant>, HeapError> {
        let Some((at, padding)) = self.search(want) else {
            return Ok(None);
        };
        let was = class_of(self.chain.size(at));
        let Carved { offset, front, rest, .. } = self.chain.carve(at, want, padding)?;
        match rest {
            Some(rest) => self.relist(rest, was),
            None => self.delist(at),
        }
        if let Some(front) = front {
            self.enlist(front, class_of(padding));
        }
        // Placement promises nothing but a fit, so any free block may repeat.
        Ok(Some(Grant { offset, size: want.bytes, repeats: true }))
    }

    #[inline(always)]
    fn release(&mut self, offset: u64) -> Option<u64> {
        let (at, position) = self.chain.find(offset)?;
        let size = self.chain.size(at);
        let (before, after) = self.chain.free_neighbours(at);
        if let Some(kept) = before.or(after) {
            if let (Some(_), Some(after)) = (before, after) {
                self.delist(after);
            }
            let was = class_of(self.chain.size(kept));
            self.chain.join(at, position);
            self.relist(kept, was);
        } else {
            self.chain.join(at, position);
            self.enlist(at, class_of(size));
        }
        Some(size)
    }

    fn size_at(&self, offset: u64) -> Option<u64> {
        self.chain.find(offset).map(|(at, _)| self.chain.size(at))
    }

    fn is_free(&self, offset: u64) -> bool {
        self.chain.is_free_at(offset)
    }

    /// O(blocks in the highest class that has any).
    fn survey(&self, as_if_free: Option<u64>) -> Survey {
        let parked = as_if_free.and_then(|offset| self.chain.find(offset));
        let (joined, swallowed) = parked.map_or((0, 0), |(at, _)| self.chain.as_if_free(at));
        let largest =
            self.classes.highest().map_or(0, |class| self.list(class).map(|at| self.chain.size(at)).max().unwrap_or(0));
        Survey {
            largest_free: largest.max(joined),
            entries: (self.chain.len() - swallowed) as u64,
            metadata_bytes: (self.chain.bytes() + self.classes.bytes()) as u64,
        }
    }
}

#[cfg(test)]
impl SegregatedMarks {
    pub(crate) fn check(&self, capacity: u64) {
        self.chain.check(capacity);
        let mut listed: Vec<u32> = Vec::new();
        for class in 0..self.classes.len() {
            let mut before = HEAD | class;
            for at in self.list(class) {
                assert!(self.chain.is_free(at));
                assert_eq!(class_of(self.chain.size(at)), class);
                assert_eq!(self.chain.links(at).prev, before);
                before = at;
                listed.push(at);
            }
        }
        let mut free: Vec<u32> = self.chain.iter().filter(|&at| self.chain.is_free(at)).collect();
        listed.sort_unstable();
        free.sort_unstable();
        assert_eq!(listed, free);
        self.classes.check();
    }
}
