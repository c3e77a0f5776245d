//! Who has to go.

use super::super::{Candidate, Foresight, Owned, Resources, Usage, bring};
use super::{dirty, resources, written};
use crate::coherence::ResourceId;
use crate::error::Result;
use crate::op::Role;
use std::sync::Arc;

const BLOCK: usize = 1024;

/// The data that the calls to come read, the next one first.
pub(super) struct Reads<'a>(pub(super) &'a [&'a Owned]);

impl Foresight for Reads<'_> {
    fn next_uses(&self, _: ResourceId, candidates: &mut [Candidate]) {
        for candidate in candidates {
            candidate.next_use = self.0.iter().position(|d| candidate.is_used_by(d.root())).map(|n| n as u64);
        }
    }
}

fn read(datum: &Owned, r: ResourceId, foresight: &dyn Foresight) -> Result<()> {
    bring(&[Usage::new(datum.root(), Role::In)], r, foresight).map(drop)
}

fn loads(resources: &Resources) -> u64 {
    resources.tally.snapshot(std::iter::empty()).host_to_device().copies
}

fn is_on(datum: &Owned, r: ResourceId) -> bool {
    datum.root().state().is_valid_on(r)
}

/// Loads for twelve blocks read one after the other, three times, with room for four.
fn cycle(knows_the_future: bool) -> u64 {
    let (resources, r) = resources(4 * BLOCK as u64);
    let data: Vec<Owned> = (0..12).map(|_| written(&resources, BLOCK)).collect();
    let calls: Vec<&Owned> = (0..3).flat_map(|_| &data).collect();
    for (i, datum) in calls.iter().enumerate() {
        let to_come = if knows_the_future { &calls[i + 1..] } else { &[] };
        read(datum, r, &Reads(to_come)).unwrap();
    }
    loads(&resources)
}

#[test]
fn victims_whose_next_use_is_farthest_are_the_best_possible() {
    // Belady's optimum for this cycle; without foresight every read misses.
    assert_eq!(cycle(true), 28);
    assert_eq!(cycle(false), 36);
}

/// Four blocks, used in order, of which those in `dirty_ones` lie on the device alone. Which are there once a fifth came?
fn left(dirty_ones: &[usize], to_come: &[usize]) -> Vec<usize> {
    let (resources, r) = resources(4 * BLOCK as u64);
    let data: Vec<Owned> = (0..5).map(|_| written(&resources, BLOCK)).collect();
    for (i, datum) in data[..4].iter().enumerate() {
        if dirty_ones.contains(&i) { dirty(datum, r) } else { read(datum, r, &()).unwrap() }
    }
    let to_come: Vec<&Owned> = to_come.iter().map(|&i| &data[i]).collect();
    read(&data[4], r, &Reads(&to_come)).unwrap();
    assert!(data.iter().all(|d| !d.root().state().valid().is_empty()), "lost");
    (0..4).filter(|&i| is_on(&data[i], r)).collect()
}

#[test]
fn clean_blocks_go_before_dirty_ones_and_the_least_recently_used_first() {
    assert_eq!(left(&[], &[]), [1, 2, 3]);
    assert_eq!(left(&[0, 1], &[]), [0, 1, 3]);
    assert_eq!(left(&[0, 1, 2, 3], &[]), [1, 2, 3]);
}

#[test]
fn what_no_call_needs_goes_first_even_if_it_has_to_be_written_back() {
    assert_eq!(left(&[2], &[3, 0, 1]), [0, 1, 3]);
    assert_eq!(left(&[], &[3, 0, 2, 1]), [0, 2, 3]);
    assert_eq!(left(&[1], &[3, 0, 2, 1]), [0, 2, 3], "the farthest use counts more than a copy");
}

#[test]
fn one_large_victim_goes_rather_than_many_small_ones() {
    let (resources, r) = resources(8 * BLOCK as u64);
    let small: Vec<Owned> = (0..4).map(|_| written(&resources, BLOCK)).collect();
    let (large, wanted) = (written(&resources, 4 * BLOCK), written(&resources, 4 * BLOCK));
    small.iter().chain([&large]).for_each(|d| read(d, r, &()).unwrap());
    read(&wanted, r, &()).unwrap();
    assert!(small.iter().all(|d| is_on(d, r)) && !is_on(&large, r));
}

#[test]
fn a_block_in_use_is_no_victim() {
    let (resources, r) = resources(2 * BLOCK as u64);
    let data: Vec<Owned> = (0..3).map(|_| written(&resources, BLOCK)).collect();
    let used = bring(&[Usage::new(data[0].root(), Role::In)], r, &()).unwrap();
    read(&data[1], r, &()).unwrap();
    read(&data[2], r, &()).unwrap();
    assert!(is_on(&data[0], r) && !is_on(&data[1], r) && is_on(&data[2], r));
    drop(used);
}

/// Two calls that need three quarters of the memory each: the second waits for the first.
#[test]
fn a_call_waits_for_room_that_another_uses() {
    let (resources, r) = resources(4 * BLOCK as u64);
    let data: Vec<Owned> = (0..2).map(|_| written(&resources, 3 * BLOCK)).collect();
    let used = bring(&[Usage::new(data[0].root(), Role::In)], r, &()).unwrap();
    let (said, says) = std::sync::mpsc::channel();
    std::thread::scope(|s| {
        s.spawn(|| {
            read(&data[1], r, &()).unwrap();
            said.send(()).unwrap();
        });
        let early = says.recv_timeout(std::time::Duration::from_millis(50));
        assert!(early.is_err(), "there was no room");
        drop(used);
        says.recv().unwrap();
    });
    assert!(!is_on(&data[0], r) && is_on(&data[1], r));
}

#[test]
fn calls_that_cannot_all_have_room_take_turns() {
    let (resources, r) = resources(4 * BLOCK as u64);
    let data: Vec<Owned> = (0..8).map(|_| written(&resources, BLOCK)).collect();
    let data = Arc::new(data);
    std::thread::scope(|s| {
        for t in 0..4 {
            let data = data.clone();
            s.spawn(move || {
                for i in 0..200 {
                    // Three of eight, so that two calls never have room at once.
                    let mut operands: Vec<_> =
                        (0..3).map(|k| Usage::new(data[(t + i + k * 2) % 8].root(), Role::In)).collect();
                    if i % 2 == 1 {
                        operands.reverse();
                    }
                    let places = bring(&operands, r, &()).unwrap();
                    assert!(operands.iter().all(|one| one.node().state().is_valid_on(r)));
                    std::thread::yield_now();
                    drop(places);
                }
            });
        }
    });
}
