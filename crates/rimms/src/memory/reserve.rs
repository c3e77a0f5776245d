//! Room for all operands of a call at once, then their bytes.
//!
//! All operands get a place on the device, or none does. Where there is no room,
//! blocks that nobody uses go ([`evict`](super::evict)), those of the call's own operands
//! apart; where others use what is there, the call lets go of all that it has
//! and waits for them ([`pressure`](super::pressure)); and where it is alone on the device, its own blocks
//! go too, so that its operands can be laid out side by side. What has no room
//! then never has.
//!
//! Nothing is held while waiting: neither locks, nor claims, nor blocks.
//!
//! A call holds its blocks, but not that the residency names them: another reader, of
//! more than this call's operand, may gather it in a block of its own and let go of that again
//! before the operand is read here. Then the places are reserved once more.

use super::access::{Hold, Located, Used};
use super::datum::Datum;
use super::evict::Obstacles;
use super::fit::{can_never_hold, is_no_room, leading, missing, never_fits};
use super::node::{Node, Region};
use super::operand::{INLINE, Usage};
use super::plan::{Copies, place_on};
use super::registry::{Foresight, UNUSED};
use super::resources::{Block, Resources};
use super::transfer::{Move, Place};
use crate::coherence::{ResourceId, ResourceSet};
use crate::device::{DeviceError, DeviceErrorKind, Rows, Span};
use crate::error::{Error, Result};
use crate::op::Role;
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;

/// The places of a call's operands, in their order.
pub(crate) type Places<'a> = SmallVec<[Located<'a>; INLINE]>;

/// Brings all operands of a call to `r`, and says where they are there. Each place is to be held until the call's
/// success or failure is recorded.
///
/// # Errors
/// `Uninitialised`; [`Error::NeverFits`], [`Error::Full`], [`Error::Fragmented`] where there is no room, even once all
/// others have gone; a failed copy; [`Error::DeviceLost`]. The states are as they were, apart from copies that succeeded.
pub(crate) fn bring<'a>(operands: &[Usage<'a>], r: ResourceId, foresight: &dyn Foresight) -> Result<Places<'a>> {
    let Some(resources) = operands.first().map(|one| &one.node().datum().resources) else {
        return Ok(Places::new());
    };
    if r.is_host() {
        return operands.iter().map(|one| one.node().fetch(r, one.role(), Cause::Input)).collect();
    }
    if resources.is_lost(r) {
        return Err(resources.gone(r));
    }
    if operands.iter().any(|one| one.node().is_shared()) {
        return bring_or_share(operands, r, foresight);
    }
    for (node, role) in operands.iter().map(Usage::parts) {
        node.forget_lost();
        if role.reads() {
            node.check_written()?;
        }
    }
    let reserve = Reserve { resources, r, operands, foresight };
    if let Some((mut places, is_filled)) = reserve.at_hand()
        && (is_filled || reserve.fill(&mut places)?)
    {
        return Ok(places);
    }
    loop {
        let mut places = reserve.all()?;
        if reserve.fill(&mut places)? {
            return Ok(places);
        }
    }
}

/// The same where some operands stay where they are.
#[cold]
fn bring_or_share<'a>(operands: &[Usage<'a>], r: ResourceId, foresight: &dyn Foresight) -> Result<Places<'a>> {
    let others: SmallVec<[_; INLINE]> = operands.iter().copied().filter(|one| !one.node().is_shared()).collect();
    let mut brought = bring(&others, r, foresight)?.into_iter();
    let place = |one: &Usage<'a>| match one.node().is_shared() {
        true => one.node().fetch(r, one.role(), Cause::Input),
        false => brought.next().ok_or_else(|| one.node().datum().resources.gone(r)),
    };
    operands.iter().map(place).collect()
}

/// Why not all operands have a place.
enum Refused {
    /// There is no room, in the device's words, and what keeps others from making some.
    NoRoom(Box<(DeviceError, Obstacles)>),
    /// A place went with a larger block that others have made and given up.
    Displaced,
    /// Something else went wrong.
    Failed(Error),
}

/// Why one operand has no place.
enum NoPlace {
    NoRoom(DeviceError),
    Failed(Error),
}

impl From<Error> for NoPlace {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

struct Reserve<'a, 'c> {
    resources: &'c Arc<Resources>,
    r: ResourceId,
    operands: &'c [Usage<'a>],
    foresight: &'c dyn Foresight,
}

impl<'a> Reserve<'a, '_> {
    /// The operands' places, where all have one that nobody changes, while nobody waits for room; and are the
    /// bytes there that are to be read?
    fn at_hand(&self) -> Option<(Places<'a>, bool)> {
        if self.resources.pressure(self.r).is_high() {
            return None;
        }
        let (registry, here, mut is_filled) = (self.resources.registry(self.r), ResourceSet::only(self.r), true);
        let places = self.operands.iter().map(|one| {
            let (node, role) = one.parts();
            let locked = node.datum().lock();
            let residency = locked.if_any()?;
            if !residency.claims.allow(here, node.region()) {
                return None;
            }
            let (span, block) = residency.locate(self.r, node.region())?;
            registry.touch(block);
            is_filled &= !role.reads() || node.is_there(self.r);
            Some(Located { span, hold: Hold::Block(Used::new(block.clone())) })
        });
        let places = places.collect::<Option<_>>()?;
        Some((places, is_filled))
    }

    fn all(&self) -> Result<Places<'a>> {
        let pressure = self.resources.pressure(self.r);
        if pressure.is_high() && self.is_there() {
            pressure.hold_back();
        }
        if !pressure.is_high() || self.is_there() {
            match self.attempt(false) {
                Ok(places) => return Ok(places),
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::NoRoom(_) | Refused::Displaced) => {}
            }
        }
        let mut turn = pressure.turn();
        let mut alone = false;
        loop {
            match self.attempt(alone) {
                Ok(places) => return Ok(places),
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::Displaced) => {}
                Err(Refused::NoRoom(why)) => {
                    let (error, obstacles) = *why;
                    // Those who were there may have gone meanwhile; only an attempt made alone says that there is no room.
                    if obstacles.are_used || !alone && self.resources.registry(self.r).is_used() {
                        if !turn.wait() {
                            return Err(self.refusal(error, obstacles));
                        }
                        alone = false;
                    } else if alone {
                        return Err(self.refusal(error, obstacles));
                    } else {
                        alone = true;
                    }
                }
            }
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &'a Node> {
        self.operands.iter().map(Usage::node)
    }

    /// Do all operands have a place already?
    fn is_there(&self) -> bool {
        self.nodes().all(|node| node.datum().lock().get().locate(self.r, node.region()).is_some())
    }

    /// Room for all operands, or none. With `alone` whatever nobody uses goes first.
    fn attempt(&self, alone: bool) -> Result<Places<'a>, Refused> {
        let mut obstacles = Obstacles::default();
        if alone {
            let candidates = self.resources.registry(self.r).candidates(|_, _| false);
            obstacles.evict_all(&candidates, self.r);
            // Whoever is still there may go before all operands have a place, and leave the room in pieces.
            obstacles.are_used |= self.resources.registry(self.r).census().live != obstacles.failures;
        }
        let mut held: SmallVec<[Arc<Block>; INLINE]> = SmallVec::new();
        let mut new: SmallVec<[&Node; INLINE]> = SmallVec::new();
        for (node, role) in self.in_order(alone).iter().map(Usage::parts) {
            match self.place(node, role, alone, held.len(), &mut obstacles) {
                Ok((block, is_new)) => {
                    if !held.iter().any(|other| Arc::ptr_eq(other, &block)) {
                        held.push(block);
                    }
                    if is_new {
                        new.push(node);
                    }
                }
                Err(no_place) => {
                    drop(held);
                    new.iter().for_each(|node| self.give_up(node));
                    return Err(match no_place {
                        NoPlace::NoRoom(error) => Refused::NoRoom(Box::new((error, obstacles))),
                        NoPlace::Failed(error) => Refused::Failed(error),
                    });
                }
            }
        }
        let located = self.nodes().map(|node| {
            let mut locked = node.datum().lock();
            // In a larger block than its own, maybe, that came with another operand.
            let (span, block) = locked.get().locate(self.r, node.region()).ok_or(Refused::Displaced)?;
            Ok(Located { span, hold: Hold::Block(Used::new(block.clone())) })
        });
        located.collect()
    }

    /// Brings what is read to its places; false where one of these is gone.
    fn fill(&self, places: &mut Places<'a>) -> Result<bool> {
        for (one, place) in self.operands.iter().zip(places).filter(|(one, _)| one.role().reads()) {
            if !one.node().make_valid(self.r, place, Cause::Input)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The operands that need places of their own, the largest first: others may lie inside. For a layout that fits
    /// whenever there is one, the one whose end is rounded most comes last.
    fn in_order(&self, alone: bool) -> SmallVec<[Usage<'a>; INLINE]> {
        let mut order = leading(self.operands.iter().copied(), Usage::node);
        order.sort_by_key(|one| std::cmp::Reverse(one.node().bytes()));
        if alone {
            let device = self.resources.device(self.r);
            order.sort_by_key(|one| {
                let bytes = one.node().bytes() as u64;
                device.footprint(bytes).saturating_sub(bytes)
            });
        }
        order
    }

    /// A block that covers the operand, which may have to be made, and whether it was. The call holds so many already.
    fn place(
        &self,
        node: &Node,
        role: Role,
        alone: bool,
        held: usize,
        obstacles: &mut Obstacles,
    ) -> Result<(Arc<Block>, bool), NoPlace> {
        let registry = self.resources.registry(self.r);
        let mut may_be_whole = !alone;
        loop {
            let then = registry.census();
            match self.try_place(node, role, may_be_whole) {
                Err(NoPlace::NoRoom(error)) => {
                    if self.resources.is_lost(self.r) {
                        return Err(NoPlace::Failed(self.resources.gone(self.r)));
                    }
                    // Nobody has to go for what is in vain.
                    if let Some(never) = self.never(&error) {
                        return Err(NoPlace::Failed(never));
                    }
                    if alone {
                        obstacles.are_used |= !registry.only_one_since(&then, held + obstacles.failures);
                        return Err(NoPlace::NoRoom(error));
                    }
                    if !self.evict_one(missing(&error), obstacles) {
                        return Err(NoPlace::NoRoom(error));
                    }
                    // All of the datum only where that needs no eviction.
                    may_be_whole = false;
                }
                done => return done,
            }
        }
    }

    /// The same, as things are.
    fn try_place(&self, node: &Node, role: Role, may_be_whole: bool) -> Result<(Arc<Block>, bool), NoPlace> {
        let (datum, r, registry) = (node.datum(), self.r, self.resources.registry(self.r));
        let here = ResourceSet::only(r);
        let (region, whole) = (*node.region(), *datum.root().region());
        let mut locked = datum.lock();
        locked.wait_for(here, &region)?;
        if may_be_whole && region != whole && !locked.get().has_any(r) {
            // Somebody else who uses it first may be making the very block.
            locked.wait_for(here, &whole)?;
            if !locked.get().has_any(r) {
                let claim = locked.claim(here, whole);
                drop(locked);
                match self.allocate(&whole) {
                    Ok(block) => {
                        datum.lock().get().insert(datum, whole, block.clone());
                        return Ok((block, true));
                    }
                    Err(NoPlace::NoRoom(_)) => {
                        drop(claim);
                        return self.try_place(node, role, false);
                    }
                    Err(refused) => return Err(refused),
                }
            }
        }
        if let Some((_, block)) = locked.get().locate(r, &region) {
            registry.touch(block);
            return Ok((block.clone(), false));
        }
        let claim = locked.claim(here, region);
        drop(locked);
        let block = self.allocate(&region)?;
        let span = Span { address: block.address(), rows: packed(&region) };
        self.gather(node, role, &Place { resource: r, span })?;
        let mut locked = datum.lock();
        let removed = locked.get().remove_parts(self.resources, Some(r), &region);
        locked.get().insert(datum, region, block.clone());
        drop(locked);
        drop((claim, removed));
        Ok((block, true))
    }

    fn allocate(&self, region: &Region) -> Result<Arc<Block>, NoPlace> {
        self.resources.allocate(self.r, region.rows.bytes()).map_err(|error| {
            if is_no_room(&error.kind) { NoPlace::NoRoom(error) } else { NoPlace::Failed(self.failure(error)) }
        })
    }

    /// Copies leaves that are valid in blocks of their own to their places in `whole`, under a claim.
    ///
    /// Before a write only those that nobody else has: the call may still fail before it begins, and nothing is lost
    /// then; the others are no longer valid here.
    fn gather(&self, node: &Node, role: Role, whole: &Place) -> Result<()> {
        let (datum, r) = (node.datum(), self.r);
        let mut copies = Copies::default();
        let mut locked = datum.lock();
        node.each_leaf(&mut |leaf| {
            if !role.reads() {
                leaf.lose_unless_alone(r);
            }
            if !leaf.state().is_valid_on(r) {
                return Ok(());
            }
            let (from, block) = place_on(locked.get(), r, leaf)?;
            let to = Place { resource: r, span: node.part_of(&whole.span, leaf) };
            copies.push(leaf, Move { from, to, host_is_current: false }, block);
            Ok(())
        })?;
        drop(locked);
        copies.make(datum, Cause::Gather, false, &mut |_, _| {})
    }

    /// Gives back a place that was made for nothing, unless it holds bytes, or others use it by now.
    fn give_up(&self, node: &Node) {
        let mut locked = node.datum().lock();
        let found = locked.get().locate(self.r, node.region()).map(|(_, block)| block.clone());
        let Some(block) = found else { return };
        let is_used = Arc::strong_count(&block) > UNUSED + 1; // besides us
        if is_used || node.datum().root().any_leaf(|leaf| leaf.state().is_valid_on(self.r)) {
            return;
        }
        let removed = locked.get().remove(self.resources, &block);
        drop(locked);
        drop(removed);
    }

    /// Evicts one block that no operand of the call lies in.
    fn evict_one(&self, missing: u64, obstacles: &mut Obstacles) -> bool {
        let is_own = |datum: &Datum, region: &Region| {
            let touches = |node: &Node| std::ptr::eq(node.datum(), datum) && node.region().overlaps(region);
            self.nodes().any(touches)
        };
        let mut candidates = self.resources.registry(self.r).candidates(is_own);
        self.foresight.next_uses(self.r, &mut candidates);
        obstacles.evict_one_of(candidates, self.r, missing)
    }

    /// The error, where the operands do not fit into the empty memory either.
    #[cold]
    fn never(&self, error: &DeviceError) -> Option<Error> {
        can_never_hold(self.resources, self.r, None, self.nodes()).or_else(|| match error.kind {
            DeviceErrorKind::NeverFits { wanted, capacity } => {
                Some(never_fits(self.resources, self.r, None, (wanted, capacity), self.nodes()))
            }
            _ => None,
        })
    }

    /// There is no room, and waiting does not help.
    #[cold]
    fn refusal(&self, error: DeviceError, obstacles: Obstacles) -> Error {
        // There would be room, had the copy not failed.
        obstacles.failure.unwrap_or_else(|| self.failure(error))
    }

    fn failure(&self, error: DeviceError) -> Error {
        self.resources.failure(error, "allocation", &self.resources.device(self.r).info().name)
    }
}

#[cfg(test)]
mod tests;

/// What a block of this region looks like on a device: without gaps.
fn packed(region: &Region) -> Rows {
    let rows = region.rows;
    if rows.is_run() { rows } else { Rows { pitch: rows.row_bytes, ..rows } }
}
