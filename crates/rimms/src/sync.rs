//! The primitives of what threads share without locks, in one place so that the models in `tests/loom` can put their own
//! there.

pub(crate) use parking_lot::{Condvar, Mutex};
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::thread::yield_now;

/// How often a waiter looks before it yields, and before it parks. Bounded, since on one core the one waited for may be
/// the one that has to run. About the time that waking a thread takes.
pub(crate) const SPINS: u32 = 400;
pub(crate) const YIELDS: u32 = 20;
