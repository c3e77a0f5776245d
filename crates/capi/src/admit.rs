//! Admitting calls: who may be at what.
//!
//! Each call of the interface is *admitted* first: its operands are looked up and checked against each other and against
//! what other threads are at, and are marked as used. Then it runs. Then the marks go. In Rust the borrow checker does this;
//! here
//! * operands of one call that overlap, where one is written, are an error;
//! * what another thread is at is waited for, as far as the two touch the same bytes and one of them writes (readers, and
//!   different fragments, go side by side); freeing, dividing and joining write.
//!
//! Everything unsafe about the data rests on that: as long as a call is admitted, its views are there, and it may use those
//! it writes as `&mut`, the others as `&`.
//!
//! Data that one thread uses again and again is that thread's: its calls are admitted [by its lane](by_lane), without the
//! lock. All others, and all that is out of the ordinary, are admitted [under the lock](under_lock); a thread that was alone
//! at some data then owns it from there on.
//!
//! **The host's bytes.** After `hete_Malloc` and `hete_Sync` a program may write through `data` whenever it likes until a
//! call writes the data or is accepted without being waited for: the handle is *open*. Each call that reads an open leaf
//! takes the host's bytes for the newest, and other copies for stale ([`Admitted::prepare`]).
#![allow(unsafe_code)]

use crate::error::{Fault, Result, hete_Error::*};
use crate::hints;
use crate::lane::Lane;
use crate::operands::{Operand, Operands};
use crate::place::{Place, TreeRef, Use};
use crate::session::{State, Wait, ended, lock, my_lane, started};
use crate::settings::Started;
use bytemuck::Pod;
use rimms::op::Role;
use rimms::{Arg, ResourceId, ResourceSet, Runtime, View, arg, arg_mut};
use smallvec::SmallVec;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A call that is admitted, until this is dropped.
pub(crate) struct Admitted<O: Operands = ()> {
    /// There while any call is admitted.
    started: NonNull<Started>,
    operands: O,
    /// They stand for the operands' handles as long as the call is admitted.
    places: O::Places,
    marks: Marks,
}

/// Says that the operands are used, until it is dropped.
enum Marks {
    /// In this thread's lane.
    Lane(&'static Lane<Place>),
    /// In the trees.
    Claims(Box<Claims>),
}

/// What a call is at that was admitted under the lock.
#[derive(Default)]
struct Claims {
    claims: SmallVec<[Claim; 4]>,
    /// Leaves that the program may have written: see [`Admitted::prepare`].
    host_written: Vec<NonNull<View<u8>>>,
}

#[derive(Clone, Copy)]
struct Claim {
    place: NonNull<Place>,
    tree: TreeRef,
    /// Marked as written if it is written, by the call or before it.
    part: Use,
}

/// Admits a call with these operands; see the module.
#[inline(always)]
pub(crate) fn admit<O: Operands>(operands: O) -> Result<Admitted<O>> {
    let mut places = operands.places();
    if let Some((started, lane)) = by_lane(&operands, places.as_mut()) {
        return Ok(Admitted { started, operands, places, marks: Marks::Lane(lane) });
    }
    let (started, claims) = under_lock(operands.list())?;
    for (place, claim) in places.as_mut().iter_mut().zip(&claims.claims) {
        *place = claim.place;
    }
    Ok(Admitted { started, operands, places, marks: Marks::Claims(claims) })
}

// Loops below are plain ones, and mostly over a number of operands that is known when they are compiled: nothing is left
// of them then.

/// Admits by this thread's lane a call that is nothing but ordinary.
#[inline(always)]
fn by_lane(
    operands: &impl Operands,
    places: &mut [NonNull<Place>],
) -> Option<(NonNull<Started>, &'static Lane<Place>)> {
    // A call that a kernel makes in the thread of its own call has to be told from that.
    let lane = my_lane().filter(|lane| !lane.is_entered())?;
    for (i, found) in places.iter_mut().enumerate() {
        let Operand { handle, role } = operands.get(i);
        *found = hints::find(handle)?;
        lane.note(i, *found, role.writes())?;
    }
    lane.enter(places.len());
    if let Some(started) = started()
        && are_ordinary(lane, operands, places)
    {
        return Some((started, lane));
    }
    leave(lane);
    None
}

/// Whether the operands are what they were taken to be, now that nobody can change them any more if they are.
#[inline(always)]
fn are_ordinary(lane: &Lane<Place>, operands: &impl Operands, places: &[NonNull<Place>]) -> bool {
    for (i, place) in places.iter().enumerate() {
        let Operand { handle, role } = operands.get(i);
        // SAFETY: places stay for ever.
        let place = unsafe { place.as_ref() };
        let Some(tree) = place.tree() else { return false };
        if !place.stands_for(handle) || !tree.owner().is(lane) {
            return false;
        }
        for (j, other) in places.iter().enumerate().take(i) {
            // SAFETY: as above.
            let other = unsafe { other.as_ref() };
            // Which is mostly so where another fragment is meant.
            if other.tree() == Some(tree) && overlap_in(other.part(operands.get(j).role.writes()), place, role) {
                return false;
            }
        }
        if role.reads() && place.is_open() && is_shared(place) {
            return false;
        }
    }
    true
}

#[inline(never)]
fn overlap_in(other: Use, place: &Place, role: Role) -> bool {
    other.conflicts(&place.part(role.writes()))
}

/// May others have the newest bytes of what the program may write?
#[inline(always)]
fn is_shared(place: &Place) -> bool {
    let within = place.within();
    // SAFETY: the caller is admitted to the place, if all is as it looks.
    within.children.is_some() || within.view.is_none_or(|view| is_hosts_and_others(unsafe { view.as_ref() }))
}

#[inline(always)]
fn leave(lane: &Lane<Place>) {
    lane.leave();
    ended();
}

/// Admits any call, under the lock: once nobody is at its operands.
#[cold]
#[inline(never)]
fn under_lock(operands: SmallVec<[Operand; 4]>) -> Result<(NonNull<Started>, Box<Claims>)> {
    let mut claims = Box::<Claims>::default();
    let mut state = lock();
    let started = state.start()?;
    let mut wait = Wait::until("the call that uses the same data has ended");
    while let Some(operand) = operands.get(claims.claims.len()) {
        let outcome = state.claim(*operand, &operands, &mut claims);
        if matches!(outcome, Ok(true)) {
            continue;
        }
        // All or none: nobody waits while others may wait for it.
        state.release(&claims);
        outcome?;
        *claims = Claims::default();
        state = wait.wait(state)?;
    }
    state.active += 1;
    Ok((started, claims))
}

impl State {
    /// Finds out what the next operand is, and claims it. Returns whether it could: nobody else is at it.
    fn claim(&mut self, operand: Operand, operands: &[Operand], so_far: &mut Claims) -> Result<bool> {
        let Operand { handle, role } = operand;
        let pointer = self.handles.find_pointer(handle)?;
        // SAFETY: places stay for ever.
        let place = unsafe { pointer.as_ref() };
        let tree = place.tree().ok_or_else(|| none(so_far.claims.len()))?;
        let before = so_far.claims.iter().zip(operands);
        // Marks may say more than the call does.
        let overlaps = |(claim, other): (&Claim, &Operand)| {
            claim.tree == tree
                && Use { writes: other.role.writes(), ..claim.part }.conflicts(&place.part(role.writes()))
        };
        if let Some(other) = before.clone().position(overlaps) {
            return Err(overlap(other, so_far.claims.len()));
        }
        // What is in conflict with it among those before is no conflict: they are of the same call.
        let is_free = |part: Use| {
            let own = before.clone().filter(|(claim, _)| claim.tree == tree && claim.part.conflicts(&part));
            tree.conflicts(part) == own.count()
        };
        let mut part = place.part(role.writes());
        if !is_free(part) {
            return Ok(false);
        }
        if place.is_open() && role.reads() {
            let mut shared: SmallVec<[NonNull<View<u8>>; 1]> = SmallVec::new();
            // SAFETY: the view of a live handle, under the lock, and nobody divides it or joins it: it is free.
            let is_shared = |view: &NonNull<View<u8>>| is_hosts_and_others(unsafe { view.as_ref() });
            self.handles.open_leaves(place, |view| shared.extend(Some(view).filter(is_shared)));
            if !shared.is_empty() {
                // Their state is going to be written.
                part.writes = true;
                if !is_free(part) {
                    return Ok(false);
                }
                so_far.host_written.extend(shared);
            }
        }
        tree.claim(part);
        so_far.claims.push(Claim { place: pointer, tree, part });
        hints::set(handle, pointer);
        Ok(true)
    }

    /// Nobody is at these any more: their data is this thread's, unless others are at it.
    fn release(&mut self, claims: &Claims) {
        let lane = self.lane();
        for claim in &claims.claims {
            claim.tree.release(claim.part, lane);
        }
    }
}

/// Do others hold the newest bytes beside the host?
#[inline(always)]
fn is_hosts_and_others(view: &View<u8>) -> bool {
    let valid = view.valid();
    valid.contains(ResourceId::HOST) && valid != ResourceSet::only(ResourceId::HOST)
}

#[cold]
fn overlap(first: usize, second: usize) -> Box<Fault> {
    let why = format!(
        "operands {first} and {second} overlap, and the call writes one of them: pass data, or fragments, that have no \
         byte in common"
    );
    Fault::new(HETE_ERROR_OVERLAP, why)
}

#[cold]
fn none(i: usize) -> Box<Fault> {
    Fault::new(HETE_ERROR_INTERNAL, format!("there is no such operand: {i}"))
}

/// Which handles the program may no longer write through, after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closes {
    /// Those of what it wrote: somebody else may have the newest bytes.
    Written,
    /// All: the call may still be at them.
    All,
}

impl<O: Operands> Admitted<O> {
    #[inline(always)]
    pub(crate) fn started(&self) -> &Started {
        // SAFETY: `end` waits until no call is admitted before it lets go of it.
        unsafe { self.started.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.started().all.queued
    }

    #[inline(always)]
    fn place(&self, i: usize) -> Option<&Place> {
        // SAFETY: places stay for ever.
        self.places.as_ref().get(i).map(|place| unsafe { place.as_ref() })
    }

    #[inline(always)]
    fn pointer(&self, i: usize) -> Result<NonNull<View<u8>>> {
        self.place(i).and_then(|place| place.within().view).ok_or_else(|| none(i))
    }

    /// How many operands there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.places.as_ref().len()
    }

    /// Bytes of an operand; 0 where there is none.
    #[inline(always)]
    pub(crate) fn size(&self, i: usize) -> usize {
        self.place(i).map_or(0, |place| place.within().size)
    }

    /// From here on the host's bytes of open leaves are the only ones, as the program may have changed them.
    #[inline(always)]
    pub(crate) fn prepare(&mut self) -> Result<()> {
        match &mut self.marks {
            Marks::Lane(_) => Ok(()),
            Marks::Claims(claims) => claims.write_by_host(),
        }
    }

    /// The operand, for reading.
    #[inline(always)]
    pub(crate) fn view(&self, i: usize) -> Result<&View<u8>> {
        // SAFETY: admitted; those that are written are only reached through `&mut self`, or by `lend`.
        self.pointer(i).map(|view| unsafe { view.as_ref() })
    }

    /// The operand, which was admitted to be written.
    #[inline(always)]
    pub(crate) fn view_mut(&mut self, i: usize) -> Result<&mut View<u8>> {
        if !self.operands.get(i).role.writes() {
            return Err(none(i));
        }
        // SAFETY: admitted as written: nobody else uses the view, or one above or below it, and `&mut self`.
        self.pointer(i).map(|mut view| unsafe { view.as_mut() })
    }

    /// The operand as an argument of a call, of elements `T`.
    ///
    /// # Safety
    /// Each operand is had once, while it is used by no other name, and no longer than the call is admitted.
    #[inline(always)]
    pub(crate) unsafe fn lend<'v, T: Pod>(&self, i: usize) -> Result<Arg<'v>> {
        let mut view = self.pointer(i)?;
        match self.operands.get(i).role.writes() {
            // SAFETY: admitted as written: no other operand, and no other call, has a byte of it.
            true => unsafe { view.as_mut() }.cast_mut::<T>().map(arg_mut),
            // SAFETY: operands that overlap are only read.
            false => unsafe { view.as_ref() }.cast::<T>().map(arg),
        }
        .map_err(|error| Box::<Fault>::from(error).of_operand(i))
    }

    /// The call was done, or accepted.
    #[inline(always)]
    pub(crate) fn done(self, closes: Closes) {
        for i in 0..self.len() {
            let Operand { handle, role } = self.operands.get(i);
            if (closes == Closes::All || role.writes()) && self.place(i).is_some_and(Place::is_open) {
                set_open(handle, false);
            }
        }
        self.leave();
    }

    /// What dropping it does, where the call is: the usual way is short.
    #[inline(always)]
    fn leave(self) {
        let mut marks = ManuallyDrop::new(self.marks);
        if let Marks::Lane(lane) = *marks {
            return leave(lane);
        }
        // SAFETY: once, and not used any more.
        unsafe { ManuallyDrop::drop(&mut marks) };
    }

    /// The call was done, and from now on the program may write its operands whenever it likes.
    #[inline(always)]
    pub(crate) fn done_and_opens(self) {
        for i in 0..self.len() {
            if !self.place(i).is_some_and(|place| place.is_open() && place.within().children.is_none()) {
                set_open(self.operands.get(i).handle, true);
            }
        }
        self.leave();
    }
}

/// From now on the program may, or may not, write an operand whenever it likes, which is admitted still.
#[cold]
#[inline(never)]
fn set_open(handle: usize, is_open: bool) {
    lock().handles.set_open(handle, is_open);
}

impl Claims {
    /// The host has written these leaves. They are admitted as written, so nobody else is at them, and the operands' own
    /// views are not in use yet.
    #[cold]
    #[inline(never)]
    fn write_by_host(&mut self) -> Result<()> {
        for mut view in self.host_written.drain(..) {
            // SAFETY: as it is said above.
            let view = unsafe { view.as_mut() };
            // The host has them: nothing is copied. Waits for calls in flight.
            view.update_rows()?;
        }
        Ok(())
    }
}

impl Drop for Marks {
    #[inline(always)]
    fn drop(&mut self) {
        match self {
            Self::Lane(lane) => leave(lane),
            Self::Claims(claims) => claims.end(),
        }
    }
}

impl Claims {
    #[cold]
    #[inline(never)]
    fn end(&self) {
        let mut state = lock();
        state.release(self);
        state.active -= 1;
        drop(state);
        ended();
    }
}
