//! The inbox of a queue: many put in, one takes out.
//!
//! The one takes all that is there at once. While there is nothing it looks for
//! a bounded time, then says that it sleeps and parks; whoever puts something in wakes it then.

use crate::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering, soon};
use Ordering::{Acquire, Relaxed, Release};

pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    /// Places given out. Changed under the lock.
    issued: AtomicU64,
    /// Not 0: nothing will come. Changed under the lock.
    closed: AtomicU32,
}

struct State<T> {
    items: Vec<T>,
    is_asleep: bool,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        let state = State { items: Vec::new(), is_asleep: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), issued: AtomicU64::new(0), closed: AtomicU32::new(0) }
    }
}

impl<T> Inbox<T> {
    /// Puts an item in. Returns its place; they count from 1.
    #[inline]
    pub(crate) fn push(&self, item: T) -> u64 {
        let mut state = self.state.lock();
        let place = self.issued.load(Relaxed) + 1;
        state.items.push(item);
        self.issued.store(place, Release);
        let wake = std::mem::take(&mut state.is_asleep);
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        place
    }

    /// Hands everything to `take` once there is something that came after place `last`; `false` if nothing is there
    /// and nothing will come. `take` runs under the inbox's lock.
    pub(crate) fn take(&self, last: u64, take: impl FnOnce(&mut Vec<T>)) -> bool {
        soon(|| self.issued.load(Acquire) > last || self.closed.load(Relaxed) != 0);
        let mut state = self.state.lock();
        while state.items.is_empty() {
            if self.closed.load(Relaxed) != 0 {
                return false;
            }
            state.is_asleep = true;
            self.filled.wait(&mut state);
        }
        state.is_asleep = false;
        take(&mut state.items);
        true
    }

    /// What is in it, under its lock.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        look(&self.state.lock().items)
    }

    /// The last place given out.
    #[inline]
    pub(crate) fn issued(&self) -> u64 {
        self.issued.load(Acquire)
    }

    /// Nothing will come any more.
    pub(crate) fn close(&self) {
        let state = self.state.lock();
        self.closed.store(1, Relaxed);
        drop(state);
        self.filled.notify_one();
    }
}
