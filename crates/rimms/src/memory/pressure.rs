//! Calls that wait for room on one device.
//!
//! A call that cannot be given room while others use some gives up what it has,
//! waits until one of them ends, and tries again. One call at a time waits so, and
//! has the *turn*; others that need room queue up behind it, and newcomers that need
//! none hold back a while. Those that run end, so the one in front comes to its room.
//!
//! A call made by a kernel gives up where nothing ends for [`PATIENCE`]: what it waits for may be waiting for the kernel.

use crate::order::in_kernel;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A use may end without anybody being told, so waiters look again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How long a call that needs no room lets others find theirs.
const POLITE: Duration = Duration::from_secs(1);

/// How long nothing may end before a kernel's call gives up.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Pressure {
    state: Mutex<State>,
    changed: Condvar,
    waiting: AtomicUsize,
    /// Has anything had to go yet?
    is_short: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Is it anybody's turn?
    taken: bool,
    /// Uses that have ended while somebody waited.
    ended: u64,
}

/// The turn of the one in front, until dropped.
pub(super) struct Turn<'a> {
    pressure: &'a Pressure,
    ended: u64,
    since: Instant,
}

impl Pressure {
    /// Has anything on the device had to make room before?
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// Something had to.
    pub(super) fn set_short(&self) {
        self.is_short.store(true, Relaxed);
    }

    /// Is somebody waiting for room?
    #[inline]
    pub(super) fn is_high(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Returns once nobody waits for room any more, or after a while.
    pub(super) fn hold_back(&self) {
        let until = Instant::now() + POLITE;
        let mut state = self.state.lock();
        while self.is_high() && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// Returns once it is the caller's turn.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.waiting.fetch_add(1, Relaxed);
        let mut state = self.state.lock();
        while state.taken {
            self.changed.wait(&mut state);
        }
        state.taken = true;
        Turn { pressure: self, ended: state.ended, since: Instant::now() }
    }

    /// Somebody no longer uses a block.
    #[cold]
    pub(super) fn ease(&self) {
        self.state.lock().ended += 1;
        self.changed.notify_all();
    }
}

impl Turn<'_> {
    /// Returns when a use of the device's memory has ended, or after a while; false where that has led to nothing for
    /// too long.
    pub(super) fn wait(&mut self) -> bool {
        let mut state = self.pressure.state.lock();
        let _ = self.pressure.changed.wait_for(&mut state, LOOK_AGAIN);
        if state.ended != self.ended {
            (self.ended, self.since) = (state.ended, Instant::now());
        }
        !in_kernel() || self.since.elapsed() < PATIENCE
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.pressure.state.lock();
        state.taken = false;
        // Under the lock: whoever is about to wait for it sees it, or is woken.
        self.pressure.waiting.fetch_sub(1, Relaxed);
        drop(state);
        self.pressure.changed.notify_all();
    }
}
