//! The primitives of what threads share without locks, in one place so that the models in `tests/loom` can put their own
//! there.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

/// The light half of the barrier between one who announces an access and one who looks: the compiler keeps the order, and
/// the looker's half makes the processor keep it (see the module `raw`).
#[inline(always)]
pub(crate) fn light_barrier() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}
