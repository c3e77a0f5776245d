//! Costs: what a call takes on a PE, as a function of its size, measured as calls run.
//!
//! One curve per (op, PE): a running mean for each power of two of the size.
//! Between two measured sizes the cost is interpolated along a straight line in
//! size, beyond the measured range it is scaled in proportion. Transfers are not
//! part of it: what has to move depends on where bytes are, not on the op.

use crate::op::OpKind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

const BUCKETS: usize = usize::BITS as usize;

/// A new measurement counts for this much of the mean, so that a slow first call is soon forgotten.
const WEIGHT: f64 = 0.25;

/// Calls of a size class that are measured before the clock is spared, and from then on one in how many is.
/// Reading it twice costs more than all the rest of a short call.
const SETTLED: u32 = 16;
const SAMPLE: u32 = 16;

/// Means by size class; each holds the size and the nanoseconds as two floats of one word.
struct Curve {
    means: [AtomicU64; BUCKETS],
    calls: [AtomicU32; BUCKETS],
}

fn pack(size: f32, ns: f32) -> u64 {
    u64::from(size.to_bits()) << 32 | u64::from(ns.to_bits())
}

fn unpack(word: u64) -> Option<(f64, f64)> {
    let (size, ns) = (f32::from_bits((word >> 32) as u32), f32::from_bits(word as u32));
    (word != 0).then_some((f64::from(size), f64::from(ns)))
}

impl Curve {
    fn new() -> Self {
        Self { means: [const { AtomicU64::new(0) }; BUCKETS], calls: [const { AtomicU32::new(0) }; BUCKETS] }
    }

    fn record(&self, size: usize, ns: f64) {
        let size = size.max(1);
        let bucket = &self.means[size.ilog2() as usize];
        // Two threads that record at once: one of the two measurements is lost, which is no harm to a mean.
        let (s, t) = match unpack(bucket.load(Relaxed)) {
            None => (size as f64, ns),
            Some((s, t)) => (s + WEIGHT * (size as f64 - s), t + WEIGHT * (ns - t)),
        };
        bucket.store(pack(s as f32, t as f32), Relaxed);
    }

    fn is_due(&self, size: usize) -> bool {
        let calls = &self.calls[size.max(1).ilog2() as usize];
        // Not exact when two threads count at once, which does not matter.
        let n = calls.load(Relaxed);
        calls.store(n.wrapping_add(1), Relaxed);
        n < SETTLED || n.is_multiple_of(SAMPLE)
    }

    fn estimate(&self, size: usize) -> Option<f64> {
        let size = size.max(1);
        let at = size.ilog2() as usize;
        let known = |i: usize| unpack(self.means[i].load(Relaxed));
        let size = size as f64;
        let (mut below, mut above) = (None, None);
        for i in (0..=at).rev() {
            if let Some(point) = known(i) {
                if point.0 <= size {
                    below = Some(point);
                    break;
                }
                above = Some(point);
            }
        }
        if above.is_none() {
            above = (at..BUCKETS).filter_map(known).find(|p| p.0 >= size);
        }
        match (below, above) {
            (None, None) => None,
            (Some((s, t)), Some((s2, t2))) if s2 > s => Some(t + (t2 - t) * (size - s) / (s2 - s)),
            (Some((s, t)), _) | (None, Some((s, t))) => Some(t * size / s),
        }
    }
}

/// Curves by a number without a bound, in chunks that double and never move: readers take no lock.
struct Curves([OnceLock<Chunk>; BUCKETS]);

type Chunk = Box<[OnceLock<Box<Curve>>]>;

impl Curves {
    fn new() -> Self {
        Self([const { OnceLock::new() }; BUCKETS])
    }

    /// Chunk k holds the 2^k numbers from 2^k − 1 on.
    fn place(number: usize) -> (usize, usize) {
        let n = number.saturating_add(1);
        let chunk = n.ilog2() as usize;
        (chunk, n - (1 << chunk))
    }

    fn get(&self, number: usize) -> Option<&Curve> {
        let (chunk, at) = Self::place(number);
        self.0[chunk].get()?[at].get().map(|c| &**c)
    }

    fn get_or_make(&self, number: usize) -> &Curve {
        let (chunk, at) = Self::place(number);
        let slots = self.0[chunk].get_or_init(|| (0..1_usize << chunk).map(|_| OnceLock::new()).collect());
        slots[at].get_or_init(|| Box::new(Curve::new()))
    }
}

/// The measured costs of one runtime.
///
/// ```
/// use rimms::{op::OpKind, sched::Costs};
/// let costs = Costs::new(2); // PEs
/// assert_eq!(costs.estimate(OpKind::Fft, 0, 1024), None);
/// costs.record(OpKind::Fft, 0, 1024, 800.0);
/// costs.record(OpKind::Fft, 0, 2048, 1600.0);
/// let between = costs.estimate(OpKind::Fft, 0, 1536).unwrap();
/// assert!((between - 1200.0).abs() < 1.0);
/// ```
pub struct Costs(Box<[Curves]>);

impl Costs {
    /// Nothing measured yet on any of `pes` PEs.
    pub fn new(pes: usize) -> Self {
        Self((0..pes).map(|_| Curves::new()).collect())
    }

    /// Is the next call of this kind and size to be measured? The first ones are, then one in sixteen. Counts the call.
    #[inline]
    pub fn is_due(&self, kind: OpKind, pe: usize, size: usize) -> bool {
        self.0.get(pe).is_some_and(|curves| curves.get_or_make(kind.index()).is_due(size))
    }

    /// A call of this kind and size took `ns` nanoseconds on PE `pe`.
    pub fn record(&self, kind: OpKind, pe: usize, size: usize, ns: f64) {
        if let Some(curves) = self.0.get(pe) {
            curves.get_or_make(kind.index()).record(size, ns);
        }
    }

    /// What a call of this kind and size is expected to take on PE `pe`, in nanoseconds.
    pub fn estimate(&self, kind: OpKind, pe: usize, size: usize) -> Option<f64> {
        self.0.get(pe)?.get(kind.index())?.estimate(size)
    }
}

impl std::fmt::Debug for Costs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Costs({} PEs)", self.0.len())
    }
}
