//! The queue of one PE: calls that were accepted and are not done yet, in order.
//!
//! Submitters push into the inbox; the PE's worker takes all that is there at
//! once, and works it off. What the worker has taken can still be looked at by
//! those who want to know what is needed next ([`each_pending`](Queue::each_pending)).
#![allow(unsafe_code)]

use super::monitor::Task;
use super::pe::PeSet;
use crate::memory::{Held, Usage};
use crate::op::Call;
use crate::order::{After, Inbox, Ticket};
use crate::sync::Padded;
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A call in flight: all it needs, and nothing of whoever submitted it.
pub(super) struct Work {
    pub(super) call: Call,
    pub(super) operands: Held,
    /// What it comes after, besides the calls before it in its queue.
    pub(super) after: After,
    /// Where it may go if it fails here.
    pub(super) allowed: PeSet,
    /// Elements it works through.
    pub(super) size: usize,
    /// What it is expected to take, in nanoseconds: counted as the PE's until it is done.
    pub(super) expected_ns: u64,
}

#[derive(Default)]
pub(super) struct Queue {
    inbox: Padded<Inbox<Work>>,
    /// What all that is pending is expected to take.
    expected_ns: Padded<AtomicU64>,
    /// Taken by the worker, and not begun.
    batch: Padded<Mutex<VecDeque<Work>>>,
    /// The ticket that the worker is waiting for now; 0 for none.
    waits_for: AtomicU64,
    /// Does it wait for its second hand?
    waits_for_hand: AtomicBool,
    /// What the worker is at, where somebody watches.
    running: Mutex<Option<Arc<Task>>>,
}

impl Queue {
    /// Appends a call, from its parts, so that it is written where it stays. Returns its place.
    ///
    /// # Safety
    /// As for [`Held::write`].
    #[inline(always)]
    pub(super) unsafe fn push(
        &self,
        call: &Call,
        operands: &[Usage<'_>],
        after: After,
        allowed: &PeSet,
        (size, expected_ns): (usize, u64),
    ) -> u64 {
        if expected_ns != 0 {
            self.expected_ns.fetch_add(expected_ns, Relaxed);
        }
        let mut entry = self.inbox.entry();
        let work = entry.room().as_mut_ptr();
        // SAFETY: the room is ours, and every field is written once; what is held, as the caller vouches.
        unsafe {
            (&raw mut (*work).call).write(call.share());
            Held::write(&mut *(&raw mut (*work).operands).cast(), operands);
            (&raw mut (*work).after).write(after);
            (&raw mut (*work).allowed).write(allowed.clone());
            (&raw mut (*work).size).write(size);
            (&raw mut (*work).expected_ns).write(expected_ns);
            entry.put()
        }
    }

    /// The next call, whose place comes after `last`; `None` once the queue is closed and empty.
    pub(super) fn next(&self, last: u64) -> Option<Work> {
        if let Some(work) = self.batch.lock().pop_front() {
            return Some(work);
        }
        // Under both locks, so nobody who looks finds a call in neither. The two change places: nothing is moved.
        self.inbox.take(last, |items| {
            let mut batch = self.batch.lock();
            let worked_off = std::mem::replace(&mut *batch, VecDeque::from(std::mem::take(items)));
            *items = Vec::from(worked_off);
        });
        self.batch.lock().pop_front()
    }

    /// Calls `f` with each pending call, from the next on, until it says that it has seen enough.
    pub(super) fn each_pending(&self, f: &mut dyn FnMut(&Work) -> bool) {
        self.inbox.look(|items| {
            let batch = self.batch.lock();
            let _ = batch.iter().chain(items).all(f);
        });
    }

    /// A call is done.
    #[inline]
    pub(super) fn done(&self, expected_ns: u64) {
        if expected_ns != 0 {
            self.expected_ns.fetch_sub(expected_ns, Relaxed);
        }
    }

    /// What is pending is expected to take this long.
    pub(super) fn expected_ns(&self) -> u64 {
        self.expected_ns.load(Relaxed)
    }

    /// The last place given out.
    pub(super) fn issued(&self) -> u64 {
        self.inbox.issued()
    }

    /// No more will come: the worker ends once it has done what is there.
    pub(super) fn close(&self) {
        self.inbox.close();
    }

    pub(super) fn set_running(&self, task: Option<Arc<Task>>) {
        *self.running.lock() = task;
    }

    /// What the worker is at, locked: it does not go on meanwhile.
    pub(super) fn running(&self) -> MutexGuard<'_, Option<Arc<Task>>> {
        self.running.lock()
    }

    pub(super) fn set_waiting(&self, ticket: Option<Ticket>) {
        self.waits_for.store(ticket.map_or(0, Ticket::to_bits), Relaxed);
    }

    pub(super) fn set_waiting_for_hand(&self, waits: bool) {
        self.waits_for_hand.store(waits, Relaxed);
    }

    pub(super) fn waits_for_hand(&self) -> bool {
        self.waits_for_hand.load(Relaxed)
    }

    pub(super) fn waits_for(&self) -> Option<Ticket> {
        Ticket::from_bits(self.waits_for.load(Relaxed))
    }
}
