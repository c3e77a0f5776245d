//! Loom's primitives where the crate has the real ones.

pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// Where every looker imposes a barrier on all threads, it is as if each had one of its own.
pub(crate) fn light_barrier() {
    fence(Ordering::SeqCst);
}
