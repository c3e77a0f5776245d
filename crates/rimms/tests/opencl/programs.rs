//! Programs on OpenCL devices: copies between them, shared memory, ops of the user's own.
#![allow(unsafe_code)]

use crate::suite::devices;
use rimms::device::opencl::{Memory, OpenCl};
use rimms::device::{Device, sim::HeapKind};
use rimms::op::{ClLaunch, UserOp};
use rimms::{Cause, Complex32, MemoryMode, Runtime, RuntimeBuilder, arg, arg_mut, sched};

pub(crate) fn runtime(devices: Vec<OpenCl>) -> Runtime {
    let builder = Runtime::builder().cpus(1).memory_mode(MemoryMode::ValidSet);
    devices.into_iter().fold(builder, RuntimeBuilder::device).build().unwrap()
}

#[test]
#[ignore = "run once a driver"]
fn devices_of_a_platform_copy_directly_unless_they_have_a_slab() {
    let slab = Memory::Slab { bytes: 1 << 20, heap: HeapKind::NextFit };
    for (memory, copies) in [(Memory::Driver, 3), (slab, 4)] {
        let rt = runtime(devices(memory));
        let mut x = rt.alloc::<Complex32>(2048).unwrap();
        x.overwrite().unwrap().write_with(|i| Complex32::cis(0.1 * i as f32)).unwrap();
        for _ in 0..50 {
            let before = rt.counters().copies();
            rt.on("opencl0").unwrap().fft_in_place(&mut x).unwrap();
            rt.on("opencl1").unwrap().ifft_in_place(&mut x).unwrap();
            assert!((x.read().unwrap()[1000] - Complex32::cis(100.0)).norm() < 1e-3);
            assert_eq!(rt.counters().copies() - before, copies, "in, across, out");
            // Of what is written here again all copies are stale.
            x.overwrite().unwrap().write_with(|i| Complex32::cis(0.1 * i as f32)).unwrap();
        }
    }
}

/// Each device reads what the other writes next, and the other way round, with nobody waiting in between. Kernels are long
/// enough not to be over when the other device is asked.
#[test]
#[ignore = "run once a driver"]
fn devices_that_pass_data_to_and_fro_wait_for_each_other() {
    const N: usize = 1 << 16;
    let devices = devices(Memory::Driver);
    // A policy that measures nothing, and so waits for no launch.
    let builder = Runtime::builder().cpus(0).memory_mode(MemoryMode::ValidSet);
    let builder = builder.policy(sched::by_name("round-robin").unwrap());
    let rt = devices.into_iter().fold(builder, RuntimeBuilder::device).build().unwrap();
    let on = [rt.on("opencl0").unwrap(), rt.on("opencl1").unwrap()];
    let mut data = [rt.alloc::<Complex32>(N).unwrap(), rt.alloc::<Complex32>(N).unwrap()];
    rt.fill(Complex32::ONE, &mut data[0]).unwrap();
    for round in 0..60 {
        let [x, y] = &mut data;
        // Reads what the other device has just written, and then writes what it is still reading.
        on[round % 2].scale(Complex32::ONE * 2.0, &*x, y).unwrap();
        on[round % 2].fft_in_place(y).unwrap();
        on[(round + 1) % 2].ifft_in_place(y).unwrap();
        on[round % 2].scale(Complex32::ONE * 0.5, &*y, x).unwrap();
    }
    for x in data[0].read().unwrap().iter() {
        assert!((x - Complex32::ONE).norm() < 1e-3, "{x}");
    }
}

#[test]
#[ignore = "run once a driver"]
fn more_data_than_memory_passes_through() {
    let rt = runtime(devices(Memory::Slab { bytes: 64 << 10, heap: HeapKind::TwoLevel })).on("opencl0").unwrap();
    let mut all: Vec<_> = (0..20).map(|_| rt.alloc::<f32>(4096).unwrap()).collect();
    for (i, x) in all.iter_mut().enumerate() {
        rt.fill(i as f32, x).unwrap();
    }
    for x in &mut all {
        rt.scale_in_place(2.0, x).unwrap();
    }
    for (i, x) in all.iter().enumerate() {
        assert_eq!(x.read().unwrap()[..], [2.0 * i as f32; 4096]);
    }
}

/// A kernel that shows where it was given a wrong pointer: it writes all of its operand.
fn ramp() -> UserOp {
    const SOURCE: &str = "
        kernel void ramp(global const float *x, global float *y, local float *shared, float factor) {
            size_t i = get_global_id(0);
            shared[get_local_id(0)] = factor * i;
            barrier(CLK_LOCAL_MEM_FENCE);
            y[i] = x[i] + shared[get_local_id(0)];
        }";
    let op = UserOp::builder("ramp").input::<f32>().output::<f32>();
    let op = op.shape(|len| if len[0] == len[1] { Ok(()) } else { Err("both are of one length".into()) });
    // SAFETY: an item for each element of both.
    let op = unsafe {
        op.on_opencl(SOURCE, "ramp", |c| {
            Ok(ClLaunch::over([c.len(0)]).groups_of([1]).local_memory(4).value(*c.params::<f32>()?))
        })
    };
    op.build().unwrap()
}

#[test]
#[ignore = "run once a driver"]
fn ops_of_the_users_own_take_fragments_at_any_place_and_tiles() {
    let slab = Memory::Slab { bytes: 1 << 20, heap: HeapKind::NextFit };
    let ways =
        [(Memory::Driver, MemoryMode::ValidSet), (Memory::Driver, MemoryMode::ZeroCopy), (slab, MemoryMode::ZeroCopy)];
    for (memory, mode) in ways {
        let builder = Runtime::builder().cpus(0).memory_mode(mode).device(devices(memory).remove(0));
        let (rt, ramp) = (builder.build().unwrap(), ramp());
        let (mut x, mut y) = (rt.alloc::<f32>(24 * 35).unwrap(), rt.alloc::<f32>(24 * 35).unwrap());
        // 35 floats are no multiple of what any driver asks of a part of a buffer.
        x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        rt.fill(-1.0, &mut y).unwrap();
        x.fragment(24).unwrap();
        y.fragment(24).unwrap();
        for i in (0..24).step_by(2) {
            rt.call(&ramp.with(0.5_f32), &mut [arg(&x[i]), arg_mut(&mut y[i])]).unwrap();
        }
        y.join().unwrap();
        for (i, found) in y.read().unwrap().iter().enumerate() {
            let wanted = if (i / 35) % 2 == 0 { i as f32 + 0.5 * (i % 35) as f32 } else { -1.0 };
            assert_eq!(*found, wanted, "element {i}, {mode}, {memory:?}");
        }
    }
}

#[test]
#[ignore = "run once a driver"]
fn a_chain_is_queued_and_only_its_end_is_waited_for() {
    for device in devices(Memory::Driver) {
        let name = device.info().name.clone();
        let builder = Runtime::builder().cpus(0).memory_mode(MemoryMode::ValidSet).device(device);
        let rt = builder.build().unwrap().on(&name).unwrap();
        let mut x = rt.alloc::<f32>(1 << 16).unwrap();
        x.overwrite().unwrap().fill(1.0).unwrap();
        for _ in 0..300 {
            rt.scale_in_place(1.01, &mut x).unwrap();
        }
        let wanted = 1.01_f64.powi(300);
        assert!((f64::from(x.read().unwrap()[77]) / wanted - 1.0).abs() < 1e-4);
    }
}

/// Workers launch, and several threads read what they have written meanwhile.
#[test]
#[ignore = "run once a driver"]
fn several_threads_use_a_device() {
    let rt = runtime(devices(Memory::Driver)).on("opencl0").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let rt = &rt;
            scope.spawn(move || {
                for round in 0..20 {
                    let value = (thread * 100 + round) as f32;
                    let mut x = rt.alloc::<f32>(64).unwrap();
                    rt.fill(value, &mut x).unwrap();
                    rt.scale_in_place(2.0, &mut x).unwrap();
                    assert_eq!(x.read().unwrap()[..], [2.0 * value; 64]);
                }
            });
        }
    });
}

/// A tile that has a block of its own is gathered in one for all: within one buffer, at another distance from row to row.
#[test]
#[ignore = "run once a driver"]
fn a_tile_with_a_block_of_its_own_is_gathered_in_a_slab() {
    let slab = Memory::Slab { bytes: 24 << 10, heap: HeapKind::NextFit };
    let rt = runtime(vec![devices(slab).remove(0)]).on("opencl0").unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(64 * 64).unwrap(), rt.alloc::<f32>(64 * 64).unwrap());
    x.overwrite().unwrap().fill(1.0).unwrap();
    x.tile(64, 16, 16).unwrap();
    // There is no room for all of x beside y, but in its place, in front of the tile.
    rt.fill(0.0, &mut y).unwrap();
    rt.scale_in_place(4.0, &mut x[1]).unwrap();
    drop(y);
    rt.scale_in_place(1.0, &mut x).unwrap();
    assert_eq!(rt.counters().by_cause(Cause::Gather).copies, 1);
    for (i, found) in x.read().unwrap().iter().enumerate() {
        let is_in_tile = i / 64 < 16 && (16..32).contains(&(i % 64));
        assert_eq!(*found, if is_in_tile { 4.0 } else { 1.0 }, "element {i}");
    }
}
