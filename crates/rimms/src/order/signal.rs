//! A place to park until something has become true.

use crate::sync::{Condvar, Mutex};

#[derive(Default)]
pub(super) struct Signal {
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    /// Parks while `waiting` says so. It is asked under the lock that [`notify`](Self::notify) takes.
    pub(super) fn park_while(&self, mut waiting: impl FnMut() -> bool) {
        let mut guard = self.lock.lock();
        while waiting() {
            self.changed.wait(&mut guard);
        }
    }

    /// Wakes all that are parked: whoever has asked before, and was told to wait, is parked by now.
    pub(super) fn notify(&self) {
        drop(self.lock.lock());
        self.changed.notify_all();
    }
}
