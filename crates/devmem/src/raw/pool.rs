//! Storage between two buffers: retired blocks until nobody is at work on them, then ready ones.
//!
//! Owns both kinds for one shard of a memory. Small storage comes in powers of two and is kept for the next
//! buffer of about that size; large storage goes back to the host as soon as it can.

use super::block::{Retired, Storage};
use super::hazard::Announced;
use crate::AddressLayout;

/// log2 of the least and greatest kept size, bytes.
const LEAST_BITS: u32 = 6;
const GREATEST_BITS: u32 = 16;

/// Retired blocks after which a look at the readers is worth its barrier, and bytes of them after which it must be.
const BATCH_BLOCKS: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

/// Bytes of ready storage a shard keeps.
const READY_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct Pool {
    /// Ready storage by log2 of its size, the last used on top.
    ready: [Vec<Storage>; (GREATEST_BITS - LEAST_BITS + 1) as usize],
    ready_bytes: usize,
    retired: Vec<Retired>,
    retired_bytes: usize,
}

/// The room to ask of the host for a buffer of `size` bytes.
pub(crate) fn room_for(size: usize) -> usize {
    match class_of(size) {
        Some(class) => size_of_class(class),
        None => size,
    }
}

fn size_of_class(class: usize) -> usize {
    1 << (class as u32 + LEAST_BITS)
}

fn class_of(size: usize) -> Option<usize> {
    let bits = (size.max(1) - 1).checked_ilog2().map_or(0, |bits| bits + 1).max(LEAST_BITS);
    (bits <= GREATEST_BITS).then_some((bits - LEAST_BITS) as usize)
}

impl Pool {
    /// Ready storage for a buffer of `size` bytes.
    pub(crate) fn take(&mut self, size: usize) -> Option<Storage> {
        let class = class_of(size)?;
        let storage = self.ready.get_mut(class)?.pop()?;
        self.ready_bytes -= size_of_class(class);
        Some(storage)
    }

    /// Keeps a block until nobody is at work on it. Returns all retired blocks when it is time to look.
    #[must_use]
    pub(crate) fn retire(&mut self, block: Retired) -> Option<Vec<Retired>> {
        let bytes = block.capacity();
        self.retired_bytes += bytes;
        self.retired.push(block);
        let due = class_of(bytes).is_none() || self.retired_bytes >= BATCH_BYTES || self.retired.len() >= BATCH_BLOCKS;
        due.then(|| {
            self.retired_bytes = 0;
            std::mem::take(&mut self.retired)
        })
    }

    /// Keeps storage for the next buffer, or gives it back to the host.
    pub(crate) fn keep(&mut self, storage: Storage) {
        let bytes = storage.capacity();
        if let Some(class) = class_of(bytes)
            && let Some(ready) = self.ready.get_mut(class)
            && self.ready_bytes + bytes <= READY_BYTES
        {
            self.ready_bytes += bytes;
            ready.push(storage);
        }
    }

    /// Takes back what [`retire`](Self::retire) returned, sorted by what a look found since.
    pub(crate) fn sort(&mut self, retired: Vec<Retired>, announced: &Announced, layout: AddressLayout) {
        for block in retired {
            match block.reclaim(announced, layout) {
                Ok(storage) => self.keep(storage),
                Err(block) => {
                    self.retired_bytes += block.capacity();
                    self.retired.push(block);
                }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for block in self.retired.drain(..) {
            // SAFETY: a pool is dropped with its memory, and every access borrows that.
            drop(unsafe { block.reclaim_unseen() });
        }
    }
}
