//! A duration as a function of size, learnt from measurements.
//!
//! A running mean for each power of two of the size. Between two measured sizes
//! the duration is interpolated along a straight line in size, beyond the
//! measured range it is scaled in proportion. Used for what calls cost, and for what copies cost.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub(crate) const BUCKETS: usize = usize::BITS as usize;

/// A new measurement counts for this much of the mean, so that a slow first call is soon forgotten.
const WEIGHT: f64 = 0.25;

/// Calls of a size class that are measured before the clock is spared, and from then on one in how many is.
/// Reading it twice costs more than all the rest of a short call.
const SETTLED: u32 = 16;
const SAMPLE: u32 = 16;

/// Means by size class; each holds the size and the nanoseconds as two floats of one word.
pub(crate) struct Curve {
    means: [AtomicU64; BUCKETS],
    calls: [AtomicU32; BUCKETS],
    measured: [AtomicU32; BUCKETS],
}

/// What is known of a size class.
pub(crate) struct Point {
    pub(crate) size: f32,
    pub(crate) ns: f32,
    pub(crate) measured: u32,
}

/// The class of a size.
pub(crate) const fn bucket(size: usize) -> usize {
    // 0 is of the class of 1.
    (size | 1).ilog2() as usize
}

fn pack(size: f32, ns: f32) -> u64 {
    u64::from(size.to_bits()) << 32 | u64::from(ns.to_bits())
}

fn unpack(word: u64) -> Option<(f64, f64)> {
    let (size, ns) = (f32::from_bits((word >> 32) as u32), f32::from_bits(word as u32));
    (word != 0).then_some((f64::from(size), f64::from(ns)))
}

/// The largest size of a class that a float can hold: rounding must not make it one of the next.
fn largest(bucket: usize) -> f32 {
    ((1_u128 << (bucket + 1)) as f32).next_down()
}

impl Curve {
    pub(crate) fn new() -> Self {
        let zeros = || [const { AtomicU32::new(0) }; BUCKETS];
        Self { means: [const { AtomicU64::new(0) }; BUCKETS], calls: zeros(), measured: zeros() }
    }

    pub(crate) fn record(&self, size: usize, ns: f64) {
        let size = size.max(1);
        let at = bucket(size);
        let mean = &self.means[at];
        // Two threads that record at once: one of the two measurements is lost, which is no harm to a mean.
        let (s, t) = match unpack(mean.load(Relaxed)) {
            None => (size as f64, ns),
            Some((s, t)) => (s + WEIGHT * (size as f64 - s), t + WEIGHT * (ns - t)),
        };
        mean.store(pack((s as f32).min(largest(at)), t as f32), Relaxed);
        let measured = &self.measured[at];
        measured.store(measured.load(Relaxed).saturating_add(1), Relaxed);
    }

    /// What is known, by growing size.
    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        self.means.iter().zip(&self.measured).filter_map(|(mean, measured)| {
            let (size, ns) = unpack(mean.load(Relaxed))?;
            Some(Point { size: size as f32, ns: ns as f32, measured: measured.load(Relaxed) })
        })
    }

    /// Puts what was known elsewhere in the place of what is known of its size class.
    pub(crate) fn restore(&self, point: &Point) {
        let at = bucket(point.size as usize);
        self.means[at].store(pack(point.size, point.ns), Relaxed);
        self.measured[at].store(point.measured, Relaxed);
        // Settled is what was measured often enough.
        self.calls[at].store(point.measured.min(SETTLED), Relaxed);
    }

    pub(crate) fn is_due(&self, size: usize) -> bool {
        let calls = &self.calls[bucket(size)];
        // Not exact when two threads count at once, which does not matter.
        let n = calls.load(Relaxed);
        calls.store(n.wrapping_add(1), Relaxed);
        n < SETTLED || n.is_multiple_of(SAMPLE)
    }

    pub(crate) fn estimate(&self, size: usize) -> Option<f64> {
        let size = size.max(1);
        let at = bucket(size);
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
