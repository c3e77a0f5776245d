//! The primitives of what threads share without a lock, in one place so that the model in `tests/loom` can put its own
//! there.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// After a `SeqCst` access: what it is in order with is already said by that.
#[inline(always)]
pub(crate) fn in_order() {}
