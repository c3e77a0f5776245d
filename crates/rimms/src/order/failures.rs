//! What became of calls that failed.
//!
//! Success is not written down: a ticket that is done and not here has
//! succeeded. An entry stays as long as its runtime, since a wait may be repeated.

use super::Ticket;
use crate::error::Error;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(crate) struct Failures {
    any: AtomicBool,
    by_ticket: Mutex<HashMap<u64, Arc<Error>>>,
}

impl Failures {
    /// To be said before the ticket is retired.
    pub(crate) fn record(&self, ticket: Ticket, error: Arc<Error>) {
        self.by_ticket.lock().insert(ticket.to_bits(), error);
        self.any.store(true, Ordering::Release);
    }

    /// What became of a call that is done.
    pub(crate) fn outcome(&self, ticket: Ticket) -> Result<(), Error> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let found = self.by_ticket.lock().get(&ticket.to_bits()).cloned();
        found.map_or(Ok(()), |error| Err(Arc::unwrap_or_clone(error)))
    }
}
