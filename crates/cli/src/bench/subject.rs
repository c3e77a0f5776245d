//! What is measured. Each subject is prepared once and then run any number of times.

use super::stopwatch::Stopwatch;
use super::{queued, room};
use anyhow::{Context, Result};
use rimms::op::{Call, UserOp};
use rimms::{Complex32, HeteData, ResourceId, Runtime, arg, arg_mut, sched};
use std::hint::black_box;
use std::time::Duration;

/// An operation, ready to run: so many times, and how long that took.
pub(super) type Prepared = Box<dyn FnMut(u32) -> Duration>;

/// An operation all of whose time counts.
fn timed(mut run: impl FnMut() + 'static) -> Prepared {
    Box::new(move |times| {
        let start = Stopwatch::start();
        for _ in 0..times {
            run();
        }
        start.elapsed()
    })
}

/// An operation to measure.
pub(super) struct Subject {
    /// Its name on the command line of the counting child.
    pub(super) id: &'static str,
    /// What a person reads.
    pub(super) what: &'static str,
    /// How many operations one run of the closure is.
    pub(super) per_run: u32,
    /// Whose cost is not the runtime's own, and is taken off.
    pub(super) above: Option<&'static str>,
    /// Nanoseconds to reach.
    pub(super) target_ns: Option<f64>,
    /// Or so many times what another subject takes.
    pub(super) target_over: Option<(&'static str, f64)>,
    /// Instructions to reach.
    pub(super) target_instructions: Option<f64>,
    pub(super) prepare: fn() -> Result<Prepared>,
    /// The same where instructions are counted, if what other threads do must not have a part in it.
    pub(super) counted: Option<fn() -> Result<Prepared>>,
}

impl Subject {
    /// Does each run wait for threads to park, or for a device that takes its time?
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.id, "park" | "worker-parked" | "room" | "room-ahead")
    }

    /// Is all of it done by the thread whose instructions can be counted?
    pub(super) fn counts_instructions(&self) -> bool {
        !matches!(self.id, "queued-all" | "worker" | "park" | "worker-parked" | "room" | "room-ahead")
    }
}

/// Elements of the data that are made and freed: 8 KiB.
const LEN: usize = 1024;
const BYTES: usize = LEN * size_of::<Complex32>();
/// Leaves that fit the first-level cache, and that fit only the second.
const L1_LEAVES: usize = 256;
const L2_LEAVES: usize = 8192;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        id: "walk-l1",
        what: "walking over leaves (in L1)",
        per_run: L1_LEAVES as u32,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: || walk(L1_LEAVES),
        counted: None,
    },
    Subject {
        id: "walk-l2",
        what: "walking over leaves (in L2)",
        per_run: L2_LEAVES as u32,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: || walk(L2_LEAVES),
        counted: None,
    },
    Subject {
        id: "check-l1",
        what: "is it valid here? (state in L1), above the walk",
        per_run: L1_LEAVES as u32,
        above: Some("walk-l1"),
        target_ns: None,
        target_over: None,
        target_instructions: Some(15.0),
        prepare: || checks(L1_LEAVES),
        counted: None,
    },
    Subject {
        id: "check-l2",
        what: "is it valid here? (state in L2), above the walk",
        per_run: L2_LEAVES as u32,
        above: Some("walk-l2"),
        target_ns: None,
        target_over: None,
        target_instructions: Some(15.0),
        prepare: || checks(L2_LEAVES),
        counted: None,
    },
    Subject {
        id: "call",
        what: "blocking empty call, 2 data, calling thread",
        per_run: 1,
        above: None,
        target_ns: Some(60.0),
        target_over: None,
        target_instructions: Some(450.0),
        prepare: || empty_call("round-robin"),
        counted: None,
    },
    Subject {
        id: "call-timed",
        what: "the same under eft, which measures its calls",
        per_run: 1,
        above: None,
        target_ns: Some(100.0),
        target_over: None,
        target_instructions: None,
        prepare: || empty_call("eft"),
        counted: None,
    },
    Subject {
        id: "queued",
        what: "queued empty call, 2 data, submitting thread",
        per_run: 1,
        above: None,
        target_ns: Some(150.0),
        target_over: None,
        target_instructions: Some(400.0),
        prepare: queued::submission,
        counted: Some(queued::submission_alone),
    },
    Subject {
        id: "queued-all",
        what: "queued empty call, until all are done",
        per_run: 1,
        above: None,
        target_ns: Some(1000.0 / 6.0),
        target_over: None,
        target_instructions: None,
        prepare: queued::until_done,
        counted: None,
    },
    Subject {
        id: "worker",
        what: "queued empty call and its wait, worker spinning",
        per_run: 1,
        above: None,
        target_ns: Some(1_000.0),
        target_over: None,
        target_instructions: None,
        prepare: || queued::round_trip(Duration::ZERO),
        counted: None,
    },
    Subject {
        id: "park",
        what: "two threads wake each other from a park (nothing else)",
        per_run: 1,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: queued::bare_wake,
        counted: None,
    },
    Subject {
        id: "worker-parked",
        what: "queued empty call and its wait, worker parked",
        per_run: 1,
        above: None,
        target_ns: None,
        target_over: Some(("park", 1.2)),
        target_instructions: None,
        prepare: || queued::round_trip(queued::UNTIL_PARKED),
        counted: None,
    },
    Subject {
        id: "refused",
        what: "a call that can never fit, refused at submission",
        per_run: 1,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: queued::refusal,
        counted: None,
    },
    Subject {
        id: "room",
        what: "a call that drives out a block, on a slow device",
        per_run: room::CALLS,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: || room::calls_that_drive_out(false),
        counted: None,
    },
    Subject {
        id: "room-ahead",
        what: "the same, written back beside the call before",
        per_run: room::CALLS,
        above: None,
        target_ns: None,
        target_over: Some(("room", 0.9)),
        target_instructions: None,
        prepare: || room::calls_that_drive_out(true),
        counted: None,
    },
    Subject {
        id: "malloc",
        what: "malloc + free of 8 KiB",
        per_run: 1,
        above: None,
        target_ns: None,
        target_over: None,
        target_instructions: None,
        prepare: || {
            Ok(timed(|| {
                drop(black_box(Vec::<u8>::with_capacity(black_box(BYTES))));
            }))
        },
        counted: None,
    },
    Subject {
        id: "create",
        what: "create + free a datum of 8 KiB, above malloc + free",
        per_run: 1,
        above: Some("malloc"),
        target_ns: Some(40.0),
        target_over: None,
        target_instructions: None,
        prepare: || {
            let rt = runtime("round-robin")?;
            Ok(timed(move || {
                let _ = black_box(rt.alloc::<Complex32>(black_box(LEN)));
            }))
        },
        counted: None,
    },
    Subject {
        id: "fragments",
        what: "128 fragments, made and undone",
        per_run: 1,
        above: None,
        target_ns: Some(600.0),
        target_over: None,
        target_instructions: None,
        prepare: || {
            let rt = runtime("round-robin")?;
            let mut x = rt.alloc::<Complex32>(128 * 128)?;
            Ok(timed(move || {
                let done = x.fragment(black_box(128)).and_then(|()| x.join());
                let _ = black_box(done);
            }))
        },
        counted: None,
    },
];

/// The subject of this name.
pub(super) fn by_id(id: &str) -> Result<&'static Subject> {
    SUBJECTS.iter().find(|s| s.id == id).with_context(|| format!("nothing is measured under the name `{id}`"))
}

pub(super) fn runtime(policy: &str) -> Result<Runtime> {
    Ok(Runtime::builder().cpus(1).policy(sched::by_name(policy)?).build()?)
}

/// A datum of this many leaves, all valid on the host.
pub(super) fn leaves(rt: &Runtime, n: usize) -> Result<HeteData<f32>> {
    let mut x = rt.alloc::<f32>(n)?;
    x.overwrite()?.fill(1.0)?;
    x.fragment(n)?;
    Ok(x)
}

/// The loop of `checks` with a test of the leaf's address in place of its state.
fn walk(n: usize) -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let x = leaves(&rt, n)?;
    Ok(timed(move || {
        let bit = black_box(64);
        let odd = x.fragments().filter(|leaf| std::ptr::from_ref(*leaf).addr() & bit != 0).count();
        black_box(odd);
    }))
}

/// The boundary check of one input after the other, each of another leaf.
fn checks(n: usize) -> Result<Prepared> {
    let rt = runtime("round-robin")?;
    let x = leaves(&rt, n)?;
    Ok(timed(move || {
        let here = black_box(ResourceId::HOST);
        let valid = x.fragments().filter(|leaf| leaf.is_valid_on(here)).count();
        black_box(valid);
    }))
}

/// A call that does nothing, with one In and one InOut operand, and these: what is left is the runtime.
pub(super) fn nothing(rt: &Runtime) -> Result<(Call, HeteData<f32>, HeteData<f32>)> {
    let call = UserOp::builder("nothing").input::<f32>().inout::<f32>().on_cpu(|_| Ok(())).build()?.call();
    let (mut x, mut y) = (rt.alloc::<f32>(64)?, rt.alloc::<f32>(64)?);
    x.overwrite()?.fill(1.0)?;
    y.overwrite()?.fill(1.0)?;
    Ok((call, x, y))
}

/// The same, blocking.
fn empty_call(policy: &str) -> Result<Prepared> {
    let rt = runtime(policy)?.blocking();
    let (call, x, mut y) = nothing(&rt)?;
    Ok(timed(move || {
        let done = rt.call(black_box(&call), &mut [arg(&x), arg_mut(&mut y)]);
        let _ = black_box(done);
    }))
}
