//! Lanes and owners under every interleaving that loom finds.
//!
//! The file is compiled here a second time, with loom's primitives in place of the real ones.
#![allow(clippy::unwrap_used, unsafe_code, dead_code, missing_docs, unreachable_pub)]

#[path = "../../src/lane.rs"]
mod lane;
mod sync;

use lane::{Lane, Owner};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;

/// What threads use: loom says so if two are at it at once, or one does not see what another did.
struct Data(UnsafeCell<u64>);

// SAFETY: for loom to judge.
unsafe impl Sync for Data {}
// SAFETY: as above.
unsafe impl Send for Data {}

impl Data {
    fn change(&self) {
        // SAFETY: as above.
        self.0.with_mut(|count| unsafe { *count += 1 });
    }
}

struct Shared {
    lane: &'static Lane<u64>,
    owner: Owner<u64>,
    data: Data,
}

impl Shared {
    fn new() -> Arc<Self> {
        let lane: &'static Lane<u64> = Box::leak(Box::default());
        let shared = Self { lane, owner: Owner::default(), data: Data(UnsafeCell::new(0)) };
        shared.owner.give(lane);
        Arc::new(shared)
    }

    /// A call of the owner's thread, if it is still the owner's. Returns whether it was.
    fn call(&self) -> bool {
        self.lane.note(0, NonNull::dangling(), true).unwrap();
        self.lane.enter(1);
        let is_admitted = self.owner.is(self.lane);
        if is_admitted {
            self.data.change();
        }
        self.lane.leave();
        is_admitted
    }

    /// A call of another thread, under the lock.
    fn take_over(&self) {
        self.owner.revoke();
        loop {
            let mut uses = 0;
            self.lane.each(|_, writes| uses += usize::from(writes));
            if uses == 0 {
                return self.data.change();
            }
            thread::yield_now();
        }
    }
}

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(f);
}

#[test]
fn the_owner_and_who_takes_over_are_never_at_it_together() {
    model(|| {
        let shared = Shared::new();
        let theirs = shared.clone();
        let owner = thread::spawn(move || u64::from(theirs.call()) + u64::from(theirs.call()));
        shared.take_over();
        let calls = owner.join().unwrap();
        // SAFETY: nobody else is left.
        assert_eq!(shared.data.0.with(|count| unsafe { *count }), calls + 1);
    });
}

#[test]
fn ownership_that_is_given_back_shows_what_was_done_without_it() {
    model(|| {
        let shared = Shared::new();
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.take_over();
            theirs.owner.give(theirs.lane);
        });
        let calls = u64::from(shared.call()) + u64::from(shared.call());
        other.join().unwrap();
        assert!(shared.call());
        // SAFETY: nobody else is left.
        assert_eq!(shared.data.0.with(|count| unsafe { *count }), calls + 2);
    });
}
