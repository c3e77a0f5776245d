//! Memory under pressure: devices that have room for one call, and hardly for more.
#![allow(clippy::unwrap_used, clippy::panic)]

mod devices;
mod failures;
mod interleaved;
mod lost;
mod programs;
mod room;
mod threads;
