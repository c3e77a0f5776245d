//! Heaps are `Send` trait objects: what the runtime relies on.

#![allow(clippy::unwrap_used)]

use rimms_heap::{HeapKind, MarkingSystem};

#[test]
fn heaps_move_between_threads_behind_the_trait() {
    for kind in HeapKind::ALL {
        let mut heap: Box<dyn MarkingSystem> = kind.build(4096, 1 << 20).unwrap();
        let address = std::thread::spawn(move || {
            let address = heap.allocate(100, 8).unwrap();
            (heap, address)
        });
        let (mut heap, address) = address.join().unwrap();
        assert!(heap.free(address).unwrap() >= 100);
        assert!(format!("{heap:?}").contains("4096"));
    }
}
