//! The patterns of allocating and freeing, and their rounds.
//!
//! A [`Course`] is one contender in one pattern. What to ask for is drawn before the
//! clock starts, the same for every contender.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::contender::Contender;

/// Live blocks of [`Pattern::Live`].
pub(crate) const LIVE: usize = 1000;

#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    /// One block, allocated and freed.
    Pairs { bytes: u64 },
    /// The same with two sizes in turn.
    Alternating { bytes: [u64; 2] },
    /// [`LIVE`] blocks in a heap that they fill to `percent`, one replaced at random.
    Live { percent: u64, seed: u64 },
    /// `count` blocks allocated, then freed in the same order.
    Batch { bytes: u64, count: usize },
}

/// 32 to 8,192 floats, each power of two as likely as the others.
const SIZES: u64 = 9;

fn size(draw: u64) -> u64 {
    128 << (draw % SIZES)
}

/// Bytes that [`LIVE`] blocks take on average in blocks of `block` bytes.
pub(crate) fn live_bytes(block: u64) -> u64 {
    let all: u64 = (0..SIZES).map(|draw| size(draw).next_multiple_of(block)).sum();
    all * LIVE as u64 / SIZES
}

/// The xorshift generator of Marsaglia (2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
}

/// One contender's way through a pattern, round by round.
pub(crate) trait Course {
    /// Runs about so many pairs; returns the time, the pairs, and the refusals.
    fn round(&mut self, operations: usize) -> Round;
}

#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) time: Duration,
    pub(crate) pairs: usize,
    pub(crate) refused: usize,
}

pub(crate) struct Running<C: Contender> {
    contender: C,
    pattern: Pattern,
    live: Vec<Option<C::Token>>,
    random: Random,
    /// Which block to replace by how many bytes, kept so that its own memory is not
    /// allocated anew among malloc's.
    draws: Vec<(usize, u64)>,
}

impl<C: Contender> Running<C> {
    pub(crate) fn new(mut contender: C, pattern: Pattern) -> Self {
        let mut random = Random(1);
        let mut live = Vec::new();
        match pattern {
            Pattern::Live { seed, .. } => {
                random = Random(seed);
                live.extend((0..LIVE).map(|_| contender.allocate(size(random.next()))));
            }
            Pattern::Batch { count, .. } => live.resize(count, None),
            _ => {}
        }
        Self { contender, pattern, live, random, draws: Vec::new() }
    }

    fn pairs(&mut self, operations: usize, bytes: [u64; 2]) -> Round {
        let start = Instant::now();
        for _ in 0..operations / 2 {
            for bytes in bytes {
                let token = self.contender.allocate(black_box(bytes)).expect("an empty heap");
                self.contender.free(black_box(token));
            }
        }
        Round { time: start.elapsed(), pairs: operations / 2 * 2, refused: 0 }
    }

    fn replace(&mut self, operations: usize) -> Round {
        let random = &mut self.random;
        self.draws.clear();
        self.draws.extend((0..operations).map(|_| (random.next() as usize % LIVE, size(random.next()))));
        let mut refused = 0;
        let start = Instant::now();
        for &(slot, bytes) in &self.draws {
            let slot = &mut self.live[slot];
            if let Some(token) = slot.take() {
                self.contender.free(black_box(token));
            }
            *slot = self.contender.allocate(black_box(bytes));
            refused += usize::from(slot.is_none());
        }
        Round { time: start.elapsed(), pairs: operations, refused }
    }

    fn batches(&mut self, operations: usize, bytes: u64) -> Round {
        let batches = (operations / self.live.len()).max(1);
        let start = Instant::now();
        for _ in 0..batches {
            for slot in &mut self.live {
                *slot = self.contender.allocate(black_box(bytes));
            }
            for slot in &mut self.live {
                self.contender.free(black_box(slot.take()).expect("room for a batch"));
            }
        }
        Round { time: start.elapsed(), pairs: batches * self.live.len(), refused: 0 }
    }
}

impl<C: Contender> Course for Running<C> {
    fn round(&mut self, operations: usize) -> Round {
        match self.pattern {
            Pattern::Pairs { bytes } => self.pairs(operations, [bytes; 2]),
            Pattern::Alternating { bytes } => self.pairs(operations, bytes),
            Pattern::Live { .. } => self.replace(operations),
            Pattern::Batch { bytes, .. } => self.batches(operations, bytes),
        }
    }
}

impl<C: Contender> Drop for Running<C> {
    fn drop(&mut self) {
        for token in self.live.drain(..).flatten() {
            self.contender.free(token);
        }
    }
}
