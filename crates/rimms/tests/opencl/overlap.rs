//! Copies out beside kernels: what a copy out does not have to come after, it does not wait for.
//!
//! A kernel waits for a sign, in vain if that takes too long, and says whether it has seen it. The sign is given when the copy is
//! over; if that waits for the kernel, the kernel has waited in vain. Time is measured nowhere. For devices that work in
//! the host's memory and in threads of their own.
#![allow(unsafe_code)]

use crate::suite::{Small, devices};
use rimms::device::opencl::{Memory, OpenCl};
use rimms::device::{Device, HostTarget, Operand, Rows, Span, sim::HeapKind};
use rimms::op::{Call, ClLaunch, Role, UserOp};
use rimms::{Cause, MemoryMode, Runtime, arg_mut, sched};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Times that the kernel looks: seconds, if it sees nothing.
const PATIENCE: u64 = 20_000_000_000;
/// Floats in a block.
const N: usize = 4096;
const BYTES: usize = 4 * N;

/// Of a slab copies out go by the one queue.
const SLAB: Memory = Memory::Slab { bytes: 4 * BYTES as u64, heap: HeapKind::TwoLevel };

/// Kernels look at it while they run.
struct Sign(AtomicI32);

impl Sign {
    /// Lives for ever, as a kernel may that nobody has waited for.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self(AtomicI32::new(0))))
    }

    fn give(&self) {
        self.0.store(1, Relaxed);
    }

    /// Waits for it, and leaves 1 where it was seen, 0 where it was not.
    fn wait(&'static self) -> Call {
        const SOURCE: &str = "
            kernel void wait(global int *seen, ulong sign, ulong patience) {
                volatile global int *at = (volatile global int *)sign;
                ulong looked = 0;
                while (looked < patience && *at == 0) looked++;
                *seen = looked < patience;
            }";
        let address = self.0.as_ptr().expose_provenance() as u64;
        let op = UserOp::builder("wait").output::<i32>();
        // SAFETY: one item writes one number, and reads the sign, which is the host's memory and lives for ever.
        let op =
            unsafe { op.on_opencl(SOURCE, "wait", move |_| Ok(ClLaunch::over([1]).value(address).value(PATIENCE))) };
        op.build().unwrap().call()
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `y[i] = factor · i`.
fn ramp(factor: f32) -> Call {
    const SOURCE: &str =
        "kernel void ramp(global float *y, float factor) { y[get_global_id(0)] = factor * get_global_id(0); }";
    let op = UserOp::builder("ramp").output::<f32>();
    // SAFETY: an item for each element.
    let op = unsafe { op.on_opencl(SOURCE, "ramp", move |c| Ok(ClLaunch::over([c.len(0)]).value(factor))) };
    op.build().unwrap().call()
}

fn launch(device: &OpenCl, call: &Call, to: Span) {
    device.launch(0, call, &[Operand::on_device(to, Role::Out)]).unwrap();
}

fn download(device: &OpenCl, from: Span) -> Vec<u8> {
    let mut bytes = vec![0; from.rows.bytes()];
    device.download(&from, &mut HostTarget::from_slice(&mut bytes)).unwrap();
    bytes
}

fn ramp_at(factor: f32, i: usize) -> [u8; 4] {
    (factor * i as f32).to_ne_bytes()
}

#[test]
#[ignore = "run once a driver"]
fn a_copy_out_does_not_wait_for_kernels_on_other_blocks() {
    let device = devices(Memory::Driver).remove(0);
    let [early, late] = [0; 2].map(|_| device.allocate(BYTES as u64).unwrap());
    let seen = Span::run(device.allocate(4).unwrap(), 4);
    let sign = Sign::new();
    launch(&device, &ramp(2.0), Span::run(early, BYTES));
    launch(&device, &sign.wait(), seen);
    launch(&device, &ramp(3.0), Span::run(late, BYTES));
    let found = download(&device, Span::run(early, BYTES));
    // Every second of its numbers.
    let rows = Rows { rows: N / 2, row_bytes: 4, pitch: 8 };
    let mut half = vec![0; BYTES];
    let mut target = HostTarget::rows_of(&mut half, rows).unwrap();
    device.download(&Span { address: early, rows }, &mut target).unwrap();
    // As an eviction does.
    device.free(early).unwrap();
    sign.give();
    let last = download(&device, Span::run(late, BYTES));
    assert_eq!(
        download(&device, seen),
        1_i32.to_ne_bytes(),
        "the copy, or giving the block back, waited for the kernel"
    );
    for (i, (early, late)) in found.chunks(4).zip(last.chunks(4)).enumerate() {
        assert_eq!((early, late), (&ramp_at(2.0, i)[..], &ramp_at(3.0, i)[..]), "element {i}");
    }
    for (i, half) in half.chunks(8).enumerate() {
        assert_eq!(half[..4], ramp_at(2.0, 2 * i), "element {}", 2 * i);
    }
}

/// Whatever a kernel does with a block: a copy out of it comes after that.
#[test]
#[ignore = "run once a driver"]
fn a_copy_out_waits_for_kernels_on_its_own_block() {
    for memory in [Memory::Driver, SLAB] {
        let device = devices(memory).remove(0);
        let block = device.allocate(BYTES as u64).unwrap();
        let sign = Sign::new();
        launch(&device, &ramp(2.0), Span::run(block, BYTES));
        // In the same block, behind what is fetched.
        launch(&device, &sign.wait(), Span::run(block + BYTES as u64 - 4, 4));
        let giving = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            sign.give();
        });
        let found = download(&device, Span::run(block, BYTES));
        giving.join().unwrap();
        assert_eq!(found[BYTES - 4..], 1_i32.to_ne_bytes(), "{memory:?}: the copy did not wait for the kernel");
    }
}

/// With this much room.
fn runtime(room: u64) -> Runtime {
    let device = devices(Memory::Driver).remove(0);
    let device = Small { info: device.info().clone(), device, room };
    let builder = Runtime::builder().cpus(0).memory_mode(MemoryMode::ValidSet).device(device);
    // A policy that measures nothing, and so waits for no launch.
    builder.policy(sched::by_name("round-robin").unwrap()).build().unwrap()
}

/// The worker makes room while a kernel runs, and what it writes back comes to lie on the host meanwhile.
#[test]
#[ignore = "run once a driver"]
fn what_is_evicted_is_written_back_beside_a_kernel() {
    let rt = runtime(4 * BYTES as u64);
    let mut data: Vec<_> = (0..5).map(|_| rt.alloc::<f32>(N).unwrap()).collect();
    let mut seen = rt.alloc::<i32>(1).unwrap();
    let sign = Sign::new();
    let factor = |i: usize| (i + 1) as f32;
    // There is room for three blocks beside the small one: the kernel is queued behind two, others come after it.
    for (i, x) in data.iter_mut().enumerate() {
        if i == 2 {
            rt.call(&sign.wait(), &mut [arg_mut(&mut seen)]).unwrap();
        }
        rt.call(&ramp(factor(i)), &mut [arg_mut(x)]).unwrap();
    }
    let written = || rt.counters().by_cause(Cause::Eviction).copies;
    until(|| written() == 2);
    sign.give();
    assert_eq!(seen.read().unwrap()[0], 1, "what was written back waited for the kernel");
    for (i, x) in data.iter().enumerate() {
        assert!(x.read().unwrap().iter().enumerate().all(|(j, x)| *x == factor(i) * j as f32), "datum {i}");
    }
}

/// What a program looks at is there while what it does not look at is still computed. (The first copies of a size are measured, and so
/// wait for all.)
#[test]
#[ignore = "run once a driver"]
fn a_guard_does_not_wait_for_kernels_on_other_data() {
    let rt = runtime(u64::MAX);
    let (mut x, mut seen) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<i32>(1).unwrap());
    let look = |x: &rimms::HeteData<f32>, factor: f32| assert_eq!(x.read().unwrap()[N - 1], factor * (N - 1) as f32);
    for i in 0..17 {
        rt.call(&ramp(i as f32), &mut [arg_mut(&mut x)]).unwrap();
        look(&x, i as f32);
    }
    let sign = Sign::new();
    rt.call(&ramp(0.5), &mut [arg_mut(&mut x)]).unwrap();
    rt.call(&sign.wait(), &mut [arg_mut(&mut seen)]).unwrap();
    // Before that the guard may come first.
    until(|| rt.counters().calls("opencl0") == 19);
    look(&x, 0.5);
    sign.give();
    assert_eq!(seen.read().unwrap()[0], 1, "the guard waited for the kernel");
}
