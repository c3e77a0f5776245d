//! The lock-free parts under every interleaving that loom finds.
//!
//! The files are those of the crate, compiled a second time with loom's primitives in place of the real ones.
#![allow(
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks,
    unsafe_code,
    dead_code,
    missing_docs,
    unreachable_pub
)]

#[path = "../../src/raw/announce.rs"]
mod announce;
#[path = "../../src/raw/holds.rs"]
mod holds;
mod sync;

use announce::Words;
use holds::{Close, Holds};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*, fence};
use loom::thread;

/// Every interleaving with up to three preemptions, which is where almost all faults show.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

/// Addresses of two buffers, one after the other in the same slot.
const FIRST: u64 = 0x100;
const SECOND: u64 = 0x200;

/// A slot whose buffer has its bytes in one place of storage.
struct Slot {
    /// The base of the buffer that is there, 0 for none.
    base: AtomicU64,
    holds: Holds,
    storage: UnsafeCell<u64>,
}

impl Slot {
    fn new() -> Self {
        let slot = Slot { base: AtomicU64::new(0), holds: Holds(AtomicU64::new(0)), storage: UnsafeCell::new(FIRST) };
        slot.holds.begin(1);
        slot.base.store(FIRST, Release);
        slot
    }

    fn is_at(&self, base: u64) -> bool {
        self.base.load(Acquire) == base
    }

    /// An access to the first buffer: whether it was there, and then its storage is its own.
    fn access(&self, words: &Words) -> bool {
        words.announce::<0>(FIRST);
        let there = self.is_at(FIRST);
        if there {
            self.storage.with(|storage| assert_eq!(unsafe { *storage }, FIRST));
        }
        words.withdraw::<0>();
        there
    }
}

#[test]
fn storage_is_not_reused_under_an_access() {
    model(|| {
        let shared = Arc::new((Slot::new(), Words::new()));
        let other = shared.clone();
        let reader = thread::spawn(move || {
            let (slot, words) = &*other;
            let first = slot.access(words);
            let second = slot.access(words);
            assert!(first || !second, "a buffer that is gone does not come back");
        });
        let (slot, words) = &*shared;
        // Takes the buffer out, looks, and gives its storage to the next if nobody is at work on it.
        assert_eq!(slot.holds.close(|| slot.is_at(FIRST)), Close::Done);
        slot.base.swap(0, AcqRel);
        fence(SeqCst);
        if words.addresses().all(|address| address != FIRST) {
            slot.storage.with_mut(|storage| unsafe { *storage = SECOND });
            slot.holds.begin(2);
            slot.base.store(SECOND, Release);
        }
        reader.join().unwrap();
    });
}

#[test]
fn two_words_of_one_thread_are_both_seen() {
    model(|| {
        let shared = Arc::new((Slot::new(), Words::new()));
        let other = shared.clone();
        let copier = thread::spawn(move || {
            let (slot, words) = &*other;
            words.announce::<0>(SECOND);
            words.announce::<1>(FIRST);
            if slot.is_at(FIRST) {
                slot.storage.with(|storage| assert_eq!(unsafe { *storage }, FIRST));
            }
            words.withdraw::<1>();
            words.withdraw::<0>();
        });
        let (slot, words) = &*shared;
        slot.base.swap(0, AcqRel);
        fence(SeqCst);
        if words.addresses().all(|address| address != FIRST) {
            slot.storage.with_mut(|storage| unsafe { *storage = SECOND });
        }
        copier.join().unwrap();
    });
}

#[test]
fn a_buffer_that_is_held_is_not_freed_and_the_next_is_not_held_in_its_stead() {
    model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let holder = thread::spawn(move || {
            if other.holds.take(|| other.is_at(FIRST)) {
                assert!(other.is_at(FIRST));
                assert_eq!(other.holds.close(|| other.is_at(FIRST)), Close::Held);
                other.holds.release();
            }
        });
        match slot.holds.close(|| slot.is_at(FIRST)) {
            Close::Done => {
                slot.base.store(0, Release);
                slot.holds.begin(2);
                slot.base.store(SECOND, Release);
                // Nobody may ever hold the second.
                assert_eq!(slot.holds.close(|| slot.is_at(SECOND)), Close::Done);
            }
            Close::Held => {}
            Close::NotThere => unreachable!("nobody else frees it"),
        }
        holder.join().unwrap();
    });
}

#[test]
fn one_of_two_frees_succeeds() {
    model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let free = |slot: &Slot| match slot.holds.close(|| slot.is_at(FIRST)) {
            Close::Done => {
                slot.base.store(0, Release);
                1
            }
            Close::NotThere => 0,
            Close::Held => unreachable!("nobody holds it"),
        };
        let thread = thread::spawn(move || free(&other));
        let freed = free(&slot);
        assert_eq!(freed + thread.join().unwrap(), 1);
    });
}

#[test]
fn the_last_of_two_holders_lets_it_go() {
    model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        assert!(slot.holds.take(|| slot.is_at(FIRST)));
        let thread = thread::spawn(move || {
            assert!(other.holds.take(|| other.is_at(FIRST)));
            other.holds.release();
        });
        assert_eq!(slot.holds.close(|| slot.is_at(FIRST)), Close::Held);
        slot.holds.release();
        thread.join().unwrap();
        assert_eq!(slot.holds.count(), Some(0));
        assert_eq!(slot.holds.close(|| slot.is_at(FIRST)), Close::Done);
        assert_eq!(slot.holds.count(), None);
    });
}
