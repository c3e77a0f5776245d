//! Which buffer index a new buffer gets, beyond the freed ones that each shard hands out again itself.
//!
//! Owns the indices never used and those at rest. An index rests when every generation of it has been used;
//! it is taken up again, at generation 0, only when no other index is left, the longest-rested first. Each
//! such restart makes addresses from before the rest look live again, so restarts are counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::AddressLayout;

pub(crate) struct Indices {
    /// The lowest index never used.
    next: AtomicU64,
    greatest: u64,
    /// A power of two.
    generations: u64,
    rested: Mutex<VecDeque<u32>>,
    restarts: AtomicU64,
}

impl Indices {
    pub(crate) fn new(layout: AddressLayout) -> Self {
        Indices {
            next: AtomicU64::new(1),
            greatest: layout.greatest_index(),
            generations: layout.generations(),
            rested: Mutex::default(),
            restarts: AtomicU64::new(0),
        }
    }

    /// An index never used, if `may_take` agrees to it.
    pub(crate) fn fresh(&self, may_take: impl Fn(u32) -> bool) -> Option<u32> {
        let take = |next: u64| (next <= self.greatest && may_take(next as u32)).then_some(next + 1);
        self.next.fetch_update(Relaxed, Relaxed, take).ok().map(|index| index as u32)
    }

    /// Whether an index used this often has no generation left. Without a tag there is none to run out of.
    pub(crate) fn is_used_up(&self, uses: u64) -> bool {
        self.generations > 1 && uses & (self.generations - 1) == 0
    }

    pub(crate) fn rest(&self, index: u32) {
        self.rested.lock().push_back(index);
    }

    /// The index that has rested longest.
    pub(crate) fn restart(&self) -> Option<u32> {
        let index = self.rested.lock().pop_front()?;
        self.restarts.fetch_add(1, Relaxed);
        Some(index)
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Relaxed)
    }
}
