//! Costs: what a call takes on a PE, as a function of its size, measured as calls run.
//!
//! One curve per (op, PE): a running mean for each power of two of the size.
//! Between two measured sizes the cost is interpolated along a straight line in
//! size, beyond the measured range it is scaled in proportion. Transfers are not
//! part of it: what has to move depends on where bytes are, not on the op.

use crate::op::OpKind;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BUCKETS: usize = usize::BITS as usize;

/// A new measurement counts for this much of the mean, so that a slow first call is soon forgotten.
const WEIGHT: f64 = 0.25;

/// Means by size class; each holds the size and the nanoseconds as two floats of one word.
struct Curve([AtomicU64; BUCKETS]);

fn pack(size: f32, ns: f32) -> u64 {
    u64::from(size.to_bits()) << 32 | u64::from(ns.to_bits())
}

fn unpack(word: u64) -> Option<(f64, f64)> {
    let (size, ns) = (f32::from_bits((word >> 32) as u32), f32::from_bits(word as u32));
    (word != 0).then_some((f64::from(size), f64::from(ns)))
}

impl Curve {
    fn new() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }

    fn record(&self, size: usize, ns: f64) {
        let size = size.max(1);
        let bucket = &self.0[size.ilog2() as usize];
        // Two threads that record at once: one of the two measurements is lost, which is no harm to a mean.
        let (s, t) = match unpack(bucket.load(Relaxed)) {
            None => (size as f64, ns),
            Some((s, t)) => (s + WEIGHT * (size as f64 - s), t + WEIGHT * (ns - t)),
        };
        bucket.store(pack(s as f32, t as f32), Relaxed);
    }

    fn estimate(&self, size: usize) -> Option<f64> {
        let size = size.max(1);
        let at = size.ilog2() as usize;
        let known = |i: usize| unpack(self.0[i].load(Relaxed));
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

/// The measured costs of one runtime.
///
/// ```
/// use rimms::{op::OpKind, sched::Costs};
/// let costs = Costs::new();
/// assert_eq!(costs.estimate(OpKind::Fft, 0, 1024), None);
/// costs.record(OpKind::Fft, 0, 1024, 800.0);
/// costs.record(OpKind::Fft, 0, 2048, 1600.0);
/// let between = costs.estimate(OpKind::Fft, 0, 1536).unwrap();
/// assert!((between - 1200.0).abs() < 1.0);
/// ```
#[derive(Default)]
pub struct Costs(RwLock<HashMap<(OpKind, usize), Arc<Curve>>>);

impl Costs {
    /// Nothing measured yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call of this kind and size took `ns` nanoseconds on PE `pe`.
    pub fn record(&self, kind: OpKind, pe: usize, size: usize, ns: f64) {
        let known = self.0.read().get(&(kind, pe)).cloned();
        let curve =
            known.unwrap_or_else(|| self.0.write().entry((kind, pe)).or_insert_with(|| Arc::new(Curve::new())).clone());
        curve.record(size, ns);
    }

    /// What a call of this kind and size is expected to take on PE `pe`, in nanoseconds.
    pub fn estimate(&self, kind: OpKind, pe: usize, size: usize) -> Option<f64> {
        self.0.read().get(&(kind, pe))?.estimate(size)
    }
}

impl std::fmt::Debug for Costs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Costs({} curves)", self.0.read().len())
    }
}
