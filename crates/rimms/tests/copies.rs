//! Exact numbers of copies: what each memory mode moves, and what fragments, tiles and joins cost.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::{Cause, Complex32, MemoryMode, ResourceId, Runtime, ZipOp};

const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];

fn runtime(mode: MemoryMode, memory: u64) -> Runtime {
    let acc = |name| Sim::acc(name, memory, Default::default()).unwrap();
    Runtime::builder().cpus(1).device(acc("acc0")).device(acc("acc1")).memory_mode(mode).build().unwrap().blocking()
}

fn acc(i: usize) -> ResourceId {
    ResourceId::new(i + 1).unwrap()
}

fn ramp(n: usize) -> Vec<Complex32> {
    (0..n).map(|i| Complex32::new(i as f32, 1.0)).collect()
}

/// Copies before the result is read, and those for reading it.
fn two_fft(mode: MemoryMode, first: &str, second: &str) -> (u64, u64) {
    let rt = runtime(mode, 1 << 20);
    let n = 256;
    let [mut x, mut y, mut z] = [(); 3].map(|()| rt.alloc::<Complex32>(n).unwrap());
    x.overwrite().unwrap().copy_from_slice(&ramp(n)).unwrap();
    rt.on(first).unwrap().fft(&x, &mut y).unwrap();
    rt.on(second).unwrap().ifft(&y, &mut z).unwrap();
    let before = rt.counters().copies();
    for (a, b) in z.read().unwrap().iter().zip(ramp(n)) {
        assert!((a - b).norm() < 1e-3, "{mode} {first} {second}: {a} is not {b}");
    }
    (before, rt.counters().copies() - before)
}

#[test]
fn two_fft_by_placement() {
    let table = [
        ("cpu0", "cpu0", [0, 0, 0]),
        ("cpu0", "acc0", [2, 1, 1]),
        ("acc0", "cpu0", [2, 2, 2]),
        ("acc0", "acc0", [4, 1, 1]),
    ];
    for (first, second, expected) in table {
        for (mode, expected) in MODES.into_iter().zip(expected) {
            let (copies, last) = two_fft(mode, first, second);
            assert_eq!(copies, expected, "{mode}: {first} then {second}");
            let to_fetch = u64::from(second == "acc0" && mode != MemoryMode::Reference);
            assert_eq!(last, to_fetch, "{mode}: reading the result of {second}");
        }
    }
}

#[test]
fn between_two_accelerators_there_is_one_direct_copy() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let (mut x, mut y, mut z) = (rt.alloc(64).unwrap(), rt.alloc(64).unwrap(), rt.alloc(64).unwrap());
    x.overwrite().unwrap().copy_from_slice(&ramp(64)).unwrap();
    rt.on("acc0").unwrap().fft(&x, &mut y).unwrap();
    rt.on("acc1").unwrap().fft(&y, &mut z).unwrap();
    let c = rt.counters();
    assert_eq!((c.host_to_device().copies, c.device_to_device().copies, c.device_to_host().copies), (1, 1, 0));
    assert_eq!(c.bytes(), 2 * 64 * 8);
    assert_eq!(y.valid().iter().collect::<Vec<_>>(), [acc(0), acc(1)]);
    assert_eq!(y.last_resource(), Some(acc(0)));
}

#[test]
fn an_input_of_many_calls_is_copied_once_by_valid_set_and_each_time_by_the_others() {
    for (mode, expected) in MODES.into_iter().zip([5 * 3, 5 * 2, 1 + 5]) {
        let rt = runtime(mode, 1 << 20);
        let on = rt.on("acc0").unwrap();
        let mut reference = rt.alloc::<Complex32>(64).unwrap();
        reference.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        for _ in 0..5 {
            let (mut x, mut y) = (rt.alloc(64).unwrap(), rt.alloc(64).unwrap());
            x.overwrite().unwrap().copy_from_slice(&ramp(64)).unwrap();
            on.zip(ZipOp::Mul, &x, &reference, &mut y).unwrap();
        }
        assert_eq!(rt.counters().copies(), expected, "{mode}");
    }
}

#[test]
fn out_operands_are_never_copied_in_and_host_writes_invalidate() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let on = rt.on("acc0").unwrap();
    let (mut x, mut y) = (rt.alloc::<f32>(100).unwrap(), rt.alloc::<f32>(100).unwrap());
    y.overwrite().unwrap().fill(9.0).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    on.scale(2.0, &x, &mut y).unwrap();
    assert_eq!(rt.counters().copies(), 1, "x goes in, y does not");
    x.update().unwrap()[5] = 7.0;
    assert_eq!(x.valid().iter().collect::<Vec<_>>(), [ResourceId::HOST]);
    on.scale(2.0, &x, &mut y).unwrap();
    assert_eq!(rt.counters().copies(), 2, "x changed on the host and goes in again");
    assert_eq!(y.read().unwrap()[5], 14.0);
    assert_eq!(y.read().unwrap()[4], 2.0);
    assert_eq!(rt.counters().copies(), 3, "the second read finds it on the host");
}

#[test]
fn fragments_share_the_block_of_their_parent() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let on = rt.on("acc0").unwrap();
    let (mut x, mut y) = (rt.alloc(8 * 16).unwrap(), rt.alloc(8 * 16).unwrap());
    x.overwrite().unwrap().copy_from_slice(&ramp(8 * 16)).unwrap();
    x.fragment(8).unwrap();
    y.fragment(8).unwrap();
    for i in 0..8 {
        on.fft(&x[i], &mut y[i]).unwrap();
    }
    assert_eq!(rt.counters().copies(), 8, "one fragment a call");
    assert_eq!(rt.usage(acc(0)).unwrap().blocks, 2, "one block a datum");
    let base = y.address_on(acc(0)).unwrap();
    assert_eq!(y[3].address_on(acc(0)), Some(base + 3 * 16 * 8));
    // Neighbouring stale leaves travel as one copy.
    let before = rt.counters();
    y.read().unwrap();
    assert_eq!(rt.counters().since(&before).device_to_host().copies, 1);
    assert_eq!(rt.counters().since(&before).bytes(), 8 * 16 * 8);
}

#[test]
fn only_the_stale_stretches_of_a_parent_move() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let on = rt.on("acc0").unwrap();
    let mut x = rt.alloc(8 * 16).unwrap();
    x.overwrite().unwrap().copy_from_slice(&ramp(8 * 16)).unwrap();
    x.fragment(8).unwrap();
    for i in [0, 1, 5] {
        on.fft_in_place(&mut x[i]).unwrap();
    }
    let before = rt.counters();
    on.fft_rows_in_place(16, &mut x).unwrap();
    let moved = rt.counters().since(&before);
    assert_eq!(moved.copies(), 2, "2..5 as one, 6..8 as one");
    assert_eq!(moved.bytes(), 5 * 16 * 8);
    assert_eq!(moved.by_cause(Cause::Gather).copies, 0);
}

#[test]
fn where_the_parent_does_not_fit_the_leaf_alone_is_allocated_and_gathered_later() {
    // Room for three quarters of x at first; then for all of it.
    let rt = runtime(MemoryMode::ValidSet, 8192);
    let on = rt.on("acc0").unwrap();
    let mut hog = rt.alloc::<u8>(5000).unwrap();
    on.fill(0_u8, &mut hog).unwrap();
    let mut x = rt.alloc::<Complex32>(512).unwrap(); // 4096 bytes
    x.overwrite().unwrap().copy_from_slice(&ramp(512)).unwrap();
    x.fragment(4).unwrap();
    on.scale_in_place(Complex32::new(2.0, 0.0), &mut x[0]).unwrap();
    on.scale_in_place(Complex32::new(2.0, 0.0), &mut x[2]).unwrap();
    assert_eq!(rt.usage(acc(0)).unwrap().blocks, 3, "the hog and two fragments");
    drop(hog);
    let before = rt.counters();
    on.scale_in_place(Complex32::new(3.0, 0.0), &mut x).unwrap();
    let moved = rt.counters().since(&before);
    assert_eq!(moved.by_cause(Cause::Gather).copies, 2);
    assert_eq!(moved.by_cause(Cause::Input).copies, 2);
    assert_eq!(rt.usage(acc(0)).unwrap().blocks, 1, "the fragments' blocks are gone");
    for (i, v) in x.read().unwrap().iter().enumerate() {
        let factor = if (i / 128) % 2 == 0 { 6.0 } else { 3.0 };
        assert_eq!(*v, Complex32::new(i as f32, 1.0) * factor, "element {i}");
    }
}

#[test]
fn refragmenting_from_rows_to_columns_is_free_where_the_leaves_agree() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let on = rt.on("acc0").unwrap();
    let mut m = rt.alloc::<Complex32>(8 * 4).unwrap();
    m.overwrite().unwrap().copy_from_slice(&ramp(32)).unwrap();
    m.fragment(8).unwrap();
    for row in m.fragments_mut() {
        on.scale_in_place(Complex32::new(0.5, 0.0), row).unwrap();
    }
    let before = rt.counters();
    m.tile_sizes(&[8], &[1, 1, 1, 1]).unwrap(); // columns
    for column in m.fragments_mut() {
        on.scale_in_place(Complex32::new(4.0, 0.0), column).unwrap();
    }
    m.join().unwrap();
    assert_eq!(rt.counters().since(&before).copies(), 0);
    assert_eq!(m.valid().iter().collect::<Vec<_>>(), [acc(0)]);
    let want: Vec<_> = ramp(32).iter().map(|v| v * 2.0).collect();
    assert_eq!(m.read().unwrap()[..], want);
}

#[test]
fn joining_leaves_that_lie_on_different_resources_copies_the_stale_ones() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let mut x = rt.alloc::<Complex32>(4 * 8).unwrap();
    x.overwrite().unwrap().copy_from_slice(&ramp(32)).unwrap();
    x.fragment(4).unwrap();
    rt.on("acc0").unwrap().scale_in_place(Complex32::I, &mut x[1]).unwrap();
    rt.on("acc1").unwrap().scale_in_place(Complex32::I, &mut x[3]).unwrap();
    let before = rt.counters();
    x.join().unwrap();
    let moved = rt.counters().since(&before);
    assert_eq!((moved.copies(), moved.by_cause(Cause::Join).copies), (2, 2));
    let want: Vec<_> =
        ramp(32).iter().enumerate().map(|(i, v)| if (i / 8) % 2 == 1 { v * Complex32::I } else { *v }).collect();
    assert_eq!(x.read().unwrap()[..], want);
}

#[test]
fn tiles_move_as_one_strided_copy_and_padding_happens_on_the_device() {
    for mode in MODES {
        let rt = runtime(mode, 1 << 20);
        let on = rt.on("acc0").unwrap();
        let (rows, n) = (4, 6);
        let mut pulses = rt.alloc::<Complex32>(rows * n).unwrap();
        pulses.overwrite().unwrap().copy_from_slice(&ramp(rows * n)).unwrap();
        let mut padded = rt.alloc::<Complex32>(rows * 2 * n).unwrap();
        on.fill(Complex32::ZERO, &mut padded).unwrap();
        padded.tile_sizes(&[rows], &[n - 1, n, 1]).unwrap();
        on.copy(&pulses, &mut padded[1]).unwrap();
        padded.join().unwrap();
        let got = padded.read().unwrap();
        for r in 0..rows {
            for c in 0..2 * n {
                let inside = (n - 1..2 * n - 1).contains(&c);
                let want = if inside { ramp(rows * n)[r * n + c - (n - 1)] } else { Complex32::ZERO };
                assert_eq!(got[r * 2 * n + c], want, "{mode}: ({r}, {c})");
            }
        }
        if mode == MemoryMode::ValidSet {
            assert_eq!(rt.counters().copies(), 2, "pulses in, padded out");
        }
    }
}

#[test]
fn everything_is_given_back() {
    let rt = runtime(MemoryMode::ValidSet, 1 << 20);
    let on = rt.on("acc0").unwrap();
    for _ in 0..100 {
        let mut x = rt.alloc::<Complex32>(1000).unwrap();
        x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        x.fragment(10).unwrap();
        for i in 0..10 {
            on.fft_in_place(&mut x[i]).unwrap();
        }
    }
    let usage = rt.usage(acc(0)).unwrap();
    assert_eq!((usage.blocks, usage.used), (0, 0));
}
