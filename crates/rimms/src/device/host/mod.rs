//! The host as a device: its memory is where data lives, its processors are PEs.
pub(crate) mod kernels;
