//! How far each queue has come, and waiting until it has come far enough.
//!
//! A waiter that finds a ticket open looks again for a bounded time, then says
//! that it waits, looks once more, and parks. Whoever retires a ticket says so,
//! then looks for waiters. A fence lies between the two steps of both, so one of them sees the other.

use super::Ticket;
use super::signal::Signal;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence, soon};
use Ordering::{Acquire, Relaxed, Release, SeqCst};

/// One queue. Padded, so that two queues never share a cache line.
#[repr(align(128))]
struct Timeline {
    /// Calls up to here are done.
    done: AtomicU64,
    waiters: AtomicU32,
    signal: Signal,
}

/// All queues of a runtime.
pub(crate) struct Timelines {
    lines: Box<[Timeline]>,
    /// Those that wait for any of several queues.
    any_waiters: AtomicU32,
    any: Signal,
}

impl Timelines {
    pub(crate) fn new(queues: usize) -> Self {
        let line = |_| Timeline { done: AtomicU64::new(0), waiters: AtomicU32::new(0), signal: Signal::default() };
        Self { lines: (0..queues).map(line).collect(), any_waiters: AtomicU32::new(0), any: Signal::default() }
    }

    pub(crate) fn queues(&self) -> usize {
        self.lines.len()
    }

    /// The last place of `queue` that is done.
    #[inline]
    pub(crate) fn done(&self, queue: usize) -> u64 {
        self.lines.get(queue).map_or(u64::MAX, |line| line.done.load(Acquire))
    }

    /// Is it done? Whoever is told so sees all that the call did.
    #[inline]
    pub(crate) fn is_done(&self, ticket: Ticket) -> bool {
        ticket == Ticket::DONE || self.done(ticket.queue()) >= ticket.place()
    }

    /// The call at this place is done. Called in the order of places.
    pub(crate) fn retire(&self, ticket: Ticket) {
        let Some(line) = self.lines.get(ticket.queue()) else { return };
        debug_assert_eq!(line.done.load(Relaxed) + 1, ticket.place(), "retired out of order");
        line.done.store(ticket.place(), Release);
        fence(SeqCst);
        if line.waiters.load(Relaxed) != 0 {
            line.signal.notify();
        }
        if self.any_waiters.load(Relaxed) != 0 {
            self.any.notify();
        }
    }

    /// Looks for a bounded time: is it done?
    pub(crate) fn done_soon(&self, ticket: Ticket) -> bool {
        soon(|| self.is_done(ticket))
    }

    /// Returns once the ticket is done.
    pub(crate) fn wait(&self, ticket: Ticket) {
        if self.done_soon(ticket) {
            return;
        }
        let Some(line) = self.lines.get(ticket.queue()) else { return };
        line.waiters.fetch_add(1, Relaxed);
        fence(SeqCst);
        line.signal.park_while(|| line.done.load(Acquire) < ticket.place());
        line.waiters.fetch_sub(1, Relaxed);
    }

    /// Returns the index of one that is done, once there is one.
    pub(crate) fn wait_any(&self, tickets: &[Ticket]) -> Option<usize> {
        let done = || tickets.iter().position(|t| self.is_done(*t));
        if tickets.is_empty() {
            return None;
        }
        let mut found = done();
        if found.is_none() {
            self.any_waiters.fetch_add(1, Relaxed);
            fence(SeqCst);
            self.any.park_while(|| {
                found = done();
                found.is_none()
            });
            self.any_waiters.fetch_sub(1, Relaxed);
        }
        found
    }
}
