//! The primitives of what threads share without locks, in one place so that the models in `tests/loom` can put their own
//! there.

use std::ops::Deref;

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Alone in its cache line, and in that which is fetched with it: what one thread changes all the time does not take from
/// another what that only reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// How often a waiter looks before it parks: for about the time that waking a thread takes.
const LOOKS: u32 = 512;

/// Looks for a bounded time: is it so?
///
/// Yields in between, again and again: the one waited for may be the one that has to run. A thread that was woken is
/// often put on its waker's core, which is expected to sleep soon.
#[inline]
pub(crate) fn soon(is: impl Fn() -> bool) -> bool {
    for look in 0..LOOKS {
        if is() {
            return true;
        }
        if look % 32 == 31 { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
    is()
}
