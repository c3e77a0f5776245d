//! The inbox of a queue: many put in, one takes out.
//!
//! The one takes all that is there at once. While there is nothing it looks for
//! a bounded time, then says that it sleeps and parks; whoever puts something in wakes it then.
#![allow(unsafe_code)]

use crate::sync::{AtomicU32, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, soon};
use Ordering::{Acquire, Relaxed, Release};
use std::mem::MaybeUninit;

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

/// Room for the next item of an inbox, which is locked meanwhile.
pub(crate) struct Entry<'a, T> {
    inbox: &'a Inbox<T>,
    /// With room for one more.
    state: MutexGuard<'a, State<T>>,
}

impl<T> Entry<'_, T> {
    #[inline(always)]
    pub(crate) fn room(&mut self) -> &mut MaybeUninit<T> {
        let items = &mut self.state.items;
        // SAFETY: there is room for one more, behind the last.
        unsafe { &mut *items.as_mut_ptr().add(items.len()).cast() }
    }

    /// The item is in. Returns its place; they count from 1.
    ///
    /// # Safety
    /// The room was written.
    #[inline(always)]
    pub(crate) unsafe fn put(mut self) -> u64 {
        let place = self.inbox.issued.load(Relaxed) + 1;
        let items = &mut self.state.items;
        // SAFETY: within the capacity, and initialised, as the caller vouches.
        unsafe { items.set_len(items.len() + 1) };
        self.inbox.issued.store(place, Release);
        let wake = std::mem::take(&mut self.state.is_asleep);
        drop(self.state);
        if wake {
            self.inbox.filled.notify_one();
        }
        place
    }
}

impl<T> Inbox<T> {
    /// Room for an item, which is written where it stays: items are large, and moving one is felt.
    #[inline(always)]
    pub(crate) fn entry(&self) -> Entry<'_, T> {
        let mut state = self.state.lock();
        state.items.reserve(1);
        Entry { inbox: self, state }
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
