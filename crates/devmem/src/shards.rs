//! The allocator's state, split so that threads do not wait for each other.
//!
//! Owns [`Shards`]: each shard has its freed indices (first in, first out), its storage between buffers, its
//! part of the capacity and its count of live buffers. A thread works on one shard, under that shard's lock;
//! the rest is asked only when the shard has nothing left. Invariant: capacity = bytes not given to a shard +
//! bytes given to shards and free + bytes of live buffers, so sums taken with all shards locked are exact.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use parking_lot::{Mutex, MutexGuard};

use crate::AddressSpace;
use crate::raw::hazard;
use crate::raw::pool::Pool;

/// The most a shard takes from the common capacity beyond what it needs, bytes.
const QUANTUM: u64 = 1 << 20;

#[derive(Default)]
pub(crate) struct Shard {
    /// Freed indices, the longest-free first.
    pub(crate) indices: VecDeque<u32>,
    pub(crate) pool: Pool,
    /// Free bytes of the capacity that this shard may give to buffers.
    credit: u64,
    /// Buffers allocated here less buffers freed here; only the sum over all shards says how many live.
    pub(crate) live: i64,
}

/// On cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Padded(Mutex<Shard>);

pub(crate) struct Shards {
    shards: Box<[Padded]>,
    /// Bytes of the capacity that no shard and no buffer has.
    common: AtomicU64,
    capacity: u64,
    /// What a shard takes beyond its need.
    quantum: u64,
}

impl Shards {
    pub(crate) fn new(space: AddressSpace, capacity: u64) -> Self {
        // The host takes microseconds to say how many threads it runs: memories of groups and items, which one thread has
        // to itself, do not ask. More than can run at once: threads come and go, and two that meet in one shard wait for
        // each other.
        let threads = || thread::available_parallelism().map_or(1, usize::from);
        let count = if space.is_shared() { 4 * threads().next_power_of_two() } else { 1 };
        Shards {
            shards: (0..count).map(|_| Padded::default()).collect(),
            common: AtomicU64::new(capacity),
            capacity,
            quantum: (capacity / (8 * count as u64)).min(QUANTUM),
        }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// This thread's shard.
    pub(crate) fn own(&self) -> MutexGuard<'_, Shard> {
        self.shards[self.own_number()].0.lock()
    }

    /// The number of shards is a power of two.
    fn own_number(&self) -> usize {
        hazard::thread_number() & (self.shards.len() - 1)
    }

    /// All shards, locked. The caller must hold none.
    fn all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(|shard| shard.0.lock()).collect()
    }

    /// Takes `bytes` of the capacity out of the shard or what all have in common.
    pub(crate) fn reserve(&self, shard: &mut Shard, bytes: u64) -> bool {
        if shard.credit < bytes {
            let missing = bytes - shard.credit;
            let wanted = missing.saturating_add(self.quantum);
            let take = |common: u64| (common >= missing).then(|| common - wanted.min(common));
            let Ok(before) = self.common.fetch_update(Relaxed, Relaxed, take) else {
                return false;
            };
            shard.credit += wanted.min(before);
        }
        shard.credit -= bytes;
        true
    }

    /// Takes `bytes` of the capacity from wherever they are free, or says how many are. The caller must hold no
    /// shard.
    pub(crate) fn reserve_from_all(&self, bytes: u64) -> Result<(), u64> {
        let mut all = self.all();
        let free = self.free_of(&all);
        let left = free.checked_sub(bytes).ok_or(free)?;
        all.iter_mut().for_each(|shard| shard.credit = 0);
        // No other thread takes from the common part now but with a shard's lock held.
        self.common.store(left, Relaxed);
        Ok(())
    }

    /// Gives `bytes` back to the capacity.
    pub(crate) fn release(&self, shard: &mut Shard, bytes: u64) {
        shard.credit += bytes;
        if shard.credit > 4 * self.quantum {
            self.common.fetch_add(shard.credit - self.quantum, Relaxed);
            shard.credit = self.quantum;
        }
    }

    fn free_of(&self, all: &[MutexGuard<'_, Shard>]) -> u64 {
        self.common.load(Relaxed) + all.iter().map(|shard| shard.credit).sum::<u64>()
    }

    /// Bytes of live buffers and how many these are.
    pub(crate) fn live(&self) -> (u64, u64) {
        let all = self.all();
        let buffers: i64 = all.iter().map(|shard| shard.live).sum();
        (self.capacity - self.free_of(&all), buffers.unsigned_abs())
    }

    /// A freed index of any shard, or else what `otherwise` finds while no shard can be given one. Where a
    /// shard has several, half of them move to the caller's. The caller must hold no shard.
    pub(crate) fn steal_index(&self, otherwise: impl FnOnce() -> Option<u32>) -> Option<u32> {
        let mut all = self.all();
        let Some(rich) = all.iter().position(|shard| !shard.indices.is_empty()) else {
            return otherwise();
        };
        let half = all[rich].indices.len().div_ceil(2);
        let stolen: Vec<u32> = all[rich].indices.drain(..half).collect();
        let (index, more) = stolen.split_first()?;
        all[self.own_number()].indices.extend(more);
        Some(*index)
    }
}
