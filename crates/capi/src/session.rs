//! The session: the process's runtime, and who is at what in its data.
//!
//! Each call of the interface is *admitted* first: under one lock its operands are looked up and checked against each
//! other and against what other threads are at, and are marked as used. Then it runs, without the lock. Then the marks
//! go. In Rust the borrow checker does this; here
//! * operands of one call that overlap, where one is written, are an error;
//! * what another thread is at is waited for, as far as the two touch the same bytes and one of them writes (readers, and
//!   different fragments, go side by side); freeing, dividing and joining write;
//! * inside a kernel waiting could mean waiting for itself, so there it is an error.
//!
//! Everything unsafe about the data rests on that: as long as a call is admitted, its views are there, and it may use those
//! it writes as `&mut`, the others as `&`.
//!
//! **The host's bytes.** After `hete_Malloc` and `hete_Sync` a program may write through `data` whenever it likes until a
//! call writes the data or is accepted without being waited for: the handle is *open*. Each call that reads an open leaf
//! takes the host's bytes for the newest, and other copies for stale ([`Admitted::prepare`]).
#![allow(unsafe_code)]

use crate::error::{Fault, Result, hete_Error::*};
use crate::handles::{Handles, TreeRef, Use, hete_Data};
use crate::latch::{Latch, LatchGuard};
use crate::settings::{Settings, Started};
use parking_lot::{Condvar, Mutex};
use rimms::op::Role;
use rimms::{Arg, ResourceId, Runtime, View, arg, arg_mut};
use smallvec::{Array, SmallVec};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

/// What threads share.
#[derive(Default)]
pub(crate) struct Session {
    state: Latch<State>,
    /// How often calls have ended that somebody waited for. Changed, and first looked at, under the latch.
    ends: Mutex<u64>,
    ended: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) started: Option<Arc<Started>>,
    pub(crate) handles: Handles,
    /// Calls that are admitted.
    active: usize,
    /// Threads that wait for some of them to end.
    waiting: usize,
}

static SESSION: LazyLock<Session> = LazyLock::new(Session::default);

thread_local! {
    static IN_KERNEL: Cell<usize> = const { Cell::new(0) };
}

/// Runs a kernel of the program's.
pub(crate) fn in_kernel<T>(f: impl FnOnce() -> T) -> T {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            let _ = IN_KERNEL.try_with(|depth| depth.set(depth.get().saturating_sub(1)));
        }
    }
    let _ = IN_KERNEL.try_with(|depth| depth.set(depth.get() + 1));
    let _leave = Leave;
    f()
}

pub(crate) type Locked = LatchGuard<'static, State>;

/// The state, locked: for what takes no time.
#[inline]
pub(crate) fn lock() -> Locked {
    SESSION.state.lock()
}

impl State {
    /// The runtime, which starts now if it has not.
    fn start(&mut self) -> Result<&Arc<Started>> {
        if self.started.is_none() {
            self.started = Some(Arc::new(self.settings.start()?));
        }
        self.started.as_ref().ok_or_else(|| Fault::new(HETE_ERROR_INTERNAL, "the runtime has not started"))
    }
}

/// Waits until another call has ended.
#[cold]
fn wait(mut state: Locked, what: &str) -> Result<Locked> {
    if IN_KERNEL.try_with(Cell::get).unwrap_or(0) > 0 {
        let why = format!(
            "a kernel would wait until {what}, which may be its own call: do that before the call, or after it"
        );
        return Err(Fault::new(HETE_ERROR_DEADLOCK, why));
    }
    state.waiting += 1;
    // Whoever ends from here on counts up after this.
    let before = *SESSION.ends.lock();
    drop(state);
    let mut ends = SESSION.ends.lock();
    while *ends == before {
        SESSION.ended.wait(&mut ends);
    }
    drop(ends);
    let mut state = lock();
    state.waiting -= 1;
    Ok(state)
}

/// Ends the runtime: calls that were accepted are done, all data is freed. The next call starts another one.
pub(crate) fn end() -> Result<()> {
    let mut state = lock();
    while state.active > 0 {
        state = wait(state, "no call is under way")?;
    }
    let (data, started) = (state.handles.clear(), state.started.take());
    state.settings = Settings::default();
    drop(state);
    // Workers finish what was accepted, which may need the lock: kernels are programs too.
    drop(data);
    drop(started);
    Ok(())
}

/// Frees a whole datum, once nobody is at it. Calls in flight keep what they need.
pub(crate) fn free(handle: *const hete_Data) -> Result<()> {
    let mut state = lock();
    let data = loop {
        state.handles.check_whole(handle.addr())?;
        let place = state.handles.find(handle.addr())?;
        if state.handles.is_free(place, place.part(true)) {
            break state.handles.remove(handle.addr());
        }
        state = wait(state, "the call that uses the data has ended")?;
    };
    drop(state);
    // May give memory back to the system, which takes its time.
    drop(data);
    Ok(())
}

/// An operand of a call: what is wanted, and, once the call is admitted, what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    handle: usize,
    role: Role,
    /// The program could write through the handle.
    was_open: bool,
    tree: Option<TreeRef>,
    part: Use,
    view: Option<NonNull<View<u8>>>,
}

impl Operand {
    /// Wants nothing yet.
    pub(crate) const NONE: Self = Self {
        handle: 0,
        role: Role::In,
        was_open: false,
        tree: None,
        part: Use { from: 0, to: 0, writes: false },
        view: None,
    };

    #[inline]
    pub(crate) fn new(handle: *const hete_Data, role: Role) -> Self {
        Self { handle: handle.addr(), role, ..Self::NONE }
    }

    /// Wants this handle's data.
    #[inline(always)]
    pub(crate) fn want(&mut self, handle: *const hete_Data, role: Role) {
        (self.handle, self.role) = (handle.addr(), role);
    }

    /// Do the two overlap, and does the call itself write one of them?
    #[inline]
    fn overlaps(&self, other: &Self) -> bool {
        let of = |operand: &Self| Use { writes: operand.role.writes(), ..operand.part };
        self.tree == other.tree && of(self).conflicts(&of(other))
    }
}

/// A call that is admitted, until this is dropped.
pub(crate) struct Admitted<'a> {
    /// There while any call is admitted.
    started: NonNull<Started>,
    operands: &'a [Operand],
    /// Leaves that the program may have written: see [`prepare`](Self::prepare).
    host_written: Option<Box<Leaves>>,
    is_released: bool,
}

/// Admits a call with these operands; see the module.
#[inline(always)] // so that what is returned is never moved
pub(crate) fn admit(operands: &mut [Operand]) -> Result<Admitted<'_>> {
    let (started, host_written) = claim_all(operands)?;
    Ok(Admitted { started, operands, host_written, is_released: false })
}

/// The runtime, and leaves that the program may have written: few calls have any.
type Claimed = (NonNull<Started>, Option<Box<Leaves>>);

type Leaves = Vec<NonNull<View<u8>>>;

fn claim_all(operands: &mut [Operand]) -> Result<Claimed> {
    let mut state = lock();
    let started = NonNull::from(&**state.start()?);
    let mut host_written = None;
    let mut at = 0;
    while at < operands.len() {
        let outcome = state.claim(operands, at, &mut host_written);
        if matches!(outcome, Ok(true)) {
            at += 1;
            continue;
        }
        // All or none: nobody waits while others may wait for it.
        state.release(operands.get(..at).unwrap_or_default());
        outcome?;
        (at, state) = (0, wait(state, "the call that uses the same data has ended")?);
        host_written = None;
    }
    state.active += 1;
    Ok((started, host_written))
}

impl State {
    /// Finds out what operand `i` is, and claims it. Returns whether it could: nobody else is at it.
    #[inline(always)]
    fn claim(&mut self, operands: &mut [Operand], i: usize, host_written: &mut Option<Box<Leaves>>) -> Result<bool> {
        let Some((operand, before)) = operands.get_mut(..=i).and_then(<[_]>::split_last_mut) else { return Ok(true) };
        let place = self.handles.find(operand.handle)?;
        let tree = place.tree;
        operand.tree = Some(tree);
        operand.part = place.part(operand.role.writes());
        operand.view = Some(place.view);
        operand.was_open = place.is_open;
        if let Some(other) = before.iter().position(|other| other.overlaps(operand)) {
            return Err(overlap(other, i));
        }
        // What is in conflict with it among those before is no conflict: they are of the same call.
        let is_free = |part: Use| {
            let own = before.iter().filter(|other| other.tree == Some(tree) && other.part.conflicts(&part));
            self.handles.is_idle(place) || self.handles.conflicts(place, part) == own.count()
        };
        if !is_free(operand.part) {
            return Ok(false);
        }
        if place.is_open && operand.role.reads() {
            let mut shared: SmallVec<[NonNull<View<u8>>; 1]> = SmallVec::new();
            // SAFETY: the view of a live handle, under the lock, and nobody divides it or joins it: it is free.
            let is_shared = |view: &NonNull<View<u8>>| is_hosts_and_others(unsafe { view.as_ref() });
            self.handles.open_leaves(place, |view| shared.extend(Some(view).filter(is_shared)));
            if !shared.is_empty() {
                // Their state is going to be written.
                operand.part.writes = true;
                if !is_free(operand.part) {
                    return Ok(false);
                }
                host_written.get_or_insert_default().extend(shared);
            }
        }
        self.handles.claim(tree, operand.part);
        Ok(true)
    }

    /// A call with these operands has ended.
    #[inline]
    fn end_call(&mut self, operands: &[Operand]) {
        self.release(operands);
        self.active -= 1;
        if self.waiting > 0 {
            wake();
        }
    }

    /// Nobody is at these any more.
    #[inline]
    fn release(&mut self, operands: &[Operand]) {
        for operand in operands {
            if let Some(tree) = operand.tree {
                self.handles.release(tree, operand.part);
            }
        }
    }
}

/// Do others hold the newest bytes beside the host?
#[inline]
fn is_hosts_and_others(view: &View<u8>) -> bool {
    view.valid().contains(ResourceId::HOST) && view.valid().len() > 1
}

/// What is seen of data now.
pub(crate) fn look<T>(handle: *const hete_Data, f: impl FnOnce(&View<u8>) -> T) -> Result<T> {
    let mut state = lock();
    let view = loop {
        let place = state.handles.find(handle.addr())?;
        if state.handles.is_free(place, place.part(false)) {
            break place.view;
        }
        state = wait(state, "the call that writes the data has ended")?;
    };
    // SAFETY: the view of a live handle, under the lock, and nobody divides it or joins it.
    Ok(f(unsafe { view.as_ref() }))
}

#[cold]
fn overlap(first: usize, second: usize) -> Box<Fault> {
    let why = format!(
        "operands {first} and {second} overlap, and the call writes one of them: pass data, or fragments, that have no \
         byte in common"
    );
    Fault::new(HETE_ERROR_OVERLAP, why)
}

/// Which handles the program may no longer write through, after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closes {
    /// Those of what it wrote: somebody else may have the newest bytes.
    Written,
    /// All: the call may still be at them.
    All,
}

impl Admitted<'_> {
    #[inline]
    pub(crate) fn started(&self) -> &Started {
        // SAFETY: `end` waits until no call is admitted before it lets go of it.
        unsafe { self.started.as_ref() }
    }

    #[inline]
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.started().queued
    }

    /// Bytes of an operand; 0 where there is none.
    #[inline]
    pub(crate) fn size(&self, i: usize) -> usize {
        self.operands.get(i).map_or(0, |o| o.part.to - o.part.from)
    }

    /// From here on the host's bytes of open leaves are the only ones, as the program may have changed them.
    #[inline]
    pub(crate) fn prepare(&mut self) -> Result<()> {
        for mut view in self.host_written.take().into_iter().flat_map(|leaves| *leaves) {
            // SAFETY: admitted as written (`part.writes`), so nobody else is at the leaf, and it is there. The operands'
            // own views are not in use yet.
            let view = unsafe { view.as_mut() };
            // The host has them: nothing is copied. Waits for calls in flight.
            view.update()?;
        }
        Ok(())
    }

    /// The operand, for reading.
    #[inline]
    pub(crate) fn view(&self, i: usize) -> Result<&View<u8>> {
        // SAFETY: admitted; those that are written are only reached through `&mut self`, or by `arg`.
        self.operands.get(i).and_then(|o| o.view).map(|view| unsafe { view.as_ref() }).ok_or_else(|| none(i))
    }

    /// The operand, which was admitted to be written.
    #[inline]
    pub(crate) fn view_mut(&mut self, i: usize) -> Result<&mut View<u8>> {
        let view = self.operands.get(i).filter(|o| o.role.writes()).and_then(|o| o.view);
        // SAFETY: admitted as written: nobody else uses the view, or one above or below it, and `&mut self`.
        view.map(|mut view| unsafe { view.as_mut() }).ok_or_else(|| none(i))
    }

    /// Appends the operand to the arguments of a call, of elements as `cast` says.
    ///
    /// # Safety
    /// Each operand is had once, while it is used by no other name, and no longer than the call is admitted.
    #[inline(always)]
    pub(crate) unsafe fn lend<'v, A: Array<Item = Arg<'v>>>(
        &self,
        i: usize,
        cast: Cast,
        args: &mut SmallVec<A>,
    ) -> Result<()> {
        let Some(operand) = self.operands.get(i) else { return Err(none(i)) };
        let Some(mut view) = operand.view else { return Err(none(i)) };
        let lent = if operand.role.writes() {
            // SAFETY: admitted as written: no other operand, and no other call, has a byte of it.
            cast.lend_mut(unsafe { view.as_mut() }, args)
        } else {
            // SAFETY: operands that overlap are only read.
            cast.lend(unsafe { view.as_ref() }, args)
        };
        lent.map_err(|error| Box::<Fault>::from(error).of_operand(i))
    }

    /// The call was done, or accepted.
    #[inline(always)] // as `admit`
    pub(crate) fn done(mut self, closes: Closes) {
        self.is_released = true;
        release(self.operands, Some(closes));
    }

    /// The marks go, with a last look at the state.
    pub(crate) fn done_with<T>(mut self, f: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock();
        let answer = f(&mut state);
        self.is_released = true;
        state.end_call(self.operands);
        answer
    }
}

/// A call has ended.
fn release(operands: &[Operand], closes: Option<Closes>) {
    let mut state = lock();
    for operand in operands {
        let is_closed = closes.is_some_and(|closes| closes == Closes::All || operand.role.writes());
        if operand.was_open && is_closed {
            state.handles.set_open(operand.handle, false);
        }
    }
    state.end_call(operands);
}

/// Tells those who wait that a call has ended; under the latch.
#[cold]
fn wake() {
    *SESSION.ends.lock() += 1;
    SESSION.ended.notify_all();
}

impl Drop for Admitted<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_released {
            release(self.operands, None);
        }
    }
}

#[cold]
fn none(i: usize) -> Box<Fault> {
    Fault::new(HETE_ERROR_INTERNAL, format!("there is no such operand: {i}"))
}

/// What elements an operand is taken to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    Bytes,
    Real,
    Complex,
    Int,
    Peak,
}

impl Cast {
    #[inline(always)] // an argument is put where it belongs, and not moved
    fn lend<'v, A: Array<Item = Arg<'v>>>(self, view: &'v View<u8>, args: &mut SmallVec<A>) -> rimms::Result<()> {
        match self {
            Self::Bytes => args.push(arg(view)),
            Self::Real => args.push(arg(view.cast::<f32>()?)),
            Self::Complex => args.push(arg(view.cast::<rimms::Complex32>()?)),
            Self::Int => args.push(arg(view.cast::<i32>()?)),
            Self::Peak => args.push(arg(view.cast::<rimms::Peak>()?)),
        }
        Ok(())
    }

    #[inline(always)]
    fn lend_mut<'v, A: Array<Item = Arg<'v>>>(
        self,
        view: &'v mut View<u8>,
        args: &mut SmallVec<A>,
    ) -> rimms::Result<()> {
        match self {
            Self::Bytes => args.push(arg_mut(view)),
            Self::Real => args.push(arg_mut(view.cast_mut::<f32>()?)),
            Self::Complex => args.push(arg_mut(view.cast_mut::<rimms::Complex32>()?)),
            Self::Int => args.push(arg_mut(view.cast_mut::<i32>()?)),
            Self::Peak => args.push(arg_mut(view.cast_mut::<rimms::Peak>()?)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
