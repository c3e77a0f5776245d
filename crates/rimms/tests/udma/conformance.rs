//! The suite that every backend passes.

use crate::system;
use rimms::device::conformance;
use rimms::device::udma::Udma;

fn on_each_heap(test: impl Fn(&Udma)) {
    for heap in ["two-level", "next-fit", "bitset:64", "bitset:4096"] {
        let (_folder, system) = system(1 << 20);
        test(&system.device(heap.parse().unwrap()).unwrap());
    }
}

#[test]
fn memory() {
    on_each_heap(|device| conformance::memory(device));
}

#[test]
fn transfers() {
    on_each_heap(|device| conformance::transfers(device));
}

#[test]
fn exhaustion() {
    on_each_heap(|device| conformance::exhaustion(device));
}

#[test]
fn threads() {
    on_each_heap(|device| conformance::threads(device));
}

#[test]
fn order() {
    on_each_heap(|device| conformance::order(device));
}

#[test]
fn ops() {
    let (_folder, system) = system(1 << 22);
    conformance::ops(&system.device("two-level".parse().unwrap()).unwrap());
}
