//! Tickets: a queue's number and a place in it, in one word.

use std::fmt;

const QUEUE_BITS: u32 = 12;

/// The most queues that a ticket can name. (A place in one queue has the other 51 bits: at ten million calls a second
/// they last seven years.)
pub(crate) const MAX_QUEUES: usize = 1 << QUEUE_BITS;

/// A call's place: it is done once queue `queue` has come to `place`. Places count from 1.
///
/// The word is odd, so that it can share its place with a pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// Done from the start: nobody waits for it.
    pub(crate) const DONE: Self = Self(1);

    #[inline]
    pub(crate) const fn new(queue: usize, place: u64) -> Self {
        Self(1 | (queue as u64) << 1 | place << (QUEUE_BITS + 1))
    }

    #[inline]
    pub(crate) const fn queue(self) -> usize {
        (self.0 >> 1) as usize & (MAX_QUEUES - 1)
    }

    /// Was it done from the start, or is it of queue `at`, which sees to its order itself?
    #[inline]
    pub(crate) fn is_no_matter_to(self, at: usize) -> bool {
        self == Self::DONE || self.queue() == at
    }

    /// Does it come later in the same queue?
    #[inline]
    pub(crate) const fn follows(self, other: Self) -> bool {
        let same = self.queue() == other.queue();
        same && self.0 > other.0
    }

    #[inline]
    pub(crate) const fn place(self) -> u64 {
        self.0 >> (QUEUE_BITS + 1)
    }

    #[inline]
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    /// The ticket of a word; `None` if the word is even, and so no ticket.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Option<Self> {
        if bits & 1 == 1 { Some(Self(bits)) } else { None }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.queue(), self.place())
    }
}
