//! NVIDIA's libraries in software, for tests on machines without a GPU: `libcuda`, `libnvrtc`, `libcufft`, `libcublas`.
//!
//! The built library has the symbols of all four; [`Libraries`] lays it out under their names, for a process
//! that is started with them on its library path. Device memory is host memory, poisoned when it is allocated, and copies are
//! checked to lie in it. Streams work off what they are given in threads of their own, so that what is queued and
//! not waited for happens later, as on a device. Objects are counted, as are calls, and bytes by
//! direction; any call can be made to fail: [`Control`].
//!
//! **Kernels** are compiled by the C++ compiler where there is one, and run on the CPU, thread after thread:
//! [`nvrtc`]. That shows whether they compute what they should and whether launches give them the right arguments,
//! not whether a GPU would. PTX that other compilers made has kernels that do nothing.
//!
//! | module | subject |
//! | --- | --- |
//! | [`calls`] | counting, failing, codes |
//! | [`state`] | devices and objects by handle |
//! | [`memory`], [`stream`] | blocks, and when things happen |
//! | [`driver`], [`copies`] | the driver's calls |
//! | [`nvrtc`], [`emulate`] | compiling kernels for the CPU, and running them |
//! | [`cufft`], [`cublas`] | transforms and products |
//! | [`setup`], [`control`] | what tests use |
#![allow(unsafe_code, non_snake_case)]

mod calls;
mod control;
mod copies;
mod cublas;
mod cufft;
mod driver;
mod emulate;
mod foreign;
mod memory;
mod nvrtc;
mod setup;
mod state;
mod stream;

pub use control::{Control, Direction};
pub use setup::Libraries;
