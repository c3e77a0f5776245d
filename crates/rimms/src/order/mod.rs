//! Order: what waits for what.
//!
//! Every call that is queued gets a [`Ticket`]: the number of its queue and its
//! place there. A queue is worked off in order, so all that is to be known about
//! it is how far it has come: its [`Timeline`](timeline). Every leaf remembers
//! the ticket of its last writer and those of the readers since ([`Users`]); from
//! them a new call learns what it has to wait for (RAW, WAR, WAW), and a guard too.
//!
//! Invariants:
//! * a call waits only for tickets that were given out before its own, so no cycle can arise;
//! * a leaf's users are changed by whoever submits, never by whoever executes: a ticket is
//!   retired by its timeline alone, and what is found retired is forgotten in passing;
//! * writers of a leaf are registered by the holder of its exclusive view, readers by holders of shared ones.
//!
//! Nothing here knows devices, memory or calls. Checked by `tests/loom`, which
//! runs these files under every interleaving, and by the programs in `tests/`.

mod failures;
mod inbox;
mod kernel;
mod signal;
mod ticket;
mod timeline;
mod users;
mod waiters;

pub(crate) use inbox::Inbox;
pub(crate) use kernel::{in_kernel, in_own_thread, kernel_scope, thread_scope};
pub(crate) use ticket::{MAX_QUEUES, Ticket};
pub(crate) use timeline::Timelines;
pub(crate) use users::Users;
pub(crate) use waiters::Waiter;

use crate::error::{Error, Result};
use crate::trace::Log;
use failures::Failures;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;
use waiters::Waiters;

/// Tickets that something comes after: the latest of each queue.
pub(crate) type After = SmallVec<[Ticket; 2]>;

/// Adds a ticket to those that something comes after.
pub(crate) fn comes_after(after: &mut After, ticket: Ticket) {
    match after.iter_mut().find(|t| t.queue() == ticket.queue()) {
        Some(same) if same.place() < ticket.place() => *same = ticket,
        Some(_) => {}
        None => after.push(ticket),
    }
}

/// The order of one runtime's calls.
pub(crate) struct Order {
    pub(crate) lines: Timelines,
    failures: Failures,
    waiters: Waiters,
    log: Option<Arc<Log>>,
}

impl Order {
    pub(crate) fn new(queues: usize, log: Option<Arc<Log>>) -> Self {
        Self { lines: Timelines::new(queues), failures: Failures::default(), waiters: Waiters::default(), log }
    }

    /// Returns once the ticket is done, however that came out.
    ///
    /// # Errors
    /// [`Error::WouldDeadlock`] inside a kernel, where it is not done yet.
    pub(crate) fn wait(&self, ticket: Ticket) -> Result<()> {
        if self.lines.is_done(ticket) {
            return Ok(());
        }
        if in_kernel() {
            return Err(Error::WouldDeadlock);
        }
        self.entered(ticket, || self.waiters.wait(&self.lines, ticket));
        Ok(())
    }

    /// A worker's wait for a call that its own comes after.
    pub(crate) fn wait_in_worker(&self, ticket: Ticket) {
        self.entered(ticket, || self.lines.wait(ticket));
    }

    fn entered(&self, ticket: Ticket, wait: impl FnOnce()) {
        let start = self.log.as_ref().map(|log| (log, Instant::now()));
        wait();
        if let Some((log, start)) = start {
            log.waited(start, ticket.queue(), ticket.place());
        }
    }

    /// What became of a call that is done.
    ///
    /// # Errors
    /// Why it failed.
    pub(crate) fn outcome(&self, ticket: Ticket) -> Result<()> {
        self.failures.outcome(ticket)
    }

    /// The call is done. In the order of places.
    pub(crate) fn retire(&self, ticket: Ticket, outcome: Result<(), Arc<Error>>) {
        if let Err(error) = outcome {
            self.failures.record(ticket, error);
        }
        self.lines.retire(ticket);
    }

    /// The threads of the program that wait now.
    pub(crate) fn waiting(&self) -> Vec<Waiter> {
        self.waiters.list()
    }
}
