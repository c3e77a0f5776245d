//! The chain of blocks that next-fit and two-level share: every block of the range,
//! live or free, in the order of addresses, as index-linked entries in a `Vec`.
//!
//! A block's size is the distance to its successor's offset, so an entry of 16 bytes
//! holds it at byte granularity for any range, and removing an entry gives its bytes
//! to its predecessor. `L` is what a marking system adds to an entry.
//!
//! Invariants: blocks tile the range; no two neighbours are free (but while a parked
//! block stands, which the chain takes for live); entry [`END`] is a live sentinel at
//! the end of the range that closes the chain to a ring; `index` holds exactly the live
//! blocks; the `spares` unused entries are linked through `next` from `spare`.

use crate::table::Table;
use crate::{HeapError, Want};

/// The sentinel; also "none" wherever an entry is optional.
pub(crate) const END: u32 = 0;

/// Set in `prev` of a free block.
const FREE: u32 = 1 << 31;

/// Entries that 31 bits can name.
const LIMIT: usize = FREE as usize;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<L> {
    offset: u64,
    /// The predecessor, with [`FREE`].
    prev: u32,
    next: u32,
    pub(crate) links: L,
}

#[derive(Debug)]
pub(crate) struct Chain<L> {
    entries: Vec<Entry<L>>,
    index: Table<u32>,
    spare: u32,
    spares: usize,
}

/// What [`Chain::carve`] made of a free block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carved {
    pub(crate) live: u32,
    pub(crate) offset: u64,
    /// The free block before the live one, new.
    pub(crate) front: Option<u32>,
    /// The free block after the live one; it has the index of the block carved.
    pub(crate) rest: Option<u32>,
}

impl<L: Copy + Default> Chain<L> {
    /// The sentinel and one free block, entry 1.
    pub(crate) fn new(capacity: u64) -> Result<Self, HeapError> {
        let mut chain = Self { entries: Vec::new(), index: Table::new()?, spare: END, spares: 0 };
        chain.grow()?;
        let first = chain.spare;
        chain.take_spare();
        let links = L::default();
        chain.entries[END as usize] = Entry { offset: capacity, prev: first, next: first, links };
        chain.entries[first as usize] = Entry { offset: 0, prev: END | FREE, next: END, links };
        Ok(chain)
    }

    /// Blocks, live and free.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - 1 - self.spares
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<L>>() + self.index.bytes()
    }

    #[inline]
    fn entry(&self, at: u32) -> &Entry<L> {
        &self.entries[at as usize]
    }

    #[inline]
    fn entry_mut(&mut self, at: u32) -> &mut Entry<L> {
        &mut self.entries[at as usize]
    }

    #[inline]
    pub(crate) fn links(&self, at: u32) -> L {
        self.entry(at).links
    }

    #[inline]
    pub(crate) fn links_mut(&mut self, at: u32) -> &mut L {
        &mut self.entry_mut(at).links
    }

    #[inline]
    pub(crate) fn offset(&self, at: u32) -> u64 {
        self.entry(at).offset
    }

    #[inline]
    pub(crate) fn next(&self, at: u32) -> u32 {
        self.entry(at).next
    }

    #[inline]
    fn prev(&self, at: u32) -> u32 {
        self.entry(at).prev & !FREE
    }

    #[inline]
    pub(crate) fn is_free(&self, at: u32) -> bool {
        self.entry(at).prev & FREE != 0
    }

    /// Bytes of a block; not of the sentinel.
    #[inline]
    pub(crate) fn size(&self, at: u32) -> u64 {
        let entry = self.entry(at);
        self.entry(entry.next).offset - entry.offset
    }

    /// The blocks before and after a block, where they are free.
    #[inline]
    pub(crate) fn free_neighbours(&self, at: u32) -> (Option<u32>, Option<u32>) {
        let if_free = |at| Some(at).filter(|&at| self.is_free(at));
        (if_free(self.prev(at)), if_free(self.next(at)))
    }

    /// What a live block would be if it were free: the size of the run it would
    /// join, and the number of neighbours that it would swallow.
    pub(crate) fn as_if_free(&self, at: u32) -> (u64, usize) {
        let (before, after) = self.free_neighbours(at);
        [before, after]
            .into_iter()
            .flatten()
            .fold((self.size(at), 0), |(size, count), free| (size + self.size(free), count + 1))
    }

    /// The live block that starts at `offset`, and its position in the index.
    #[inline(always)]
    pub(crate) fn find(&self, offset: u64) -> Option<(u32, usize)> {
        // An empty slot names the sentinel, whose offset no block has.
        self.index.find(offset, |at| self.entry(at).offset)
    }

    /// Every block in the order of addresses.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let after = |at| Some(self.next(at)).filter(|&next| next != END);
        std::iter::successors(after(END), move |&at| after(at))
    }

    /// Whether the byte at `offset` lies in a free block. O(blocks).
    pub(crate) fn is_free_at(&self, offset: u64) -> bool {
        self.iter().take_while(|&at| self.offset(at) <= offset).last().is_some_and(|at| self.is_free(at))
    }

    /// Cuts a live block of `want.bytes` out of the free block `at`, `padding` bytes
    /// after its start, and indexes it.
    ///
    /// # Errors
    /// [`HeapError::NoMetadata`] or [`HeapError::TooManyBlocks`]; nothing has changed then.
    #[inline(always)]
    pub(crate) fn carve(&mut self, at: u32, want: Want, padding: u64) -> Result<Carved, HeapError> {
        if self.spares < 2 {
            self.grow()?;
        }
        let start = self.offset(at);
        let offset = start + padding;
        let splits = padding + want.bytes < self.size(at);
        // The index names the entry before the entry holds its offset, so that a
        // failure here leaves nothing to undo.
        let live = if splits { self.spare } else { at };
        let entries = self.entries.as_mut_slice();
        self.index.insert(offset, live, |at| entries[at as usize].offset)?;
        let rest = if splits {
            self.spare = entries[live as usize].next;
            self.spares -= 1;
            insert_before(entries, live, at, offset);
            entries[at as usize].offset = offset + want.bytes;
            Some(at)
        } else {
            let entry = &mut entries[at as usize];
            entry.offset = offset;
            entry.prev &= !FREE;
            None
        };
        let front = if padding > 0 { Some(self.insert_free_before(live, start)) } else { None };
        Ok(Carved { live, offset, front, rest })
    }

    /// A new free block from `offset` up to the block `next`.
    #[inline(never)]
    fn insert_free_before(&mut self, next: u32, offset: u64) -> u32 {
        let new = self.spare;
        self.take_spare();
        insert_before(&mut self.entries, new, next, offset);
        self.entry_mut(new).prev |= FREE;
        new
    }

    /// Frees a live block, found at `position` of the index, and joins it to its free
    /// neighbours. The run's entry is the free one before, else the free one after,
    /// else the block's own; the others are gone, their `links` as they were.
    #[inline(always)]
    pub(crate) fn join(&mut self, at: u32, position: usize) -> u32 {
        self.index.remove(position);
        let entries = self.entries.as_mut_slice();
        let Entry { prev: before, next: after, .. } = entries[at as usize];
        let (front, beyond) = (entries[before as usize], entries[after as usize]);
        let (joins_before, joins_after) = (front.prev & FREE != 0, beyond.prev & FREE != 0);
        // Which neighbours are free is as good as random, so everything below selects
        // values and writes them all, rather than branch on it.
        let alone = !(joins_before | joins_after);
        let run = select(joins_before, before, select(joins_after, after, at));
        let next = select(joins_after, beyond.next, after);
        // What goes is pushed on the spares; what stays is written over below.
        entries[at as usize].next = self.spare;
        let spare = select(alone, self.spare, at);
        let both = joins_before & joins_after;
        entries[after as usize].next = select(both, spare, beyond.next);
        self.spare = select(both, after, spare);
        self.spares += usize::from(!alone) + usize::from(both);
        entries[before as usize].next = run;
        let start = entries[select(joins_before, before, at) as usize].offset;
        let entry = &mut entries[run as usize];
        entry.offset = start;
        entry.prev = select(joins_before, front.prev, before | FREE);
        entry.next = next;
        let entry = &mut entries[next as usize];
        entry.prev = run | (entry.prev & FREE);
        run
    }

    /// Takes the entry `spare` into use.
    #[inline]
    fn take_spare(&mut self) {
        self.spare = self.next(self.spare);
        self.spares -= 1;
    }

    /// Doubles the entries, the new ones spare.
    #[cold]
    fn grow(&mut self) -> Result<(), HeapError> {
        let len = self.entries.len();
        let more = len.clamp(4, LIMIT - len.min(LIMIT - 4));
        if len + more > LIMIT {
            return Err(HeapError::TooManyBlocks { limit: LIMIT as u64 });
        }
        self.entries
            .try_reserve_exact(more)
            .map_err(|_| HeapError::NoMetadata { bytes: ((len + more) * size_of::<Entry<L>>()) as u64 })?;
        // The first entry of all is the sentinel. Indices are below LIMIT.
        let first = len.max(END as usize + 1);
        for at in len..len + more {
            let next = if at + 1 == len + more { self.spare } else { at as u32 + 1 };
            self.entries.push(Entry { offset: 0, prev: END, next, links: L::default() });
        }
        self.spare = first as u32;
        self.spares += len + more - first;
        Ok(())
    }
}

/// One of two entries, without a branch.
#[inline(always)]
fn select(condition: bool, then: u32, otherwise: u32) -> u32 {
    std::hint::select_unpredictable(condition, then, otherwise)
}

/// Links `new`, a live block from `offset` on, before the block `next`.
#[inline(always)]
fn insert_before<L: Default>(entries: &mut [Entry<L>], new: u32, next: u32, offset: u64) {
    let after = &mut entries[next as usize];
    let prev = after.prev & !FREE;
    after.prev = new | (after.prev & FREE);
    entries[prev as usize].next = new;
    entries[new as usize] = Entry { offset, prev, next, links: L::default() };
}

#[cfg(test)]
impl<L: Copy + Default> Chain<L> {
    /// Checks every invariant of the chain.
    pub(crate) fn check(&self, capacity: u64) {
        let (mut end, mut live, mut free_before, mut before) = (0, 0, false, END);
        for at in self.iter() {
            assert_eq!(self.offset(at), end, "blocks tile the range");
            assert_eq!(self.prev(at), before);
            assert!(self.size(at) > 0);
            assert!(!(free_before && self.is_free(at)), "neighbours are joined");
            if !self.is_free(at) {
                assert_eq!(self.find(end).map(|found| found.0), Some(at));
                live += 1;
            }
            (end, free_before, before) = (end + self.size(at), self.is_free(at), at);
        }
        assert_eq!((end, before), (capacity, self.prev(END)));
        assert_eq!(self.index.len(), live);
        assert_eq!(self.iter().count(), self.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 100;

    fn want(bytes: u64) -> Want {
        Want { bytes, align: 1, base: 0 }
    }

    fn sizes(chain: &Chain<()>) -> Vec<(u64, bool)> {
        chain.check(CAPACITY);
        chain.iter().map(|at| (chain.size(at), chain.is_free(at))).collect()
    }

    /// Frees the block at `offset` and returns the offset of the run it joined.
    fn join(chain: &mut Chain<()>, offset: u64) -> u64 {
        let (at, position) = chain.find(offset).unwrap();
        let (size, _) = chain.as_if_free(at);
        let run = chain.join(at, position);
        assert_eq!(chain.size(run), size);
        chain.offset(run)
    }

    #[test]
    fn entries_are_as_small_as_promised() {
        assert_eq!(size_of::<Entry<()>>(), 16);
        assert_eq!(size_of::<Entry<[u32; 2]>>(), 24);
    }

    #[test]
    fn carving_splits_exactly() {
        let mut chain = Chain::<()>::new(CAPACITY).unwrap();
        let carved = chain.carve(1, want(10), 0).unwrap();
        assert_eq!((carved.front, carved.rest), (None, Some(1)));
        assert_eq!(sizes(&chain), [(10, false), (90, true)]);
        let carved = chain.carve(1, want(20), 6).unwrap();
        assert!(carved.front.is_some());
        assert_eq!(sizes(&chain), [(10, false), (6, true), (20, false), (64, true)]);
        let carved = chain.carve(1, want(64), 0).unwrap();
        assert_eq!((carved.live, carved.front, carved.rest), (1, None, None));
        assert_eq!(sizes(&chain), [(10, false), (6, true), (20, false), (64, false)]);
    }

    #[test]
    fn joining_meets_all_four_kinds_of_neighbours() {
        let mut chain = Chain::<()>::new(CAPACITY).unwrap();
        for _ in 0..4 {
            chain.carve(1, want(20), 0).unwrap();
        }
        assert_eq!(join(&mut chain, 20), 20);
        assert_eq!(join(&mut chain, 40), 20);
        assert_eq!(sizes(&chain)[1], (40, true));
        assert_eq!(join(&mut chain, 0), 0);
        assert_eq!(sizes(&chain), [(60, true), (20, false), (20, true)]);
        assert_eq!(join(&mut chain, 60), 0);
        assert_eq!(sizes(&chain), [(100, true)]);
    }

    #[test]
    fn entries_are_used_again() {
        let mut chain = Chain::<()>::new(CAPACITY).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..1000 {
            let first = chain.iter().next().unwrap();
            chain.carve(first, want(7), 3).unwrap();
            join(&mut chain, 3);
            assert_eq!(sizes(&chain), [(100, true)]);
            bytes.push(chain.bytes());
        }
        assert_eq!(bytes.first(), bytes.last());
    }

    #[test]
    fn bytes_are_found_by_the_block_they_lie_in() {
        let mut chain = Chain::<()>::new(CAPACITY).unwrap();
        chain.carve(1, want(10), 5).unwrap();
        let free: Vec<u64> = (0..CAPACITY).filter(|&byte| chain.is_free_at(byte)).collect();
        assert_eq!(free, (0..5).chain(15..100).collect::<Vec<_>>());
    }
}
