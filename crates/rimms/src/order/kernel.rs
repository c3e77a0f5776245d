//! Is this thread inside a kernel of the user's?
//!
//! There it must not wait for queued calls: the one waited for may stand behind
//! the kernel's own call in its queue.

use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Is this thread inside a kernel?
pub(crate) fn in_kernel() -> bool {
    INSIDE.get()
}

/// Marks the thread as inside a kernel for as long as the result lives.
pub(crate) fn kernel_scope() -> KernelScope {
    KernelScope { outer: INSIDE.replace(true) }
}

pub(crate) struct KernelScope {
    outer: bool,
}

impl Drop for KernelScope {
    fn drop(&mut self) {
        INSIDE.set(self.outer);
    }
}
