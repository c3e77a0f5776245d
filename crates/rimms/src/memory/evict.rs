//! Eviction: a block gives its room to others.
//!
//! What other resources hold too is simply given up; what lies in the block alone is
//! written back to the host first, outside all locks. No valid byte is lost: where
//! the copy fails, or somebody else was quicker, the block stays.
//!
//! Nobody is waited for: a block that is used, or that a claim stands on, is no victim now.
//!
//! Victims are blocks that no call known to come uses, then those whose next use is
//! farthest (Belady); among equals those that need no copy; among these one that is
//! large enough, then the one used longest ago.

use super::claims::with_host;
use super::datum::Locked;
use super::node::{Node, Region};
use super::plan::{Copies, host_is_current, place_on};
use super::registry::{Candidate, UNUSED};
use super::residency::Residency;
use super::transfer::{Move, Place};
use crate::coherence::{Event, MemoryMode, ResourceId, ResourceSet, State};
use crate::error::{Error, Result};
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;

/// What became of a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// Its room is free.
    Gone,
    /// It is used now, or was while the copy was made: later, maybe.
    Stays,
    /// It would have had to be written back first.
    IsDirty,
}

/// What may be done to make a block's room free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Nothing that takes a copy.
    Clean,
    /// Whatever it takes.
    Any,
    /// The copy alone: the block stays, and can go without one later.
    Keep,
}

/// Why no more room was made.
#[derive(Default)]
pub(super) struct Obstacles {
    /// Others are there, and may go later.
    pub(super) are_used: bool,
    /// A copy that failed.
    pub(super) failure: Option<Error>,
    /// How many did.
    pub(super) failures: usize,
}

impl Obstacles {
    /// Evicts a block; false where it stays.
    fn evict(&mut self, victim: &Candidate, r: ResourceId, way: Way) -> bool {
        match evict(victim, r, way) {
            Ok(Outcome::Gone) => return true,
            Ok(Outcome::Stays) => self.are_used = true,
            Ok(Outcome::IsDirty) => {}
            Err(error) => {
                self.failure = Some(error);
                self.failures += 1;
            }
        }
        false
    }

    /// Evicts the best victim that can go; false where none can.
    pub(super) fn evict_one_of(&mut self, mut candidates: Vec<Candidate>, r: ResourceId, missing: u64) -> bool {
        candidates.sort_by_key(|c| (c.distance(), c.bytes < missing, c.last_use));
        candidates.chunk_by(|a, b| a.distance() == b.distance()).any(|equals| {
            let mut first = |way| equals.iter().any(|victim| self.evict(victim, r, way));
            first(Way::Clean) || first(Way::Any)
        })
    }

    /// Evicts all that can go.
    pub(super) fn evict_all(&mut self, candidates: &[Candidate], r: ResourceId) {
        for victim in candidates {
            self.evict(victim, r, Way::Any);
        }
    }
}

/// Evicts one block, if nobody uses it.
///
/// # Errors
/// A copy that failed, or that nobody knows the end of. The block stays, and what it holds stays valid.
pub(super) fn evict(victim: &Candidate, r: ResourceId, way: Way) -> Result<Outcome> {
    let datum = &*victim.datum;
    let mut locked = datum.lock();
    let Some((&region, block)) = locked.get().block_at(r, victim.address) else { return Ok(Outcome::Stays) };
    let is_used = Arc::strong_count(block) > UNUSED;
    if is_used || !locked.may_claim(ResourceSet::only(r), &region)? {
        return Ok(Outcome::Stays);
    }
    let found = Found::look(locked.get(), datum.root(), r, &region)?;
    match way {
        Way::Keep if found.copies.is_empty() => return Ok(Outcome::Stays),
        _ if found.copies.is_empty() => return Ok(found.leaves.give_up(locked, r, victim.address, true)),
        Way::Clean => return Ok(Outcome::IsDirty),
        Way::Any | Way::Keep => {}
    }
    if !locked.may_claim(with_host(r), &region)? {
        return Ok(Outcome::Stays);
    }
    let _claim = locked.claim(with_host(r), region);
    // Once more, now that writers see the claim: one that has begun since the first look is not to be written over.
    drop(found);
    let found = Found::look(locked.get(), datum.root(), r, &region);
    drop(locked);
    let Found { mut leaves, copies } = found?;
    let beside_calls = way == Way::Keep || datum.resources.device(r).queues_launches();
    let copied = copies.make(datum, Cause::Eviction, beside_calls, &mut |leaf, _| leaves.written(leaf));
    let may_go = copied.is_ok() && way != Way::Keep;
    let outcome = leaves.give_up(datum.lock(), r, victim.address, may_go);
    copied.map(|()| outcome)
}

/// Does anything lie in the block that the host does not have?
pub(super) fn is_dirty(block: &Candidate, r: ResourceId) -> bool {
    let datum = &*block.datum;
    let mut locked = datum.lock();
    let Some((&region, _)) = locked.get().block_at(r, block.address) else { return false };
    Found::look(locked.get(), datum.root(), r, &region).is_ok_and(|found| !found.copies.is_empty())
}

/// What lies in a block.
struct Found<'a> {
    leaves: Leaves<'a>,
    /// Those that lie there alone, to the host.
    copies: Copies<'a>,
}

/// Leaves that are valid in a block.
#[derive(Default)]
struct Leaves<'a> {
    all: SmallVec<[Leaf<'a>; 4]>,
    /// All up to here that are to be written are.
    done: usize,
}

struct Leaf<'a> {
    node: &'a Node,
    /// It was copied to the host.
    is_written: bool,
}

impl<'a> Found<'a> {
    fn look(residency: &Residency, root: &'a Node, r: ResourceId, region: &Region) -> Result<Self> {
        let mut found = Self { leaves: Leaves::default(), copies: Copies::default() };
        for leaf in root.leaves_in(region) {
            let state = leaf.state();
            if !state.is_valid_on(r) {
                continue;
            }
            found.leaves.all.push(Leaf { node: leaf, is_written: false });
            if state.valid() == ResourceSet::only(r) && !host_is_current(state) {
                let to = Place { resource: ResourceId::HOST, span: root.datum().host_span(leaf.region()) };
                let (from, block) = place_on(residency, r, leaf)?;
                found.copies.push(leaf, Move { from, to, host_is_current: false }, block);
            }
        }
        Ok(found)
    }
}

impl Leaves<'_> {
    /// Copies arrive in the order of the leaves.
    fn written(&mut self, node: &Node) {
        let left = self.all.iter_mut().enumerate().skip(self.done);
        for (at, leaf) in left.filter(|(_, leaf)| std::ptr::eq(leaf.node, node)).take(1) {
            (leaf.is_written, self.done) = (true, at + 1);
        }
    }

    /// The block at `address` goes, if it may, nobody has taken it meanwhile, and all that lies in it lies elsewhere too.
    fn give_up(&self, mut locked: Locked<'_>, r: ResourceId, address: u64, may_go: bool) -> Outcome {
        let resources = &locked.datum().resources;
        let mode = locked.datum().mode;
        let residency = locked.get();
        let block = residency.block_at(r, address).map(|(_, block)| block.clone());
        // One more than nobody: us.
        let block = block.filter(|block| may_go && Arc::strong_count(block) == UNUSED + 1);
        let mut stays = block.is_none();
        for Leaf { node, is_written } in &self.all {
            node.change(|state| after(mode, state, r, *is_written, block.is_some()));
            stays |= node.state().is_valid_on(r);
        }
        let Some(block) = block.filter(|_| !stays) else { return Outcome::Stays };
        let removed = residency.remove(resources, &block);
        resources.tally.evicted();
        resources.pressure(r).set_short();
        if let Some(log) = &resources.log {
            log.evicted(r, block.bytes());
        }
        drop(locked);
        // Without the lock: this calls the device.
        drop((removed, block));
        Outcome::Gone
    }
}

/// A leaf's state after its bytes on `r` were given up, if they may be; `written` to the host before or not. `None`
/// where nothing changes: a writer elsewhere has begun, so that `r` has nothing new any more, or nobody else has it.
fn after(mode: MemoryMode, state: State, r: ResourceId, written: bool, goes: bool) -> Option<State> {
    if !state.is_valid_on(r) {
        return None;
    }
    if !goes {
        // In the other modes the host's copy does not count beside the device's.
        return (written && mode == MemoryMode::ValidSet).then(|| state.shared_with(ResourceId::HOST));
    }
    let left = mode.step(state, Event::Drop(r)).ok()?.state;
    let on_host = written || host_is_current(state);
    match (left == State::UNINITIALISED, on_host) {
        (true, on_host) => on_host.then_some(State::owned(ResourceId::HOST)),
        (false, _) if written => Some(left.shared_with(ResourceId::HOST)),
        (false, _) => Some(left),
    }
}

impl Node {
    /// The leaves with bytes in `region`, in order.
    fn leaves_in<'a>(&'a self, region: &Region) -> impl Iterator<Item = &'a Node> {
        let mut rest: SmallVec<[&Node; 8]> = SmallVec::from_slice(&[self]);
        std::iter::from_fn(move || {
            loop {
                let node = rest.pop()?;
                if !node.region().overlaps(region) {
                    continue;
                }
                if node.is_leaf() {
                    return Some(node);
                }
                // Neither begin nor end before their elder siblings do (`divide`): the rows of a matrix may be many.
                let children = node.children();
                let from = children.partition_point(|child| child.region().end() <= region.offset);
                let to = children.partition_point(|child| child.region().offset < region.end());
                rest.extend(children.get(from..to).unwrap_or_default().iter().rev());
            }
        })
    }
}
