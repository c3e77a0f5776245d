//! Blocks of a device's memory: what they lie in, and which command was the last at them.
//!
//! Owns [`Storage`]: a buffer, or a part of a [slab's](super::Memory::Slab), with the number of the last command of its
//! device's [queue](super::queue) that may have used it, in whatever role; and [`Blocks`], by address. A number belongs to a
//! block, not to a place: it goes with the block. Whoever hands over commands notes them before he returns, so that what is asked for
//! afterwards finds them.

use super::peers::{Listing, Peers};
use super::raw::{Buffer, Code, Context, Result};
use super::svm::Svm;
use cl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory that commands use.
#[derive(Debug)]
pub(super) struct Storage {
    /// Goes first.
    pub(super) buffer: Arc<Buffer>,
    /// The same, if the host reaches it too.
    pub(super) shared: Option<Svm>,
    pub(super) last_use: LastUse,
}

/// The last command of its device's queue that may use a block.
#[derive(Debug, Default)]
pub(super) struct LastUse(AtomicU64);

impl LastUse {
    /// Commands up to this one may. Threads that note theirs at once do so in any order.
    pub(super) fn note(&self, command: u64) {
        // What makes the call of one thread come after that of another shows it the number too.
        self.0.fetch_max(command, Relaxed);
    }

    /// From now on others may use it without saying so: it is used by all that is queued, on other devices too.
    pub(super) fn lose_track(&self) {
        self.note(u64::MAX);
    }

    /// Its number; more than there are where nobody knows.
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Its number, if anybody knows.
    pub(super) fn known(&self) -> Option<u64> {
        Some(self.get()).filter(|number| *number < u64::MAX)
    }
}

impl Storage {
    /// A buffer, or a part of it.
    pub(super) fn of(buffer: Arc<Buffer>) -> Self {
        Self { buffer, shared: None, last_use: LastUse::default() }
    }

    /// In memory that the host reaches too.
    fn shared(context: &Arc<Context>, bytes: u64) -> Result<Self> {
        let shared = Svm::new(context, size(bytes)?)?;
        let buffer = Arc::new(shared.buffer()?);
        Ok(Self { shared: Some(shared), ..Self::of(buffer) })
    }

    /// As the host reaches it, from now on at any time; so do other devices then.
    pub(super) fn lend(&self) -> Option<&Svm> {
        let shared = self.shared.as_ref()?;
        self.last_use.lose_track();
        Some(shared)
    }
}

#[derive(Debug)]
pub(super) struct Block {
    /// Where the host reaches it. Goes before its storage.
    _listing: Option<Listing>,
    pub(super) storage: Arc<Storage>,
    /// Where in its buffer it begins, and how long it is.
    start: usize,
    bytes: u64,
}

impl Block {
    pub(super) fn new(context: &Context, bytes: u64) -> Result<Self> {
        Ok(Self::part(&Arc::new(context.buffer(size(bytes)?)?), 0, bytes))
    }

    /// A part of a buffer.
    pub(super) fn part(buffer: &Arc<Buffer>, start: usize, bytes: u64) -> Self {
        Self { _listing: None, storage: Arc::new(Storage::of(buffer.clone())), start, bytes }
    }

    /// In memory that the host reaches too.
    pub(super) fn shared(context: &Arc<Context>, peers: &Arc<Peers>, bytes: u64) -> Result<Self> {
        let storage = Arc::new(Storage::shared(context, bytes)?);
        Ok(Self { _listing: peers.list(bytes, &storage), storage, start: 0, bytes })
    }
}

fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map(|bytes| bytes.max(1)).map_err(|_| Code(CL_MEM_OBJECT_ALLOCATION_FAILURE))
}

/// All blocks, by address.
#[derive(Debug, Default)]
pub(super) struct Blocks(pub(super) BTreeMap<u64, Block>);

impl Blocks {
    /// Where `bytes` bytes lie, if that is in one block.
    pub(super) fn locate(&self, address: u64, bytes: usize) -> Option<Place> {
        let (first, block) = self.0.range(..=address).next_back()?;
        let offset = address - first;
        let end = offset.checked_add(bytes as u64)?;
        (end <= block.bytes).then(|| Place::of(&block.storage, block.start + offset as usize))
    }
}

/// Where a span lies: in which storage, and from which byte of its buffer on.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) storage: Arc<Storage>,
    pub(super) offset: usize,
}

impl Place {
    pub(super) fn of(storage: &Arc<Storage>, offset: usize) -> Self {
        Self { storage: storage.clone(), offset }
    }

    pub(super) fn buffer(&self) -> &Buffer {
        &self.storage.buffer
    }
}

#[cfg(test)]
mod tests;
