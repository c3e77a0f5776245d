//! What became of calls that failed.
//!
//! Success is not written down: a ticket that is done and not here has
//! succeeded. That a call failed is known as long as its runtime lives, since a wait may be repeated; why, of the latest
//! alone, as a program may run for months with a call that fails now and then, or with a device that does nothing else.

use super::Ticket;
use crate::error::Error;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of so many it is known why they failed. (An error has about 300 bytes.)
const EXPLAINED: usize = 4096;

#[derive(Default)]
pub(crate) struct Failures {
    any: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    explained: HashMap<u64, Arc<Error>>,
    /// The explained ones, oldest first.
    latest: VecDeque<Ticket>,
    /// By queue, the places of those before, in order: those that follow each other are one range.
    before: BTreeMap<usize, Vec<RangeInclusive<u64>>>,
}

impl Failures {
    /// To be said before the ticket is retired. Of one queue in the order of places.
    pub(crate) fn record(&self, ticket: Ticket, error: Arc<Error>) {
        self.noted.lock().add(ticket, error);
        self.any.store(true, Ordering::Release);
    }

    /// What became of a call that is done.
    pub(crate) fn outcome(&self, ticket: Ticket) -> Result<(), Error> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let noted = self.noted.lock();
        if let Some(error) = noted.explained.get(&ticket.to_bits()).cloned() {
            drop(noted);
            return Err(Arc::unwrap_or_clone(error));
        }
        if noted.is_before(ticket) { Err(Error::Forgotten { later: EXPLAINED }) } else { Ok(()) }
    }
}

impl Noted {
    fn add(&mut self, ticket: Ticket, error: Arc<Error>) {
        if self.explained.insert(ticket.to_bits(), error).is_none() {
            self.latest.push_back(ticket);
        }
        if self.latest.len() > EXPLAINED
            && let Some(oldest) = self.latest.pop_front()
        {
            self.explained.remove(&oldest.to_bits());
            let ranges = self.before.entry(oldest.queue()).or_default();
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == oldest.place() => *last = *last.start()..=oldest.place(),
                _ => ranges.push(oldest.place()..=oldest.place()),
            }
        }
    }

    fn is_before(&self, ticket: Ticket) -> bool {
        let ranges = self.before.get(&ticket.queue()).map(Vec::as_slice).unwrap_or_default();
        let at = ranges.partition_point(|range| *range.end() < ticket.place());
        ranges.get(at).is_some_and(|range| range.contains(&ticket.place()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_failures_are_known_and_take_no_more_room_than_the_latest() {
        let failures = Failures::default();
        let error = Arc::new(Error::WouldDeadlock);
        for place in (1..=1_000_000).filter(|place| place % 100_000 != 0) {
            failures.record(Ticket::new(3, place), error.clone());
        }
        let outcome = |queue, place| failures.outcome(Ticket::new(queue, place));
        assert!(matches!(outcome(3, 999_999), Err(Error::WouldDeadlock)));
        for place in [1, 99_999, 100_001, 900_000 - 1] {
            assert!(matches!(outcome(3, place), Err(Error::Forgotten { .. })), "{place}");
        }
        for place in [100_000, 900_000, 1_000_000] {
            assert!(outcome(3, place).is_ok(), "{place} did not fail");
        }
        assert!(outcome(2, 1).is_ok());
        let noted = failures.noted.lock();
        assert_eq!((noted.explained.len(), noted.latest.len(), noted.before[&3].len()), (EXPLAINED, EXPLAINED, 10));
    }
}
