//! Who wants a buffer to stay, as one word of its slot.
//!
//! Owns [`Holds`]: the number of the slot's buffer, and below it how many hold that, or that it is closed: the buffer is
//! not there, or being freed. It can be closed only when nobody holds the buffer, and by one thread only; who comes
//! later finds it closed. The number tells the slot's buffers apart, so that a hold meant for one is never on the next.

use crate::sync::{AtomicU64, Ordering};

/// In the lower half: no buffer is there to be held.
const CLOSED: u64 = u32::MAX as u64;

/// All zero is a slot never used.
pub(crate) struct Holds(pub(crate) AtomicU64);

/// What came of closing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// It is closed, by this caller.
    Done,
    /// The buffer is not there (any more).
    NotThere,
    /// Somebody holds it.
    Held,
}

impl Holds {
    /// A buffer is about to be there that nobody holds. Only for the owner of the slot's index.
    pub(crate) fn begin(&self, number: u64) {
        self.0.store(number << 32, Ordering::Release);
    }

    /// Holds the buffer of which `is_there` says whether it is in the slot; whether it is.
    pub(crate) fn take(&self, is_there: impl Fn() -> bool) -> bool {
        let mut holds = self.0.load(Ordering::Acquire);
        loop {
            // Asked after `holds` was read: if that has not changed when it is, the buffer was there in between. One less
            // than closed would be closed by the next: 2^32 holds do not fit into any host.
            if !is_there() || holds & CLOSED >= CLOSED - 1 {
                return false;
            }
            match self.0.compare_exchange(holds, holds + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(found) => holds = found,
            }
        }
    }

    /// Ends one hold; the caller has one.
    pub(crate) fn release(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Closes for the buffer of which `is_there` says whether it is in the slot.
    pub(crate) fn close(&self, is_there: impl Fn() -> bool) -> Close {
        let mut holds = self.0.load(Ordering::Acquire);
        loop {
            match (is_there(), holds & CLOSED) {
                (false, _) | (_, CLOSED) => return Close::NotThere,
                (true, 0) => {}
                (true, _) => return Close::Held,
            }
            match self.0.compare_exchange(holds, holds | CLOSED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Close::Done,
                Err(found) => holds = found,
            }
        }
    }

    /// How many hold the buffer; `None` when none is there (or never was).
    pub(crate) fn count(&self) -> Option<u64> {
        let holds = self.0.load(Ordering::Acquire);
        (holds != 0 && holds & CLOSED != CLOSED).then_some(holds & CLOSED)
    }
}
