//! The oracle: a map of every granule of the range, searched one by one.
//!
//! It knows how bytes are accounted (in granules from the start of the range, the last
//! one perhaps short), not where a system places a block, except that a bitset takes
//! the first run that fits.

use std::collections::BTreeMap;

use rimms_heap::{HeapError, HeapKind, HeapReport, MarkingSystem};

/// A live block as the oracle keeps it: granules `first..last`.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    last: u64,
}

#[derive(Debug)]
pub(crate) struct Oracle {
    base: u64,
    capacity: u64,
    granule: u64,
    first_fit: bool,
    used: Vec<bool>,
    live: BTreeMap<u64, Block>,
}

/// The unit that a system accounts in.
pub(crate) fn granule(kind: HeapKind) -> u64 {
    match kind {
        HeapKind::Bitset { block } => block,
        _ => 1,
    }
}

pub(crate) fn is_bitset(kind: HeapKind) -> bool {
    matches!(kind, HeapKind::Bitset { .. })
}

impl Oracle {
    pub(crate) fn new(kind: HeapKind, base: u64, capacity: u64) -> Self {
        let granule = granule(kind);
        let granules = capacity.div_ceil(granule) as usize;
        let first_fit = is_bitset(kind);
        Self { base, capacity, granule, first_fit, used: vec![false; granules], live: BTreeMap::new() }
    }

    /// Bytes from granule `first` up to `last`.
    fn bytes(&self, first: u64, last: u64) -> u64 {
        self.start(last) - self.start(first)
    }

    /// Where a granule starts, from the start of the range; the end of the last is the
    /// range's.
    fn start(&self, granule: u64) -> u64 {
        (u128::from(granule) * u128::from(self.granule)).min(u128::from(self.capacity)) as u64
    }

    fn used_bytes(&self) -> u64 {
        self.live.values().map(|block| self.bytes(block.first, block.last)).sum()
    }

    fn largest_free(&self) -> u64 {
        let (mut largest, mut first) = (0, 0);
        for granule in 0..self.used.len() {
            if self.used[granule] {
                first = granule + 1;
            } else {
                largest = largest.max(self.bytes(first as u64, granule as u64 + 1));
            }
        }
        largest
    }

    /// The offset of the first aligned address in granule `first`.
    fn aligned_in(&self, first: u64, align: u64) -> Option<u64> {
        let address = u128::from(self.base) + u128::from(self.start(first));
        let aligned = address.next_multiple_of(u128::from(align)) - u128::from(self.base);
        let offset = u64::try_from(aligned).ok()?;
        (offset < self.start(first + 1)).then_some(offset)
    }

    /// The block that a request would take if it started in granule `first`.
    fn block_at(&self, first: u64, bytes: u64, align: u64) -> Option<(u64, Block)> {
        let offset = self.aligned_in(first, align)?;
        let end = offset.checked_add(bytes).filter(|&end| end <= self.capacity)?;
        let last = end.div_ceil(self.granule);
        let free = self.used[first as usize..last as usize].iter().all(|&used| !used);
        free.then_some((offset, Block { first, last }))
    }

    fn first_block(&self, bytes: u64, align: u64) -> Option<(u64, Block)> {
        (0..self.used.len() as u64).find_map(|first| self.block_at(first, bytes, align))
    }

    /// What refusing a request must say, or `None` where it must be served.
    fn refusal(&self, wanted: u64, align: u64) -> Option<HeapError> {
        let capacity = self.capacity;
        if wanted == 0 {
            return Some(HeapError::ZeroSize);
        }
        if !align.is_power_of_two() {
            return Some(HeapError::BadAlign { align });
        }
        let aligned = u128::from(self.base).next_multiple_of(u128::from(align));
        if aligned + u128::from(wanted) > u128::from(self.base) + u128::from(capacity) {
            return Some(HeapError::NeverFits { wanted, align, capacity });
        }
        let free = capacity - self.used_bytes();
        if wanted > free {
            return Some(HeapError::Full { wanted, align, free, capacity });
        }
        if self.first_block(wanted, align).is_none() {
            let largest_free = self.largest_free();
            return Some(HeapError::Fragmented { wanted, align, free, largest_free });
        }
        None
    }

    /// Allocates in the heap and checks the answer.
    pub(crate) fn allocate(&mut self, heap: &mut dyn MarkingSystem, bytes: u64, align: u64) -> Option<u64> {
        let answer = heap.allocate(bytes, align);
        let expected = self.refusal(bytes, align);
        let address = match answer {
            Err(error) => {
                assert_eq!(Some(error), expected, "{bytes} B aligned to {align}");
                return None;
            }
            Ok(address) => address,
        };
        assert_eq!(expected, None, "{bytes} B aligned to {align} given at {address:#x}");
        let first = address.checked_sub(self.base).expect("an address in the range") / self.granule;
        let (offset, block) = self.block_at(first, bytes, align).expect("a free block that is large enough");
        assert_eq!(address, self.base + offset, "the first aligned address of its granule");
        if self.first_fit {
            assert_eq!(Some(offset), self.first_block(bytes, align).map(|first| first.0), "first fit");
        }
        assert_eq!(heap.size_of(address), Some(self.bytes(block.first, block.last)));
        self.used[block.first as usize..block.last as usize].fill(true);
        assert!(self.live.insert(address, block).is_none());
        Some(address)
    }

    /// Frees in the heap, an address that may be no block's, and checks the answer.
    pub(crate) fn free(&mut self, heap: &mut dyn MarkingSystem, address: u64) {
        let (base, capacity) = (self.base, self.capacity);
        let offset = address.checked_sub(base).filter(|&offset| offset < capacity);
        let expected = match (offset, self.live.remove(&address)) {
            (_, Some(block)) => {
                self.used[block.first as usize..block.last as usize].fill(false);
                Ok(self.bytes(block.first, block.last))
            }
            (None, None) => Err(HeapError::Foreign { address, base, capacity }),
            (Some(offset), None) if self.used[(offset / self.granule) as usize] => {
                Err(HeapError::Misaligned { address })
            }
            (Some(_), None) => Err(HeapError::DoubleFree { address }),
        };
        assert_eq!(heap.free(address), expected, "freeing {address:#x}");
        assert_eq!(heap.size_of(address), None);
    }

    /// Checks the figures.
    pub(crate) fn check(&self, heap: &dyn MarkingSystem) -> HeapReport {
        let report = heap.report();
        let used = self.used_bytes();
        assert_eq!((report.base, report.capacity), (self.base, self.capacity));
        assert_eq!((report.used, report.free), (used, self.capacity - used));
        assert_eq!(report.live, self.live.len() as u64);
        assert_eq!(report.largest_free, self.largest_free());
        assert!(report.entries >= report.live);
        report
    }

    /// The addresses of all live blocks.
    pub(crate) fn live(&self) -> Vec<u64> {
        self.live.keys().copied().collect()
    }
}
