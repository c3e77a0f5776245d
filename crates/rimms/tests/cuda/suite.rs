//! What every device has to pass.

use rimms::Runtime;
use rimms::device::cuda::{self, Cuda, Memory};
use rimms::device::sim::HeapKind;
use rimms::device::{Device, conformance};

const SLAB: Memory = Memory::Slab { bytes: 1 << 20, heap: HeapKind::TwoLevel };

pub(crate) fn devices(memory: Memory) -> Vec<Cuda> {
    let found = cuda::find_with(memory);
    assert!(!found.devices.is_empty(), "{:?}", found.missing);
    found.devices
}

#[test]
#[ignore = "run by main"]
fn conformance() {
    let control = fakecuda::Control::load().unwrap();
    for memory in [Memory::Driver, SLAB, Memory::Mapped] {
        for device in devices(memory) {
            println!("{}", device.info().description);
            conformance::memory(&device);
            conformance::transfers(&device);
            conformance::exhaustion(&device);
            conformance::threads(&device);
        }
        assert_eq!(control.live(), 0, "{memory:?}: something was not given back");
    }
}

#[test]
#[ignore = "run by main"]
fn ops() {
    let control = fakecuda::Control::load().unwrap();
    let start = std::time::Instant::now();
    let report = conformance::ops(&devices(Memory::Driver)[0]);
    println!("{report} in {:?}", start.elapsed());
    assert!(report.untested.is_empty() && report.misplaced == 0);
    for memory in [Memory::Driver, SLAB, Memory::Mapped] {
        conformance::order(&devices(memory)[0]);
    }
    assert!(control.calls("cufftExecC2C") > 0 && control.calls("cublasCgemm_v2") > 0);
    assert_eq!(control.live(), 0, "something was not given back");
}

/// Without cuFFT there are no transforms, without cuBLAS a kernel multiplies.
#[test]
#[ignore = "run by main"]
fn other_ops() {
    let found = cuda::find();
    let has = |what: &str| found.missing.iter().any(|line| line.contains(what));
    assert!(has("makes no Fourier transforms: libcufft.so is not here") && has("with a plain kernel"), "{found:?}");
    let report = conformance::ops(&found.devices[0]);
    println!("{report}");
    assert!(report.untested.is_empty() && report.worst.contains_key("gemm") && !report.worst.contains_key("fft"));
}

#[test]
#[ignore = "run by main"]
fn missing() {
    let found = cuda::find();
    let wanted = std::env::var("EXPECTED").unwrap();
    assert!(found.devices.is_empty() && found.missing.len() == 1, "{found:?}");
    assert!(found.missing[0].starts_with("no CUDA: ") && found.missing[0].contains(&wanted), "{found:?}");
    // A runtime is there all the same.
    Runtime::new().unwrap();
}

#[test]
#[ignore = "run by main"]
fn without_a_compiler() {
    let found = cuda::find();
    assert!(found.missing[0].starts_with("cuda0 can do nothing: libnvrtc.so "), "{found:?}");
    let device = &found.devices[0];
    conformance::memory(device);
    assert_eq!(device.info().units[0].capability.ops(), Some(&[][..]));
    let rt = Runtime::builder().cpus(1).device(devices(Memory::Driver).remove(0)).build().unwrap();
    let mut x = rt.alloc::<f32>(16).unwrap();
    rt.fill(1.0, &mut x).unwrap();
    assert_eq!(x.read().unwrap()[..], [1.0; 16]);
    let error = rt.on("cuda0").unwrap().fill(1.0, &mut x).unwrap_err();
    assert!(error.to_string().contains("cuda0"), "{error}");
}
