//! Next-fit block by block: the position against a model, exact splits, joins.

use crate::{HeapError, MarkingSystem, NextFit};

/// Next-fit as the paper tells it, over a map of bytes; slow and obvious.
struct Model {
    /// For every byte the number of the live block it is in.
    bytes: Vec<Option<u64>>,
    position: usize,
    blocks: u64,
}

impl Model {
    fn new(capacity: usize) -> Self {
        Self { bytes: vec![None; capacity], position: 0, blocks: 0 }
    }

    /// The first byte of the free run or live block that holds a byte.
    fn start(&self, byte: usize) -> usize {
        (0..byte).rev().take_while(|&before| self.bytes[before] == self.bytes[byte]).last().unwrap_or(byte)
    }

    fn end(&self, start: usize) -> usize {
        (start..self.bytes.len()).find(|&byte| self.bytes[byte] != self.bytes[start]).unwrap_or(self.bytes.len())
    }

    fn allocate(&mut self, bytes: usize, align: usize) -> Option<usize> {
        let capacity = self.bytes.len();
        let first = if self.position == capacity { 0 } else { self.start(self.position) };
        let mut start = first;
        loop {
            let (end, at) = (self.end(start), start.next_multiple_of(align));
            if self.bytes[start].is_none() && at + bytes <= end {
                self.blocks += 1;
                self.bytes[at..at + bytes].fill(Some(self.blocks));
                self.position = at + bytes;
                return Some(at);
            }
            start = if end == capacity { 0 } else { end };
            if start == first {
                return None;
            }
        }
    }

    fn free(&mut self, start: usize) {
        let end = self.end(start);
        self.bytes[start..end].fill(None);
    }
}

/// Random programs that give the same addresses as the model, invariants checked.
#[test]
fn the_search_goes_on_from_the_last_block() {
    const CAPACITY: u64 = 600;
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) % below
    };
    for base in [0, 1 << 20] {
        let mut heap = NextFit::new(base, CAPACITY).unwrap();
        let mut model = Model::new(CAPACITY as usize);
        let mut live: Vec<u64> = Vec::new();
        let mut request = (1, 1);
        for _ in 0..20_000 {
            match draw(10) {
                0..5 => {
                    if draw(3) > 0 {
                        request = (1 + draw(60), 1 << draw(4).saturating_sub(1));
                    }
                    let expected = model.allocate(request.0 as usize, request.1 as usize);
                    let given = heap.allocate(request.0, request.1).ok().map(|address| address - base);
                    assert_eq!(given, expected.map(|offset| offset as u64));
                    live.extend(given);
                }
                5 if !live.is_empty() => {
                    let newest = live.pop().unwrap();
                    heap.free(base + newest).unwrap();
                    model.free(newest as usize);
                }
                _ if !live.is_empty() => {
                    let block = live.swap_remove(draw(live.len() as u64) as usize);
                    heap.free(base + block).unwrap();
                    model.free(block as usize);
                }
                _ => {}
            }
            heap.marks().check(CAPACITY);
        }
    }
}

#[test]
fn a_hole_is_passed_by_until_the_search_comes_round() {
    let mut heap = NextFit::new(0, 100).unwrap();
    let blocks: Vec<u64> = (0..4).map(|_| heap.allocate(20, 1).unwrap()).collect();
    heap.free(blocks[1]).unwrap();
    assert_eq!(heap.allocate(15, 1), Ok(80), "the rest of the range comes first");
    assert_eq!(heap.allocate(15, 1), Ok(20), "then the hole");
    assert_eq!(heap.allocate(5, 1), Ok(35), "and what is left of it");
    assert_eq!(heap.allocate(5, 1), Ok(95));
    assert_eq!(heap.allocate(1, 1), Err(HeapError::Full { wanted: 1, align: 1, free: 0, capacity: 100 }));
}

#[test]
fn splits_are_exact_to_the_byte() {
    let mut heap = NextFit::new(1000, 10).unwrap();
    for byte in 0..10 {
        assert_eq!(heap.allocate(1, 1), Ok(1000 + byte));
    }
    assert_eq!(heap.report().entries, 10);
    for byte in (0..10).step_by(2) {
        assert_eq!(heap.free(1000 + byte), Ok(1));
    }
    assert_eq!(heap.report().largest_free, 1);
    assert_eq!(heap.free(1001), Ok(1));
    assert_eq!(heap.report().largest_free, 3);
    assert_eq!(heap.report().entries, 8, "two neighbours swallowed, even while it is parked");
}

#[test]
fn padding_stays_free() {
    let mut heap = NextFit::new(1, 100).unwrap();
    assert_eq!(heap.allocate(10, 64), Ok(64));
    assert_eq!((heap.report().used, heap.report().largest_free), (10, 63));
    assert_eq!(heap.allocate(63, 1), Ok(1));
}
