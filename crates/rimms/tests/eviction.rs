//! More data than a device has room for: what goes is what is needed last, and everything still comes out right.
#![allow(clippy::unwrap_used)]

#[path = "common/hooked.rs"]
mod hooked;

use hooked::Hooked;
use rimms::device::Operation;
use rimms::device::gated::{Gate, Gated};
use rimms::device::sim::Sim;
use rimms::op::UserOp;
use rimms::{Arg, Cause, HeteData, MemoryMode, Runtime, ZipOp, arg_mut};
use std::sync::{Arc, Mutex};

const HEAPS: [&str; 3] = ["next-fit", "two-level", "bitset:256"];
const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];

/// `x = 3 x + value`, which tells the order of two such calls; each notes whom it was for.
fn append(log: &Arc<Mutex<Vec<u32>>>) -> UserOp {
    let log = log.clone();
    let op = UserOp::builder("append").inout::<u32>().on_sim(move |k| {
        let (who, value) = *k.params::<(u32, u32)>()?;
        log.lock().map_err(|_| "a test failed")?.push(who);
        k.output::<u32>(0)?.iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(value));
        Ok(())
    });
    op.build().unwrap()
}

#[test]
fn twelve_blocks_in_the_room_of_four_are_loaded_as_seldom_as_the_future_allows() {
    const BLOCKS: u32 = 12;
    for mode in [MemoryMode::LastResource, MemoryMode::ValidSet] {
        for heap in HEAPS {
            let (log, gate) = (Arc::new(Mutex::new(Vec::new())), Gate::default());
            let acc = Gated::new(Sim::acc("acc0", 4 * 256, heap.parse().unwrap()).unwrap(), gate.clone());
            let rt = Runtime::builder().cpus(0).device(acc).memory_mode(mode).build().unwrap();
            let op = append(&log);
            let mut data: Vec<HeteData<u32>> = (0..BLOCKS).map(|_| rt.alloc(64).unwrap()).collect();
            for (i, x) in (0_u32..).zip(&mut data) {
                x.overwrite().unwrap().fill(i).unwrap();
            }
            let mut events = Vec::new();
            for round in 0..3 {
                for (i, x) in (0_u32..).zip(&mut data) {
                    events.push(rt.call(&op.with((i, 7 * round + i)), &mut [arg_mut(x)]).unwrap());
                }
            }
            assert_eq!(rt.counters().calls("acc0"), 0, "the device has not begun");
            gate.open();
            rt.wait_all(&events).unwrap();
            let counters = rt.counters();
            let loads = counters.host_to_device().copies;
            assert!(loads <= 28, "{mode}, {heap}: {loads} loads");
            assert_eq!(counters.evictions, loads - 4, "{mode}, {heap}: each load but the first four needs room");
            assert_eq!(counters.by_cause(Cause::Eviction).copies, counters.evictions, "all were written on the device");
            let in_order: Vec<u32> = (0..3).flat_map(|_| 0..BLOCKS).collect();
            assert_eq!(*log.lock().unwrap(), in_order, "{mode}, {heap}");
            for (i, x) in (0_u32..).zip(&data) {
                let want = (0..3).fold(i, |x, round| x * 3 + 7 * round + i);
                assert_eq!(x.read().unwrap()[..], [want; 64], "{mode}, {heap}, block {i}");
            }
        }
    }
}

/// Calls of three large operands each, every one on what others have left: five data, room for three and a bit.
fn chain(rt: &Runtime, calls: usize) -> [u32; 5] {
    const LEN: usize = 1024;
    let op = UserOp::builder("mix").input::<u32>().input::<u32>().output::<u32>().on_sim(|k| {
        let (a, b) = (k.input::<u32>(0)?, k.input::<u32>(1)?);
        k.output::<u32>(2)?.iter_mut().zip(a).zip(b).for_each(|((y, a), b)| *y = a.wrapping_mul(5).wrapping_sub(*b));
        Ok(())
    });
    let op = op.build().unwrap().call();
    let mut data: Vec<HeteData<u32>> = (0..5).map(|_| rt.alloc(LEN).unwrap()).collect();
    let mut want: Vec<Vec<u32>> = (0..5).map(|d| (0..LEN as u32).map(|i| i * 31 + d).collect()).collect();
    for (x, want) in data.iter_mut().zip(&want) {
        x.overwrite().unwrap().copy_from_slice(want).unwrap();
    }
    for i in 0..calls {
        let (a, b, y) = (i % 5, (i + 1) % 5, (i + 2 + i / 7 % 3) % 5);
        let mut out = data.remove(y);
        let at = |d: usize| if d > y { d - 1 } else { d };
        let mut args = [Arg::from(&data[at(a)]), Arg::from(&data[at(b)]), Arg::from(&mut out)];
        rt.call(&op, &mut args).unwrap();
        data.insert(y, out);
        want[y] = want[a].iter().zip(&want[b]).map(|(a, b)| a.wrapping_mul(5).wrapping_sub(*b)).collect();
    }
    let mut sums = [0; 5];
    for ((x, want), sum) in data.iter().zip(&want).zip(&mut sums) {
        let found = x.read().unwrap();
        assert_eq!(found[..], want[..]);
        *sum = found.iter().fold(0, |sum, x| sum ^ x);
    }
    sums
}

#[test]
fn a_chain_of_large_calls_finishes_in_little_more_than_one_of_them_needs() {
    // Three operands of 4 KiB, and a tenth more.
    let tenth_more = 3 * 4096 + 1280;
    let roomy =
        Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default()).unwrap()).build().unwrap();
    let right = chain(&roomy, 60);
    assert_eq!(roomy.counters().evictions, 0);
    for heap in HEAPS {
        for mode in MODES {
            for memory in [3 * 4096, tenth_more] {
                let acc = Sim::acc("acc0", memory, heap.parse().unwrap()).unwrap();
                let rt = Runtime::builder().cpus(0).device(acc).memory_mode(mode).build().unwrap();
                assert_eq!(chain(&rt, 60), right, "{heap}, {mode}, {memory} bytes");
                assert_eq!(chain(&rt.blocking(), 60), right, "{heap}, {mode}, {memory} bytes, blocking");
                assert!(rt.counters().evictions > 0, "{heap}, {mode}: it was tight");
                assert_eq!(rt.usage(rt.pes()[0].resource()).unwrap().blocks, 0);
            }
        }
    }
}

#[test]
fn operands_of_unequal_size_find_room_again_and_again_at_a_tenth_more_than_the_largest_call() {
    for heap in HEAPS {
        for mode in MODES {
            // The largest call has 2 x 3,072 bytes; small ones leave holes between.
            let acc = Sim::acc("acc0", 6656, heap.parse().unwrap()).unwrap();
            let rt = Runtime::builder().cpus(0).device(acc).memory_mode(mode).build().unwrap();
            let lens = [768, 768, 200, 90, 310, 33];
            let mut data: Vec<HeteData<f32>> = lens.iter().map(|len| rt.alloc(*len).unwrap()).collect();
            for (i, x) in data.iter_mut().enumerate() {
                x.overwrite().unwrap().fill(i as f32).unwrap();
            }
            for round in 0..40 {
                let small = 2 + round * 7 % 4;
                rt.scale_in_place(-1.0, &mut data[small]).unwrap();
                rt.scale_in_place(-1.0, &mut data[2 + round * 5 % 4]).unwrap();
                let mut factor = rt.alloc::<f32>(1).unwrap();
                rt.fill(2.0, &mut factor).unwrap();
                let (x, y) = data.split_at_mut(1);
                rt.zip(ZipOp::Mul, &x[0], &factor, &mut y[0]).unwrap();
                rt.scale_in_place(0.5, &mut y[0]).unwrap();
                rt.zip(ZipOp::Add, &y[0], &factor, &mut x[0]).unwrap();
            }
            rt.finish().unwrap();
            for (x, want) in data.iter().zip([80.0, 78.0]) {
                assert_eq!(x.read().unwrap()[..], [want; 768], "{heap}, {mode}");
            }
            for (i, x) in data.iter().enumerate().skip(2) {
                let flips: usize =
                    (0..40).map(|r| usize::from(2 + r * 7 % 4 == i) + usize::from(2 + r * 5 % 4 == i)).sum();
                let want = if flips.is_multiple_of(2) { i as f32 } else { -(i as f32) };
                assert!(x.read().unwrap().iter().all(|v| *v == want), "{heap}, {mode}, datum {i}");
            }
        }
    }
}

#[test]
fn what_is_written_back_late_does_not_overwrite_what_was_written_since() {
    // acc0 has room for one datum; what it writes back takes until the gate opens.
    let (gate, late) = (Gate::default(), Gate::default());
    let (wait, before) = (gate.clone(), late.clone());
    let tight = Hooked::new(Sim::acc("acc0", 256, Default::default()).unwrap(), false, move |operation| {
        if operation == Operation::Download {
            before.open();
            wait.pass();
        }
    });
    let other = Sim::acc("acc1", 1 << 16, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(0).device(tight).device(other).build().unwrap();
    let refuse = UserOp::builder("refuse").output::<f32>().on_sim(|_| Err("no".into())).build().unwrap().call();
    let (acc0, acc1) = (rt.on("acc0").unwrap(), rt.on("acc1").unwrap());
    let (mut x, mut y) = (rt.alloc::<f32>(64).unwrap(), rt.alloc::<f32>(64).unwrap());
    acc0.blocking().fill(1.0, &mut x).unwrap();
    let evicts = acc0.fill(2.0, &mut y).unwrap();
    late.pass();
    // x is on its way to the host when a call that was to write it fails, so that nobody has it any more.
    acc1.blocking().call(&refuse, &mut [arg_mut(&mut x)]).unwrap_err();
    assert!(x.valid().is_empty());
    let writer = std::thread::spawn(move || {
        x.overwrite().unwrap().fill(3.0).unwrap();
        x
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    gate.open();
    let x = writer.join().unwrap();
    rt.wait(evicts).unwrap();
    assert_eq!(x.read().unwrap()[..], [3.0; 64]);
    assert_eq!(y.read().unwrap()[..], [2.0; 64]);
}
