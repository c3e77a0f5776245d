//! Bitset bit by bit: runs against an oracle that looks at every bit, metadata to the byte.

use proptest::prelude::*;

use super::bits::Bits;
use crate::{Bitset, MarkingSystem};

/// The first run of clear bits, looking at one after another.
fn first_run(used: &[bool], run: usize, step: usize, phase: usize) -> Option<u64> {
    let starts = 0..used.len().saturating_sub(run - 1);
    let mut free = 0;
    // For each bit, how many from it on are clear.
    let mut clear = vec![0; used.len()];
    for bit in (0..used.len()).rev() {
        free = if used[bit] { 0 } else { free + 1 };
        clear[bit] = free;
    }
    starts.into_iter().find(|&bit| bit % step == phase % step && clear[bit] >= run).map(|bit| bit as u64)
}

/// Places runs first fit and clears them again, as a heap does, checking each answer.
fn run_program(len: usize, steps: &[(bool, usize, usize, u32)]) {
    let mut bits = Bits::new(len as u64).unwrap();
    let mut used = vec![false; len];
    let mut live: Vec<(usize, usize)> = Vec::new();
    for &(place, run, draw, step_log2) in steps {
        if place {
            let (step, phase) = (1 << step_log2, draw % (1 << step_log2));
            let expected = first_run(&used, run, step, phase);
            let found = bits.first_aligned_run(run as u64, 0, step as u64, phase as u64);
            let is_first = found.is_some_and(|found| found.1);
            assert_eq!(is_first, found.is_some() && expected == first_run(&used, run, 1, 0));
            let found = found.map(|found| found.0);
            assert_eq!(found, expected, "a run of {run}");
            if let Some(first) = found {
                bits.set(first..first + run as u64);
                used[first as usize..first as usize + run].fill(true);
                live.push((first as usize, run));
            }
        } else if !live.is_empty() {
            let (first, run) = live.swap_remove(draw % live.len());
            let around = bits.clear(first as u64..(first + run) as u64);
            used[first..first + run].fill(false);
            let before = used[..first].iter().rev().take_while(|&&used| !used).count();
            let length = used[first - before..].iter().take_while(|&&used| !used).count();
            match around {
                Some((start, len)) => {
                    assert_eq!(start, (first - before) as u64);
                    assert!(len >= length as u64, "{len} bounds {length}");
                }
                None => assert!(before >= super::bits::LONG as usize),
            }
        }
        bits.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn short_runs_are_the_first(
        len in 1usize..3000,
        steps in prop::collection::vec((prop::bool::weighted(0.6), 1usize..100, any::<usize>(), 0u32..1), 1..200),
    ) {
        run_program(len, &steps);
    }

    #[test]
    fn runs_of_all_lengths_are_the_first(
        len in 1usize..30_000,
        steps in prop::collection::vec(
            (prop::bool::weighted(0.6), prop_oneof![1usize..70, 60usize..600, 500usize..9000], any::<usize>(), 0u32..1),
            1..80,
        ),
    ) {
        run_program(len, &steps);
    }

    #[test]
    fn aligned_runs_are_the_first(
        len in 1usize..10_000,
        steps in prop::collection::vec((prop::bool::weighted(0.6), 1usize..300, any::<usize>(), 0u32..11), 1..100),
    ) {
        run_program(len, &steps);
    }
}

#[test]
fn marks_are_one_bit_a_block_and_the_summary_at_most_a_64th() {
    for blocks in (1..2000).chain([1 << 16, (1 << 16) + 1, 1_000_003]) {
        let heap = Bitset::new(0, blocks * 8, 8).unwrap();
        let marks = heap.marks();
        assert_eq!(marks.marking_bytes(), blocks.div_ceil(64) * 8, "{blocks} blocks");
        assert!(marks.summary_bytes() * 64 <= marks.marking_bytes(), "{blocks} blocks");
        let all = marks.marking_bytes() + marks.summary_bytes() + marks.length_bytes();
        assert_eq!(heap.report().metadata_bytes, all);
    }
}

#[test]
fn blocks_are_accounted_whole_and_the_last_one_short() {
    let mut heap = Bitset::new(0x10, 100, 32).unwrap();
    assert_eq!(heap.allocate(33, 1), Ok(0x10));
    assert_eq!(heap.size_of(0x10), Some(64));
    assert_eq!(heap.allocate(33, 1), Ok(0x50));
    assert_eq!((heap.report().used, heap.report().largest_free), (100, 0));
    assert_eq!(heap.free(0x50), Ok(36));
    assert!(heap.allocate(37, 1).is_err());
    assert_eq!(heap.allocate(36, 1), Ok(0x50));
}

/// A request refused for the short last block must not hide the run from the next.
#[test]
fn a_refusal_leaves_the_run_to_be_found() {
    let mut heap = Bitset::new(0, 100, 32).unwrap();
    heap.allocate(64, 1).unwrap();
    assert!(heap.allocate(64, 1).is_err());
    assert_eq!(heap.allocate(33, 1), Ok(64));
}

/// An aligned block leaves free space on both sides, which the first fit must find.
#[test]
fn space_before_an_aligned_block_is_found() {
    let mut heap = Bitset::new(0, 1 << 20, 8).unwrap();
    assert_eq!(heap.allocate(8, 1), Ok(0));
    assert_eq!(heap.allocate(8, 1 << 16), Ok(1 << 16));
    assert_eq!(heap.allocate(40_000, 1), Ok(8));
    assert_eq!(heap.allocate(40_000, 1), Ok((1 << 16) + 8));
    assert_eq!(heap.allocate(8, 8), Ok(40_008));
}
