//! What was copied, between whom and why; what ran where; and when.
//!
//! Counters are always on, exact, and cheap: relaxed additions, one per copy and two per
//! call. [`Counters`] is a snapshot; the difference of two ([`Counters::since`])
//! is what happened between them. The tests assert on these numbers. A [`Timeline`] says the same step by step,
//! and is kept only if asked for.

mod counters;
mod curve;
mod timeline;

pub(crate) use counters::Tally;
pub use counters::{Cause, Counters, Flow, PairFlow};
pub(crate) use curve::{BUCKETS, Curve, Point, bucket};
pub use timeline::{Entry, Timeline, What};
pub(crate) use timeline::{Log, Traced};
