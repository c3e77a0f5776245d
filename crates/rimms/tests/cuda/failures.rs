//! What goes wrong on CUDA devices, and what is left when it has.
#![allow(unsafe_code)]

use crate::programs::runtime;
use crate::suite::devices;
use fakecuda::Control;
use rimms::device::cuda::{self, Memory};
use rimms::device::sim::HeapKind;
use rimms::op::{CuLaunch, UserOp};
use rimms::{Complex32, Error, Runtime, RuntimeBuilder, ZipOp, arg_mut, sched};
use std::time::{Duration, Instant};

fn in_place(source: &str, launch: fn(usize) -> CuLaunch) -> UserOp {
    // SAFETY: none of these kernels compiles, or is launched.
    let op = unsafe { UserOp::builder("mine").inout::<f32>().on_cuda(source, "mine", move |c| Ok(launch(c.len(0)))) };
    let op = op.on_cpu(|k| {
        k.output::<f32>(0)?.fill(7.0);
        Ok(())
    });
    op.build().unwrap()
}

#[test]
#[ignore = "run by main"]
fn what_the_compiler_says_is_shown_and_the_data_are_as_they_were() {
    let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap().blocking();
    let mut x = rt.alloc::<f32>(16).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    type Launch = fn(usize) -> CuLaunch;
    let over: Launch = |n| CuLaunch::over([n]);
    let empty = "extern \"C\" __global__ void mine(float *x) { }";
    let cases: [(&str, Launch, &[&str]); 5] = [
        (
            "extern \"C\" __global__ void mine(float *x) {\n    x[0] = 1.0f;\n    y[0] = 2.0f;\n}",
            over,
            &["does not compile", "mine.cu:3", "y"],
        ),
        ("extern \"C\" __global__ void yours(float *x) { }", over, &["no kernel named `mine`"]),
        (empty, |n| CuLaunch::over([n]).blocks_of([2000]), &["cannot run in such blocks", "2000"]),
        (empty, |n| CuLaunch::over([n]).blocks_of([4, 4]), &["no way to divide"]),
        (empty, |n| CuLaunch::over([n, 0]), &["no way to divide"]),
    ];
    for (source, launch, wanted) in cases {
        let error = rt.call(&in_place(source, launch).call(), &mut [arg_mut(&mut x)]).unwrap_err().to_string();
        assert!(error.contains("cuda0") && wanted.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(x.read().unwrap()[..], [1.0; 16], "{error}");
    }
    rt.scale_in_place(2.0, &mut x).unwrap();
    assert_eq!(x.read().unwrap()[..], [2.0; 16]);
}

#[test]
#[ignore = "run by main"]
fn what_can_never_fit_is_refused() {
    let rt = runtime(devices(Memory::Slab { bytes: 64 << 10, heap: HeapKind::TwoLevel })).on("cuda0").unwrap();
    let mut x = rt.alloc::<f32>(1 << 16).unwrap();
    let error = rt.fill(1.0, &mut x).unwrap_err();
    assert!(matches!(error, Error::NeverFits { .. }), "{error}");
}

/// Room for what one call needs, of the driver's memory: what is full is told as that, and others make room.
#[test]
#[ignore = "run by main"]
fn what_is_full_makes_room() {
    let rt = runtime(devices(Memory::Driver)).on("cuda0").unwrap();
    // Three go into the 1 MiB that there is.
    let mut all: Vec<_> = (0..6).map(|_| rt.alloc::<f32>(80_000).unwrap()).collect();
    for (i, x) in all.iter_mut().enumerate() {
        rt.fill(i as f32, x).unwrap();
    }
    for (i, x) in all.iter().enumerate() {
        assert_eq!(x.read().unwrap()[79_999], i as f32);
    }
    assert!(rt.counters().evictions > 0);
}

/// Calls that give something back: if one fails, that is not given back.
fn gives_back(call: &str) -> bool {
    let context = ["cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"];
    ["Destroy", "Free", "Unload", "Release"].iter().any(|part| call.contains(part)) || context.contains(&call)
}

/// Every call of the driver and of the libraries fails once: refused, out of memory, with the whole context. The answer is
/// right, from elsewhere if need be, or there is one clear error; inputs are as they were, nothing is left behind, and the
/// runtime goes on.
#[test]
#[ignore = "run by main"]
fn whatever_call_fails_the_answer_is_right_or_an_error() {
    let control = Control::load().unwrap();
    let (mut right, mut told) = (0, 0);
    let mut run = |plan: Option<(u64, u32)>| {
        control.reset();
        let before = control.total();
        if let Some((nth, code)) = plan {
            control.fail("", nth, code);
        }
        // What is told when it is put together is what cannot be used.
        let found = cuda::find();
        let at_first = control.failed();
        assert!(at_first.is_empty() || found.devices.len() == 2 || !found.missing.is_empty(), "{at_first}");
        let builder = Runtime::builder().cpus(1).policy(sched::by_name("round-robin").unwrap());
        let rt = found.devices.into_iter().fold(builder, RuntimeBuilder::device).build().unwrap();
        let (mut x, mut y) = (rt.alloc::<Complex32>(256).unwrap(), rt.alloc::<Complex32>(256).unwrap());
        let mut sum = rt.alloc::<Complex32>(256).unwrap();
        x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        for _ in 0..2 {
            // Each of the three PEs has a turn at each.
            for _ in 0..3 {
                let _ = rt.fft(&x, &mut y);
            }
            let _ = rt.zip(ZipOp::Add, &y, &x, &mut sum);
        }
        let how = || format!("{plan:?}, {}", control.failed());
        match sum.read() {
            Ok(sum) => {
                assert_eq!((sum[0], sum[1]), (Complex32::new(257.0, 0.0), Complex32::ONE), "{}", how());
                right += 1;
            }
            // The result was there alone, and did not come back; or it was never made.
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("cuda0") || text.contains("cuda1"), "{}: {text}", how());
                told += 1;
            }
        }
        assert_eq!(x.read().unwrap()[..], [Complex32::ONE; 256], "{}", how());
        let _ = rt.finish();
        rt.on("cpu0").unwrap().blocking().fft(&x, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[0], Complex32::new(256.0, 0.0), "{}", how());
        drop((x, y, sum, rt));
        // A worker may be the last to let go.
        let start = Instant::now();
        while control.live() > 0 && !gives_back(&control.failed()) && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(control.live() == 0 || gives_back(&control.failed()), "{}: left are {}", how(), control.left());
        let calls = control.total() - before;
        control.fail("", 0, 0);
        calls
    };
    let calls = run(None);
    assert!(calls > 100, "{calls} calls");
    const REFUSED: u32 = 1;
    const OUT_OF_MEMORY: u32 = 2;
    const LAUNCH_FAILED: u32 = 719;
    for code in [REFUSED, OUT_OF_MEMORY, LAUNCH_FAILED] {
        for nth in 0..calls {
            run(Some((nth, code)));
        }
    }
    println!("{calls} calls: {right} right answers, {told} errors");
    assert!(right > told && told > 0);
}

/// A kernel breaks the context when its turn has come: nobody can say what the device holds, and all else lives on.
#[test]
#[ignore = "run by main"]
fn a_device_that_is_lost_takes_with_it_what_it_alone_held() {
    let control = Control::load().unwrap();
    let rt = runtime(devices(Memory::Driver));
    let (mut x, mut y) = (rt.alloc::<f32>(64).unwrap(), rt.alloc::<f32>(64).unwrap());
    x.overwrite().unwrap().fill(1.0).unwrap();
    rt.on("cuda0").unwrap().blocking().scale(2.0, &x, &mut y).unwrap();
    control.fail("cuStreamSynchronize", 0, 700);
    assert!(rt.finish().is_err() || rt.on("cuda0").unwrap().blocking().scale_in_place(2.0, &mut y).is_err());
    let error = y.read().unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }) || error.to_string().contains("cuda0"), "{error}");
    rt.scale(3.0, &x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[..], [3.0; 64]);
    let error = rt.on("cuda0").unwrap().fill(1.0, &mut y).and_then(|event| rt.wait(event)).unwrap_err();
    assert!(error.to_string().contains("cuda0") || error.to_string().contains("no device"), "{error}");
}
