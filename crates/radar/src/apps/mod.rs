//! The applications, written the way a radar engineer would: data is allocated once, stages are
//! named, and no copy is written anywhere.
//!
//! Each application has a config and a `run(&Runtime, &input, &config)`. They share what a run is
//! asked to do ([`Style`], [`Conj`], [`Alloc`], [`Placement`]) and what it reports ([`Outcome`]).
//! The regions that are timed are the paper's (§5.3, Figure 9): *Computation* takes one input in,
//! transforms it, and hands the final output on; *Overall* is the allocation, N Computations, and
//! the release of the memory. Reading and writing files (Init and Clear) is in neither.

mod measure;
mod options;
mod placement;
pub mod pulse_doppler;
mod rows;
pub mod two_fft;

pub use measure::{Outcome, Times, Traffic};
pub use options::{Alloc, Conj, Style};
pub use placement::Placement;
