//! The tests that are not random: each for every marking system and several ranges.

use rimms_heap::{HeapError, HeapKind, MarkingSystem};

use crate::oracle::{Oracle, granule, is_bitset};

/// Bases and lengths, the lengths in granules and a rest in 1/16 of one.
const RANGES: [(u64, u64, u64); 6] =
    [(0, 64, 0), (4096, 100, 0), (1, 70, 9), (0xFFF, 33, 1), (1 << 40, 1, 0), (u64::MAX, 50, 5)];

/// Runs a test over every range with a fresh heap and oracle.
fn each(kind: HeapKind, mut test: impl FnMut(&mut dyn MarkingSystem, &mut Oracle, u64, u64)) {
    for (base, granules, rest) in RANGES {
        let capacity = granules * granule(kind) + rest * granule(kind) / 16;
        let base = base.min(u64::MAX - (capacity - 1));
        let mut heap = kind.build(base, capacity).unwrap();
        let mut oracle = Oracle::new(kind, base, capacity);
        test(heap.as_mut(), &mut oracle, base, capacity);
    }
}

/// Allocates one granule after another until the heap refuses.
fn fill(heap: &mut dyn MarkingSystem, oracle: &mut Oracle, bytes: u64) -> Vec<u64> {
    std::iter::from_fn(|| oracle.allocate(heap, bytes, 1)).collect()
}

pub(crate) fn the_whole_range_is_one_block(kind: HeapKind) {
    each(kind, |heap, oracle, base, capacity| {
        for _ in 0..3 {
            assert_eq!(oracle.allocate(heap, capacity, 1), Some(base));
            assert_eq!(oracle.check(heap).free, 0);
            assert_eq!(heap.allocate(1, 1), Err(HeapError::Full { wanted: 1, align: 1, free: 0, capacity }));
            oracle.free(heap, base);
            oracle.check(heap);
        }
    });
}

pub(crate) fn pressure_past_capacity_is_refused_and_corrupts_nothing(kind: HeapKind) {
    // Requests that sum up to 100, 101, ... 110 % of what there is.
    for percent in 100..=110 {
        for blocks in [1, 3, 10] {
            each(kind, |heap, oracle, _, capacity| {
                let total = capacity.div_ceil(100).max(1) * percent;
                let bytes = total.div_ceil(blocks);
                for _ in 0..blocks + 1 {
                    oracle.allocate(heap, bytes, 1);
                    oracle.check(heap);
                }
                for address in oracle.live() {
                    oracle.free(heap, address);
                    oracle.check(heap);
                }
                assert!(oracle.allocate(heap, capacity, 1).is_some());
            });
        }
    }
}

pub(crate) fn everything_freed_is_one_run_again(kind: HeapKind) {
    for order in 0..4 {
        each(kind, |heap, oracle, base, capacity| {
            let mut blocks = fill(heap, oracle, granule(kind));
            assert!(!blocks.is_empty());
            let len = blocks.len();
            match order {
                0 => {}
                1 => blocks.reverse(),
                2 => blocks.sort_by_key(|address| (address / granule(kind)) % 2),
                _ => blocks = (0..len).map(|at| blocks[at * 7 % len]).collect(),
            }
            if order == 3 && len.is_multiple_of(7) {
                return; // not a permutation
            }
            for address in blocks {
                oracle.free(heap, address);
                oracle.check(heap);
            }
            assert_eq!(heap.report().largest_free, capacity);
            assert!(heap.report().entries <= 1);
            assert_eq!(oracle.allocate(heap, capacity, 1), Some(base));
        });
    }
}

pub(crate) fn every_alignment_is_kept(kind: HeapKind) {
    for align_log2 in (0..64).rev() {
        each(kind, |heap, oracle, _, _| {
            for bytes in [1, 3, granule(kind), granule(kind) + 1] {
                oracle.allocate(heap, bytes, 1 << align_log2);
                oracle.allocate(heap, 1, 1);
                oracle.check(heap);
            }
            for address in oracle.live() {
                oracle.free(heap, address);
            }
            oracle.check(heap);
        });
    }
}

pub(crate) fn bad_requests_are_refused(kind: HeapKind) {
    each(kind, |heap, oracle, _, capacity| {
        for (bytes, align) in [
            (0, 1),
            (0, 3),
            (1, 0),
            (1, 3),
            (1, u64::MAX),
            (capacity + 1, 1),
            (u64::MAX, 1),
            (u64::MAX, 1 << 63),
            (1, 1 << 63),
            (capacity, 1 << 63),
        ] {
            oracle.allocate(heap, bytes, align);
            oracle.check(heap);
        }
    });
}

pub(crate) fn bad_frees_are_refused(kind: HeapKind) {
    each(kind, |heap, oracle, base, capacity| {
        let last = base + (capacity - 1);
        let everywhere = [0, base.wrapping_sub(1), base, base + 1, last, last.wrapping_add(1), u64::MAX];
        for address in everywhere {
            oracle.free(heap, address);
        }
        let block = oracle.allocate(heap, capacity.min(granule(kind)), 1).unwrap();
        for address in everywhere.into_iter().chain(block + 1..block + 20) {
            if address != block {
                oracle.free(heap, address);
            }
        }
        oracle.free(heap, block);
        oracle.free(heap, block);
        oracle.free(heap, block);
        oracle.check(heap);
    });
}

pub(crate) fn stale_addresses_are_refused(kind: HeapKind) {
    each(kind, |heap, oracle, _, capacity| {
        if capacity < 8 * granule(kind) {
            return;
        }
        // Blocks freed, and their space then part of a larger one.
        let small: Vec<u64> = fill(heap, oracle, granule(kind));
        for &address in &small {
            oracle.free(heap, address);
        }
        let large = oracle.allocate(heap, capacity, 1).unwrap();
        for address in small {
            if address != large {
                assert_eq!(heap.free(address), Err(HeapError::Misaligned { address }));
            }
        }
        oracle.free(heap, large);
        oracle.check(heap);
    });
}

pub(crate) fn nothing_wraps_at_the_end_of_the_address_space(kind: HeapKind) {
    // A bitset needs a bit a block, so only large blocks can keep ranges as large.
    let capacities = [1u64, 2, 7, 4096, 1 << 32, 1 << 62, (1 << 63) + 1, u64::MAX];
    let affordable = |capacity: u64| granule(kind) == 1 && !is_bitset(kind) || capacity / granule(kind) < 1 << 22;
    for capacity in capacities.into_iter().filter(|&capacity| affordable(capacity)) {
        for base in [0, u64::MAX - (capacity - 1)] {
            let mut heap = kind.build(base, capacity).unwrap();
            assert_eq!(heap.report().largest_free, capacity);
            let all = heap.allocate(capacity, 1).unwrap();
            assert_eq!((all, heap.size_of(all)), (base, Some(capacity)));
            assert!(heap.allocate(1, 1).is_err());
            assert_eq!(heap.free(all), Ok(capacity));
            for align_log2 in 0..64 {
                for bytes in [1, capacity / 2 + 1, capacity, u64::MAX] {
                    if let Ok(address) = heap.allocate(bytes, 1 << align_log2) {
                        assert_eq!(address % (1 << align_log2), 0);
                        assert!(address - base <= capacity - bytes);
                        if let Ok(other) = heap.allocate(1, 1) {
                            assert!(other < address || other - address >= bytes);
                            heap.free(other).unwrap();
                        }
                        heap.free(address).unwrap();
                    }
                }
            }
            let report = heap.report();
            assert_eq!((report.free, report.largest_free, report.live), (capacity, capacity, 0));
        }
    }
}

pub(crate) fn metadata_grows_with_live_blocks_and_has_no_maximum(kind: HeapKind) {
    const BLOCKS: u64 = 100_000;
    let granule = granule(kind);
    let mut heap = kind.build(granule, 2 * BLOCKS * granule).unwrap();
    let empty = heap.report().metadata_bytes;
    let blocks: Vec<u64> = (0..BLOCKS).map(|_| heap.allocate(granule, 1).unwrap()).collect();
    let report = heap.report();
    assert_eq!(report.live, BLOCKS);
    assert!(report.entries >= BLOCKS);
    // At most 24 bytes an entry, 16 a length, doubled by growth, and their index.
    assert!(report.metadata_bytes - empty <= BLOCKS * 128, "{} B a block", report.metadata_bytes / BLOCKS);
    // Every other block freed leaves as many holes as blocks.
    for &address in blocks.iter().step_by(2) {
        heap.free(address).unwrap();
    }
    assert_eq!(heap.report().live, BLOCKS / 2);
    assert!(heap.report().entries <= BLOCKS + 1);
    for &address in blocks.iter().skip(1).step_by(2) {
        heap.free(address).unwrap();
    }
    assert_eq!(heap.report().largest_free, 2 * BLOCKS * granule);
    // The same again needs no more.
    for _ in 0..BLOCKS {
        heap.allocate(granule, 1).unwrap();
    }
    assert_eq!(heap.report().metadata_bytes, report.metadata_bytes);
}

pub(crate) fn failed_calls_change_nothing(kind: HeapKind) {
    each(kind, |heap, oracle, base, capacity| {
        let half = oracle.allocate(heap, capacity.div_ceil(2), 1).unwrap();
        let before = heap.report();
        for (bytes, align) in [(capacity, 1), (capacity / 2 + 1, 1), (0, 1), (1, 6), (u64::MAX, 2)] {
            assert!(heap.allocate(bytes, align).is_err());
            assert_eq!(heap.report(), before);
        }
        for address in [half + 1, base.wrapping_sub(1), half ^ (1 << 63)] {
            if address != half {
                let refused = heap.free(address);
                assert!(refused.is_err() || capacity == 1, "{address:#x} {refused:?}");
                assert_eq!(heap.report(), before);
            }
        }
        oracle.free(heap, half);
        oracle.check(heap);
    });
}
