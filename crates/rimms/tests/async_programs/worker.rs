//! A thread of a program: carries out steps, and holds every answer against the model's.
//!
//! Calls are in `calls`, what the host does to data in `host`.

use crate::calls::{Accepted, Expected};
use crate::model::{Leaf, Path, Trust};
use crate::step::{Kind, Step};
use crate::world::{Datum, Locked, World};
use rimms::Error;
use rimms::runtime::Event;
use std::collections::VecDeque;

pub(crate) struct Worker<'w> {
    pub(crate) world: &'w World,
    pub(crate) accepted: VecDeque<Accepted>,
}

impl<'w> Worker<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        Self { world, accepted: VecDeque::new() }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let slot = self.world.slot(step.slots[0]);
        match step.kind {
            Kind::Call(op) => self.call(op, step, false),
            Kind::CallUnderGuard(op) => self.call(op, step, true),
            Kind::Siblings(op) => self.siblings(op, step),
            Kind::Batch => self.batch(slot, step),
            Kind::Read => self.read(slot, step),
            Kind::Update => self.update(slot, step),
            Kind::Overwrite => self.overwrite(slot, step),
            Kind::Abandon => {
                let datum = &mut *self.world.own(slot);
                let path = pick(datum.meaning.views(|_| true), step.views[0]);
                match datum.view_mut(path).overwrite() {
                    Ok(guard) => drop(guard),
                    // A device that took too long may still be at these bytes. Nothing has changed.
                    Err(Error::DeviceLost { .. }) => return,
                    Err(e) => panic!("{e}"),
                }
                datum.meaning.part_mut(path).set(Leaf::Missing);
            }
            Kind::Divide(how) => self.divide(slot, how, step),
            Kind::Join => {
                let datum = &mut *self.world.own(slot);
                let path =
                    pick(datum.meaning.views(|part| !part.parts.is_empty() || part.elements.len() > 40), step.views[0]);
                self.join(datum, path, |view| view.join());
            }
            Kind::Renew => {
                let fresh = Datum::fresh(&self.world.rt, step.views[0]);
                drop(std::mem::replace(&mut *self.world.own(slot), fresh));
            }
            Kind::Swap => {
                let other = self.world.slot(step.slots[1]);
                if let [(_, Locked::Own(a)), (_, Locked::Own(b))] = &mut self.world.lock(&[slot, other], |_| true)[..] {
                    std::mem::swap(&mut **a, &mut **b);
                }
            }
            Kind::Wait => {
                if !self.accepted.is_empty() {
                    let at = step.views[0] % self.accepted.len();
                    self.wait(at);
                }
            }
            Kind::WaitAny => {
                let events: Vec<Event> = self.accepted.iter().map(|a| a.event).collect();
                if !events.is_empty() {
                    let at = self.world.rt.wait_any(&events).unwrap();
                    assert!(self.world.rt.is_done(events[at]));
                    self.wait(at);
                }
            }
            Kind::WaitAll => self.wait_all(),
            Kind::Finish => {
                self.world.rt.finish().unwrap();
                assert!(self.accepted.iter().all(|a| self.world.rt.is_done(a.event)), "finished, but not done");
            }
        }
    }

    /// Waits for all that is still open.
    pub(crate) fn finish(&mut self) {
        self.wait_all();
        while !self.accepted.is_empty() {
            self.wait(0);
        }
    }

    fn wait_all(&mut self) {
        let events: Vec<Event> = self.accepted.iter().map(|a| a.event).collect();
        let outcome = self.world.rt.wait_all(&events);
        assert!(events.iter().all(|e| self.world.rt.is_done(*e)));
        let all = |expected| self.accepted.iter().all(|a| a.expected == expected);
        let any = |expected| self.accepted.iter().any(|a| a.expected == expected);
        match outcome {
            Ok(()) => assert!(!any(Expected::Failure), "all succeeded, but one had to fail"),
            Err(e) => assert!(!all(Expected::Success), "one failed, but all had to succeed: {e}"),
        }
    }

    fn wait(&mut self, at: usize) {
        let Some(Accepted { event, call, expected, written }) = self.accepted.remove(at) else { return };
        match self.world.rt.wait(event) {
            Ok(()) => {
                assert_ne!(expected, Expected::Failure, "a call succeeded on what is missing");
                for slot in written {
                    self.world.own(slot).meaning.root.leaves_mut(&mut |part| {
                        if part.leaf == Leaf::There(Trust::Doubt(call)) {
                            part.leaf = Leaf::There(Trust::Done);
                        }
                    });
                }
            }
            Err(e) => match expected {
                Expected::Success => panic!("a call failed: {e}"),
                Expected::Either => assert!(self.world.setting.explains(&e), "nothing that was planned: {e}"),
                Expected::Failure => assert!(
                    matches!(e, Error::Uninitialised { .. } | Error::Kernel { .. }) || self.world.setting.explains(&e),
                    "{e}"
                ),
            },
        }
    }
}

pub(crate) fn pick(views: Vec<Path>, number: usize) -> Path {
    if views.is_empty() { Path::default() } else { views[number % views.len()] }
}
