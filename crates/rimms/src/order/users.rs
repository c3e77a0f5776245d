//! Who uses a leaf: its last writer, and the readers since.
//!
//! Two words, which a node of the tree of fragments that is no leaf uses for its children instead:
//!
//! | | a leaf | a divided node |
//! | --- | --- | --- |
//! | first word | the last writer's ticket (odd) | the children's address (even) |
//! | second word | one reader's ticket (odd), or the address of [`Lanes`] (even) | how many there are |
//!
//! Writers are registered, and nodes divided, by the holder of the exclusive
//! view; readers by any holder of a shared one, so only these race with each other.
//! `Lanes` hold the last reader of each queue; they come into being when
//! readers of two queues are under way at once, and go with the next writer.
#![allow(unsafe_code)]

use super::{Ticket, Timelines};
use crate::sync::{AtomicU64, Ordering};
use Ordering::{AcqRel, Acquire, Relaxed, Release};

/// How many lanes follow, then the last reader's place in each queue; 0 where there was none.
type Lanes = Box<[AtomicU64]>;

pub(crate) struct Users {
    first: AtomicU64,
    second: AtomicU64,
}

const NOBODY: u64 = Ticket::DONE.to_bits();

/// The lanes behind an even word.
///
/// # Safety
/// `word` was made by [`into_word`], and is not taken back by [`from_word`] while the result is used.
unsafe fn lanes<'a>(word: u64) -> &'a [AtomicU64] {
    let start: *const AtomicU64 = std::ptr::with_exposed_provenance(word as usize);
    // SAFETY: lanes say themselves, in their first word, how many follow it; alive as the caller vouches.
    unsafe {
        let n = (*start).load(Relaxed) as usize;
        std::slice::from_raw_parts(start.add(1), n)
    }
}

fn into_word(lanes: Lanes) -> u64 {
    Box::into_raw(lanes).cast::<AtomicU64>().expose_provenance() as u64
}

/// # Safety
/// As for [`lanes`]; nobody else uses them any more.
unsafe fn from_word(word: u64) -> Lanes {
    let start: *mut AtomicU64 = std::ptr::with_exposed_provenance_mut(word as usize);
    // SAFETY: as the caller vouches: made from a box of as many lanes as it says, and one word before them.
    unsafe {
        let n = (*start).load(Relaxed) as usize;
        Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, n + 1))
    }
}

impl Users {
    pub(crate) fn nobody() -> Self {
        Self { first: AtomicU64::new(NOBODY), second: AtomicU64::new(NOBODY) }
    }

    /// A leaf, as opposed to a divided node?
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.first.load(Acquire) & 1 == 1
    }

    /// Nobody writes or reads the leaf, as far as two looks tell.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.first.load(Acquire) == NOBODY && self.second.load(Acquire) == NOBODY
    }

    /// Nobody writes the leaf, as far as one look tells.
    #[inline]
    pub(crate) fn no_writer(&self) -> bool {
        self.first.load(Acquire) == NOBODY
    }

    /// A leaf's last writer, done or not.
    #[inline]
    pub(crate) fn writer(&self) -> Option<Ticket> {
        Ticket::from_bits(self.first.load(Acquire))
    }

    /// A leaf's only reader, done or not; `None` where there may be several.
    #[inline]
    pub(crate) fn lone_reader(&self) -> Option<Ticket> {
        Ticket::from_bits(self.second.load(Acquire))
    }

    /// Calls `f` with the writer, if it is not done yet.
    #[inline]
    pub(crate) fn pending_writer(&self, lines: &Timelines, f: &mut dyn FnMut(Ticket)) {
        let word = self.first.load(Acquire);
        if word == NOBODY {
            return;
        }
        if let Some(ticket) = Ticket::from_bits(word) {
            if lines.is_done(ticket) {
                // No writer can come while somebody looks (the view is borrowed), and all who look find the same.
                self.first.store(NOBODY, Release);
            } else {
                f(ticket);
            }
        }
    }

    /// Calls `f` with every reader that is not done yet.
    #[inline]
    pub(crate) fn pending_readers(&self, lines: &Timelines, f: &mut dyn FnMut(Ticket)) {
        let word = self.second.load(Acquire);
        if word != NOBODY {
            self.each_reader(word, lines, f);
        }
    }

    fn each_reader(&self, word: u64, lines: &Timelines, f: &mut dyn FnMut(Ticket)) {
        let mut pending = |ticket| {
            if !lines.is_done(ticket) {
                f(ticket);
            }
        };
        match Ticket::from_bits(word) {
            Some(ticket) => pending(ticket),
            None => {
                // SAFETY: an even second word of a leaf is that of lanes, which live until a writer comes.
                for (queue, place) in unsafe { lanes(word) }.iter().enumerate() {
                    pending(Ticket::new(queue, place.load(Relaxed)));
                }
            }
        }
    }

    /// From now on whoever comes waits for this writer alone, who waits for all that are here. Exclusive.
    #[inline]
    pub(crate) fn set_writer(&self, ticket: Ticket) {
        self.forget_readers();
        self.first.store(ticket.to_bits(), Relaxed);
    }

    /// One more reader. Others may be registered at the same time.
    #[inline]
    pub(crate) fn add_reader(&self, ticket: Ticket, lines: &Timelines) {
        let word = self.second.load(Acquire);
        let takes_its_place = word == NOBODY || Ticket::from_bits(word).is_some_and(|t| ticket.follows(t));
        if !takes_its_place || self.second.compare_exchange(word, ticket.to_bits(), AcqRel, Relaxed).is_err() {
            self.add_reader_slowly(ticket, lines);
        }
    }

    /// The same where others are there, or come at the same moment.
    #[inline(never)]
    fn add_reader_slowly(&self, ticket: Ticket, lines: &Timelines) {
        let mut word = self.second.load(Acquire);
        loop {
            let Some(present) = Ticket::from_bits(word) else {
                // SAFETY: as in `each_reader`.
                let lanes = unsafe { lanes(word) };
                if let Some(lane) = lanes.get(ticket.queue()) {
                    lane.fetch_max(ticket.place(), Relaxed);
                }
                return;
            };
            let same = present.queue() == ticket.queue();
            if same && present.place() >= ticket.place() {
                return;
            }
            let new = if same || lines.is_done(present) { ticket.to_bits() } else { both(present, ticket, lines) };
            match self.second.compare_exchange(word, new, AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => {
                    if new & 1 == 0 {
                        // SAFETY: made by `both` just now, and not published.
                        drop(unsafe { from_word(new) });
                    }
                    word = now;
                }
            }
        }
    }

    /// Forgets readers that are waited for otherwise. Exclusive.
    #[inline]
    pub(crate) fn forget_readers(&self) {
        let word = self.second.load(Acquire);
        if word != NOBODY {
            self.second.store(NOBODY, Relaxed);
            if word & 1 == 0 {
                // SAFETY: lanes, as in `each_reader`; the caller is exclusive, so nobody looks at them.
                drop(unsafe { from_word(word) });
            }
        }
    }

    /// The children's address and number; `None` for a leaf.
    #[inline]
    pub(crate) fn children(&self) -> Option<(usize, usize)> {
        let address = self.first.load(Acquire);
        (address & 1 == 0).then(|| (address as usize, self.second.load(Relaxed) as usize))
    }

    /// A leaf without users becomes a divided node. Exclusive. `address` is even.
    pub(crate) fn set_children(&self, address: usize, n: usize) {
        debug_assert!(address & 1 == 0);
        self.second.store(n as u64, Relaxed);
        self.first.store(address as u64, Release);
    }

    /// A divided node becomes a leaf without users. Exclusive.
    pub(crate) fn clear_children(&self) {
        self.first.store(NOBODY, Release);
        self.second.store(NOBODY, Relaxed);
    }
}

#[cold]
fn both(present: Ticket, ticket: Ticket, lines: &Timelines) -> u64 {
    let place = |queue| match queue {
        q if q == present.queue() => present.place(),
        q if q == ticket.queue() => ticket.place(),
        _ => 0,
    };
    let n = lines.queues();
    into_word(std::iter::once(n as u64).chain((0..n).map(place)).map(AtomicU64::new).collect())
}
