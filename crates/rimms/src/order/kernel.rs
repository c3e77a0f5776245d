//! Is this thread inside a kernel of the user's, or one of the runtime's own?
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

thread_local! {
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Is this one of the runtime's own threads, which nothing may make wait for calls?
pub(crate) fn in_own_thread() -> bool {
    OWN.get()
}

/// Marks the thread as one of the runtime's own for as long as the result lives.
pub(crate) fn thread_scope() -> ThreadScope {
    OWN.set(true);
    ThreadScope(())
}

pub(crate) struct ThreadScope(());

impl Drop for ThreadScope {
    fn drop(&mut self) {
        OWN.set(false);
    }
}
