//! The applications, written the way a radar engineer would: data is allocated once, stages are
//! named, and no copy is written anywhere.
//!
//! Each application has a `run(&Runtime, &input, &config)`. They share what a run is asked to do
//! ([`Config`]: [`Style`], [`Conj`], [`Alloc`], [`Placement`]) and what it reports ([`Outcome`]).
//! The regions that are timed are the paper's (§5.3, Figure 9): *Computation* takes one input in,
//! transforms it, and hands the final output on; *Overall* is the allocation, N Computations, and
//! the release of the memory. Reading and writing files (Init and Clear) is in neither.

mod config;
mod matched;
mod measure;
mod options;
mod placement;
pub mod pulse_doppler;
pub mod radar_correlator;
mod rows;
pub mod sar;
pub mod three_zip;
pub mod two_fft;
pub mod two_fzf;

pub use config::Config;
pub use measure::{Outcome, Times, Traffic};
pub use options::{Alloc, Conj, Style};
pub use placement::Placement;
