//! Costs: what a call takes on a PE, as a function of its size, measured as calls run.
//!
//! One [`Curve`] per (op, PE). Transfers are not part of it: what has to move
//! depends on where bytes are, not on the op.

use crate::op::OpKind;
use crate::trace::{BUCKETS, Curve};
use std::sync::OnceLock;

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
