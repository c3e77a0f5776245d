//! Calls that are not waited for.
#![allow(clippy::unwrap_used)]

use rimms::device::gated::{Gate, Gated};
use rimms::device::sim::Sim;
use rimms::op::UserOp;
use rimms::{Complex32, Error, HeteData, ResourceId, Runtime, ZipOp, arg, arg_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn gated(bytes: u64) -> (Runtime, Gate) {
    let gate = Gate::default();
    let acc = Gated::new(Sim::acc("acc0", bytes, Default::default()).unwrap(), gate.clone());
    (Runtime::builder().cpus(0).device(acc).build().unwrap(), gate)
}

fn written(rt: &Runtime, len: usize, value: f32) -> HeteData<f32> {
    let mut x = rt.alloc::<f32>(len).unwrap();
    x.overwrite().unwrap().fill(value).unwrap();
    x
}

#[test]
fn a_hundred_calls_are_accepted_while_the_device_runs_none_and_their_data_may_be_dropped() {
    let (rt, gate) = gated(1 << 20);
    let mut kept = Vec::new();
    for i in 0..100 {
        let x = written(&rt, 64, i as f32);
        let mut y = rt.alloc::<f32>(64).unwrap();
        rt.scale(2.0, &x, &mut y).unwrap();
        // Every tenth result is kept, the rest goes while no call has run.
        if i % 10 == 0 {
            kept.push((i, y));
        }
    }
    assert_eq!(rt.counters().calls("acc0"), 0);
    gate.open();
    for (i, y) in &kept {
        assert_eq!(y.read().unwrap()[..], [2.0 * *i as f32; 64]);
    }
    rt.finish().unwrap();
    assert_eq!(rt.counters().calls("acc0"), 100);
    drop(kept);
    assert_eq!(rt.usage(ResourceId::new(1).unwrap()).unwrap().blocks, 0);
}

#[test]
fn calls_come_after_what_they_depend_on_and_after_nothing_else() {
    let gate = Gate::default();
    let slow = Gated::new(Sim::acc("slow0", 1 << 20, Default::default()).unwrap(), gate.clone());
    let fast = Sim::acc("fast0", 1 << 20, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(1).device(slow).device(fast).build().unwrap();
    let (slow, fast, cpu) = (rt.on("slow").unwrap(), rt.on("fast").unwrap(), rt.on("cpu").unwrap());
    let x = written(&rt, 16, 1.0);
    let (mut a, mut b, mut c) =
        (rt.alloc::<f32>(16).unwrap(), rt.alloc::<f32>(16).unwrap(), rt.alloc::<f32>(16).unwrap());
    let held = slow.scale(2.0, &x, &mut a).unwrap();
    let raw = fast.scale(3.0, &a, &mut b).unwrap(); // reads what is held back
    let free = cpu.scale(5.0, &x, &mut c).unwrap(); // shares an input, and is free to run
    rt.wait(free).unwrap();
    assert!(!rt.is_done(held) && !rt.is_done(raw));
    let war = cpu.fill(9.0, &mut a).unwrap(); // overwrites what `raw` has yet to read
    let waw = fast.fill(7.0, &mut b).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!rt.is_done(war) && !rt.is_done(waw));
    // A guard waits for those alone that concern it.
    assert_eq!(c.read().unwrap()[0], 5.0);
    assert_eq!(x.read().unwrap()[0], 1.0);
    gate.open();
    rt.wait_all(&[held, raw, war, waw]).unwrap();
    assert_eq!((a.read().unwrap()[0], b.read().unwrap()[0]), (9.0, 7.0));
}

#[test]
fn the_value_read_by_a_call_is_the_one_at_its_submission() {
    let rt = Runtime::builder().cpus(2).device(Sim::acc("acc0", 1 << 16, Default::default()).unwrap()).build().unwrap();
    for round in 0..200 {
        let mut x = written(&rt, 32, 1.0);
        let mut sums: Vec<HeteData<f32>> = (0..6).map(|_| rt.alloc(32).unwrap()).collect();
        for (i, sum) in sums.iter_mut().enumerate() {
            let on = rt.on(["cpu0", "acc0", "cpu1"][(i + round) % 3]).unwrap();
            on.scale(10.0, &x, sum).unwrap();
            rt.on(["acc0", "cpu1", "cpu0"][(i * 2 + round) % 3]).unwrap().scale_in_place(2.0, &mut x).unwrap();
        }
        for (i, sum) in sums.iter().enumerate() {
            assert_eq!(sum.read().unwrap()[..], [10.0 * (1 << i) as f32; 32], "round {round}, call {i}");
        }
    }
}

#[test]
fn fragments_are_ordered_by_themselves_and_with_their_parent() {
    let rt = Runtime::builder().cpus(2).device(Sim::acc("acc0", 1 << 20, Default::default()).unwrap()).build().unwrap();
    let mut x = rt.alloc::<f32>(16 * 64).unwrap();
    x.fragment(16).unwrap();
    for round in 0..20 {
        rt.fill(1.0, &mut x).unwrap();
        for i in 0..16 {
            let on = rt.on(["cpu0", "acc0", "cpu1"][(i + round) % 3]).unwrap();
            on.scale_in_place(i as f32, &mut x[i]).unwrap();
        }
        rt.on("acc0").unwrap().scale_in_place(2.0, &mut x).unwrap();
        x.fragment(if round % 2 == 0 { 8 } else { 16 }).unwrap(); // waits
        for (i, v) in x.read().unwrap().iter().enumerate() {
            assert_eq!(*v, 2.0 * (i / 64) as f32);
        }
        x.fragment(16).unwrap();
    }
}

#[test]
fn a_failure_reaches_the_event_and_whoever_reads_the_result_but_nobody_else() {
    let rt = Runtime::builder().cpus(2).build().unwrap();
    let fails = UserOp::builder("solver").input::<f32>().output::<f32>().on_cpu(|_| Err("no root".into())).build();
    let fails = fails.unwrap().call();
    let x = written(&rt, 8, 1.0);
    let mut y = written(&rt, 8, 5.0);
    let mut z = written(&rt, 8, 5.0);
    let mut w = rt.alloc::<f32>(8).unwrap();
    let failed = rt.call(&fails, &mut [arg(&x), arg_mut(&mut y)]).unwrap();
    let dependent = rt.zip(ZipOp::Add, &x, &y, &mut z).unwrap();
    let in_place = rt.scale_in_place(2.0, &mut y).unwrap();
    let other = rt.scale(2.0, &x, &mut w).unwrap();
    assert_eq!(rt.wait(failed).unwrap_err().to_string(), "solver on cpu0 failed: no root");
    for event in [dependent, in_place] {
        let text = rt.wait(event).unwrap_err().to_string();
        assert!(text.contains("no root"), "{text}");
    }
    for result in [&y, &z] {
        let text = result.read().unwrap_err().to_string();
        assert!(text.contains("no root"), "old elements are never passed off as the result: {text}");
    }
    rt.wait(other).unwrap();
    assert_eq!(w.read().unwrap()[0], 2.0);
    assert_eq!(x.read().unwrap()[0], 1.0);
    assert!(rt.wait_all(&[other, failed]).is_err());
    rt.fill(1.0, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[0], 1.0);
}

#[test]
fn panics_in_kernels_and_devices_reach_the_event() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    let panics = UserOp::builder("explosive").output::<f32>().on_cpu(|_| panic!("the kernel's own fault")).build();
    let mut y = rt.alloc::<f32>(8).unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let event = rt.call(&panics.unwrap().call(), &mut [arg_mut(&mut y)]).unwrap();
    let error = rt.wait(event).unwrap_err();
    std::panic::set_hook(hook);
    assert!(matches!(&error, Error::Panicked { message, .. } if message.contains("own fault")), "{error}");
    rt.fill(1.0, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[0], 1.0);
}

#[test]
fn a_runtime_that_goes_finishes_what_it_accepted() {
    let ran = Arc::new(AtomicUsize::new(0));
    let (count, rt) = (ran.clone(), Runtime::builder().cpus(2).build().unwrap());
    let op = UserOp::builder("count").inout::<f32>().on_cpu(move |_| {
        std::thread::sleep(Duration::from_micros(200));
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let op = op.build().unwrap().call();
    let mut x = written(&rt, 8, 1.0);
    for _ in 0..50 {
        rt.call(&op, &mut [arg_mut(&mut x)]).unwrap();
    }
    drop(rt);
    assert_eq!(ran.load(Ordering::Relaxed), 50);
    assert_eq!(x.read().unwrap()[0], 1.0); // data outlive their runtime
}

#[test]
fn a_kernel_that_drops_the_last_handle_does_not_wait_for_itself() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    let last = Arc::new(Mutex::new(None::<Runtime>));
    let (held, gate) = (last.clone(), Gate::default());
    let (passed, go) = (Gate::default(), gate.clone());
    let done = passed.clone();
    let op = UserOp::builder("drop").output::<f32>().on_cpu(move |_| {
        go.pass();
        drop(held.lock().unwrap().take());
        done.open();
        Ok(())
    });
    let mut x = rt.alloc::<f32>(8).unwrap();
    rt.call(&op.build().unwrap().call(), &mut [arg_mut(&mut x)]).unwrap();
    *last.lock().unwrap() = Some(rt);
    gate.open();
    passed.pass();
    x.read().unwrap();
}

#[test]
fn a_kernel_may_call_but_not_wait_for_what_may_wait_for_it() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    let (inner, found) = (rt.clone(), Arc::new(Mutex::new(Vec::new())));
    let seen = found.clone();
    let op = UserOp::builder("nested").output::<f32>().on_cpu(move |_| {
        let mut y = inner.alloc::<f32>(4).map_err(|e| e.to_string())?;
        // In the turn of its own CPU.
        let direct = inner.blocking().fill(3.0, &mut y).map(drop);
        let value = y.read().map(|y| y[0]);
        let queued = inner.fill(4.0, &mut y).and_then(|event| inner.wait(event));
        seen.lock().unwrap().push((direct, value, queued, y.read().map(drop)));
        Ok(())
    });
    let op = op.build().unwrap().call();
    let mut x = rt.alloc::<f32>(4).unwrap();
    let event = rt.call(&op, &mut [arg_mut(&mut x)]).unwrap();
    rt.wait(event).unwrap();
    let (direct, value, queued, read) = found.lock().unwrap().pop().unwrap();
    assert!(direct.is_ok());
    assert_eq!(value.unwrap(), 3.0);
    assert!(matches!(queued, Err(Error::WouldDeadlock)) && matches!(read, Err(Error::WouldDeadlock)));
    drop(op); // its kernel holds a handle
}

#[test]
fn threads_submit_side_by_side() {
    let acc = |name| Sim::acc(name, 1 << 20, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(2).device(acc("acc0")).device(acc("acc1")).build().unwrap();
    let shared = written(&rt, 64, 1.0);
    std::thread::scope(|s| {
        for thread in 0..4 {
            let (rt, shared) = (&rt, &shared);
            s.spawn(move || {
                let mut x = rt.alloc::<f32>(64).unwrap();
                let mut sum = written(rt, 64, 0.0);
                for i in 0..200 {
                    let on = rt.on(["cpu0", "acc0", "acc1", "cpu1"][(thread + i) % 4]).unwrap();
                    on.scale(i as f32, shared, &mut x).unwrap();
                    let mut next = rt.alloc::<f32>(64).unwrap();
                    rt.on(["acc1", "cpu0", "acc0"][i % 3]).unwrap().zip(ZipOp::Add, &sum, &x, &mut next).unwrap();
                    sum = next;
                }
                assert_eq!(sum.read().unwrap()[..], [(199.0 * 200.0) / 2.0; 64]);
            });
        }
    });
    assert_eq!(shared.read().unwrap()[0], 1.0);
}

#[test]
fn any_of_several_events_wakes_its_waiter() {
    let (rt, gate) = gated(1 << 16);
    let (mut x, mut y) = (rt.alloc::<Complex32>(16).unwrap(), rt.alloc::<Complex32>(16).unwrap());
    let events = [rt.fill(Complex32::ONE, &mut x).unwrap(), rt.fill(Complex32::ONE, &mut y).unwrap()];
    let opener = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        gate.open();
    });
    let first = rt.wait_any(&events).unwrap();
    assert!(rt.is_done(events[first]));
    assert!(matches!(rt.wait_any(&[]), Err(Error::Config(_))));
    let other = Runtime::builder().cpus(1).build().unwrap();
    assert!(matches!(other.wait(events[0]), Err(Error::OtherRuntime { .. })));
    opener.join().unwrap();
}

#[test]
fn what_a_call_holds_is_let_go_when_it_is_done() {
    let watched = Runtime::builder().watchdog(Duration::from_secs(60), |_| {});
    for builder in [Runtime::builder(), watched] {
        let rt = builder.cpus(1).build().unwrap();
        let op = UserOp::builder("hold").output::<f32>().on_cpu(|_| Ok(())).build().unwrap();
        let mut x = rt.alloc::<f32>(8).unwrap();
        for round in 0..2_000 {
            let held = Arc::new(());
            let event = rt.call(&op.with(held.clone()), &mut [arg_mut(&mut x)]).unwrap();
            rt.wait(event).unwrap();
            assert_eq!(Arc::strong_count(&held), 1, "round {round}");
        }
    }
}

#[test]
fn a_long_chain_of_calls_that_fail_for_the_first_says_what_was_first() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    let fails = UserOp::builder("solver").inout::<f32>().on_cpu(|_| Err("no root".into())).build().unwrap().call();
    let mut x = written(&rt, 8, 1.0);
    rt.call(&fails, &mut [arg_mut(&mut x)]).unwrap();
    let mut last = None;
    for _ in 0..100_000 {
        last = Some(rt.scale_in_place(2.0, &mut x).unwrap());
    }
    let text = rt.wait(last.unwrap()).unwrap_err().to_string();
    assert!(text.ends_with("no root") && text.len() < 200, "{} bytes: {text:.300}", text.len());
    x.fragment(2).unwrap();
    x[0].overwrite().unwrap().fill(1.0).unwrap();
    let text = x.join().unwrap_err().to_string();
    assert!(text.ends_with("no root"), "{text:.300}");
}
