//! The devices of one context: what one of them lends, the others reach as well.
//!
//! Owns [`Peers`]: the pieces of [memory that the host reaches too](super::svm), by where they lie, and the queues that may
//! be at them. A piece is known from when it is [listed](Peers::list) until the listing is dropped, before
//! which its owner has waited: for what is at the block, or for [all queues](Peers::finish) where others may be at it unseen.

use super::blocks::{Place, Storage};
use super::queue::Queue;
use super::raw::Result;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Devices that share a context.
#[derive(Debug, Default)]
pub(super) struct Peers {
    queues: RwLock<Vec<Weak<Queue>>>,
    /// By address.
    pieces: RwLock<BTreeMap<u64, Piece>>,
}

#[derive(Debug)]
struct Piece {
    bytes: u64,
    storage: Arc<Storage>,
}

impl Peers {
    /// One more device.
    pub(super) fn join(&self, queue: &Arc<Queue>) {
        self.queues.write().push(Arc::downgrade(queue));
    }

    /// Waits until all devices are through with what was queued.
    ///
    /// # Errors
    /// The first driver's that cannot; the others are waited for all the same.
    pub(super) fn finish(&self) -> Result<()> {
        let queues = self.queues.read();
        queues.iter().filter_map(Weak::upgrade).map(|queue| queue.finish()).fold(Ok(()), Result::and)
    }

    /// Lists a piece of so many bytes, if the host reaches it.
    pub(super) fn list(self: &Arc<Self>, bytes: u64, storage: &Arc<Storage>) -> Option<Listing> {
        let address = storage.shared.as_ref()?.start().addr().get() as u64;
        self.pieces.write().insert(address, Piece { bytes, storage: storage.clone() });
        Some(Listing { peers: self.clone(), address })
    }

    /// Where `bytes` bytes of the host's memory lie.
    pub(super) fn locate(&self, address: u64, bytes: usize) -> Option<Place> {
        let pieces = self.pieces.read();
        let (start, piece) = pieces.range(..=address).next_back()?;
        let offset = address - start;
        let end = offset.checked_add(bytes as u64)?;
        (end <= piece.bytes).then(|| Place::of(&piece.storage, offset as usize))
    }
}

/// That a piece is listed, for as long as this lives.
#[derive(Debug)]
pub(super) struct Listing {
    peers: Arc<Peers>,
    address: u64,
}

impl Drop for Listing {
    fn drop(&mut self) {
        self.peers.pieces.write().remove(&self.address);
    }
}
