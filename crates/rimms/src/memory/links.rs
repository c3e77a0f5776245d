//! How long copies take between each two resources, as measured while some of them are made.

use crate::coherence::ResourceId;
use crate::trace::Curve;
use std::sync::OnceLock;

/// What a link that was never used is taken to be: two microseconds, then four bytes a nanosecond.
const START_NS: f64 = 2_000.0;
const NS_PER_BYTE: f64 = 0.25;

pub(crate) struct Links {
    resources: usize,
    /// By (from, to).
    curves: Box<[OnceLock<Box<Curve>>]>,
}

impl Links {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, curves: (0..resources * resources).map(|_| OnceLock::new()).collect() }
    }

    fn link(&self, from: ResourceId, to: ResourceId) -> Option<&OnceLock<Box<Curve>>> {
        self.curves.get(from.index() * self.resources + to.index())
    }

    /// Is the next copy of this size to be measured? The first ones are, then one in sixteen: devices have to be waited for
    /// before and after. Counts the copy.
    pub(super) fn is_due(&self, from: ResourceId, to: ResourceId, bytes: usize) -> bool {
        self.link(from, to).is_some_and(|link| link.get_or_init(|| Box::new(Curve::new())).is_due(bytes))
    }

    /// A copy of this many bytes took so long.
    pub(super) fn record(&self, from: ResourceId, to: ResourceId, bytes: usize, ns: f64) {
        if let Some(link) = self.link(from, to) {
            link.get_or_init(|| Box::new(Curve::new())).record(bytes, ns);
        }
    }

    /// What a copy of this many bytes is expected to take, in nanoseconds.
    pub(crate) fn estimate(&self, from: ResourceId, to: ResourceId, bytes: usize) -> f64 {
        let measured = self.link(from, to).and_then(OnceLock::get).and_then(|curve| curve.estimate(bytes));
        measured.unwrap_or(START_NS + NS_PER_BYTE * bytes as f64)
    }
}
