//! One asynchronous program, and every operation of its devices failed, cut off, late and lost in turn.
//!
//! The program has two accelerators, the first with little more room than one call needs, chains from one to the other,
//! fragments, guards in the middle, and data that is dropped while calls use it.
#![allow(clippy::unwrap_used)]

use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::{Error, HeteData, MemoryMode, Result, Runtime, ZipOp};
use std::sync::Arc;
use std::time::Duration;

const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];
const N: usize = 48;
/// Three operands of the largest call, and a tenth more.
const TIGHT: u64 = 640;

/// Who does the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// The one that the program names.
    Named,
    /// Any that can, when that one fails.
    Any,
}

struct Bench {
    devices: [Arc<Faulty>; 2],
    rt: Runtime,
    choice: Choice,
}

impl Bench {
    fn new(choice: Choice, mode: MemoryMode, plans: [Plan; 2]) -> Self {
        let [a, b] = plans;
        let acc = |name, bytes, plan| Arc::new(Faulty::new(Sim::acc(name, bytes, Default::default()).unwrap(), plan));
        let devices = [acc("acc0", TIGHT, a), acc("acc1", 1 << 14, b)];
        let cpus = usize::from(choice == Choice::Any);
        let builder = Runtime::builder().cpus(cpus).memory_mode(mode);
        let builder = builder.policy(rimms::sched::by_name("round-robin").unwrap());
        let rt = builder.shared_device(devices[0].clone()).shared_device(devices[1].clone()).build().unwrap();
        Self { devices, rt, choice }
    }

    /// A handle whose calls go to this PE, or to another as well.
    fn on(&self, name: &str) -> Runtime {
        let names = if self.choice == Choice::Named { name.to_owned() } else { format!("{name},cpu0") };
        self.rt.on(&names).unwrap()
    }

    /// What was to be read at the end, one by one.
    fn program(&self) -> Vec<Result<Vec<f32>>> {
        let (acc0, acc1) = (self.on("acc0"), self.on("acc1"));
        let fresh = || self.rt.alloc::<f32>(N).unwrap();
        let (mut a, mut b) = (fresh(), fresh());
        a.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        b.overwrite().unwrap().fill(2.0).unwrap();
        let (mut sum, mut product, mut mixed, mut parts) = (fresh(), fresh(), fresh(), fresh());
        // Whatever cannot even be submitted is told by the data as well as by the call.
        let mut errors = Vec::new();
        let mut note = |outcome: Result<_>| errors.extend(outcome.err());
        note(acc0.zip(ZipOp::Add, &a, &b, &mut sum));
        note(acc1.zip(ZipOp::Mul, &a, &b, &mut product));
        note(acc0.scale_in_place(3.0, &mut sum));
        note(acc1.zip(ZipOp::Add, &sum, &product, &mut mixed));
        note(acc0.scale_in_place(0.5, &mut mixed));
        // Dropped while it is used.
        let mut short_lived = fresh();
        note(acc0.zip(ZipOp::Sub, &mixed, &sum, &mut short_lived));
        note(acc1.scale(1.0, &short_lived, &mut parts));
        drop(short_lived);
        // A guard in the middle; what it says is told again at the end.
        drop(product.read());
        if parts.fragment(3).is_ok() {
            note(acc0.scale_in_place(2.0, &mut parts[0]));
            note(acc1.scale_in_place(4.0, &mut parts[1]));
            note(acc0.scale_in_place(8.0, &mut parts[2]));
        }
        note(acc1.scale_in_place(2.0, &mut parts));
        note(acc0.zip(ZipOp::Add, &a, &product, &mut mixed));
        for (input, want) in [(&a, f32::from as fn(u8) -> f32), (&b, |_| 2.0)] {
            let is_intact = (0..N).zip(&input.read().unwrap()[..]).all(|(i, x)| *x == want(i as u8));
            assert!(is_intact, "an input was changed");
        }
        let read = |x: &HeteData<f32>| x.read().map(|x| x.to_vec());
        let mut results: Vec<_> = [&sum, &product, &mixed, &parts].into_iter().map(read).collect();
        // A call that was refused has written nothing, and what it did not write is no result.
        if let Some(refused) = errors.into_iter().next() {
            results.iter_mut().for_each(|result| *result = Err(refused.clone()));
        }
        results
    }

    /// Nothing is left on a device that is still there.
    fn check_leaks(&self, how: &str) {
        self.rt.finish().unwrap();
        for (r, device) in self.rt.resources().iter().skip(1).zip(&self.devices) {
            let on = self.rt.on(&r.name).unwrap().blocking();
            let use_it = || on.fill(0.0, &mut self.rt.alloc::<f32>(1).unwrap());
            let used = use_it();
            let left = (0..3).map(|_| self.rt.usage(r.id).unwrap().blocks).min();
            // A loss that only a release was told of is noticed at the next use.
            let is_lost = [used, use_it()].iter().any(|used| matches!(used, Err(Error::DeviceLost { .. })));
            assert!(is_lost || left == Some(0), "{how}: {} holds {left:?} blocks, {device:?}", r.name);
        }
    }
}

#[test]
fn every_operation_that_goes_wrong_gives_the_right_answer_or_one_clear_error() {
    let faults = [Fault::Fail, Fault::CutOff, Fault::Delay(Duration::from_micros(300)), Fault::Lose];
    let (mut right, mut told) = (0, 0);
    for choice in [Choice::Named, Choice::Any] {
        for mode in MODES {
            let clean = Bench::new(choice, mode, [Plan::none(), Plan::none()]);
            let want: Vec<Vec<f32>> = clean.program().into_iter().map(Result::unwrap).collect();
            assert_eq!(want[2][5], 5.0 + 2.0 * 5.0);
            assert!(choice == Choice::Any || clean.rt.counters().evictions > 0, "{mode}: room was short");
            for which in 0..2 {
                let operations = clean.devices[which].operations();
                assert!(choice == Choice::Any || operations > 15, "{operations}");
                for n in 0..operations {
                    for fault in faults {
                        let how = format!("{choice:?}, {mode}, acc{which}, {fault:?} of {n}");
                        let mut plans = [Plan::none(), Plan::none()];
                        plans[which] = Plan::nth(n, fault);
                        let bench = Bench::new(choice, mode, plans);
                        for (found, want) in bench.program().into_iter().zip(&want) {
                            match found {
                                Ok(found) => {
                                    assert_eq!(found, *want, "{how}");
                                    right += 1;
                                }
                                Err(e) => {
                                    let (is_late, text) = (matches!(fault, Fault::Delay(_)), e.to_string());
                                    assert!(!is_late && text.contains(&format!("acc{which}")), "{how}: {text}");
                                    assert_eq!(text.matches("as planned").count(), 1, "{how}: {text}");
                                    told += 1;
                                }
                            }
                        }
                        bench.check_leaks(&how);
                        // Usable afterwards, without the device if that is lost.
                        for (found, want) in bench.program().into_iter().zip(&want) {
                            match found {
                                Ok(found) => assert_eq!(found, *want, "{how}, again"),
                                Err(e) => {
                                    let text = e.to_string();
                                    assert!(
                                        fault == Fault::Lose && text.contains("found no device"),
                                        "{how}, again: {text}"
                                    );
                                    assert_eq!(choice, Choice::Named, "{how}, again: the CPU was left: {text}");
                                }
                            }
                        }
                        bench.check_leaks(&how);
                    }
                }
            }
        }
    }
    println!("{right} right answers, {told} errors");
    assert!(right > told && told > 0);
}
