//! Room for all operands, or a clear word on why not.

use proptest::prelude::*;
use rimms::device::Device;
use rimms::device::sim::{HeapKind, Sim};
use rimms::op::UserOp;
use rimms::{Cause, Error, HeteData, ResourceId, Runtime, ZipOp, arg};
use std::sync::Arc;

const KIB: usize = 1024;

fn acc() -> ResourceId {
    ResourceId::new(1).unwrap()
}

fn runtime(memory: usize, heap: HeapKind) -> (Runtime, Arc<Sim>) {
    let sim = Arc::new(Sim::acc("acc0", memory as u64, heap).unwrap());
    (Runtime::builder().cpus(0).shared_device(sim.clone()).build().unwrap().blocking(), sim)
}

fn filled(rt: &Runtime, bytes: usize, value: f32) -> HeteData<f32> {
    let mut x = rt.alloc(bytes / 4).unwrap();
    x.overwrite().unwrap().fill(value).unwrap();
    x
}

#[test]
fn operands_of_one_call_do_not_evict_each_other() {
    for heap in [HeapKind::Bitset { block: 1024 }, HeapKind::NextFit, HeapKind::TwoLevel] {
        let (rt, _) = runtime(3 * KIB, heap);
        let inputs: Vec<_> = (0..4).map(|i| filled(&rt, KIB, i as f32)).collect();
        let mut sums: Vec<_> = (0..4).map(|_| rt.alloc::<f32>(KIB / 4).unwrap()).collect();
        for i in 0..4 {
            let before = rt.counters();
            rt.zip(ZipOp::Add, &inputs[i], &inputs[(i + 1) % 4], &mut sums[i]).unwrap();
            let made = rt.counters().since(&before);
            // The second input was the first one's neighbour before, and is still there.
            let loads = [2, 1, 1, 1][i];
            assert_eq!(made.by_cause(Cause::Input).copies, loads, "{heap}, call {i}");
            // What made room was nobody's operand: an input that is on the host too, and the sum before.
            assert_eq!((made.evictions, made.by_cause(Cause::Eviction).copies), [(0, 0), (2, 1), (2, 1), (2, 1)][i]);
        }
        for (i, sum) in sums.iter().enumerate() {
            assert_eq!(sum.read().unwrap()[..], vec![(i + (i + 1) % 4) as f32; KIB / 4]);
        }
    }
}

#[test]
fn an_operand_that_is_there_already_does_not_make_room_for_the_one_before_it() {
    let (rt, _) = runtime(3 * KIB, HeapKind::TwoLevel);
    let (old, other, new) = (filled(&rt, KIB, 1.0), filled(&rt, KIB, 2.0), filled(&rt, KIB, 3.0));
    let mut sum = rt.alloc::<f32>(KIB / 4).unwrap();
    rt.zip(ZipOp::Add, &old, &other, &mut sum).unwrap();
    let before = rt.counters();
    // `old` was used before `other`, and is looked at after `new` has found its place.
    rt.zip(ZipOp::Add, &new, &old, &mut sum).unwrap();
    let made = rt.counters().since(&before);
    assert_eq!((made.evictions, made.by_cause(Cause::Input).copies, made.copies()), (1, 1, 1));
    assert_eq!(sum.read().unwrap()[0], 4.0);
}

#[test]
fn the_same_view_twice_takes_its_room_once() {
    let (rt, _) = runtime(2 * KIB, HeapKind::TwoLevel);
    let (x, mut y) = (filled(&rt, KIB, 3.0), rt.alloc(KIB / 4).unwrap());
    rt.zip(ZipOp::Mul, &x, &x, &mut y).unwrap();
    assert_eq!(rt.counters().host_to_device().copies, 1);
    assert_eq!(y.read().unwrap()[0], 9.0);
}

#[test]
fn a_view_and_its_fragment_take_the_room_of_the_view() {
    let (rt, _) = runtime(KIB, HeapKind::TwoLevel);
    let mut x = filled(&rt, KIB, 1.0);
    x.fragment(4).unwrap();
    let op = UserOp::builder("both").input::<f32>().input::<f32>().on_sim(|_| Ok(())).build().unwrap().call();
    // The fragment first, so that a block of its own would be in the way.
    rt.call(&op, &mut [arg(&x[2]), arg(&x)]).unwrap();
    assert_eq!(rt.usage(acc()).unwrap().blocks, 1);
}

#[test]
fn a_parent_whose_fragments_fill_the_memory_is_put_together_all_the_same() {
    // Another program has half of the memory while the fragments come, each alone.
    let (rt, sim) = runtime(8 * KIB, HeapKind::TwoLevel);
    let others = sim.allocate(7 * KIB as u64).unwrap();
    let mut x = filled(&rt, 2 * KIB, 1.0);
    x.fragment(4).unwrap();
    for i in 0..2 {
        rt.scale_in_place(2.0, &mut x[i]).unwrap();
    }
    sim.free(others).unwrap();
    let others = sim.allocate(6 * KIB as u64).unwrap(); // 2 KiB are left in all
    rt.scale_in_place(3.0, &mut x).unwrap();
    assert_eq!(rt.usage(acc()).unwrap().blocks, 2);
    let want: Vec<f32> = (0..2 * KIB / 4).map(|i| if i < KIB / 4 { 6.0 } else { 3.0 }).collect();
    assert_eq!(x.read().unwrap()[..], want);
    sim.free(others).unwrap();
}

#[test]
fn what_never_fits_what_is_full_and_what_is_fragmented_are_told_apart() {
    let (rt, sim) = runtime(8 * KIB, HeapKind::TwoLevel);
    let (x, mut y) = (filled(&rt, 5 * KIB, 1.0), rt.alloc::<f32>(5 * KIB / 4).unwrap());
    let Error::NeverFits { wanted, capacity, operands, .. } = rt.copy(&x, &mut y).unwrap_err() else { panic!() };
    assert_eq!((wanted, capacity), (10 * KIB as u64, 8 * KIB as u64));
    assert_eq!(operands.iter().map(|o| o.1).collect::<Vec<_>>(), [5 * KIB as u64; 2]);
    let mut small = filled(&rt, 3 * KIB, 1.0);
    rt.scale_in_place(2.0, &mut small).unwrap(); // is there, and goes first
    // Another program takes what it can get.
    let hog = sim.allocate(5 * KIB as u64).unwrap();
    let mut z = filled(&rt, 4 * KIB, 1.0);
    let full = rt.scale_in_place(2.0, &mut z).unwrap_err();
    assert!(matches!(full, Error::Full { wanted: 4096, free: 3072, capacity: 8192, .. }), "{full}");
    assert_eq!(small.read().unwrap()[0], 2.0);
    drop(small);
    sim.free(hog).unwrap();
    let parts: Vec<u64> = (0..8).map(|_| sim.allocate(KIB as u64).unwrap()).collect();
    parts.iter().step_by(2).for_each(|&part| sim.free(part).unwrap());
    let fragmented = rt.scale_in_place(2.0, &mut z).unwrap_err();
    assert!(matches!(fragmented, Error::Fragmented { wanted: 4096, free: 4096, largest: 1024, .. }), "{fragmented}");
    parts.iter().skip(1).step_by(2).for_each(|&part| sim.free(part).unwrap());
    rt.scale_in_place(2.0, &mut z).unwrap();
    assert_eq!(z.read().unwrap()[0], 2.0);
}

#[test]
fn a_large_call_drives_out_as_many_small_blocks_as_it_takes() {
    for heap in [HeapKind::Bitset { block: 64 }, HeapKind::NextFit, HeapKind::TwoLevel] {
        let (rt, _) = runtime(4 * KIB, heap);
        let mut small: Vec<_> = (0..32).map(|i| filled(&rt, 128, i as f32)).collect();
        for x in &mut small {
            rt.scale_in_place(2.0, x).unwrap();
        }
        let mut large = filled(&rt, 4 * KIB, 1.0);
        rt.scale_in_place(2.0, &mut large).unwrap();
        assert_eq!(rt.counters().evictions, 32);
        assert!(small.iter().enumerate().all(|(i, x)| x.read().unwrap()[..] == [2.0 * i as f32; 32]));
        assert_eq!(large.read().unwrap()[0], 2.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Sizes that pass the check have room, whatever lies there; those that do not never had.
    #[test]
    fn what_is_refused_is_what_cannot_fit(
        sizes in (1..3000_usize, 1..3000_usize, 1..3000_usize),
        before in prop::collection::vec(1..2000_usize, 0..6),
        memory in 2000..8000_usize,
        heap in prop::sample::select(vec![
            HeapKind::Bitset { block: 8 }, HeapKind::Bitset { block: 512 }, HeapKind::NextFit, HeapKind::TwoLevel,
        ]),
    ) {
        let (rt, _) = runtime(memory, heap);
        let bytes = |n: usize| rt.alloc::<u8>(n).unwrap();
        let earlier: Vec<_> = before.into_iter().filter(|n| *n <= memory).map(|n| {
            let mut x = bytes(n);
            rt.fill(n as u8, &mut x).unwrap();
            x
        }).collect();
        let (mut a, mut b, mut c) = (bytes(sizes.0), bytes(sizes.1), bytes(sizes.2));
        [&mut a, &mut b, &mut c].into_iter().for_each(|x| x.overwrite().unwrap().fill(1).unwrap());
        let op = UserOp::builder("three").input::<u8>().input::<u8>().input::<u8>().on_sim(|_| Ok(())).build().unwrap();
        let outcome = rt.call(&op.call(), &mut [arg(&a), arg(&b), arg(&c)]);
        // An empty memory of the same kind, in every order.
        let fits = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].into_iter().any(|order| {
            let empty = Sim::acc("empty0", memory as u64, heap).unwrap();
            let sizes = [sizes.0, sizes.1, sizes.2];
            order.into_iter().all(|i| empty.allocate(sizes[i] as u64).is_ok())
        });
        match outcome {
            Ok(_) => prop_assert!(fits),
            Err(Error::NeverFits { .. }) => prop_assert!(!fits),
            Err(e) => prop_assert!(false, "{e}"),
        }
        for x in &earlier {
            prop_assert!(x.read().unwrap().iter().all(|v| *v == x.len() as u8));
        }
    }
}
