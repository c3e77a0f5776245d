//! Costs: what a call takes on a PE, as a function of its size, measured as calls run.
//!
//! One [`Curve`] per (op, PE). Transfers are not part of it: what has to move
//! depends on where bytes are, not on the op.

use crate::op::OpKind;
use crate::sched::{Cost, CostTable};
use crate::trace::{BUCKETS, Curve, Point};
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

    /// All that was measured, or loaded, of built-in ops on the PEs of these names. Ops of the user's own are left out:
    /// what tells them apart is a number that means nothing in another process.
    ///
    /// ```
    /// use rimms::{op::OpKind, sched::Costs};
    /// let costs = Costs::new(1);
    /// costs.record(OpKind::Fft, 0, 1024, 800.0);
    /// let table = costs.table(&["acc0"]);
    /// let elsewhere = Costs::new(1);
    /// elsewhere.load(&table, &["acc1"]); // nothing is known of this one
    /// assert_eq!(elsewhere.estimate(OpKind::Fft, 0, 1024), None);
    /// elsewhere.load(&table, &["acc0"]);
    /// assert_eq!(elsewhere.estimate(OpKind::Fft, 0, 1024), Some(800.0));
    /// ```
    #[must_use]
    pub fn table(&self, pes: &[&str]) -> CostTable {
        let mut table = CostTable::default();
        for (curves, pe) in self.0.iter().zip(pes) {
            for op in OpKind::BUILT_IN {
                let points = curves.get(op.index()).into_iter().flat_map(Curve::points);
                table.extend(points.map(|Point { size, ns, measured }| Cost {
                    op,
                    pe: (*pe).into(),
                    size,
                    ns,
                    measured,
                }));
            }
        }
        table
    }

    /// Begins with what is in `table` under the PEs' own names, or else under their kinds.
    pub fn load(&self, table: &CostTable, pes: &[&str]) {
        for (curves, pe) in self.0.iter().zip(pes) {
            let kind = kind_of(pe);
            let load = |name: &str| {
                for Cost { op, size, ns, measured, .. } in table.iter().filter(|cost| *cost.pe == *name) {
                    let point = Point { size: *size, ns: *ns, measured: *measured };
                    curves.get_or_make(op.index()).restore(&point);
                }
            };
            load(kind);
            // What is known of the PE itself counts more.
            if kind != *pe {
                load(pe);
            }
        }
    }
}

/// The kind of the PE of this name: the name without the number.
pub(crate) fn kind_of(pe: &str) -> &str {
    pe.trim_end_matches(|c: char| c.is_ascii_digit())
}

impl std::fmt::Debug for Costs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Costs({} PEs)", self.0.len())
    }
}
