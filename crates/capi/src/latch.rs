//! The lock around what calls look up: held for a few dozen instructions, and released by a plain store.
//!
//! A call takes it twice; a lock whose waiters sleep in order needs two atomic steps each time, this one a single one. Who
//! finds it taken spins a little, then lets others run, then sleeps: never for long, and never for
//! what the holder does not get the processor to finish.
#![allow(unsafe_code)]

use parking_lot::lock_api::{GuardNoSend, Mutex, MutexGuard, RawMutex};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, yield_now};
use std::time::Duration;

pub(crate) type Latch<T> = Mutex<RawLatch, T>;
pub(crate) type LatchGuard<'a, T> = MutexGuard<'a, RawLatch, T>;

pub(crate) struct RawLatch(AtomicBool);

// SAFETY: `lock` and `try_lock` return (with success) only to who has changed the word from false to true, which nobody
// else does before `unlock`; acquire and release order what is done in between.
unsafe impl RawMutex for RawLatch {
    #[allow(clippy::declare_interior_mutable_const)] // as the trait has it
    const INIT: Self = Self(AtomicBool::new(false));
    type Guard = GuardNoSend;

    #[inline]
    fn lock(&self) -> GuardNoSend {
        if self.0.swap(true, Ordering::Acquire) {
            self.wait();
        }
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        (!self.0.swap(true, Ordering::Acquire)).then(GuardNoSend::new)
    }

    #[inline]
    unsafe fn unlock(&self, _: GuardNoSend) {
        self.0.store(false, Ordering::Release);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl RawLatch {
    #[cold]
    fn wait(&self) {
        for round in 0_u32.. {
            match round {
                0..64 => spin_loop(),
                64..128 => yield_now(),
                _ => sleep(Duration::from_micros(50)),
            }
            if !self.is_locked() && !self.0.swap(true, Ordering::Acquire) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Latch;

    #[test]
    fn one_at_a_time() {
        let count = Latch::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 200_000);
    }
}
