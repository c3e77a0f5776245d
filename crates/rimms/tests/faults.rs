//! What happens when a device fails: nothing stale, nothing lost that was intact, nothing leaked, one clear error.
#![allow(clippy::unwrap_used)]

use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::op::UserOp;
use rimms::{Complex32, Error, MemoryMode, ResourceId, Runtime, arg, arg_mut, sched};
use std::sync::Arc;

const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];
const N: usize = 64;

fn acc(plan: Plan) -> Arc<Faulty> {
    Arc::new(Faulty::new(Sim::acc("acc0", 1 << 20, Default::default()).unwrap(), plan))
}

fn runtime(cpus: usize, device: &Arc<Faulty>, mode: MemoryMode) -> Runtime {
    let policy = sched::by_name("round-robin").unwrap();
    Runtime::builder()
        .cpus(cpus)
        .shared_device(device.clone())
        .memory_mode(mode)
        .policy(policy)
        .build()
        .unwrap()
        .blocking()
}

fn input() -> Vec<Complex32> {
    (0..N).map(|i| Complex32::new(i as f32, -1.0)).collect()
}

/// FFT out of place, then in place, on the accelerator where it works; the result must be right or the error one.
fn program(rt: &Runtime) -> Result<Vec<Complex32>, Error> {
    let mut x = rt.alloc::<Complex32>(N)?;
    let mut y = rt.alloc::<Complex32>(N)?;
    x.overwrite()?.copy_from_slice(&input())?;
    let outcome = (|| {
        rt.fft(&x, &mut y)?;
        rt.ifft_in_place(&mut y)?;
        rt.fft(&x, &mut y)?;
        rt.ifft_in_place(&mut y)?;
        Ok(y.read()?.to_vec())
    })();
    assert_eq!(x.read()?[..], input()[..], "the input is intact");
    outcome
}

fn is_right(found: &[Complex32]) -> bool {
    found.iter().zip(input()).all(|(a, b)| (a - b).norm() < 1e-3)
}

#[test]
fn every_operation_failed_or_cut_off_once_gives_the_right_answer_or_one_clear_error() {
    for mode in MODES {
        for cpus in [0, 1] {
            let clean = acc(Plan::none());
            assert!(is_right(&program(&runtime(cpus, &clean, mode)).unwrap()));
            let operations = clean.operations();
            assert!(operations > 5);
            for n in 0..operations {
                for fault in [Fault::Fail, Fault::CutOff] {
                    let device = acc(Plan::nth(n, fault));
                    let rt = runtime(cpus, &device, mode);
                    match program(&rt) {
                        Ok(found) => assert!(is_right(&found), "{mode}, {cpus} CPUs, {fault:?} of {n}: wrong answer"),
                        Err(e) => {
                            let text = e.to_string();
                            assert!(text.contains("as planned"), "{mode}, {fault:?} of {n}: {text}");
                        }
                    }
                    let usage = rt.usage(ResourceId::new(1).unwrap()).unwrap();
                    assert_eq!(usage.blocks, 0, "{mode}, {cpus} CPUs, {fault:?} of {n}: device memory leaked");
                    // Usable afterwards.
                    assert!(is_right(&program(&rt).unwrap()), "{mode}, {fault:?} of {n}: not usable afterwards");
                }
            }
        }
    }
}

#[test]
fn a_device_that_is_gone_is_replaced_by_the_cpu() {
    let device = acc(Plan::from(0, Fault::Fail));
    let rt = runtime(1, &device, MemoryMode::ValidSet);
    assert!(is_right(&program(&rt).unwrap()));
    assert!(rt.counters().retries > 0);
    assert_eq!(rt.counters().calls("acc0"), 0);
}

#[test]
fn a_failed_output_is_uninitialised_with_its_cause_and_the_input_intact() {
    let device = acc(Plan::nth(3, Fault::CutOff)); // two allocations, the copy in, the launch
    let rt = runtime(0, &device, MemoryMode::ValidSet);
    let (mut x, mut y) = (rt.alloc::<Complex32>(N).unwrap(), rt.alloc_named::<Complex32>("spectrum", N).unwrap());
    x.overwrite().unwrap().copy_from_slice(&input()).unwrap();
    y.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let error = rt.fft(&x, &mut y).unwrap_err();
    assert!(matches!(error, Error::Device { .. }), "{error}");
    assert!(y.valid().is_empty(), "old bytes are never passed off as the result");
    let mut z = rt.alloc::<Complex32>(N).unwrap();
    for error in [y.read().map(drop).unwrap_err(), rt.fft(&y, &mut z).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("`spectrum`") && text.contains("operation 3 was cut off"), "{text}");
    }
    assert_eq!(x.read().unwrap()[..], input()[..]);
    rt.fft(&x, &mut y).unwrap();
    assert!(y.read().is_ok());
}

#[test]
fn a_failed_update_keeps_the_copy_that_the_device_did_not_touch() {
    let device = acc(Plan::nth(2, Fault::CutOff)); // the allocation, the copy in, the launch
    let rt = runtime(0, &device, MemoryMode::ValidSet);
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    x.overwrite().unwrap().copy_from_slice(&input()).unwrap();
    assert!(rt.fft_in_place(&mut x).is_err());
    assert_eq!(x.valid().iter().collect::<Vec<_>>(), [ResourceId::HOST]);
    assert_eq!(x.read().unwrap()[..], input()[..], "half a result is not shown");
    rt.fft_in_place(&mut x).unwrap();
    rt.ifft_in_place(&mut x).unwrap();
    assert!(is_right(&x.read().unwrap()));
}

#[test]
fn a_failed_update_of_the_only_copy_leaves_nothing() {
    let device = acc(Plan::nth(3, Fault::CutOff)); // allocation, copy in, first launch, second launch
    let rt = runtime(1, &device, MemoryMode::ValidSet);
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    x.overwrite().unwrap().copy_from_slice(&input()).unwrap();
    let on = rt.on("acc0").unwrap();
    on.fft_in_place(&mut x).unwrap();
    let error = rt.on("acc0,cpu0").unwrap().on("acc0").unwrap().fft_in_place(&mut x).unwrap_err();
    assert!(error.to_string().contains("operation 3"), "{error}");
    assert!(matches!(x.read().unwrap_err(), Error::Uninitialised { cause: Some(_), .. }));
}

#[test]
fn panics_and_errors_of_user_kernels_are_contained() {
    let op = |name: &str, panics: bool| {
        UserOp::builder(name)
            .input::<f32>()
            .output::<f32>()
            .on_cpu(move |_| if panics { panic!("the kernel's own fault") } else { Err("does not converge".into()) })
            .build()
            .unwrap()
            .call()
    };
    let rt = Runtime::builder().cpus(1).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(4).unwrap(), rt.alloc::<f32>(4).unwrap());
    x.overwrite().unwrap().fill(1.0).unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let error = rt.call(&op("explosive", true), &mut [arg(&x), arg_mut(&mut y)]).unwrap_err();
    std::panic::set_hook(hook);
    assert!(matches!(&error, Error::Panicked { message, .. } if message.contains("own fault")), "{error}");
    let error = rt.call(&op("solver", false), &mut [arg(&x), arg_mut(&mut y)]).unwrap_err();
    assert_eq!(error.to_string(), "solver on cpu0 failed: does not converge");
    assert!(y.valid().is_empty());
    rt.scale(2.0, &x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[0], 2.0);
}

#[test]
fn delays_change_nothing() {
    let device = acc(Plan::none().and(0..20, Fault::Delay(std::time::Duration::from_millis(1))));
    assert!(is_right(&program(&runtime(0, &device, MemoryMode::ValidSet)).unwrap()));
}

#[test]
fn a_second_read_guard_in_last_resource_mode_does_not_touch_what_the_first_one_shows() {
    // The allocation, the copy in, the launch, the first read, the second read.
    let device = acc(Plan::nth(4, Fault::CutOff));
    let rt = runtime(0, &device, MemoryMode::LastResource);
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    x.overwrite().unwrap().copy_from_slice(&input()).unwrap();
    rt.scale_in_place(Complex32::ONE, &mut x).unwrap();
    let first = x.read().unwrap();
    assert!(x.read().is_err(), "copied again, and that copy was cut off");
    assert_eq!(first[..], input()[..]);
    let third = x.read().unwrap();
    assert_eq!(third[..], first[..]);
    assert_eq!(rt.counters().device_to_host().copies, 2, "each read that succeeded is counted");
}

#[test]
fn fragments_read_at_once_in_last_resource_mode_are_not_disturbed_either() {
    let device = acc(Plan::none());
    let rt = runtime(0, &device, MemoryMode::LastResource);
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    x.overwrite().unwrap().copy_from_slice(&input()).unwrap();
    x.fragment(4).unwrap();
    rt.scale_in_place(Complex32::ONE, &mut x).unwrap();
    let part = x[1].read().unwrap();
    let whole = x.read().unwrap();
    assert_eq!(whole[..], input()[..]);
    assert_eq!(part[..], input()[N / 4..N / 2]);
    assert_eq!(
        rt.counters().device_to_host().copies,
        1 + 3,
        "the part that was read goes aside, its neighbours to their places"
    );
}

#[test]
fn a_fragment_that_is_written_anew_does_not_hide_why_its_neighbours_are_missing() {
    let device = acc(Plan::nth(1, Fault::Fail)); // the allocation, the launch
    let rt = runtime(0, &device, MemoryMode::ValidSet);
    let mut x = rt.alloc::<f32>(N).unwrap();
    rt.fill(1.0, &mut x).unwrap_err();
    x.fragment(4).unwrap();
    x[1].overwrite().unwrap().fill(2.0).unwrap();
    for i in [0, 2, 3] {
        let text = x[i].read().unwrap_err().to_string();
        assert!(text.contains("operation 1 failed, as planned"), "fragment {i}: {text}");
    }
    // A guard that is dropped before it is used is nobody's failure.
    let _ = x[1].overwrite().unwrap();
    assert!(matches!(x[1].read().unwrap_err(), Error::Uninitialised { cause: None, .. }));
}

#[test]
fn a_call_whose_second_result_does_not_come_back_is_not_done_again_on_its_first() {
    let op = UserOp::builder("double").inout::<f32>().output::<f32>().on_sim(|k| {
        k.output::<f32>(1)?.fill(1.0);
        k.output::<f32>(0)?.iter_mut().for_each(|x| *x *= 2.0);
        Ok(())
    });
    let op = op.build().unwrap().call();
    // Two allocations, the copy in, the launch, the first result, the second.
    let device = acc(Plan::nth(5, Fault::Fail));
    let other = Sim::acc("acc1", 1 << 20, Default::default()).unwrap();
    let builder = Runtime::builder().cpus(0).shared_device(device).device(other);
    let rt = builder.memory_mode(MemoryMode::Reference).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    x.overwrite().unwrap().fill(3.0).unwrap();
    let outcome = rt.call(&op, &mut [arg_mut(&mut x), arg_mut(&mut y)]);
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("operation 5 failed, as planned"), "{text}");
    for view in [&x, &y] {
        let text = view.read().unwrap_err().to_string();
        assert!(text.contains("operation 5 failed, as planned"), "{text}");
    }
}

/// An op whose output comes first, so that its output is in place before its input is found missing.
fn backwards() -> rimms::op::Call {
    UserOp::builder("backwards").output::<f32>().input::<f32>().on_sim(|_| Ok(())).build().unwrap().call()
}

#[test]
fn a_call_that_fails_before_it_begins_leaves_the_output_as_it_was() {
    let sim = Sim::acc("acc0", 8192, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(0).device(sim).build().unwrap().blocking();
    let mut hog = rt.alloc::<u8>(6500).unwrap();
    rt.fill(0, &mut hog).unwrap();
    // Does not fit as a whole: its fragments get blocks of their own; half of them were read by the host too.
    let mut y = rt.alloc::<f32>(512).unwrap();
    y.fragment(4).unwrap();
    for i in 0..2 {
        rt.fill(7.0, &mut y[i]).unwrap();
    }
    drop(hog);
    for i in 2..4 {
        rt.fill(7.0, &mut y[i]).unwrap();
    }
    y[1].read().unwrap();
    let x = rt.alloc::<f32>(4).unwrap();
    let error = rt.call(&backwards(), &mut [arg_mut(&mut y), arg(&x)]).unwrap_err();
    assert!(matches!(error, Error::Uninitialised { .. }), "{error}");
    assert_eq!(y.read().unwrap()[..], [7.0; 512], "fresh memory was shown as data");
}
