//! Calls that are submitted together.
#![allow(clippy::unwrap_used, clippy::panic)]

use rimms::op::{Call, Fill, Role, UserOp};
use rimms::sched::{self, Candidate, Placement, Policy};
use rimms::{Error, Runtime, arg, arg_mut};
use std::sync::{Arc, Mutex};

const N: usize = 16;

/// An op that doubles, slowly on large data.
fn double() -> Call {
    let op = UserOp::builder("double").input::<f32>().output::<f32>().on_cpu(|k| {
        let x = k.input::<f32>(0)?;
        k.output::<f32>(1)?.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
        Ok(())
    });
    op.build().unwrap().call()
}

fn runtime(policy: Arc<dyn Policy>) -> Runtime {
    Runtime::builder().cpus(3).policy(policy).build().unwrap()
}

#[test]
fn every_policy_does_all_calls_once_and_events_come_in_the_order_of_the_calls() {
    for name in sched::POLICIES {
        let rt = runtime(sched::by_name(name).unwrap());
        let mut x = rt.alloc::<f32>(20 * N).unwrap();
        let mut y = rt.alloc::<f32>(20 * N).unwrap();
        x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        x.fragment(20).unwrap();
        y.fragment(20).unwrap();
        for round in 1..=3 {
            let mut batch = rt.batch();
            for (x, y) in x.fragments().zip(y.fragments_mut()) {
                batch.call(&double(), &mut [arg(x), arg_mut(y)]).unwrap();
            }
            assert_eq!((batch.len(), batch.is_empty()), (20, false));
            let events = batch.submit().unwrap();
            assert_eq!(events.len(), 20);
            rt.wait(events[19]).unwrap();
            assert_eq!(y[19].read().unwrap()[N - 1], 2.0 * (20 * N - 1) as f32, "{name}");
            rt.wait_all(&events).unwrap();
            let done: u64 = rt.counters().calls_by_pe.iter().map(|(_, n)| n).sum();
            assert_eq!(done, 20 * round, "{name}");
        }
        let found = y.read().unwrap();
        assert!(found.iter().enumerate().all(|(i, v)| *v == 2.0 * i as f32), "{name}");
    }
}

/// Does as it is told; remembers what it was shown.
#[derive(Debug, Default)]
struct Told {
    placements: Vec<Placement>,
    shown: Mutex<Vec<usize>>,
}

impl Policy for Told {
    fn name(&self) -> &'static str {
        "told"
    }
    fn needs_costs(&self) -> bool {
        false
    }
    fn choose(&self, _: usize, _: &[Candidate]) -> usize {
        0
    }
    fn arrange(&self, _: usize, ready: &[Vec<Candidate>]) -> Vec<Placement> {
        self.shown.lock().unwrap().extend(ready.iter().map(Vec::len));
        self.placements.clone()
    }
}

/// Where three calls went, when the policy said this; and what the policy was shown.
fn placed(placements: &[(usize, usize)]) -> (Vec<u64>, Vec<usize>) {
    let placements = placements.iter().map(|&(call, candidate)| Placement { call, candidate }).collect();
    let policy = Arc::new(Told { placements, ..Told::default() });
    let rt = runtime(policy.clone()).blocking();
    let mut data: Vec<_> = (0..3).map(|_| rt.alloc::<f32>(N).unwrap()).collect();
    let fill = |value: f32| {
        let pattern = value.to_ne_bytes().as_slice().into();
        Call::Fill(Fill { pattern, element: rimms::op::Element::of::<f32>(), len: N })
    };
    let mut batch = rt.batch();
    for (i, x) in data.iter_mut().enumerate() {
        batch.call(&fill(i as f32), &mut [arg_mut(x)]).unwrap();
    }
    batch.submit().unwrap();
    for (i, x) in data.iter().enumerate() {
        assert_eq!(x.read().unwrap()[..], [i as f32; N]);
    }
    let shown = policy.shown.lock().unwrap().clone();
    (rt.counters().calls_by_pe.iter().map(|(_, n)| *n).collect(), shown)
}

#[test]
fn a_policy_sees_all_calls_before_it_places_one() {
    assert_eq!(placed(&[(2, 2), (0, 2), (1, 1)]), (vec![0, 1, 2], vec![3, 3, 3]));
}

#[test]
fn what_a_policy_forgets_names_twice_or_places_nowhere_is_done_once_all_the_same() {
    assert_eq!(placed(&[]).0, [3, 0, 0]);
    assert_eq!(placed(&[(1, 2), (1, 1), (7, 0)]).0, [2, 0, 1]);
    assert_eq!(placed(&[(0, 99), (1, usize::MAX), (2, 1)]).0, [2, 1, 0]);
}

#[test]
fn where_one_call_has_no_pe_none_is_done() {
    let rt = Runtime::builder().cpus(1).build().unwrap();
    let (mut x, mut y) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    let sim_only = UserOp::builder("elsewhere").output::<f32>().on_sim(|_| Ok(())).build().unwrap().call();
    assert_eq!(sim_only.roles(), [Role::Out]);
    let sets = UserOp::builder("sets").output::<f32>().on_cpu(|_| Ok(())).build().unwrap().call();
    let mut batch = rt.batch();
    batch.call(&sets, &mut [arg_mut(&mut x)]).unwrap();
    batch.call(&sim_only, &mut [arg_mut(&mut y)]).unwrap();
    assert!(matches!(batch.submit(), Err(Error::NoPe { .. })));
    assert_eq!(rt.counters().calls("cpu0"), 0);
    assert!(matches!(x.read(), Err(Error::Uninitialised { cause: None, .. })));
}

#[test]
fn mistakes_are_refused_when_a_call_is_added_and_failures_told_by_its_event() {
    let rt = Runtime::builder().cpus(2).build().unwrap();
    let (mut x, mut y) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    let other = rt.alloc::<f32>(N).unwrap();
    let fails = UserOp::builder("fails").output::<f32>().on_cpu(|_| Err("no".into())).build().unwrap().call();
    let sets = UserOp::builder("sets").output::<f32>().on_cpu(|_| Ok(())).build().unwrap().call();
    let mut batch = rt.batch();
    assert!(matches!(batch.call(&double(), &mut [arg(&other)]), Err(Error::Shape { .. })));
    assert!(batch.is_empty());
    batch.call(&fails, &mut [arg_mut(&mut x)]).unwrap();
    batch.call(&sets, &mut [arg_mut(&mut y)]).unwrap();
    let events = batch.submit().unwrap();
    assert!(matches!(rt.wait(events[0]), Err(Error::Kernel { .. })));
    rt.wait(events[1]).unwrap();

    let mut batch = rt.blocking().batch();
    batch.call(&fails, &mut [arg_mut(&mut x)]).unwrap();
    assert!(matches!(batch.submit(), Err(Error::Kernel { .. })));
    assert!(rt.batch().submit().unwrap().is_empty());
}
