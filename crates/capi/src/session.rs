//! The session: the process's runtime, its data, and the lock around both.
//!
//! What calls are at in the data is [`admit`](crate::admit)'s to say. Here is what it stands on: the lock, waiting for calls
//! to end, lanes for threads, and what is done when nobody is at anything: ending the runtime, freeing data.
//!
//! Inside a kernel waiting could mean waiting for itself, so there it is an error.
#![allow(unsafe_code)]

use crate::error::{Fault, Result, hete_Error::*};
use crate::handles::Handles;
use crate::lane::Lane;
use crate::latch::{Latch, LatchGuard};
use crate::place::Place;
use crate::settings::{Settings, Started};
use crate::slab::hete_Data;
use parking_lot::{Condvar, Mutex};
use rimms::View;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// What threads share.
#[derive(Default)]
struct Session {
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
    /// Calls that were admitted under the lock.
    pub(crate) active: usize,
    /// All there are, for ever.
    lanes: Vec<&'static Lane<Place>>,
    /// Those of threads that have ended.
    free_lanes: Vec<&'static Lane<Place>>,
}

static SESSION: LazyLock<Session> = LazyLock::new(Session::default);

/// The runtime that calls by a lane may use, if any; there while a lane is entered.
static STARTED: AtomicPtr<Started> = AtomicPtr::new(std::ptr::null_mut());

/// Threads that wait for calls to end.
static WAITING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IN_KERNEL: Cell<usize> = const { Cell::new(0) };
    /// This thread's.
    static LANE: Cell<Option<&'static Lane<Place>>> = const { Cell::new(None) };
    static LEAVES: Leaves = const { Leaves };
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

/// The runtime, for a thread that has entered its lane: not ended before it leaves.
#[inline]
pub(crate) fn started() -> Option<NonNull<Started>> {
    NonNull::new(STARTED.load(SeqCst))
}

/// This thread's lane, if it has one by now.
#[inline]
pub(crate) fn my_lane() -> Option<&'static Lane<Place>> {
    LANE.get()
}

/// Gives the thread's lane to another thread, once this one ends.
struct Leaves;

impl Drop for Leaves {
    fn drop(&mut self) {
        // From here on the thread goes without.
        if let Some(lane) = LANE.take() {
            lock().free_lanes.push(lane);
        }
    }
}

impl State {
    /// The runtime, which starts now if it has not.
    pub(crate) fn start(&mut self) -> Result<NonNull<Started>> {
        if self.started.is_none() {
            self.started = Some(Arc::new(self.settings.start()?));
        }
        let Some(started) = &self.started else {
            return Err(Fault::new(HETE_ERROR_INTERNAL, "the runtime has not started"));
        };
        STARTED.store(Arc::as_ptr(started).cast_mut(), SeqCst);
        Ok(NonNull::from(&**started))
    }

    /// This thread's lane, which it gets now if it has none; `None` for a thread that is ending.
    pub(crate) fn lane(&mut self) -> Option<&'static Lane<Place>> {
        if let Some(lane) = my_lane() {
            return Some(lane);
        }
        LEAVES.try_with(|_| ()).ok()?;
        let lane = self.free_lanes.pop().unwrap_or_else(|| {
            let lane: &'static Lane<Place> = Box::leak(Box::default());
            self.lanes.push(lane);
            lane
        });
        LANE.set(Some(lane));
        Some(lane)
    }

    /// Is no call under way? From now on none comes by a lane, before another is admitted under the lock.
    fn is_idle(&self) -> bool {
        STARTED.store(std::ptr::null_mut(), SeqCst);
        self.active == 0 && !self.lanes.iter().any(|lane| lane.is_entered())
    }
}

/// For how long one who waits does not look at first, and at most.
const FIRST_LOOK: Duration = Duration::from_micros(50);
const LAST_LOOK: Duration = Duration::from_millis(100);

/// Waits for others.
pub(crate) struct Wait {
    what: &'static str,
    /// When to look although nobody said that a call had ended: who leaves a lane may not have seen that somebody waits,
    /// but only if that was just now.
    look: Duration,
}

impl Wait {
    pub(crate) fn until(what: &'static str) -> Self {
        Self { what, look: FIRST_LOOK }
    }

    /// Waits until another call has ended, or perhaps less.
    #[cold]
    pub(crate) fn wait(&mut self, state: Locked) -> Result<Locked> {
        if IN_KERNEL.try_with(Cell::get).unwrap_or(0) > 0 {
            let why = format!(
                "a kernel would wait until {}, which may be its own call: do that before the call, or after it",
                self.what
            );
            return Err(Fault::new(HETE_ERROR_DEADLOCK, why));
        }
        WAITING.fetch_add(1, SeqCst);
        // Whoever ends from here on counts up after this.
        let before = *SESSION.ends.lock();
        drop(state);
        let mut ends = SESSION.ends.lock();
        while *ends == before {
            if SESSION.ended.wait_for(&mut ends, self.look).timed_out() {
                self.look = LAST_LOOK.min(self.look * 2);
                break;
            }
        }
        drop(ends);
        WAITING.fetch_sub(1, SeqCst);
        Ok(lock())
    }
}

/// A call has ended: tells those who wait.
#[inline]
pub(crate) fn ended() {
    if WAITING.load(Relaxed) > 0 {
        wake();
    }
}

#[cold]
fn wake() {
    *SESSION.ends.lock() += 1;
    SESSION.ended.notify_all();
}

/// Ends the runtime: calls that were accepted are done, all data is freed. The next call starts another one.
pub(crate) fn end() -> Result<()> {
    let mut state = lock();
    let mut wait = Wait::until("no call is under way");
    while !state.is_idle() {
        state = wait.wait(state)?;
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
    let mut wait = Wait::until("the call that uses the data has ended");
    let data = loop {
        state.handles.check_whole(handle.addr())?;
        if state.handles.find(handle.addr())?.is_free(true) {
            break state.handles.remove(handle.addr());
        }
        state = wait.wait(state)?;
    };
    drop(state);
    // May give memory back to the system, which takes its time.
    drop(data);
    Ok(())
}

/// What is seen of data now.
pub(crate) fn look<T>(handle: *const hete_Data, f: impl FnOnce(&View<u8>) -> T) -> Result<T> {
    let mut state = lock();
    let mut wait = Wait::until("the call that writes the data has ended");
    loop {
        let place = state.handles.find(handle.addr())?;
        if let Some(view) = place.within().view.filter(|_| place.is_free(false)) {
            // SAFETY: the view of a live handle, under the lock, and nobody writes it, divides it or joins it.
            return Ok(f(unsafe { view.as_ref() }));
        }
        state = wait.wait(state)?;
    }
}

#[cfg(test)]
mod tests;
