//! Random programs: every answer and every report against the oracle.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use rimms_heap::HeapKind;

use crate::oracle::{Oracle, granule};

/// One step of a program.
#[derive(Clone, Debug)]
enum Step {
    Allocate {
        granules: u64,
        odd: i64,
        align_log2: u32,
    },
    /// What the last allocation asked for, again.
    Again,
    Free(Index),
    FreeNewest,
    /// Frees a live block's address plus something.
    FreeNear(Index, i64),
    FreeAnywhere(u64),
}

fn allocate() -> impl Strategy<Value = Step> {
    let granules = prop_oneof![8 => 0u64..20, 3 => 20u64..150, 1 => 150u64..700];
    let align = prop_oneof![4 => Just(0u32), 3 => 0u32..7, 1 => 0u32..64];
    (granules, -3i64..4, align).prop_map(|(granules, odd, align_log2)| Step::Allocate { granules, odd, align_log2 })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => allocate(),
        2 => Just(Step::Again),
        6 => any::<Index>().prop_map(Step::Free),
        2 => Just(Step::FreeNewest),
        1 => (any::<Index>(), -9i64..10).prop_map(|(block, by)| Step::FreeNear(block, by)),
        1 => any::<u64>().prop_map(Step::FreeAnywhere),
    ]
}

/// Mostly one block freed and asked for again, with little between.
fn repeat() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => allocate(),
        6 => Just(Step::Again),
        6 => Just(Step::FreeNewest),
        1 => any::<Index>().prop_map(Step::Free),
        1 => (any::<Index>(), -2i64..3).prop_map(|(block, by)| Step::FreeNear(block, by)),
    ]
}

/// A range of up to about a thousand granules, anywhere, of any alignment.
fn range(granule: u64) -> impl Strategy<Value = (u64, u64)> {
    let capacity = (0u64..1200, 1u64..=granule).prop_map(move |(whole, part)| whole * granule + part);
    let base = prop_oneof![Just(0u64), Just(1), Just(4096), any::<u64>(), Just(u64::MAX)];
    (base, capacity).prop_map(|(base, capacity)| (base.min(u64::MAX - (capacity - 1)), capacity))
}

fn run(kind: HeapKind, (base, capacity): (u64, u64), steps: &[Step]) {
    let mut heap = kind.build(base, capacity).unwrap();
    let heap = heap.as_mut();
    let mut oracle = Oracle::new(kind, base, capacity);
    let mut request = (1, 1);
    let mut newest = None;
    for step in steps {
        let live = oracle.live();
        let block = |index: &Index| (!live.is_empty()).then(|| live[index.index(live.len())]);
        match step {
            Step::Allocate { granules, odd, align_log2 } => {
                let bytes = (granules * granule(kind)).saturating_add_signed(*odd);
                request = (bytes, 1 << align_log2);
                newest = oracle.allocate(heap, request.0, request.1).or(newest);
            }
            Step::Again => newest = oracle.allocate(heap, request.0, request.1).or(newest),
            Step::Free(index) => {
                if let Some(address) = block(index) {
                    oracle.free(heap, address);
                }
            }
            Step::FreeNewest => {
                if let Some(address) = newest {
                    oracle.free(heap, address);
                }
            }
            Step::FreeNear(index, by) => {
                let address = block(index).unwrap_or(base);
                oracle.free(heap, address.wrapping_add_signed(*by));
            }
            Step::FreeAnywhere(address) => oracle.free(heap, *address),
        }
        oracle.check(heap);
    }
    // A heap can hand out the largest run it reports, and recovers all of it.
    let largest = oracle.check(heap).largest_free;
    if largest > 0 {
        assert!(oracle.allocate(heap, largest, 1).is_some());
    }
    for address in oracle.live() {
        oracle.free(heap, address);
    }
    let report = oracle.check(heap);
    assert_eq!((report.free, report.largest_free, report.live), (capacity, capacity, 0));
    assert!(report.entries <= 1, "one free run is one entry at most");
}

fn check(kind: HeapKind, step: impl Strategy<Value = Step>, steps: usize) {
    let config = Config { failure_persistence: None, ..Config::default() };
    let programs = (range(granule(kind)), prop::collection::vec(step, 1..steps));
    TestRunner::new(config)
        .run(&programs, |(range, steps)| {
            run(kind, range, &steps);
            Ok(())
        })
        .unwrap();
}

pub(crate) fn random_programs_agree_with_the_oracle(kind: HeapKind) {
    check(kind, step(), 150);
}

pub(crate) fn random_programs_of_repeats_agree_with_the_oracle(kind: HeapKind) {
    check(kind, repeat(), 60);
}
