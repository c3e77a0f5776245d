//! Claims: who is changing what a resource holds of a datum.
//!
//! Copies take long, and a driver is free to call back, so no lock is held
//! meanwhile. Whoever is going to change what resource *r* holds of a region (copy
//! to it, gather on it, evict from it) *claims* both under the datum's lock, plans,
//! releases the lock, does it, and gives the claim up. Two that want the same thing
//! get it once: the second waits, and then finds it done.
//!
//! Invariants:
//! * claims that overlap in region and resources do not exist at once, [impounded](Impound) views apart;
//! * what a claim needs is claimed at once, and a copy that is being made waits for
//!   nothing, so no cycle of waiters arises. A call's claims on the host
//!   ([`Hold`](super::access::Hold)) last as long as the call; whoever else wants those bytes depends on
//!   the call, evictions apart, and they never wait;
//! * while a claim stands, the tree below its region stays as it is ([`reshape`](super::reshape)).

use super::datum::{Datum, Locked, Owned};
use super::node::{Node, Region};
use crate::coherence::{ResourceId, ResourceSet};
use crate::error::Result;
use smallvec::SmallVec;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

struct Claimed {
    id: u64,
    targets: ResourceSet,
    region: Region,
}

/// The claims on one datum.
#[derive(Default)]
pub(super) struct Claims {
    standing: SmallVec<[Claimed; 2]>,
    next: u64,
}

impl Claims {
    /// Does no claim stand in the way of this one?
    pub(super) fn allow(&self, targets: ResourceSet, region: &Region) -> bool {
        self.in_the_way(targets, region).is_none()
    }

    /// The resources of a claim that does.
    fn in_the_way(&self, targets: ResourceSet, region: &Region) -> Option<ResourceSet> {
        let overlaps = |c: &&Claimed| !c.targets.and(targets).is_empty() && c.region.overlaps(region);
        self.standing.iter().find(overlaps).map(|c| c.targets)
    }
}

impl Datum {
    /// Does no claim stand, as whoever found a leaf uninitialised needs to know? Somebody may have begun to write the
    /// leaf, and failed, while it was still being evicted to the host. Whoever evicts notes the claim before it looks
    /// at the state; whoever asks this has seen the state changed after that, and looks at the note in a step that
    /// comes after all those.
    pub(super) fn is_unclaimed(&self) -> bool {
        !self.is_claimed.fetch_or(false, SeqCst)
    }

    /// Is no view impounded, as whoever has waited for the calls before it needs to know? (Other claims may stand too.)
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        !self.is_claimed.load(Acquire)
    }

    fn end_claim(&self, id: u64) {
        let mut locked = self.lock();
        let standing = &mut locked.get().claims.standing;
        standing.retain(|c| c.id != id);
        self.is_claimed.store(!standing.is_empty(), Release);
        locked.released();
    }
}

/// A claim, until dropped.
pub(crate) struct Claim<'a> {
    datum: &'a Datum,
    id: u64,
}

impl<'a> Locked<'a> {
    /// Returns once no other claim stands in the way.
    ///
    /// # Errors
    /// As [`may_claim`](Self::may_claim).
    pub(super) fn wait_for(&mut self, targets: ResourceSet, region: &Region) -> Result<()> {
        while !self.may_claim(targets, region)? {
            self.wait();
        }
        Ok(())
    }

    /// Does no other claim stand in the way now?
    ///
    /// # Errors
    /// [`DeviceLost`](crate::Error::DeviceLost) where one does whose device is lost: it may be stuck in a copy for ever.
    pub(super) fn may_claim(&self, targets: ResourceSet, region: &Region) -> Result<bool> {
        let Some(claimed) = self.if_any().and_then(|residency| residency.claims.in_the_way(targets, region)) else {
            return Ok(true);
        };
        let resources = &self.datum().resources;
        match claimed.iter().find(|r| resources.is_lost(*r)) {
            Some(lost) => Err(resources.gone(lost)),
            None => Ok(false),
        }
    }

    /// Claims what no other claim stands in the way of.
    pub(super) fn claim(&mut self, targets: ResourceSet, region: Region) -> Claim<'a> {
        debug_assert!(self.get().claims.allow(targets, &region));
        Claim { datum: self.datum(), id: self.stand(targets, region) }
    }

    fn stand(&mut self, targets: ResourceSet, region: Region) -> u64 {
        let claims = &mut self.get().claims;
        let id = claims.next;
        claims.next += 1;
        claims.standing.push(Claimed { id, targets, region });
        // Before the states are looked at: see `is_unclaimed`.
        self.datum().is_claimed.swap(true, SeqCst);
        id
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.datum.end_claim(self.id);
    }
}

/// A claim that stands whatever others do: for a view that a thread may be at which was given up. Until that thread has
/// let go of it (and dropped this) the tree is not changed; and the host's bytes are not written, if the
/// thread may be in a copy of them.
pub(crate) struct Impound {
    datum: Owned,
    id: u64,
}

impl Node {
    /// Impounds the view for a thread that is stuck in a call to a device that is lost already: so it begins no further
    /// copy, and if it is in one of this view, that one's claim stands.
    pub(crate) fn impound(&self, lost: ResourceId) -> Impound {
        let mut locked = self.datum().lock();
        let here = ResourceSet::only(lost);
        let in_copy = !locked.get().claims.allow(here, self.region());
        let id = locked.stand(if in_copy { with_host(lost) } else { here }, *self.region());
        Impound { datum: self.datum().share(), id }
    }
}

impl Drop for Impound {
    fn drop(&mut self) {
        self.datum.end_claim(self.id);
    }
}

/// The host and these.
pub(super) fn with_host(r: ResourceId) -> ResourceSet {
    ResourceSet::only(r).with(ResourceId::HOST)
}
