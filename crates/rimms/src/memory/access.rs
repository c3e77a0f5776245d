//! Access: bringing a view's bytes to where they are needed, and recording what was done to them.
//!
//! In three steps, so that a call with several operands changes nothing before
//! all of them are in place: [`Node::fetch`] on the host, [`bring`](super::bring) on a device (allocate and copy; may
//! fail), [`Node::begin`] (the state tells the truth should the writer fail; cannot
//! fail), [`Node::commit`] (the write succeeded) or [`Node::failed`].
//!
//! On the host, where most accesses find what they need, they take no lock: a read
//! of what is valid there; a write of what nobody else has, or what was there
//! before, or of what nobody has and no claim stands on. Whoever evicts writes to the host's storage what is valid on the device
//! alone, and only that; a writer of such bytes holds a claim on them instead.

use super::claims::{Claim, with_host};
use super::node::Node;
use super::operand::Usage;
use super::plan::{place_on, uninitialised};
use super::reserve::bring;
use super::resources::Block;
use super::transfer::{self, Move, Place};
use crate::coherence::{Event, ResourceId, ResourceSet, State, Step};
use crate::device::Span;
use crate::error::{Error, Result};
use crate::op::Role;
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Where a view lies on a resource, and what keeps it there.
pub(crate) struct Located<'a> {
    pub(crate) span: Span,
    pub(crate) hold: Hold<'a>,
}

/// What keeps a view's place as it is. To be held until the access is over: its failure or success recorded.
pub(crate) enum Hold<'a> {
    /// The host's storage, which stays as long as the datum.
    Nothing,
    /// A block that is not evicted while it is used.
    Block(#[allow(dead_code)] Used),
    /// The host's storage, which nobody evicts into meanwhile.
    Claim(#[allow(dead_code)] Claim<'a>),
}

/// A block in use. Whoever waits for room is told when that ends.
pub(crate) struct Used(Option<Arc<Block>>);

impl Used {
    pub(super) fn new(block: Arc<Block>) -> Self {
        Self(Some(block))
    }
}

impl Drop for Used {
    #[inline]
    fn drop(&mut self) {
        let Some(block) = self.0.take() else { return };
        if block.resources().pressure(block.resource()).is_high() {
            let (resources, r) = (block.resources().clone(), block.resource());
            drop(block);
            resources.pressure(r).ease();
        }
    }
}

impl Node {
    /// Brings the view to `r` for an access of this role, and says where it is there.
    ///
    /// # Errors
    /// `Uninitialised`, lack of room, a failed copy. The state is as it was, apart from copies that succeeded.
    #[inline]
    pub(crate) fn fetch(&self, r: ResourceId, role: Role, cause: Cause) -> Result<Located<'_>> {
        match self.at_hand(r, role) {
            Some(span) => Ok(Located { span, hold: Hold::Nothing }),
            None => self.fetch_slowly(r, role, cause),
        }
    }

    /// Where the view lies in the host's memory, if `r` works there, it is there as an access of this role needs it, and
    /// nobody is to be kept away or waited for.
    #[inline]
    pub(crate) fn at_hand(&self, r: ResourceId, role: Role) -> Option<Span> {
        let (state, is_shared) = (self.state(), self.is_shared());
        // The host holds nothing up: its guards are waited for before.
        let is_alone = || state.is_valid_on(r) && state.valid().without(ResourceId::HOST).without(r).is_empty();
        // Of what is divided nothing is valid, so it is never ready.
        let is_ready = match role {
            Role::In => state.is_valid_on(r),
            Role::InOut => is_alone() && self.datum().is_free(),
            Role::Out => {
                // Those that have read it here may still be at it: see `wait_for_others`.
                let is_mine = if is_shared { is_alone() } else { state.is_valid_on(r) };
                self.is_leaf() && (is_mine && self.datum().is_free() || self.is_fresh(state))
            }
        };
        ((r.is_host() || is_shared) && is_ready).then(|| self.datum().host_span(self.region()))
    }

    /// Do all resources work on it where it lies, so that nothing is copied?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.datum().is_shared()
    }

    /// Where all work on the same bytes, a device may have queued what reads them, or wrote them: waits for that, before
    /// `r` writes them. Whatever takes a device out of a valid set comes after this, so a device that is in none has
    /// nothing queued.
    pub(super) fn wait_for_others(&self, r: ResourceId) {
        if !self.is_shared() {
            return;
        }
        let mut others = ResourceSet::EMPTY;
        let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
            others = leaf.state().valid().iter().fold(others, ResourceSet::with);
            Ok(())
        });
        for other in others.without(ResourceId::HOST).without(r).iter() {
            // What failed there is told by what reads it. It is over all the same.
            let _ = self.datum().resources.device(other).finish();
        }
    }

    /// [`fetch`](Self::fetch) of what is not [at hand](Self::at_hand).
    ///
    /// # Errors
    /// The same.
    #[cold]
    pub(crate) fn fetch_slowly(&self, r: ResourceId, role: Role, cause: Cause) -> Result<Located<'_>> {
        let datum = self.datum();
        if !r.is_host() && !datum.is_shared() {
            let placed = bring(&[Usage::new(self, role)], r, &())?;
            return placed.into_iter().next().ok_or_else(|| datum.resources.gone(r));
        }
        self.forget_lost();
        if role.writes() {
            self.wait_for_others(r);
        }
        let mut place = Located { span: datum.host_span(self.region()), hold: Hold::Nothing };
        if role.reads() {
            self.make_valid(r, &mut place, cause)?;
        }
        let has_others = |leaf: &Node| !leaf.state().valid().without(ResourceId::HOST).is_empty();
        if role.writes() && r.is_host() {
            let mut locked = datum.lock();
            locked.wait_for(ResourceSet::only(r), self.region())?;
            if self.any_leaf(has_others) {
                place.hold = Hold::Claim(locked.claim(ResourceSet::only(r), *self.region()));
            }
        }
        Ok(place)
    }

    /// Nobody has the leaf, and nobody is still at what somebody had.
    #[inline]
    fn is_fresh(&self, state: State) -> bool {
        state == State::UNINITIALISED && self.datum().is_unclaimed()
    }

    /// Is this so of any leaf?
    pub(super) fn any_leaf(&self, is: impl Fn(&Node) -> bool) -> bool {
        self.each_leaf(&mut |leaf| if is(leaf) { Err(()) } else { Ok(()) }).is_err()
    }

    /// Every leaf has been written.
    ///
    /// # Errors
    /// [`Error::Uninitialised`], with the cause where one is known.
    pub(super) fn check_written(&self) -> Result<()> {
        self.each_leaf(&mut |leaf| {
            if leaf.state().valid().is_empty() {
                return Err(uninitialised(leaf, self.datum().lock().get()));
            }
            Ok(())
        })
    }

    /// Are the bytes on `r` as a reader there needs them, as far as a look at one leaf tells?
    #[inline]
    pub(super) fn is_there(&self, r: ResourceId) -> bool {
        let step = || self.datum().mode.step(self.state(), Event::Read(r));
        self.is_leaf() && matches!(step(), Ok(Step { transfer: None, .. }))
    }

    /// Makes every leaf valid on `r`, where the view lies at `place`; false where it lies there no longer.
    pub(super) fn make_valid(&self, r: ResourceId, place: &mut Located<'_>, cause: Cause) -> Result<bool> {
        let datum = self.datum();
        let mut replaced = SmallVec::<[Hold<'_>; 1]>::new();
        let mut locked = datum.lock();
        let mut targets = ResourceSet::only(r);
        let plan = loop {
            locked.wait_for(targets, self.region())?;
            if let Hold::Block(_) = place.hold {
                // A reader of more than this view may have gathered it in a block of its own meanwhile.
                // And it may have let go of that.
                let Some((span, block)) = locked.get().locate(r, self.region()) else { return Ok(false) };
                if span != place.span {
                    let hold = Hold::Block(Used::new(block.clone()));
                    replaced.push(std::mem::replace(place, Located { span, hold }).hold);
                }
            }
            let plan = self.plan_read(locked.get(), r, &place.span)?;
            if plan.is_empty() {
                return Ok(true);
            }
            targets = plan.targets();
            if locked.get().claims.allow(targets, self.region()) {
                break plan;
            }
        };
        let _claim = locked.claim(targets, *self.region());
        drop(locked);
        plan.carry_out(datum, cause).map(|()| true)
    }

    /// The writer starts now: until it has succeeded, the state is what it would be had it failed.
    #[inline]
    pub(crate) fn begin(&self, r: ResourceId, role: Role) {
        match role {
            Role::In => {}
            // Whatever it was before.
            Role::Out => self.set_all(State::UNINITIALISED),
            Role::InOut if self.state() == State::owned(r) => self.set_state(State::UNINITIALISED),
            // The others have no bytes of their own.
            Role::InOut if self.is_shared() => self.set_all(State::UNINITIALISED),
            Role::InOut => self.lose_on(r),
        }
    }

    /// The writer has not started after all: what nobody has now since `r` alone had it, is still there.
    #[cold]
    pub(crate) fn not_begun(&self, r: ResourceId, role: Role) {
        if role == Role::InOut {
            let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
                leaf.change(|state| (state == State::UNINITIALISED).then_some(State::owned(r)));
                Ok(())
            });
        }
    }

    /// `r` no longer has the newest bytes; a leaf that nobody else has is uninitialised then.
    pub(super) fn lose_on(&self, r: ResourceId) {
        let mode = self.datum().mode;
        let lose = |state| mode.step(state, Event::Drop(r)).ok().map(|step| step.state);
        let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
            leaf.change(lose);
            Ok(())
        });
    }

    /// `r` no longer has a leaf's newest bytes, if anybody else does.
    pub(super) fn lose_unless_alone(&self, r: ResourceId) {
        let mode = self.datum().mode;
        self.change(|state| {
            let left = mode.step(state, Event::Drop(r)).ok()?.state;
            (left != State::UNINITIALISED).then_some(left)
        });
    }

    /// Mode `reference`: brings a result back to the host, where its place has been [given up](Self::spoil) before, as
    /// half a copy may lie there if this fails.
    ///
    /// # Errors
    /// Where the copy fails: the result is lost then.
    pub(crate) fn bring_back(&self, r: ResourceId) -> Result<()> {
        let datum = self.datum();
        let to = Place { resource: ResourceId::HOST, span: datum.host_span(self.region()) };
        let mut locked = datum.lock();
        locked.wait_for(with_host(r), self.region())?;
        // The call that has written it still holds its block.
        let (from, _) = place_on(locked.get(), r, self)?;
        let _claim = locked.claim(with_host(r), *self.region());
        drop(locked);
        transfer::make(datum, self.region(), Move { from, to, host_is_current: false }, Cause::Output, false)?;
        Ok(())
    }

    /// Nobody has it any more.
    pub(crate) fn spoil(&self) {
        self.wait_for_others(ResourceId::HOST);
        self.set_all(State::UNINITIALISED);
    }

    /// The writer succeeded, and in mode `reference` its result [is back](Self::bring_back).
    #[inline]
    pub(crate) fn commit(&self, r: ResourceId, role: Role) {
        if !role.writes() {
            return;
        }
        // The end of a write does not depend on what was before.
        if let Ok(step) = self.datum().mode.step(State::UNINITIALISED, Event::EndWrite(r)) {
            self.set_all(step.state);
        }
    }

    /// The writer failed: `cause` is why what it was to write is missing.
    #[cold]
    pub(crate) fn failed(&self, cause: &Arc<Error>) {
        self.datum().has_failed.store(true, Relaxed);
        self.datum().lock().get().record(*self.region(), cause.clone());
    }

    /// The host is about to write: what failed before no longer explains what is missing.
    #[inline]
    pub(crate) fn forget_causes(&self) {
        if self.datum().has_failed.load(Relaxed) {
            self.datum().lock().get().forget_causes(self.region());
        }
    }
}
