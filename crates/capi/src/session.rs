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
use crate::handles::{Handles, TreeKey, Use, hete_Data};
use crate::settings::{Settings, Started};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rimms::op::Role;
use rimms::{Arg, ResourceId, Runtime, View, arg, arg_mut};
use smallvec::SmallVec;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};

/// What threads share.
#[derive(Default)]
pub(crate) struct Session {
    state: Mutex<State>,
    /// A call ended while somebody waited for that.
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

/// The state, locked: for what takes no time.
pub(crate) fn lock() -> MutexGuard<'static, State> {
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
fn wait(state: &mut MutexGuard<'_, State>, what: &str) -> Result<()> {
    if IN_KERNEL.try_with(Cell::get).unwrap_or(0) > 0 {
        let why = format!(
            "a kernel would wait until {what}, which may be its own call: do that before the call, or after it"
        );
        return Err(Fault::new(HETE_ERROR_DEADLOCK, why));
    }
    state.waiting += 1;
    SESSION.ended.wait(state);
    state.waiting -= 1;
    Ok(())
}

/// Ends the runtime: calls that were accepted are done, all data is freed. The next call starts another one.
pub(crate) fn end() -> Result<()> {
    let mut state = lock();
    while state.active > 0 {
        wait(&mut state, "no call is under way")?;
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
        let tree = state.handles.find(handle.addr())?.tree;
        if state.handles.trees.get(tree).is_none_or(|tree| tree.uses.is_empty()) {
            break state.handles.remove(tree);
        }
        wait(&mut state, "the call that uses the data has ended")?;
    };
    drop(state);
    // May give memory back to the system, which takes its time.
    drop(data);
    Ok(())
}

/// An operand of a call that is admitted.
struct Granted {
    handle: usize,
    tree: TreeKey,
    part: Use,
    view: NonNull<View<u8>>,
    role: Role,
    was_open: bool,
}

/// A call that is admitted, until this is dropped.
pub(crate) struct Admitted {
    /// There while any call is admitted.
    started: NonNull<Started>,
    operands: SmallVec<[Granted; 3]>,
    /// Leaves that the program may have written: see [`prepare`](Self::prepare).
    host_written: SmallVec<[NonNull<View<u8>>; 2]>,
    is_released: bool,
}

/// What a handle is to be used for.
pub(crate) type Wanted = (*const hete_Data, Role);

/// Admits a call with these operands; see the module.
#[inline]
pub(crate) fn admit(wanted: &[Wanted]) -> Result<Admitted> {
    let mut state = lock();
    let mut operands: SmallVec<[Granted; 3]> = SmallVec::new();
    let mut host_written = SmallVec::new();
    loop {
        let mut is_free = true;
        for (handle, role) in wanted {
            let handle = handle.addr();
            let place = state.handles.find(handle)?;
            let mut part = place.part(role.writes());
            if let Some(other) = operands.iter().position(|o: &Granted| o.tree == place.tree && o.wrote(&part)) {
                return Err(overlap(other, operands.len()));
            }
            is_free &= state.handles.is_free(place, part);
            if is_free && place.is_open && role.reads() {
                let before = host_written.len();
                // SAFETY: the view of a live handle, under the lock, and nobody divides it or joins it: it is free.
                let is_shared = |view: &NonNull<View<u8>>| is_hosts_and_others(unsafe { view.as_ref() });
                state.handles.open_leaves(place, |view| host_written.extend(Some(view).filter(is_shared)));
                // Their state is going to be written.
                part.writes |= host_written.len() > before;
                is_free &= state.handles.is_free(place, part);
            }
            operands.push(Granted {
                handle,
                tree: place.tree,
                part,
                view: place.view,
                role: *role,
                was_open: place.is_open,
            });
        }
        if is_free {
            break;
        }
        wait(&mut state, "the call that uses the same data has ended")?;
        operands.clear();
        host_written.clear();
    }
    let started = NonNull::from(&**state.start()?);
    for operand in &operands {
        if let Some(tree) = state.handles.trees.get_mut(operand.tree) {
            tree.uses.push(operand.part);
        }
    }
    state.active += 1;
    Ok(Admitted { started, operands, host_written, is_released: false })
}

/// Do others hold the newest bytes beside the host?
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
        wait(&mut state, "the call that writes the data has ended")?;
    };
    // SAFETY: the view of a live handle, under the lock, and nobody divides it or joins it.
    Ok(f(unsafe { view.as_ref() }))
}

impl Granted {
    /// Do the two overlap, and is one of them written by the call itself?
    fn wrote(&self, other: &Use) -> bool {
        Use { writes: self.role.writes(), ..self.part }.conflicts(other)
    }
}

#[cold]
fn overlap(first: usize, second: usize) -> Fault {
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

impl Admitted {
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
        for mut view in self.host_written.drain(..) {
            // SAFETY: admitted as written (`part.writes`), so nobody else is at the leaf, and it is there. The operands'
            // own views are not in use yet.
            let view = unsafe { view.as_mut() };
            // The host has them: nothing is copied. Waits for calls in flight.
            view.update()?;
        }
        Ok(())
    }

    /// The operand, for reading.
    pub(crate) fn view(&self, i: usize) -> Result<&View<u8>> {
        // SAFETY: admitted; those that are written are only reached through `&mut self`, or handed out as arguments, each
        // operand once for a call.
        self.operands.get(i).map(|o| unsafe { o.view.as_ref() }).ok_or_else(|| none(i))
    }

    /// The operand, which was admitted to be written.
    pub(crate) fn view_mut(&mut self, i: usize) -> Result<&mut View<u8>> {
        // SAFETY: admitted as written: nobody else uses the view, or one above or below it, and `&mut self`.
        let view = self.operands.get_mut(i).filter(|o| o.role.writes()).map(|o| unsafe { o.view.as_mut() });
        view.ok_or_else(|| none(i))
    }

    /// The runtime, and all operands as arguments of a call: operand `i` of elements as `casts` says.
    #[inline]
    pub(crate) fn split(&mut self, casts: impl Iterator<Item = Cast>) -> Result<(&Started, SmallVec<[Arg<'_>; 3]>)> {
        let each = self.operands.iter_mut().zip(casts).enumerate();
        let args = each.map(|(i, (operand, cast))| {
            let arg = if operand.role.writes() {
                // SAFETY: as in `view_mut`: no other operand overlaps this one.
                cast.exclusive(unsafe { operand.view.as_mut() })
            } else {
                // SAFETY: as in `view`: operands that overlap are only read.
                cast.shared(unsafe { operand.view.as_ref() })
            };
            arg.map_err(|error| Fault::from(error).of_operand(i))
        });
        let args = args.collect::<Result<_>>()?;
        // SAFETY: as in `started`.
        Ok((unsafe { self.started.as_ref() }, args))
    }

    /// The call was done, or accepted.
    pub(crate) fn done(mut self, closes: Closes) {
        let mut state = lock();
        for operand in &self.operands {
            if operand.was_open && (closes == Closes::All || operand.role.writes()) {
                state.handles.set_open(operand.handle, false);
            }
        }
        self.release(&mut state);
    }

    /// The marks go, with a last look at the state.
    pub(crate) fn done_with<T>(mut self, f: impl FnOnce(&mut State) -> T) -> T {
        let mut state = lock();
        let answer = f(&mut state);
        self.release(&mut state);
        answer
    }

    #[inline]
    fn release(&mut self, state: &mut State) {
        self.is_released = true;
        for operand in &self.operands {
            if let Some(tree) = state.handles.trees.get_mut(operand.tree)
                && let Some(at) = tree.uses.iter().position(|part| *part == operand.part)
            {
                tree.uses.swap_remove(at);
            }
        }
        state.active -= 1;
        if state.waiting > 0 {
            SESSION.ended.notify_all();
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if !self.is_released {
            self.release(&mut lock());
        }
    }
}

#[cold]
fn none(i: usize) -> Fault {
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
    #[inline]
    fn shared(self, view: &View<u8>) -> rimms::Result<Arg<'_>> {
        Ok(match self {
            Self::Bytes => arg(view),
            Self::Real => arg(view.cast::<f32>()?),
            Self::Complex => arg(view.cast::<rimms::Complex32>()?),
            Self::Int => arg(view.cast::<i32>()?),
            Self::Peak => arg(view.cast::<rimms::Peak>()?),
        })
    }

    #[inline]
    fn exclusive(self, view: &mut View<u8>) -> rimms::Result<Arg<'_>> {
        Ok(match self {
            Self::Bytes => arg_mut(view),
            Self::Real => arg_mut(view.cast_mut::<f32>()?),
            Self::Complex => arg_mut(view.cast_mut::<rimms::Complex32>()?),
            Self::Int => arg_mut(view.cast_mut::<i32>()?),
            Self::Peak => arg_mut(view.cast_mut::<rimms::Peak>()?),
        })
    }
}
