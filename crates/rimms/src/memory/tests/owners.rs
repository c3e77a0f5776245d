//! Who keeps a datum, and what becomes of it without.

use super::super::{Owned, Usage, bring};
use super::{dirty, resources, written};
use crate::op::Role;
use std::sync::Arc;

#[test]
fn a_datum_lives_as_long_as_its_last_owner() {
    let (resources, r) = resources(4096);
    let first = written(&resources, 1000);
    dirty(&first, r);
    let second = first.share();
    drop(first);
    assert!(second.root().state().is_valid_on(r));
    assert_eq!(resources.usage(r).unwrap().blocks, 1);
    drop(second);
    assert_eq!(resources.usage(r).unwrap().blocks, 0);
}

#[test]
fn the_last_of_many_threads_frees_it() {
    let (resources, r) = resources(1 << 16);
    for round in 0..200 {
        let datum = written(&resources, 64);
        if round % 2 == 0 {
            dirty(&datum, r);
        }
        std::thread::scope(|s| {
            for _ in 0..3 {
                let own = datum.share();
                s.spawn(move || drop(own));
            }
            drop(datum);
        });
        assert_eq!(resources.usage(r).unwrap().blocks, 0);
        assert_eq!(Arc::strong_count(&resources), 1, "its header is gone too");
    }
}

#[test]
fn data_may_be_freed_while_others_look_for_victims() {
    let (resources, r) = resources(8 * 64);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..500 {
                    // Each makes room for itself at the cost of the others', and is freed at once.
                    let data: Vec<Owned> = (0..3).map(|_| written(&resources, 64)).collect();
                    for datum in &data {
                        drop(bring(&[Usage::new(datum.root(), Role::In)], r, &()).unwrap());
                        dirty(datum, r);
                    }
                }
            });
        }
    });
    assert_eq!(resources.usage(r).unwrap().blocks, 0);
    assert_eq!(Arc::strong_count(&resources), 1);
}
