//! Two-level block by block: the lists after every step, the last resort, placement.

use crate::{HeapError, MarkingSystem, TwoLevel};

#[test]
fn lists_hold_exactly_the_free_blocks() {
    let mut random = 0x9E37_79B9_97F4_A7C1_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) % below
    };
    for capacity in [100, 5000, 1 << 40] {
        let mut heap = TwoLevel::new(3, capacity).unwrap();
        let mut live: Vec<u64> = Vec::new();
        for _ in 0..5000 {
            if draw(2) == 0 {
                let share = 1 << draw(7);
                let bytes = 1 + draw(capacity / share);
                let align = 1 << draw(7);
                live.extend(heap.allocate(bytes, align));
            } else if !live.is_empty() {
                heap.free(live.swap_remove(draw(live.len() as u64) as usize)).unwrap();
            }
            heap.marks().check(capacity);
        }
        for address in live {
            heap.free(address).unwrap();
        }
        assert_eq!(heap.report().largest_free, capacity);
    }
}

/// Classes round requests up, so a run may be free that no list is sure of.
#[test]
fn the_last_resort_finds_what_the_lists_do_not_promise() {
    let mut heap = TwoLevel::new(0, 10_000).unwrap();
    // Free runs of one class (256 wide at 8192, 32 at 1024): 1024, 1030, 1040 B, kept apart.
    let mut runs = Vec::new();
    for bytes in [1024, 1040, 1030] {
        runs.push(heap.allocate(bytes, 1).unwrap());
        heap.allocate(1, 1).unwrap();
    }
    let rest = heap.report().largest_free;
    heap.allocate(rest, 1).unwrap();
    for &run in &runs {
        heap.free(run).unwrap();
    }
    assert_eq!(heap.allocate(1035, 1), Ok(runs[1]));
    assert_eq!(heap.allocate(1025, 1), Ok(runs[2]));
    assert!(matches!(heap.allocate(1025, 1), Err(HeapError::Fragmented { largest_free: 1024, .. })));
    assert_eq!(heap.allocate(1024, 1), Ok(runs[0]));
}

#[test]
fn alignment_is_met_without_slack_where_the_block_allows() {
    let mut heap = TwoLevel::new(4096, 4096).unwrap();
    assert_eq!(heap.allocate(4096, 4096), Ok(4096));
    heap.free(4096).unwrap();
    assert_eq!(heap.allocate(64, 64), Ok(4096));
    assert_eq!(heap.allocate(10, 64), Ok(4160));
    assert_eq!(heap.allocate(64, 64), Ok(4224));
    assert_eq!(heap.report().largest_free, 4096 - 192);
}

#[test]
fn steps_do_not_grow_with_the_blocks() {
    // A block of the wanted class is found whatever else is free: with many small holes
    // the answer is the same as with none.
    for holes in [0, 10, 10_000] {
        let mut heap = TwoLevel::new(0, 1 << 20).unwrap();
        let blocks: Vec<u64> = (0..2 * holes).map(|_| heap.allocate(8, 1).unwrap()).collect();
        for &block in blocks.iter().step_by(2) {
            heap.free(block).unwrap();
        }
        assert_eq!(heap.allocate(1000, 1), Ok(holes * 16));
    }
}
