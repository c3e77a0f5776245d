//! Ops: what each call *is*, whichever PE runs it.
//!
//! A [`Call`] is one unit of work with its parameters. It knows the role of
//! each operand (In, Out, InOut), which lengths fit together, how much work it
//! is, and nothing of devices: an op has **one meaning on every PE**. The
//! float64 references in [`mod@reference`] say what that meaning is; the
//! op × PE × size suite holds every backend's kernels against them.
//!
//! Invariant: a call whose [`Call::check`] passed may be run by any PE that
//! declares the op, without further checks of lengths.
//!
//! Adding an op: a variant here, its shape rule, its reference, one kernel a backend.
//! Users add theirs without touching this crate: [`UserOp`].

mod args;
mod call;
// Ops keep their kernels for devices that were left out of the build.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
mod cuda;
mod element;
mod items;
#[cfg_attr(not(feature = "opencl"), allow(dead_code))]
mod opencl;
mod params;
pub mod reference;
#[cfg(test)]
mod tests;
#[cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code))]
mod user;

pub use args::{KernelArgs, KernelError};
pub use call::{Call, OpKind, Role, Shape};
#[cfg(feature = "cuda")]
pub(crate) use cuda::CuKernel;
pub use cuda::{CuCall, CuLaunch, CuSource};
pub use element::{Element, Peak, Sample, SampleType};
pub use items::{Checks, Watch, WorkItem};
pub(crate) use items::{ItemCall, ItemKernel, Part};
#[cfg(feature = "opencl")]
pub(crate) use opencl::{ClArg, ClKernel};
pub use opencl::{ClCall, ClLaunch};
pub use params::{Constellation, Convolve, Decide, Fft, FftShift, Fill, Gemm, Scale, Transpose, Zip, ZipOp};
pub use user::{Target, UserCall, UserOp, UserOpBuilder};
