//! Counters: what was copied, between whom and why; what ran where.
//!
//! Always on, exact, and cheap: relaxed additions, one per copy and two per
//! call. [`Counters`] is a snapshot; the difference of two ([`Counters::since`])
//! is what happened between them. The tests assert on these numbers.

mod counters;
mod curve;

pub(crate) use counters::Tally;
pub use counters::{Cause, Counters, Flow, PairFlow};
pub(crate) use curve::{BUCKETS, Curve};
