//! The conformance suite: what every device must do, whoever wrote it.
//!
//! A backend's tests instantiate it in a few lines:
//!
//! ```
//! use rimms::device::{conformance, sim::Sim};
//! let make = || Sim::fft("fft0", 1 << 16, "two-level".parse().unwrap()).unwrap();
//! conformance::memory(&make());
//! conformance::transfers(&make());
//! conformance::exhaustion(&make());
//! conformance::threads(&make());
//! conformance::order(&make());
//! conformance::ops(&make());
//! ```
//!
//! [`ops`] is the op × unit × size suite. Every function panics at the
//! first violation, with what was expected: it is meant for tests, where that
//! is the right way to fail.
#![allow(clippy::panic, clippy::unwrap_used, clippy::missing_panics_doc)]

mod memory;
mod ops;

pub use memory::{exhaustion, memory, threads, transfers};
pub use ops::{OpsReport, ops, ops_with_seed, order};
