//! The blocks on one device, of all data: who could make room for others.
//!
//! A datum's own list of its blocks ([`residency`](super::residency)) says where its bytes are; the
//! registry says whose bytes are on the device. An entry names its datum without
//! owning it, and goes before the datum does.
//!
//! Lock order: a datum's lock before a registry's. Whoever looks for victims holds
//! the registry's alone, becomes an owner of the datums that it found, lets go, and
//! then looks at one datum after the other.
#![allow(unsafe_code)]

use super::datum::{Datum, Listed, Owned};
use super::node::{Node, Region};
use super::resources::Block;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

/// Owners of a block that nobody uses: the datum's list and the registry.
pub(super) const UNUSED: usize = 2;

struct Entry {
    datum: Listed,
    region: Region,
    block: Arc<Block>,
}

/// The blocks on one resource.
#[derive(Default)]
pub(super) struct Registry {
    /// By address, so that the order is the same in every run.
    entries: Mutex<BTreeMap<u64, Entry>>,
    /// Counts uses: the device's own time.
    clock: AtomicU64,
    /// Blocks that were or are being allocated, and were not given back, listed or not.
    live: AtomicUsize,
    /// Allocations that were begun.
    begun: AtomicU64,
}

/// Who is on a device, at one moment: its [live](Registry::live) blocks, and the allocations [begun](Registry::begun).
pub(super) struct Census {
    pub(super) live: usize,
    begun: u64,
}

/// A block that may have to go.
pub(crate) struct Candidate {
    pub(super) datum: Owned,
    pub(super) region: Region,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) last_use: u64,
    /// Has it other owners than those two who list it?
    pub(super) is_used: bool,
    /// In how many calls from now it is needed again, as far as is known.
    pub(crate) next_use: Option<u64>,
}

impl Candidate {
    /// Whose is the least goes first: blocks that no call known to come uses, then those whose next use is farthest.
    pub(super) fn distance(&self) -> (bool, Reverse<Option<u64>>) {
        (self.next_use.is_some(), Reverse(self.next_use))
    }

    /// Which datum it is of, as an address.
    pub(crate) fn datum(&self) -> usize {
        (&raw const *self.datum).addr()
    }

    /// Where it begins in its datum, and where it ends.
    pub(crate) fn extent(&self) -> Range<usize> {
        self.region.offset..self.region.end()
    }

    /// Does an access of this view use the block?
    pub(crate) fn is_used_by(&self, view: &Node) -> bool {
        std::ptr::eq(&raw const *self.datum, view.datum()) && self.region.overlaps(view.region())
    }
}

impl Registry {
    pub(super) fn list(&self, datum: Listed, region: Region, block: Arc<Block>) {
        self.touch(&block);
        self.entries.lock().insert(block.address(), Entry { datum, region, block });
    }

    pub(super) fn unlist(&self, block: &Arc<Block>) {
        // A block at this address that is not this one was allocated after this one had gone.
        let mut entries = self.entries.lock();
        if entries.get(&block.address()).is_some_and(|e| Arc::ptr_eq(&e.block, block)) {
            entries.remove(&block.address());
        }
    }

    /// The block is used now.
    pub(super) fn touch(&self, block: &Block) {
        block.last_use.store(self.clock.fetch_add(1, Relaxed), Relaxed);
    }

    /// Blocks that nobody uses, `spared` apart.
    pub(super) fn candidates(&self, spared: impl Fn(&Datum, &Region) -> bool) -> Vec<Candidate> {
        self.find(false, spared)
    }

    /// All blocks, `spared` apart.
    pub(super) fn blocks(&self, spared: impl Fn(&Datum, &Region) -> bool) -> Vec<Candidate> {
        self.find(true, spared)
    }

    fn find(&self, used_too: bool, spared: impl Fn(&Datum, &Region) -> bool) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let entries = self.entries.lock();
        for (&address, entry) in entries.iter() {
            let is_used = Arc::strong_count(&entry.block) > UNUSED;
            if is_used && !used_too {
                continue;
            }
            // SAFETY: listed here, and the lock is held.
            let Some(datum) = (unsafe { entry.datum.share() }) else { continue };
            let (bytes, last_use) = (entry.block.bytes(), entry.block.last_use.load(Relaxed));
            found.push(Candidate { datum, region: entry.region, address, bytes, last_use, is_used, next_use: None });
        }
        drop(entries);
        // Outside the lock: an owner that is dropped here may be the last one.
        found.retain(|c| !spared(&c.datum, &c.region));
        found
    }

    /// Every datum that has a block here.
    pub(super) fn data(&self) -> Vec<Owned> {
        let mut found: Vec<Owned> = Vec::new();
        for entry in self.entries.lock().values() {
            if !found.iter().any(|d| entry.datum.is(d)) {
                // SAFETY: listed here, and the lock is held.
                found.extend(unsafe { entry.datum.share() });
            }
        }
        found
    }

    /// An allocation begins. If it fails, or once the block is given back, it [ends](Self::ended).
    pub(super) fn begin(&self) {
        self.live.fetch_add(1, SeqCst);
        self.begun.fetch_add(1, SeqCst);
    }

    pub(super) fn ended(&self) {
        self.live.fetch_sub(1, SeqCst);
    }

    pub(super) fn census(&self) -> Census {
        Census { live: self.live.load(SeqCst), begun: self.begun.load(SeqCst) }
    }

    /// Since then, when there were no blocks but these, has there been one allocation only, which failed?
    pub(super) fn only_one_since(&self, then: &Census, blocks: usize) -> bool {
        then.live == blocks && self.begun.load(SeqCst) == then.begun + 1
    }

    /// Is any block used now, be it by a call or by a copy? Whoever asks uses none.
    pub(super) fn is_used(&self) -> bool {
        let entries = self.entries.lock();
        entries.len() < self.live.load(SeqCst) || entries.values().any(|e| Arc::strong_count(&e.block) > UNUSED)
    }
}

/// What is known of calls to come.
pub(crate) trait Foresight {
    /// Sets each candidate's [`next_use`](Candidate::next_use): how many calls on `r` are to come before one that uses
    /// it. Those that nobody is known to use stay `None`, and make the best victims.
    fn next_uses(&self, r: crate::coherence::ResourceId, candidates: &mut [Candidate]);
}

/// Nothing is known.
impl Foresight for () {
    fn next_uses(&self, _: crate::coherence::ResourceId, _: &mut [Candidate]) {}
}
