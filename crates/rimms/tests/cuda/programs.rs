//! Programs on CUDA devices: copies between them, host memory, ops of the user's own.
#![allow(unsafe_code)]

use crate::suite::devices;
use fakecuda::{Control, Direction};
use rimms::device::cuda::{Cuda, Memory};
use rimms::device::{Device, sim::HeapKind};
use rimms::op::{CuLaunch, CuSource, UserOp};
use rimms::{Complex32, MemoryMode, Runtime, RuntimeBuilder, arg, arg_mut};

pub(crate) fn runtime(devices: Vec<Cuda>) -> Runtime {
    devices.into_iter().fold(Runtime::builder().cpus(1), RuntimeBuilder::device).build().unwrap()
}

fn wave(i: usize) -> Complex32 {
    Complex32::cis(0.1 * i as f32)
}

#[test]
#[ignore = "run by main"]
fn devices_copy_directly() {
    let control = Control::load().unwrap();
    for memory in [Memory::Driver, Memory::Slab { bytes: 1 << 20, heap: HeapKind::NextFit }] {
        let rt = runtime(devices(memory));
        let mut x = rt.alloc::<Complex32>(2048).unwrap();
        for _ in 0..50 {
            x.overwrite().unwrap().write_with(wave).unwrap();
            let (before, peer) = (rt.counters().copies(), control.bytes(Direction::Peer));
            rt.on("cuda0").unwrap().fft_in_place(&mut x).unwrap();
            rt.on("cuda1").unwrap().ifft_in_place(&mut x).unwrap();
            // The peer goes on at once, with the same bytes.
            rt.on("cuda0").unwrap().fill(Complex32::ONE, &mut rt.alloc(2048).unwrap()).unwrap();
            assert!((x.read().unwrap()[1000] - wave(1000)).norm() < 1e-3);
            assert_eq!(rt.counters().copies() - before, 3, "in, across, out");
            assert_eq!(control.bytes(Direction::Peer) - peer, 2048 * 8);
        }
    }
    assert_eq!(control.live(), 0, "something was not given back");
}

/// One column of a picture, from device to device: rows with gaps on both.
#[test]
#[ignore = "run by main"]
fn tiles_are_copied_between_devices() {
    let control = Control::load().unwrap();
    let rt = runtime(devices(Memory::Driver));
    let (mut x, mut y) = (rt.alloc::<f32>(64 * 48).unwrap(), rt.alloc::<f32>(16 * 64).unwrap());
    let peer = control.bytes(Direction::Peer);
    x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
    rt.on("cuda0").unwrap().scale_in_place(2.0, &mut x).unwrap();
    x.tile(48, 64, 16).unwrap();
    rt.on("cuda1").unwrap().copy(&x[1], &mut y).unwrap();
    for (i, found) in y.read().unwrap().iter().enumerate() {
        assert_eq!(*found, 2.0 * (i / 16 * 48 + 16 + i % 16) as f32, "element {i}");
    }
    assert_eq!(control.bytes(Direction::Peer) - peer, 4 * 64 * 16);
}

#[test]
#[ignore = "run by main"]
fn what_goes_in_and_out_is_counted_by_the_driver_too() {
    let control = Control::load().unwrap();
    let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap();
    // More than all slots of the staging hold.
    let n = 1 << 20;
    let mut x = rt.alloc::<f32>(n).unwrap();
    x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
    let before = [Direction::ToDevice, Direction::ToHost].map(|direction| control.bytes(direction));
    rt.scale_in_place(0.5, &mut x).unwrap();
    for (i, found) in x.read().unwrap().iter().enumerate() {
        assert_eq!(*found, 0.5 * i as f32);
    }
    let after = [Direction::ToDevice, Direction::ToHost].map(|direction| control.bytes(direction));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [4 * n as u64; 2]);
}

#[test]
#[ignore = "run by main"]
fn nothing_is_copied_in_host_memory() {
    let control = Control::load().unwrap();
    let device = devices(Memory::Mapped).remove(0);
    assert!(device.info().shares_host_memory);
    let builder = Runtime::builder().cpus(1).memory_mode(MemoryMode::ZeroCopy);
    let rt = builder.device(device).build().unwrap();
    let mut x = rt.alloc::<Complex32>(64 * 256).unwrap();
    let mut y = rt.alloc::<Complex32>(64 * 256).unwrap();
    x.overwrite().unwrap().write_with(wave).unwrap();
    x.fragment(64).unwrap();
    y.fragment(64).unwrap();
    let bytes = || [Direction::ToDevice, Direction::ToHost].map(|direction| control.bytes(direction));
    let before = bytes();
    for i in 0..64 {
        rt.on("cuda0").unwrap().fft(&x[i], &mut y[i]).unwrap();
        rt.on(if i % 2 == 0 { "cpu0" } else { "cuda0" }).unwrap().ifft_in_place(&mut y[i]).unwrap();
    }
    for (i, back) in y.read().unwrap().iter().enumerate() {
        assert!((back - wave(i)).norm() < 1e-3, "element {i}");
    }
    assert_eq!((rt.counters().copies(), rt.counters().bytes(), bytes()), (0, 0, before));
}

#[test]
#[ignore = "run by main"]
fn more_data_than_memory_passes_through() {
    let rt = runtime(devices(Memory::Slab { bytes: 64 << 10, heap: HeapKind::TwoLevel })).on("cuda0").unwrap();
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
pub(crate) fn ramp() -> UserOp {
    const SOURCE: &str = r#"
        extern "C" __global__ void ramp(const float *x, float *y, unsigned n, float factor) {
            extern __shared__ float shared[];
            unsigned i = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x;
            shared[me] = factor * i;
            __syncthreads();
            // What its neighbour put there, and back.
            float other = shared[me ^ 1] - factor * ((int)(i ^ 1) - (int)i);
            if (i < n) y[i] = x[i] + other;
        }"#;
    let op = UserOp::builder("ramp").input::<f32>().output::<f32>();
    let op = op.shape(|len| if len[0] == len[1] { Ok(()) } else { Err("both are of one length".into()) });
    // SAFETY: a thread for each element of both; the others touch none.
    let op = unsafe {
        op.on_cuda(SOURCE, "ramp", |c| {
            let launch = CuLaunch::over([c.len(0)]).blocks_of([32]).shared_memory(32 * 4);
            Ok(launch.value(c.len(0) as u32).value(*c.params::<f32>()?))
        })
    };
    op.build().unwrap()
}

#[test]
#[ignore = "run by main"]
fn ops_of_the_users_own_take_fragments_at_any_place() {
    let (rt, ramp) = (runtime(devices(Memory::Driver)).on("cuda0").unwrap(), ramp());
    let (mut x, mut y) = (rt.alloc::<f32>(24 * 35).unwrap(), rt.alloc::<f32>(24 * 35).unwrap());
    x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
    rt.fill(-1.0, &mut y).unwrap();
    x.fragment(24).unwrap();
    y.fragment(24).unwrap();
    for i in (0..24).step_by(2) {
        rt.call(&ramp.with(0.5_f32), &mut [arg(&x[i]), arg_mut(&mut y[i])]).unwrap();
    }
    y.join().unwrap();
    for (i, found) in y.read().unwrap().iter().enumerate() {
        let wanted = if i / 35 % 2 == 0 { i as f32 + 0.5 * (i % 35) as f32 } else { -1.0 };
        assert_eq!(*found, wanted, "element {i}");
    }
}

/// PTX of another compiler's: the driver in software loads it, and runs nothing.
#[test]
#[ignore = "run by main"]
fn ops_of_the_users_own_come_as_ptx() {
    const PTX: &str =
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry nothing(.param .u64 x)\n{ ret; }\n";
    let control = Control::load().unwrap();
    let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap().blocking();
    let op = |name| {
        let op = UserOp::builder("nothing").inout::<f32>();
        // SAFETY: it does nothing.
        unsafe { op.on_cuda(CuSource::Ptx(PTX), name, |c| Ok(CuLaunch::over([c.len(0)]))) }.build().unwrap()
    };
    let mut x = rt.alloc::<f32>(16).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    let compiled = control.calls("nvrtcCompileProgram");
    rt.call(&op("nothing").call(), &mut [arg_mut(&mut x)]).unwrap();
    assert_eq!((x.read().unwrap()[15], control.calls("nvrtcCompileProgram")), (1.0, compiled));
    let error = rt.call(&op("something").call(), &mut [arg_mut(&mut x)]).unwrap_err().to_string();
    assert!(error.contains("no kernel named `something`"), "{error}");
}
