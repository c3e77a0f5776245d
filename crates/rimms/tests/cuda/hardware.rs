//! What `scripts/gpu-check` runs on a GPU, with whatever driver there is.

use crate::programs::ramp;
use rimms::device::cuda::{self, Memory};
use rimms::device::sim::HeapKind;
use rimms::device::{Device, conformance};
use rimms::{Complex32, MemoryMode, Runtime, arg, arg_mut};

fn devices(memory: Memory) -> Vec<cuda::Cuda> {
    let found = cuda::find_with(memory);
    assert!(!found.devices.is_empty(), "{:?}", found.missing);
    found.devices
}

#[test]
#[ignore = "run by scripts/gpu-check"]
fn memory_and_copies() {
    let slab = Memory::Slab { bytes: 64 << 20, heap: HeapKind::TwoLevel };
    for memory in [Memory::Driver, slab, Memory::Mapped] {
        for device in devices(memory) {
            println!("{memory:?}: {}", device.info().description);
            conformance::memory(&device);
            conformance::transfers(&device);
            conformance::exhaustion(&device);
            conformance::threads(&device);
            conformance::order(&device);
        }
    }
}

#[test]
#[ignore = "run by scripts/gpu-check"]
fn every_op() {
    for device in devices(Memory::Driver) {
        let report = conformance::ops(&device);
        println!("{}: {report}", device.info().name);
        assert!(report.untested.is_empty());
    }
}

/// Long transforms, of lengths with large prime factors too, there and back.
#[test]
#[ignore = "run by scripts/gpu-check"]
fn long_transforms() {
    let device = devices(Memory::Driver).remove(0);
    let rt = Runtime::builder().cpus(0).device(device).build().unwrap();
    for n in [4096, 4099, 65_537, 1 << 20, (1 << 19) + 21] {
        let wave = |i: usize| Complex32::cis(0.1 * i as f32) * (1.0 + (i % 7) as f32);
        let (mut x, mut y) = (rt.alloc::<Complex32>(n).unwrap(), rt.alloc::<Complex32>(n).unwrap());
        x.overwrite().unwrap().write_with(wave).unwrap();
        rt.fft(&x, &mut y).unwrap();
        rt.ifft_in_place(&mut y).unwrap();
        let worst = y.read().unwrap().iter().enumerate().map(|(i, y)| (y - wave(i)).norm()).fold(0.0, f32::max);
        println!("{n} points: off by {worst:.1e}");
        assert!(worst < 1e-4, "{n} points: off by {worst}");
    }
}

#[test]
#[ignore = "run by scripts/gpu-check"]
fn ops_of_the_users_own_and_host_memory() {
    for (memory, mode) in [(Memory::Driver, MemoryMode::ValidSet), (Memory::Mapped, MemoryMode::ZeroCopy)] {
        let device = devices(memory).remove(0);
        let rt = Runtime::builder().cpus(1).device(device).memory_mode(mode).build().unwrap();
        let (gpu, op) = (rt.on("cuda0").unwrap(), ramp());
        let (mut x, mut y) = (rt.alloc::<f32>(10_000).unwrap(), rt.alloc::<f32>(10_000).unwrap());
        x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        gpu.call(&op.with(0.5_f32), &mut [arg(&x), arg_mut(&mut y)]).unwrap();
        for (i, found) in y.read().unwrap().iter().enumerate() {
            assert_eq!(*found, 1.5 * i as f32, "element {i} in {mode}");
        }
        let copies = rt.counters().copies();
        assert_eq!(copies, if mode == MemoryMode::ZeroCopy { 0 } else { 2 }, "{mode}");
    }
}
