//! The threads of the program that are parked on a ticket: for the watchdog, which says who waits for whom.

use super::{Ticket, Timelines};
use parking_lot::Mutex;

/// A thread that waits.
#[derive(Clone)]
pub(crate) struct Waiter {
    pub(crate) thread: String,
    pub(crate) on: Ticket,
}

#[derive(Default)]
pub(crate) struct Waiters(Mutex<Vec<(u64, Waiter)>>);

impl Waiters {
    /// Waits, and is on the list meanwhile unless it is over soon.
    pub(crate) fn wait(&self, lines: &Timelines, ticket: Ticket) {
        if lines.done_soon(ticket) {
            return;
        }
        let current = std::thread::current();
        let thread = current.name().map_or_else(|| format!("{:?}", current.id()), str::to_owned);
        let number = {
            let mut list = self.0.lock();
            let number = list.last().map_or(0, |(n, _)| n + 1);
            list.push((number, Waiter { thread, on: ticket }));
            number
        };
        lines.wait(ticket);
        self.0.lock().retain(|(n, _)| *n != number);
    }

    pub(crate) fn list(&self) -> Vec<Waiter> {
        self.0.lock().iter().map(|(_, w)| w.clone()).collect()
    }
}
