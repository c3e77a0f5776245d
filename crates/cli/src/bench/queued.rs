//! Calls that are not waited for, and calls through a worker.

use super::stopwatch::Stopwatch;
use super::subject::{Prepared, nothing, runtime};
use anyhow::{Result, anyhow};
use rimms::device::gated::Gate;
use rimms::device::sim::Sim;
use rimms::op::{KernelArgs, UserOp};
use rimms::{Runtime, arg, arg_mut};
use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Calls in flight at a time: what a program has that looks at its results now and then.
const WAVE: u32 = 256;

/// After this time without work a worker, and a thread that waits for a channel, has parked.
pub(super) const UNTIL_PARKED: Duration = Duration::from_millis(1);

/// What a submission takes of the submitting thread, while the worker executes what was submitted before.
pub(super) fn submission() -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let (call, x, mut y) = nothing(&rt)?;
    Ok(Box::new(move |times| {
        let (mut left, mut spent) = (times, Duration::ZERO);
        loop {
            let _ = rt.finish();
            let start = Stopwatch::start();
            for _ in 0..left.min(WAVE) {
                let _ = black_box(rt.call(black_box(&call), &mut [arg(&x), arg_mut(&mut y)]));
            }
            spent += start.elapsed();
            left -= left.min(WAVE);
            if left == 0 {
                return spent;
            }
        }
    }))
}

/// Submissions while the worker is busy with another call: a counting thread is so slow that the worker would park
/// after each, and be woken by the next.
pub(super) fn submission_alone() -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let (call, x, mut y) = nothing(&rt)?;
    let busy = Gate::default();
    let alone = Alone { gate: busy.clone(), rt };
    let (begins, begun) = sync_channel(1);
    let kernel = move |_: &mut KernelArgs<'_>| {
        let _ = begins.send(());
        busy.pass();
        Ok(())
    };
    alone.rt.call(&UserOp::builder("busy").inout::<f32>().on_cpu(kernel).build()?.call(), &mut [arg_mut(&mut y)])?;
    // Otherwise it would take what was submitted up to then, and the list of what follows would grow anew.
    begun.recv()?;
    Ok(Box::new(move |times| {
        let alone = &alone;
        let start = Stopwatch::start();
        for _ in 0..times {
            let _ = black_box(alone.rt.call(black_box(&call), &mut [arg(&x), arg_mut(&mut y)]));
        }
        start.elapsed()
    }))
}

/// A runtime whose worker stands before a gate, until the runtime ends.
struct Alone {
    gate: Gate,
    rt: Runtime,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.gate.open();
    }
}

/// What a call takes from its submission until it is done, when many are under way.
pub(super) fn until_done() -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let (call, x, mut y) = nothing(&rt)?;
    Ok(Box::new(move |times| {
        let start = Stopwatch::start();
        for i in 1..=times {
            let _ = black_box(rt.call(black_box(&call), &mut [arg(&x), arg_mut(&mut y)]));
            if i.is_multiple_of(WAVE) {
                let _ = rt.finish();
            }
        }
        let _ = rt.finish();
        start.elapsed()
    }))
}

/// A call and its wait; before each the worker has had nothing to do for `idle`.
pub(super) fn round_trip(idle: Duration) -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let (call, x, mut y) = nothing(&rt)?;
    Ok(Box::new(move |times| {
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            if !idle.is_zero() {
                std::thread::sleep(idle);
            }
            let start = Stopwatch::start();
            let done = rt.call(black_box(&call), &mut [arg(&x), arg_mut(&mut y)]).and_then(|event| rt.wait(event));
            let _ = black_box(done);
            spent += start.elapsed();
        }
        spent
    }))
}

/// Two threads that wake each other, with nothing between but what parks them.
pub(super) fn bare_wake() -> Result<Prepared> {
    let (there, receive): (SyncSender<()>, Receiver<()>) = sync_channel(1);
    let (send, back) = sync_channel(1);
    std::thread::spawn(move || while receive.recv().is_ok() && send.send(()).is_ok() {});
    Ok(Box::new(move |times| {
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            std::thread::sleep(UNTIL_PARKED);
            let start = Stopwatch::start();
            let _ = black_box(there.send(()).map(|()| back.recv()));
            spent += start.elapsed();
        }
        spent
    }))
}

/// Two operands of three quarters of the device's memory each.
pub(super) fn refusal() -> Result<Prepared> {
    let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 4096, Default::default())?).build()?;
    let (mut x, mut y) = (rt.alloc::<f32>(768)?, rt.alloc::<f32>(768)?);
    x.overwrite()?.fill(1.0)?;
    match rt.copy(&x, &mut y) {
        Err(rimms::Error::NeverFits { .. }) => {}
        other => return Err(anyhow!("a call that can never fit was answered with {other:?}")),
    }
    Ok(Box::new(move |times| {
        let start = Stopwatch::start();
        for _ in 0..times {
            let _ = black_box(rt.copy(&x, &mut y));
        }
        start.elapsed()
    }))
}
