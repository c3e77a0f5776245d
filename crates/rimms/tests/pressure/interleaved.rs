//! Two that do something at the same time, one of them stopped on its way.

use super::devices::Told;
use rimms::device::Operation;
use rimms::device::sim::Sim;
use rimms::op::{Call, UserOp};
use rimms::{ResourceId, Runtime, arg, arg_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const N: usize = 64;
const BYTES: u64 = N as u64 * 4;

fn told(name: &str, blocks: u64) -> Arc<Told> {
    Arc::new(Told::new(Sim::acc(name, blocks * BYTES, Default::default()).unwrap()))
}

fn acc(i: usize) -> ResourceId {
    ResourceId::new(i + 1).unwrap()
}

/// An op on the CPU that writes nines, says that it has, and waits until it is told to end. It reads its operand, or not.
fn nines(reads: bool) -> (Call, Receiver<()>, Sender<()>) {
    let ((says, said), (tell, told)) = (channel(), channel());
    let ends = (Mutex::new(says), Mutex::new(told));
    let op = UserOp::builder("nines");
    let op = if reads { op.inout::<f32>() } else { op.output::<f32>() };
    let op = op.on_cpu(move |k| {
        k.output::<f32>(0)?.fill(9.0);
        ends.0.lock().unwrap().send(()).unwrap();
        ends.1.lock().unwrap().recv_timeout(Duration::from_secs(20)).map_err(|e| e.to_string().into())
    });
    (op.build().unwrap().call(), said, tell)
}

/// What the CPU writes while the device gives up what it had of the same bytes.
fn written_on_the_cpu_while_evicted(reads: bool, host_has_it: bool) -> Vec<f32> {
    let device = told("acc0", 1);
    let rt = Runtime::builder().cpus(1).shared_device(device).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    rt.on("acc0").unwrap().fill(1.0, &mut x).unwrap();
    if host_has_it {
        x.read().unwrap();
    }
    let (call, said, tell) = nines(reads);
    std::thread::scope(|s| {
        let (rt, x, y) = (&rt, &mut x, &mut y);
        s.spawn(move || rt.on("cpu0").unwrap().call(&call, &mut [arg_mut(x)]).unwrap());
        said.recv().unwrap();
        let other = s.spawn(move || rt.on("acc0").unwrap().fill(5.0, y).unwrap());
        // It may wait for the CPU's call to end, or find a way.
        std::thread::sleep(Duration::from_millis(30));
        tell.send(()).unwrap();
        other.join().unwrap();
    });
    assert_eq!(y.read().unwrap()[..], [5.0; N]);
    x.read().unwrap().to_vec()
}

#[test]
fn a_block_is_not_written_back_over_what_the_cpu_is_writing() {
    for reads in [false, true] {
        for host_has_it in [false, true] {
            let found = written_on_the_cpu_while_evicted(reads, host_has_it);
            assert_eq!(found, [9.0; N], "reads: {reads}, on the host before: {host_has_it}");
        }
    }
}

#[test]
fn a_host_that_overwrites_waits_for_the_copy_that_goes_there() {
    let device = told("acc0", 1);
    let rt = Runtime::builder().cpus(0).shared_device(device.clone()).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    rt.fill(1.0, &mut x).unwrap();
    device.stop_at(Operation::Download);
    std::thread::scope(|s| {
        let (rt, x, y) = (&rt, &mut x, &mut y);
        s.spawn(move || rt.fill(5.0, y).unwrap());
        device.stopped();
        let writer = s.spawn(move || x.overwrite().unwrap().fill(9.0).unwrap());
        std::thread::sleep(Duration::from_millis(30));
        assert!(!writer.is_finished(), "both write the same bytes");
        device.go_on();
    });
    assert_eq!((x.read().unwrap()[..].to_vec(), y.read().unwrap()[..].to_vec()), (vec![9.0; N], vec![5.0; N]));
}

#[test]
fn what_became_the_last_copy_while_its_block_was_written_back_stays() {
    let device = told("acc0", 2);
    let other = Sim::acc("other0", 1 << 12, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(0).shared_device(device.clone()).device(other).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(2 * N).unwrap(), rt.alloc::<f32>(2 * N).unwrap());
    x.fragment(2).unwrap();
    let on = ["acc0", "other0"].map(|pe| rt.on(pe).unwrap());
    on[0].fill(1.0, &mut x).unwrap();
    let mut copy = rt.alloc::<f32>(N).unwrap();
    on[1].copy(&x[1], &mut copy).unwrap();
    assert_eq!(x[1].valid().iter().collect::<Vec<_>>(), [acc(0), acc(1)]);
    let fails = UserOp::builder("fails").inout::<f32>().on_sim(|_| Err("half way".into())).build().unwrap().call();
    device.stop_at(Operation::Download);
    std::thread::scope(|s| {
        let y = &mut y;
        let evictor = s.spawn(|| on[0].fill(5.0, y).map(drop));
        device.stopped();
        // What `other0` has of it is spoilt now; what is on its way out is all there is.
        on[1].call(&fails, &mut [arg_mut(&mut x[1])]).unwrap_err();
        device.go_on();
        evictor.join().unwrap().unwrap();
    });
    assert_eq!(x.read().unwrap()[..], [1.0; 2 * N]);
    assert_eq!(y.read().unwrap()[..], [5.0; 2 * N]);
}

/// A call that reads a fragment is stopped before that is copied to its place; meanwhile another reads the whole, in a
/// block that takes the fragment's over, and `then` something else happens.
fn taken_over(then: impl FnOnce(&Runtime)) -> Runtime {
    let device = told("acc0", 12);
    let rt = Runtime::builder().cpus(0).shared_device(device.clone()).build().unwrap().blocking();
    let mut hog = rt.alloc::<f32>(9 * N).unwrap();
    rt.fill(0.0, &mut hog).unwrap();
    let on_host = |len: usize| {
        let mut x = rt.alloc::<f32>(len).unwrap();
        x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        x
    };
    let (mut x, z) = (on_host(4 * N), on_host(N));
    x.fragment(4).unwrap();
    let sum = |name| {
        let op = UserOp::builder(name).input::<f32>().input::<f32>().output::<f32>().on_sim(|k| {
            let last = k.input::<f32>(0)?.iter().chain(k.input::<f32>(1)?).sum();
            k.output::<f32>(2)?.fill(last);
            Ok(())
        });
        op.build().unwrap().call()
    };
    let (mut first, mut second) = (rt.alloc::<f32>(1).unwrap(), rt.alloc::<f32>(1).unwrap());
    // The first call has room for all its operands: for the fragment alone, beside the hog. It stops at the copy of z.
    device.stop_at(Operation::Upload);
    std::thread::scope(|s| {
        let (rt, x, z, first) = (&rt, &x, &z, &mut first);
        let call = sum("part");
        let reader = s.spawn(move || rt.call(&call, &mut [arg(z), arg(&x[0]), arg_mut(first)]).map(drop));
        device.stopped();
        // Now all of x has room, and takes the fragment's block over.
        drop(hog);
        rt.call(&sum("whole"), &mut [arg(x), arg(x), arg_mut(&mut second)]).unwrap();
        assert!(x.is_valid_on(acc(0)));
        then(rt);
        device.go_on();
        reader.join().unwrap().unwrap();
    });
    let up_to = |n: usize| (n * (n - 1) / 2) as f32;
    assert_eq!(second.read().unwrap()[0], 2.0 * up_to(4 * N));
    assert_eq!(first.read().unwrap()[0], 2.0 * up_to(N));
    rt
}

#[test]
fn a_reader_whose_place_was_taken_over_by_a_larger_block_reads_from_there() {
    assert_eq!(taken_over(|_| {}).counters().evictions, 0);
}

#[test]
fn a_reader_whose_place_went_with_a_larger_block_finds_another() {
    let rt = taken_over(|rt| {
        let mut other = rt.alloc::<f32>(8 * N).unwrap();
        rt.fill(0.0, &mut other).unwrap();
    });
    assert!(rt.counters().evictions > 0, "the larger block has stayed");
}
