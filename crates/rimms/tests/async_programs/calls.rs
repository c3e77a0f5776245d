//! Calls: their operands, and what is to become of them.

use crate::model::{Leaf, Part, Path, Trust};
use crate::ops::{Op, REFUSAL};
use crate::setting::Trouble;
use crate::step::Step;
use crate::worker::{Worker, pick};
use crate::world::{Datum, Locked, World};
use rimms::op::Role;
use rimms::runtime::Event;
use rimms::{Arg, Error, View, arg, arg_mut};

/// What is expected of a call that was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    Success,
    /// An input is missing, or the kernel refuses.
    Failure,
    /// Something may have gone wrong with it, or with what it reads.
    Either,
}

pub(crate) struct Accepted {
    pub(crate) event: Event,
    pub(crate) call: u64,
    pub(crate) expected: Expected,
    pub(crate) written: Vec<usize>,
}

/// An operand: which datum, and which view of it.
type Operand = (usize, Path);

impl Worker<'_> {
    pub(crate) fn call(&mut self, op: Op, step: &Step, under_guard: bool) {
        let roles = op.roles();
        let slots = self.slots_for(roles, step);
        let is_written = |slot| slots.iter().zip(roles).any(|(s, role)| *s == slot && role.writes());
        let mut locked = self.world.lock(&slots, is_written);
        let Some(operands) = views_for(&locked, &slots, step) else { return };
        let len = datum(&locked, slots[0]).meaning.part(operands[0].1).elements.len();
        let mut values: Vec<Vec<u32>> =
            operands.iter().map(|(s, path)| datum(&locked, *s).meaning.read(*path)).collect();
        let expected = self.expected(op, &locked, &operands);
        let is_blocking = step.is_blocking && self.can_block(op, expected);
        let handle = self.world.handle(step.pe, is_blocking);
        let accepted = {
            let mut args: Vec<Option<Arg<'_>>> = operands.iter().map(|_| None).collect();
            let mut guard = None;
            for (slot, lock) in &mut locked {
                let mut mine = operands.iter().enumerate().filter(|(_, operand)| operand.0 == *slot);
                match lock {
                    Locked::Own(own) => {
                        // What is written is no other operand.
                        if let Some((i, (_, path))) = mine.next() {
                            args[i] = Some(arg_mut(own.view_mut(*path)));
                        }
                    }
                    Locked::Shared(shared) => {
                        let shared: &Datum = shared;
                        for (i, (_, path)) in mine {
                            let view = shared.view(*path);
                            args[i] = Some(arg(view));
                            if under_guard && guard.is_none() {
                                guard = view.read_rows().ok().map(|rows| (rows, i));
                            }
                        }
                    }
                }
            }
            let mut args: Vec<Arg<'_>> = args.into_iter().flatten().collect();
            let accepted = handle.call(&op.call(len), &mut args);
            if let Some((rows, i)) = guard {
                if let Ok(event) = accepted {
                    let _ = handle.wait(event);
                }
                let shown: Vec<u32> = rows.iter().flatten().copied().collect();
                assert_eq!(shown, values[i], "a guard's elements changed under a call that only reads them");
            }
            accepted
        };
        op.apply(&mut values);
        let call = self.world.number();
        let outcome = Outcome { op, is_blocking, expected, accepted };
        let written = operands.iter().zip(roles).zip(&values).filter(|((_, role), _)| role.writes());
        for ((operand, _), new) in written.clone() {
            let found = locked.iter_mut().find(|(slot, _)| *slot == operand.0);
            found.into_iter().for_each(|(_, locked)| outcome.note(self.world, call, locked.get_mut(), operand.1, new));
        }
        let written = written.map(|((operand, _), _)| operand.0).collect();
        self.keep(outcome, call, written);
    }

    /// A call from one fragment of a datum to another.
    pub(crate) fn siblings(&mut self, op: Op, step: &Step) {
        let slot = self.world.slot(step.slots[0]);
        let mut own = self.world.own(slot);
        let datum = &mut *own;
        let parts = &datum.meaning.root.parts;
        let (n, from) = (parts.len(), step.views[0] % parts.len().max(1));
        let fits = |to: &usize| *to != from && parts[*to].elements.len() == parts[from].elements.len();
        let Some(to) = (0..n).map(|k| (step.views[1] + k) % n).find(fits) else { return };
        let all = datum.meaning.views(|_| true);
        let path_of = |i: usize| all.iter().copied().find(|p| p.steps().eq([i])).unwrap();
        let (a, b) = (path_of(from), path_of(to));
        let mut values = vec![datum.meaning.read(a), datum.meaning.read(b)];
        let operands = [(slot, a), (slot, b)];
        let missing = |i: usize| op.roles()[i].reads() && self.is_missing(datum.meaning.part(operands[i].1));
        let expected = if missing(0) || missing(1) { Expected::Failure } else { self.otherwise() };
        let len = values[0].len();
        let is_blocking = step.is_blocking && self.can_block(op, expected);
        let accepted = {
            let mut views: Vec<Option<&mut View<u32>>> = datum.data.fragments_mut().map(Some).collect();
            let (x, y) = (views[from].take().unwrap(), views[to].take().unwrap());
            let handle = self.world.handle(step.pe, is_blocking);
            handle.call(&op.call(len), &mut [arg(x), arg_mut(y)])
        };
        op.apply(&mut values);
        let call = self.world.number();
        let outcome = Outcome { op, is_blocking, expected, accepted };
        outcome.note(self.world, call, datum, b, &values[1]);
        self.keep(outcome, call, vec![slot]);
    }

    /// A call for each fragment of a datum, submitted together.
    pub(crate) fn batch(&mut self, slot: usize, step: &Step) {
        let op = Op::Bump(step.value);
        let mut own = self.world.own(slot);
        let datum = &mut *own;
        let all = datum.meaning.views(|_| true);
        let path_of = |i: usize| all.iter().copied().find(|p| p.steps().eq([i])).unwrap();
        let paths: Vec<Path> = (0..datum.meaning.root.parts.len()).map(path_of).collect();
        if paths.is_empty() {
            return;
        }
        let handle = self.world.handle(step.pe, false);
        let mut batch = handle.batch();
        for (view, path) in datum.data.fragments_mut().zip(&paths) {
            batch.call(&op.call(datum.meaning.part(*path).elements.len()), &mut [arg_mut(view)]).unwrap();
        }
        let submitted = batch.submit();
        for (i, path) in paths.into_iter().enumerate() {
            let missing = self.is_missing(datum.meaning.part(path));
            let expected = if missing { Expected::Failure } else { self.otherwise() };
            let mut values = vec![datum.meaning.read(path)];
            op.apply(&mut values);
            let accepted = submitted.as_ref().map(|events| events[i]).map_err(Clone::clone);
            let (call, is_blocking) = (self.world.number(), false);
            let outcome = Outcome { op, is_blocking, expected, accepted };
            outcome.note(self.world, call, datum, path, &values[0]);
            self.keep(outcome, call, vec![slot]);
        }
    }

    /// Different data for all that is written; what is only read may be one datum twice.
    fn slots_for(&self, roles: &[Role], step: &Step) -> Vec<usize> {
        let mut slots: Vec<usize> = Vec::new();
        for (role, pick) in roles.iter().zip(step.slots) {
            let mut slot = self.world.slot(pick);
            // What is missing makes missing what it is read for, so it is mostly not read.
            for _ in 0..3 {
                if role.reads() && !step.value.is_multiple_of(8) && self.world.is_missing(slot) {
                    slot = self.world.slot(slot + 1);
                }
            }
            while role.writes() && slots.contains(&slot) {
                slot = self.world.slot(slot + 1);
            }
            slots.push(slot);
        }
        slots
    }

    /// Is what a blocking call leaves known, if it fails? Whether its outputs are spared depends, where devices fail, on
    /// which of its failures comes first; and where they have a time limit, on where it runs.
    fn can_block(&self, op: Op, expected: Expected) -> bool {
        match self.world.setting.trouble {
            Trouble::None => true,
            Trouble::Faults | Trouble::Loss => !matches!(op, Op::Refuse),
            Trouble::Limit => expected != Expected::Failure,
        }
    }

    pub(crate) fn is_missing(&self, part: &Part) -> bool {
        part.any_leaf(|leaf| leaf == Leaf::Missing)
    }

    /// What is expected of a call that lacks nothing.
    fn otherwise(&self) -> Expected {
        if self.world.setting.trouble == Trouble::None { Expected::Success } else { Expected::Either }
    }

    fn expected(&self, op: Op, locked: &[(usize, Locked<'_>)], operands: &[Operand]) -> Expected {
        let reads = operands.iter().zip(op.roles()).filter(|(_, role)| role.reads());
        let mut parts = reads.map(|((slot, path), _)| datum(locked, *slot).meaning.part(*path));
        let is_missing = parts.any(|part| self.is_missing(part));
        if is_missing || matches!(op, Op::Refuse) { Expected::Failure } else { self.otherwise() }
    }

    /// Keeps the event of a call that was accepted; an old one goes, as it may.
    fn keep(&mut self, Outcome { is_blocking, expected, accepted, .. }: Outcome, call: u64, written: Vec<usize>) {
        if let (Ok(event), false) = (accepted, is_blocking) {
            self.accepted.push_back(Accepted { event, call, expected, written });
            if self.accepted.len() > 64 {
                self.accepted.pop_front();
            }
        }
    }
}

struct Outcome {
    op: Op,
    is_blocking: bool,
    expected: Expected,
    accepted: rimms::Result<Event>,
}

impl Outcome {
    /// Holds it against what was expected, and notes what a view is now that `call` was to write.
    fn note(&self, world: &World, call: u64, datum: &mut Datum, path: Path, new: &[u32]) {
        let mut set = |leaf| datum.meaning.part_mut(path).set(leaf);
        match &self.accepted {
            Ok(_) if self.expected == Expected::Failure => {
                assert!(!self.is_blocking, "{:?} succeeded on what is missing", self.op);
                set(Leaf::Missing);
            }
            Ok(_) => {
                set(if self.is_blocking { Leaf::There(Trust::Done) } else { world.written_by(call) });
                datum.meaning.write(path, new);
            }
            Err(e) => {
                let is_own = matches!(e, Error::Uninitialised { .. } | Error::Kernel { .. }) && self.is_blocking;
                let is_expected = self.expected == Expected::Failure && is_own;
                assert!(is_expected || world.setting.explains(e), "{:?}: {e}", self.op);
                if matches!(e, Error::Kernel { message, .. } if &**message == REFUSAL) {
                    set(Leaf::Missing);
                } else if self.is_blocking && world.setting.trouble != Trouble::None {
                    // All is left as it was, or nothing is, but nothing else.
                    datum.meaning.part_mut(path).leaves_mut(&mut |part| {
                        if part.leaf != Leaf::Missing {
                            part.leaf = Leaf::There(Trust::DOUBT);
                        }
                    });
                }
            }
        }
    }
}

fn datum<'a>(locked: &'a [(usize, Locked<'_>)], slot: usize) -> &'a Datum {
    locked.iter().find(|(s, _)| *s == slot).map(|(_, locked)| locked.get()).unwrap()
}

/// Views of one length, one of each datum.
fn views_for(locked: &[(usize, Locked<'_>)], slots: &[usize], step: &Step) -> Option<Vec<Operand>> {
    let of_len = |slot: usize, len: usize| datum(locked, slot).meaning.views(|part| part.elements.len() == len);
    let first = &datum(locked, slots[0]).meaning;
    let is_common = |part: &Part| slots.iter().all(|slot| !of_len(*slot, part.elements.len()).is_empty());
    let common = first.views(is_common);
    if common.is_empty() {
        return None;
    }
    // Large views as often as all others.
    let path = if step.views[2].is_multiple_of(2) { common[0] } else { pick(common, step.views[0]) };
    let len = first.part(path).elements.len();
    let rest = slots.iter().zip(step.views).skip(1).map(|(slot, view)| (*slot, pick(of_len(*slot, len), view)));
    Some(std::iter::once((slots[0], path)).chain(rest).collect())
}
