//! One call: checks, choice of a PE, and a place in its queue.
//!
//! Who may touch which bytes is settled here: the arguments borrow their views,
//! outputs mutably, and before that borrow ends the call is enlisted with the
//! leaves it uses, so that whoever comes later waits for it.
#![allow(unsafe_code)]

use super::execute::{Job, Operands};
use super::pe::{Pe, PeSet};
use super::queue::Work;
use super::{Arg, Event, Runtime, Shared};
use crate::error::{Error, Result};
use crate::memory::{Held, Node, Outlook, can_never_hold};
use crate::op::{Call, Role, Shape};
use crate::order::{After, Ticket, in_kernel};
use crate::sched::Candidate;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Calls have up to this many operands without an allocation.
pub(super) const INLINE: usize = 4;

/// What a queued call is taken to need before one of its kind was measured: that queues have a length at all.
const UNMEASURED_NS: f64 = 1_000.0;

impl Runtime {
    /// Makes any call, built-in or user-defined. `args` in the op's order of operands:
    /// [`arg`](super::arg) for those that are read, [`arg_mut`](super::arg_mut) for those that are written.
    ///
    /// Returns when the call is accepted; on a [`blocking`](Self::blocking) handle, when it is done. It runs once the
    /// calls before it that write what it reads, or use what it writes, are done. A call that fails on one PE is
    /// tried on the others that can do it, as long as its operands are intact.
    ///
    /// # Errors
    /// At once, before anything happens: [`Error::Shape`], [`Error::OtherRuntime`], [`Error::NoPe`],
    /// [`Error::NeverFits`], [`Error::DeviceLost`]. Later, by the event
    /// and by whoever reads what the call was to write: [`Error::Uninitialised`], lack of room, a device's or kernel's
    /// failure. Inputs are untouched then, outputs uninitialised. A blocking call returns these itself; an operand that
    /// is read and written keeps its old elements then, if it can.
    pub fn call(&self, call: &Call, args: &mut [Arg<'_>]) -> Result<Event> {
        let mut operands = Operands::new();
        self.check(call, args, &mut operands)?;
        let size = if self.core.needs_costs { call.work_of(args.iter().map(|a| a.shape.len)) } else { 0 };
        if self.blocking { self.run(call, &operands, size) } else { self.submit(call, &operands, size) }
    }

    /// The operands fit the call, are this runtime's, and are borrowed as their roles demand. Adds them to `operands`.
    #[inline]
    pub(super) fn check<'a>(&self, call: &Call, args: &[Arg<'a>], operands: &mut Operands<'a>) -> Result<()> {
        if let Some((elements, roles)) = call.types_alone()
            && elements.len() == args.len()
        {
            let fits = args.iter().zip(elements).zip(roles).all(|((arg, element), role)| {
                operands.push((arg.node, *role));
                arg.shape.element == *element && self.may_use(arg, *role)
            });
            if fits {
                return Ok(());
            }
        }
        self.check_shapes(call, args, operands)
    }

    /// The same where there is more to check than types, or something does not fit.
    #[inline(never)]
    fn check_shapes<'a>(&self, call: &Call, args: &[Arg<'a>], operands: &mut Operands<'a>) -> Result<()> {
        let shapes: SmallVec<[Shape; INLINE]> = args.iter().map(|a| a.shape).collect();
        call.check(&shapes).map_err(|reason| Error::shape(call.name(), reason))?;
        operands.clear();
        for (arg, role) in args.iter().zip(call.roles()) {
            if !self.may_use(arg, *role) {
                return Err(refused(call, operands.len(), self.owns(arg)));
            }
            operands.push((arg.node, *role));
        }
        Ok(())
    }

    #[inline]
    fn may_use(&self, arg: &Arg<'_>, role: Role) -> bool {
        self.owns(arg) && (arg.exclusive || !role.writes())
    }

    #[inline]
    fn owns(&self, arg: &Arg<'_>) -> bool {
        Arc::ptr_eq(arg.node.datum().resources(), &self.core.resources)
    }

    /// Executes the call in this thread, once what it comes after is done.
    #[inline]
    fn run(&self, call: &Call, operands: &[(&Node, Role)], size: usize) -> Result<Event> {
        for (node, role) in operands {
            node.settle(*role)?;
        }
        let Some((at, pe)) = self.core.choose(&self.allowed, call, size, operands, &[]) else {
            return Err(self.no_pe(call, operands));
        };
        if self.core.time_limit.is_some() && !pe.resource.is_host() {
            if in_kernel() {
                return Err(Error::WouldDeadlock);
            }
            // Somebody else has to be waiting for the device, so that this thread can be told that it takes too long.
            let event = self.enqueue(at, pe, call, operands, size)?;
            self.wait(event)?;
            return Ok(event);
        }
        let _busy = self.core.needs_costs.then(|| pe.occupy());
        self.core.execute(at, pe, &Job { call, operands, size, allowed: &self.allowed, task: None })?;
        Ok(Event::DONE)
    }

    fn submit(&self, call: &Call, operands: &[(&Node, Role)], size: usize) -> Result<Event> {
        match self.core.choose(&self.allowed, call, size, operands, &[]) {
            Some((at, pe)) => self.enqueue(at, pe, call, operands, size),
            None => Err(self.no_pe(call, operands)),
        }
    }

    /// Appends the call to a PE's queue.
    #[inline]
    pub(super) fn enqueue(
        &self,
        at: usize,
        pe: &Pe,
        call: &Call,
        operands: &[(&Node, Role)],
        size: usize,
    ) -> Result<Event> {
        let core = &*self.core;
        pe.worker.ensure(&core.shared, at)?;
        let expected_ns = match core.needs_costs {
            true => core.costs.estimate(call.kind(), at, size).unwrap_or(UNMEASURED_NS) as u64,
            false => 0,
        };
        let mut after = After::new();
        let mut held: SmallVec<[Held; 4]> = SmallVec::new();
        for (node, role) in operands {
            node.comes_after(*role, at, &mut after);
            // SAFETY: enlisted below, while the arguments still borrow their views; dropped by the worker before the
            // ticket is retired; fragmenting and joining settle first (`data::divide`).
            held.push(unsafe { Held::new(node) });
        }
        let (call, allowed) = (call.clone(), self.allowed.clone());
        let place = pe.queue.push(Work { call, operands: held, after, allowed, size, expected_ns });
        let ticket = Ticket::new(at, place);
        for (node, role) in operands {
            node.enlist(*role, ticket);
        }
        Ok(Event::new(ticket, core.id))
    }

    /// Why no PE takes the call. Where only room is lacking, or a device, that is the reason.
    #[cold]
    pub(super) fn no_pe(&self, call: &Call, operands: &[(&Node, Role)]) -> Error {
        let resources = &self.core.resources;
        let able = self.core.pes.iter().enumerate().filter(|(i, pe)| self.allowed.contains(*i) && pe.can(call));
        let mut missing = able.map(|(_, pe)| match resources.is_lost(pe.resource) {
            true => Some(resources.gone(pe.resource)),
            false => {
                can_never_hold(resources, pe.resource, Some(&call.to_string()), operands.iter().map(|(node, _)| *node))
            }
        });
        if let Some(Some(error)) = missing.next() {
            return error;
        }
        let why = self.core.pes.iter().enumerate().map(|(i, pe)| {
            if self.allowed.contains(i) { pe.why_not(call) } else { format!("{}: not among those allowed", pe.name()) }
        });
        Error::NoPe { call: call.to_string().into(), why: why.collect::<Vec<_>>().join("; ").into() }
    }
}

/// An operand that is not this runtime's, or not borrowed as its role demands.
#[cold]
fn refused(call: &Call, operand: usize, is_ours: bool) -> Error {
    if is_ours {
        let why = format!("operand {operand} is written: pass it with arg_mut");
        return Error::shape(call.name(), why);
    }
    Error::OtherRuntime { call: call.name().into(), operand }
}

impl Shared {
    /// The PE for the call, among those allowed that can do it and were not tried.
    #[inline]
    pub(super) fn choose(
        &self,
        allowed: &PeSet,
        call: &Call,
        size: usize,
        operands: &[(&Node, Role)],
        tried: &[usize],
    ) -> Option<(usize, &Pe)> {
        let mut only = None;
        for (i, pe) in self.pes.iter().enumerate() {
            let is_allowed = allowed.contains(i) && (tried.is_empty() || !tried.contains(&i));
            if is_allowed && pe.can(call) && (pe.resource.is_host() || self.can_hold(pe, operands)) {
                if only.is_some() {
                    return self.choose_among(allowed, call, size, operands, tried);
                }
                only = Some((i, pe));
            }
        }
        only
    }

    /// Is the PE's device there, and large enough for these operands at once?
    fn can_hold(&self, pe: &Pe, operands: &[(&Node, Role)]) -> bool {
        let nodes = operands.iter().map(|(node, _)| *node);
        !self.resources.is_lost(pe.resource) && can_never_hold(&self.resources, pe.resource, None, nodes).is_none()
    }

    /// What the call is expected to take on a PE: as measured there, or else on another of its kind.
    fn expected_cost(&self, call: &Call, at: usize, pe: &Pe, size: usize) -> Option<f64> {
        let on = |at: usize| self.costs.estimate(call.kind(), at, size);
        let alike = || self.pes.iter().enumerate().filter(|(i, other)| *i != at && other.kind_number == pe.kind_number);
        on(at).or_else(|| alike().find_map(|(i, _)| on(i)))
    }

    /// The same where several can do it: asks the policy.
    #[inline(never)]
    fn choose_among(
        &self,
        allowed: &PeSet,
        call: &Call,
        size: usize,
        operands: &[(&Node, Role)],
        tried: &[usize],
    ) -> Option<(usize, &Pe)> {
        let candidates = self.candidates(allowed, call, size, operands, tried);
        let turn = self.turn.fetch_add(1, Relaxed);
        let chosen = candidates.get(self.policy.choose(turn, &candidates)).or(candidates.first())?.pe;
        Some((chosen, self.pes.get(chosen)?))
    }

    /// The PEs that can do the call, as a policy sees them.
    pub(super) fn candidates(
        &self,
        allowed: &PeSet,
        call: &Call,
        size: usize,
        operands: &[(&Node, Role)],
        tried: &[usize],
    ) -> SmallVec<[Candidate; 8]> {
        let can = |i: usize, pe: &Pe| allowed.contains(i) && !tried.contains(&i) && pe.can(call);
        let has_room = |pe: &Pe| pe.resource.is_host() || self.can_hold(pe, operands);
        let fitting = self.pes.iter().enumerate().filter(|&(i, pe)| can(i, pe) && has_room(pe));
        let outlook = self.policy.needs_transfers().then(|| {
            let mut outlook = Outlook::default();
            operands.iter().for_each(|(node, role)| outlook.add(node, *role));
            outlook
        });
        let queued_ns = |queue: usize| self.pes.get(queue).map_or(0, |pe| pe.queue.expected_ns());
        let ready = outlook.iter().flat_map(|o| &o.after).map(|t| queued_ns(t.queue())).max().unwrap_or(0);
        let mut candidates: SmallVec<[Candidate; 8]> = SmallVec::new();
        for (i, pe) in fitting {
            let cost_ns = if self.needs_costs { self.expected_cost(call, i, pe, size) } else { None };
            // What a thread of the program runs on it now is taken to be like this call.
            let busy_ns = pe.queue.expected_ns() as f64 + pe.running() as f64 * cost_ns.unwrap_or(0.0);
            let transfer_ns = outlook.as_ref().map_or(0.0, |o| o.transfer_ns(&self.resources, pe.resource));
            let queued = pe.queue.issued().saturating_sub(self.resources.order.lines.done(i));
            let (kind, ready_ns) = (pe.kind_number, ready as f64);
            candidates.push(Candidate { pe: i, kind, queued, busy_ns, cost_ns, ready_ns, transfer_ns });
        }
        candidates
    }
}
