//! What goes wrong on OpenCL devices, and what is left when it has.
#![allow(unsafe_code)]

use crate::programs::runtime;
use crate::suite::devices;
use rimms::device::Device;
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::opencl::Memory;
use rimms::device::sim::HeapKind;
use rimms::op::{ClLaunch, UserOp};
use rimms::{Complex32, Error, MemoryMode, Runtime, arg_mut, sched};
use std::path::PathBuf;
use std::sync::Arc;

fn in_place(source: &str, launch: fn(usize) -> ClLaunch) -> UserOp {
    // SAFETY: none of these kernels compiles, or is launched, or touches anything.
    let op = unsafe { UserOp::builder("mine").inout::<f32>().on_opencl(source, "mine", move |c| Ok(launch(c.len(0)))) };
    let op = op.on_cpu(|k| {
        k.output::<f32>(0)?.fill(7.0);
        Ok(())
    });
    op.build().unwrap()
}

#[test]
#[ignore = "run once a driver"]
fn what_the_compiler_says_is_shown_and_the_data_are_as_they_were() {
    let rt = runtime(devices(Memory::Driver)).on("opencl0").unwrap().blocking();
    let mut x = rt.alloc::<f32>(16).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    type Launch = fn(usize) -> ClLaunch;
    let over: Launch = |n| ClLaunch::over([n]);
    let cases: [(&str, Launch, &[&str]); 6] = [
        (
            "kernel void mine(global float *x) {\n    x[0] = 1.0f;\n    y[0] = 2.0f;\n}",
            over,
            &["does not compile", "3:5", "y"],
        ),
        ("kernel void yours(global float *x) { }", over, &["no kernel named `mine`"]),
        ("", over, &["no kernel named `mine`"]),
        (
            "kernel void mine(global float *x, local float *y) { }",
            |n| ClLaunch::over([n]).local_memory(1 << 40),
            &["1099511627776 bytes of local memory"],
        ),
        ("kernel void mine(global float *x, float more) { }", over, &["takes other arguments"]),
        ("kernel void mine(global float *x) { }", |n| ClLaunch::over([n]).groups_of([3]), &["do not go into"]),
    ];
    for (source, launch, wanted) in cases {
        let error = rt.call(&in_place(source, launch).call(), &mut [arg_mut(&mut x)]).unwrap_err().to_string();
        assert!(error.contains("opencl0") && wanted.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(x.read().unwrap()[..], [1.0; 16], "{error}");
    }
    rt.scale_in_place(2.0, &mut x).unwrap();
    assert_eq!(x.read().unwrap()[..], [2.0; 16]);
}

#[test]
#[ignore = "run once a driver"]
fn what_can_never_fit_is_refused() {
    let rt = runtime(devices(Memory::Slab { bytes: 64 << 10, heap: HeapKind::TwoLevel })).on("opencl0").unwrap();
    let mut x = rt.alloc::<f32>(1 << 16).unwrap();
    let error = rt.fill(1.0, &mut x).unwrap_err();
    assert!(matches!(error, Error::NeverFits { .. }), "{error}");
}

/// The same where the driver's own memory is too small, seen before anything is asked of it.
#[test]
#[ignore = "run once a driver"]
fn what_no_buffer_can_hold_is_refused_at_submission() {
    let device = devices(Memory::Driver).remove(0);
    let most = device.limits().unwrap();
    assert!(most.block > 0 && most.block <= most.total, "{most:?}");
    let builder = Runtime::builder().cpus(0).device(device).memory_mode(MemoryMode::ValidSet);
    let rt = builder.build().unwrap();
    // Nobody touches the host's.
    let Ok(mut x) = rt.alloc::<u8>(usize::try_from(most.block).unwrap() + 1) else {
        println!("left out: the host has no room for {most:?}");
        return;
    };
    let error = rt.fill(1_u8, &mut x).unwrap_err();
    assert!(matches!(error, Error::NeverFits { .. }) && error.to_string().contains("fill"), "{error}");
}

/// The same in mode `zero-copy`, where nothing has to fit, but the driver has to take it as one piece.
#[test]
#[ignore = "run once a driver"]
fn what_no_buffer_can_reach_is_refused_at_submission() {
    // A slab is lent to nobody, so that data lie in the host's own memory.
    let device = devices(Memory::Slab { bytes: 64 << 10, heap: HeapKind::TwoLevel }).remove(0);
    if !device.info().shares_host_memory {
        return;
    }
    let most = device.limits().unwrap().on_host;
    let rt = Runtime::builder().cpus(0).device(device).memory_mode(MemoryMode::ZeroCopy).build().unwrap();
    let Ok(mut x) = rt.alloc_named::<u8>("echo", usize::try_from(most).unwrap() + 1) else {
        println!("left out: the host has no room for {most}");
        return;
    };
    let error = rt.fill(1_u8, &mut x).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::NeverFits { .. }) && text.contains("fill") && text.contains("echo"), "{text}");
    // Larger than the slab, and no matter.
    let mut fits = rt.alloc::<u8>(1 << 20).unwrap();
    rt.fill(1_u8, &mut fits).unwrap();
    assert!(fits.read().unwrap().iter().all(|x| *x == 1));
}

/// Each operation of a device fails once, or the device goes with it: the answer is right, and comes from elsewhere.
#[test]
#[ignore = "run once a driver"]
fn whatever_fails_is_done_elsewhere() {
    // Gives how many operations there were.
    let run = |plan| {
        let device = Arc::new(Faulty::new(devices(Memory::Driver).remove(0), plan));
        let builder = Runtime::builder().cpus(1).memory_mode(MemoryMode::ValidSet).shared_device(device.clone());
        let rt = builder.policy(sched::by_name("round-robin").unwrap()).build().unwrap();
        let mut x = rt.alloc::<Complex32>(256).unwrap();
        let mut y = rt.alloc::<Complex32>(256).unwrap();
        x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        for _ in 0..4 {
            rt.fft(&x, &mut y).unwrap();
        }
        match y.read() {
            Ok(y) => assert_eq!(y[0], Complex32::new(256.0, 0.0)),
            // The result was there alone, and did not come back.
            Err(error) => assert!(error.to_string().contains("opencl0"), "{error}"),
        }
        assert_eq!(x.read().unwrap()[..], [Complex32::ONE; 256]);
        device.operations()
    };
    let operations = run(Plan::none());
    assert!(operations > 4, "{operations} operations");
    for fault in [Fault::Fail, Fault::CutOff, Fault::Lose] {
        for nth in 0..operations {
            run(Plan::nth(nth, fault));
        }
    }
}

/// Every program kept on disk is damaged: it is built again.
#[test]
#[ignore = "run once a driver"]
fn a_damaged_cache_is_built_anew() {
    let folder = PathBuf::from(std::env::var_os("XDG_CACHE_HOME").unwrap()).join("rimms/opencl");
    let files = || -> Vec<_> { std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let run = || {
        let rt = runtime(devices(Memory::Driver)).on("opencl0").unwrap().blocking();
        let mut x = rt.alloc::<f32>(64).unwrap();
        rt.fill(3.0, &mut x).unwrap();
        assert_eq!(x.read().unwrap()[..], [3.0; 64]);
    };
    run();
    let kept: Vec<_> = files().into_iter().map(|file| (std::fs::read(&file).unwrap(), file)).collect();
    assert!(!kept.is_empty());
    type Damage = fn(&mut Vec<u8>);
    let damages: [Damage; 3] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.iter_mut().rev().take(9).for_each(|b| *b ^= 0x55),
        Vec::clear,
    ];
    for damage in damages {
        let damaged: Vec<_> = kept
            .iter()
            .map(|(bytes, file)| {
                let mut bytes = bytes.clone();
                damage(&mut bytes);
                std::fs::write(file, &bytes).unwrap();
                (bytes, file)
            })
            .collect();
        run();
        let is_new = |(bytes, file): &(Vec<u8>, &PathBuf)| std::fs::read(file).unwrap() != *bytes;
        assert!(damaged.iter().any(is_new), "what was damaged is written anew");
    }
}
