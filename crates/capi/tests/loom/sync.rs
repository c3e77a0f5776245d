//! Loom's primitives, in the shape that the library wants.

pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Loom takes sequential consistency from fences alone.
pub(crate) fn in_order() {
    loom::sync::atomic::fence(Ordering::SeqCst);
}
