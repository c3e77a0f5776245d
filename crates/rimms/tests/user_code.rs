//! What the user's code may do where the runtime calls it, and must not stop the runtime with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rimms::op::UserOp;
use rimms::{Error, Runtime, arg_mut};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Fails where `program` does not come to its end.
fn in_time(program: impl FnOnce() + Send + 'static) {
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        program();
        let _ = tell.send(());
    });
    let is_done = told.recv_timeout(Duration::from_secs(60)).is_ok();
    assert!(is_done || thread.is_finished(), "it hangs");
    thread.join().unwrap();
}

/// Writes ones, after a while.
fn slow(millis: u64) -> rimms::op::UserOpBuilder {
    UserOp::builder("slow").output::<f32>().on_cpu(move |k| {
        std::thread::sleep(Duration::from_millis(millis));
        k.output::<f32>(0)?.fill(1.0);
        Ok(())
    })
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn parameters_whose_drop_panics_do_not_end_a_worker() {
    in_time(|| {
        let rt = Runtime::builder().cpus(1).build().unwrap();
        let mut y = rt.alloc::<f32>(4).unwrap();
        let call = slow(50).build().unwrap().with(Bomb);
        let event = rt.call(&call, &mut [arg_mut(&mut y)]).unwrap();
        drop(call); // the worker has the last of it
        let error = rt.wait(event).unwrap_err();
        assert!(matches!(&error, Error::Panicked { message, .. } if message.contains("on purpose")), "{error}");
        rt.fill(2.0, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[..], [2.0; 4]);
    });
}

#[test]
fn a_kernel_that_holds_the_last_handle_does_not_make_its_worker_wait_for_itself() {
    in_time(|| {
        let rt = Runtime::builder().cpus(2).build().unwrap();
        let inner = rt.clone();
        let op = UserOp::builder("holder").output::<f32>().on_cpu(move |k| {
            std::thread::sleep(Duration::from_millis(50));
            k.output::<f32>(0)?.fill(inner.pes().len() as f32);
            Ok(())
        });
        let op = op.build().unwrap();
        let (mut x, mut y) = (rt.alloc::<f32>(4).unwrap(), rt.alloc::<f32>(4).unwrap());
        rt.on("cpu0").unwrap().call(&op.call(), &mut [arg_mut(&mut x)]).unwrap();
        rt.on("cpu1").unwrap().copy(&x, &mut y).unwrap();
        drop((op, rt));
        assert_eq!(y.read().unwrap()[0], 2.0);
    });
}

#[test]
fn a_watchdogs_report_may_drop_the_last_handle() {
    in_time(|| {
        let slot = Arc::new(Mutex::new(None::<Runtime>));
        let (last, (tell, told)) = (slot.clone(), channel());
        let tell = Mutex::new(tell);
        let report = move |_: &str| {
            drop(last.lock().unwrap().take());
            let _ = tell.lock().unwrap().send(());
        };
        let rt = Runtime::builder().cpus(1).watchdog(Duration::from_millis(50), report).build().unwrap();
        let mut x = rt.alloc::<f32>(4).unwrap();
        rt.call(&slow(400).build().unwrap().call(), &mut [arg_mut(&mut x)]).unwrap();
        *slot.lock().unwrap() = Some(rt);
        told.recv_timeout(Duration::from_secs(20)).expect("the report has not come back");
        assert_eq!(x.read().unwrap()[0], 1.0);
    });
}
