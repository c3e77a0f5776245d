//! Calls that wait for room on one device.
//!
//! A call that cannot be given room while others use some gives up what it has,
//! waits until one of them ends, and tries again. One call at a time waits so; the
//! others queue up behind it, and so do newcomers that need room. Those that have
//! theirs run on and end, so the one in front comes to its room in the end.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A use may end without anybody being told, so waiters look again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct Pressure {
    /// Is it anybody's turn?
    taken: Mutex<bool>,
    changed: Condvar,
    waiting: AtomicUsize,
}

/// The turn of the one in front, until dropped.
pub(super) struct Turn<'a>(&'a Pressure);

impl Pressure {
    /// Is somebody waiting for room?
    #[inline]
    pub(super) fn is_high(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Returns once it is the caller's turn.
    pub(super) fn turn(&self) -> Turn<'_> {
        self.waiting.fetch_add(1, Relaxed);
        let mut taken = self.taken.lock();
        while *taken {
            self.changed.wait(&mut taken);
        }
        *taken = true;
        Turn(self)
    }

    /// Somebody no longer uses a block.
    #[cold]
    pub(super) fn ease(&self) {
        drop(self.taken.lock());
        self.changed.notify_all();
    }
}

impl Turn<'_> {
    /// Returns when a use of the device's memory has ended, or after a while.
    pub(super) fn wait(&self) {
        let mut taken = self.0.taken.lock();
        let _ = self.0.changed.wait_for(&mut taken, LOOK_AGAIN);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.waiting.fetch_sub(1, Relaxed);
        self.0.changed.notify_all();
    }
}
