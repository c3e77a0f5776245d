//! Allocate once, say what is to be done, never write a copy.
//!
//! A program allocates a datum once and names what it wants done (a transform, a product, its own kernel). The runtime
//! knows where the newest bytes are, moves only what is stale, and runs each call on a processing element that can do
//! it. It implements *RIMMS: Runtime Integrated Memory Management System for Heterogeneous Computing*, and goes beyond it.
//!
//! ```
//! use rimms::device::sim::Sim;
//! use rimms::{Complex32, Runtime};
//!
//! let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
//! let mut x = rt.alloc::<Complex32>(1024)?;          // hete_Malloc
//! let mut y = rt.alloc::<Complex32>(1024)?;
//! x.overwrite()?.fill(Complex32::ONE)?;              // the host writes all of it: nothing is copied in
//! rt.fft(&x, &mut y)?;                               // x goes to acc0; y is made there
//! rt.ifft_in_place(&mut y)?;                         // and stays there
//! assert!((y.read()?[0] - Complex32::ONE).norm() < 1e-5); // hete_Sync
//! assert_eq!(rt.counters().copies(), 2);
//! # Ok::<(), rimms::Error>(())
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | choose devices, memory mode and policy | [`Runtime`], [`RuntimeBuilder`] |
//! | hold data and divide it | [`HeteData`], [`View`] |
//! | look at it on the host | [`View::read`], [`View::update`], [`View::overwrite`] |
//! | call | the methods of [`Runtime`]; [`op::UserOp`] for your own |
//! | wait for a call, or have it done when it returns | [`Runtime::wait`], [`Runtime::blocking`] |
//! | know what was copied, and why | [`Counters`] |
//! | see when everything was done | [`RuntimeBuilder::timeline`], [`trace::Timeline`] |
//! | know why nothing gets on, or give up a device that does not answer | [`RuntimeBuilder::watchdog`], [`RuntimeBuilder::time_limit`] |
//! | simulate an accelerator, make a device fail, or hold it back | [`device::sim`], [`device::faulty`], [`device::gated`] |
//! | add a device | [`device::Device`] and [`device::conformance`] |
//! | add a scheduling policy | [`sched`] |
//! | understand coherence | [`coherence`], [`MemoryMode`] |
pub mod coherence;
pub mod data;
pub mod device;
mod error;
mod memory;
pub mod op;
mod order;
pub mod runtime;
pub mod sched;
mod sync;
pub mod trace;

pub use coherence::{MAX_RESOURCES, MemoryMode, ResourceId, ResourceSet, State};
pub use data::{HeteData, View};
pub use error::{Error, Result};
pub use num_complex::Complex32;
pub use op::{Peak, Sample, ZipOp};
pub use runtime::{Arg, Event, Runtime, RuntimeBuilder, arg, arg_mut};
pub use trace::{Cause, Counters};

/// README's programs are documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the page on boards.
#[cfg(all(doctest, unix))]
#[doc = include_str!("../../../docs/zynq.md")]
struct Zynq;
