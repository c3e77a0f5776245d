//! A timeline says what the counters say, step by step.
#![allow(clippy::unwrap_used)]

use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::trace::{Flow, Timeline, What};
use rimms::{Cause, Counters, MemoryMode, Runtime, sched};
use serde_json::Value;
use std::collections::HashMap;

const N: usize = 64;

/// A runtime with two small accelerators, one of which fails now and then.
fn runtime(mode: MemoryMode) -> Runtime {
    let acc = |name| Sim::acc(name, 6 * 4 * N as u64, Default::default()).unwrap();
    let failing = Faulty::new(acc("acc1"), Plan::none().and(20..21, Fault::Fail).and(31..33, Fault::Fail));
    let builder = Runtime::builder().cpus(1).device(acc("acc0")).device(failing).memory_mode(mode).timeline();
    builder.policy(sched::by_name("round-robin").unwrap()).build().unwrap()
}

/// Calls on parts and wholes, guards between them, more data than a device can hold.
fn program(rt: &Runtime) {
    let mut data: Vec<_> = (0..8).map(|_| rt.alloc::<f32>(2 * N).unwrap()).collect();
    for (i, x) in data.iter_mut().enumerate() {
        x.overwrite().unwrap().fill(i as f32).unwrap();
    }
    for round in 0..6 {
        for i in 0..8 {
            let (x, rest) = data[i..].split_first_mut().unwrap();
            if round % 3 == 1 {
                x.fragment(2).unwrap();
                rt.scale_in_place(2.0, &mut x[0]).unwrap();
                rt.scale_in_place(0.5, &mut x[1]).unwrap();
                x.join().unwrap();
            }
            rt.scale_in_place(1.5, x).unwrap();
            if let Some(y) = rest.first_mut() {
                rt.copy(x, y).unwrap();
            }
        }
        let _ = data[round].read().unwrap()[0];
    }
    rt.finish().unwrap();
}

fn flow(timeline: &Timeline, wanted: Cause) -> Flow {
    let copies = timeline.entries.iter().filter_map(|e| match e.what {
        What::Copy { cause, bytes, .. } if cause == wanted => Some(Flow { copies: 1, bytes }),
        _ => None,
    });
    copies.sum()
}

fn agree(timeline: &Timeline, counters: &Counters) {
    for cause in Cause::ALL {
        assert_eq!(flow(timeline, cause), counters.by_cause(cause), "{}", cause.name());
    }
    for (pe, name) in timeline.pes.iter().enumerate() {
        let here = |what: &What| matches!(what, What::Call { pe: p, failed: false, .. } if *p == pe);
        let calls = timeline.entries.iter().filter(|e| here(&e.what)).count() as u64;
        assert_eq!(calls, counters.calls(name), "{name}");
    }
    let evictions = timeline.entries.iter().filter(|e| matches!(e.what, What::Eviction { .. })).count() as u64;
    assert_eq!(evictions, counters.evictions);
}

#[test]
fn every_copy_call_and_eviction_is_there_once_and_sums_equal_the_counters() {
    for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
        let rt = runtime(mode);
        program(&rt);
        let (timeline, counters) = (rt.take_timeline(), rt.counters());
        assert!(counters.evictions > 0 && counters.retries > 0, "{mode}: {counters:?}");
        agree(&timeline, &counters);
        let failed = timeline.entries.iter().filter(|e| matches!(e.what, What::Call { failed: true, .. })).count();
        assert!(failed as u64 <= counters.retries, "some fail before they are launched");
        assert!(rt.take_timeline().entries.is_empty());
    }
}

#[test]
fn calls_of_a_pe_follow_each_other_and_copies_come_before_what_they_are_for() {
    let rt = runtime(MemoryMode::ValidSet);
    program(&rt);
    let timeline = rt.take_timeline();
    let mut ends = HashMap::new();
    let mut launches = HashMap::new();
    for entry in &timeline.entries {
        assert!(entry.start_ns <= entry.end_ns);
        if let What::Call { pe, .. } = entry.what {
            let before = ends.insert(pe, entry.end_ns).unwrap_or(0);
            assert!(before <= entry.start_ns, "two calls at once on {}", timeline.pes[pe]);
            assert!(launches.insert(entry.call.unwrap(), entry.start_ns).is_none(), "a call was entered twice");
        }
    }
    let mut arrived = 0;
    for entry in timeline.entries.iter().filter(|e| matches!(e.what, What::Copy { .. })) {
        if let Some(launch) = entry.call.and_then(|call| launches.get(&call)) {
            assert!(entry.end_ns <= *launch);
            arrived += 1;
        }
    }
    assert!(arrived > 50, "{arrived}");
}

#[test]
fn what_is_written_for_viewers_has_every_entry_once() {
    let rt = runtime(MemoryMode::Reference);
    program(&rt);
    let (timeline, counters) = (rt.take_timeline(), rt.counters());
    let mut bytes = Vec::new();
    timeline.write_chrome(&mut bytes).unwrap();
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let slices = |pid: u64| events.iter().filter(move |e| e["ph"] == "X" && e["pid"] == pid);
    assert_eq!(slices(1).filter(|e| e["args"]["failed"] == false).count() as u64, calls(&counters));
    assert_eq!(slices(2).count() as u64, counters.copies());
    let bytes: u64 = slices(2).map(|e| e["args"]["bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, counters.bytes());
    let count = |ph: &str| events.iter().filter(|e| e["ph"] == ph).count();
    assert_eq!(count("s"), count("f"));
    assert_eq!(count("i") as u64, counters.evictions);
    let known =
        |e: &Value| events.iter().any(|n| n["name"] == "thread_name" && n["pid"] == e["pid"] && n["tid"] == e["tid"]);
    assert!(events.iter().filter(|e| e["ph"] == "X").all(known), "a track without a name");
}

fn calls(counters: &Counters) -> u64 {
    counters.calls_by_pe.iter().map(|(_, n)| n).sum()
}

#[test]
fn a_runtime_that_was_not_asked_keeps_none() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    rt.fill(1.0_f32, &mut rt.alloc(N).unwrap()).unwrap();
    rt.finish().unwrap();
    assert!(rt.take_timeline().entries.is_empty());
    assert_eq!(*rt.take_timeline().pes[0], *"cpu0");
}
