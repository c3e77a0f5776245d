//! Allocate once, say what is to be done, never write a copy.
pub mod coherence;
pub mod data;
pub mod device;
mod error;
mod memory;
pub mod op;
pub mod runtime;
pub mod sched;
pub mod trace;

pub use coherence::{MAX_RESOURCES, MemoryMode, ResourceId, ResourceSet, State};
pub use data::{HeteData, View};
pub use error::{Error, Result};
pub use num_complex::Complex32;
pub use op::{Peak, Sample, ZipOp};
pub use runtime::{Arg, Runtime, RuntimeBuilder, arg, arg_mut};
pub use trace::{Cause, Counters};

/// README's programs are documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
