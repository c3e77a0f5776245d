//! One call: checks, choice of a PE, and a place in its queue.
//!
//! Who may touch which bytes is settled here: the arguments borrow their views,
//! outputs mutably, and before that borrow ends the call is enlisted with the
//! leaves it uses, so that whoever comes later waits for it.
#![allow(unsafe_code)]

use super::execute::Job;
use super::pe::{Pe, PeSet};
use super::{Arg, Event, Runtime, Shared};
use crate::error::{Error, Result};
use crate::memory::{INLINE, Operands, Outlook, Usage, can_never_hold};
use crate::op::{Call, Role, Shape};
use crate::order::{After, Ticket, in_kernel};
use crate::sched::Candidate;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

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
        let mut operands = Operands::none();
        if !self.fits(call, args, &mut operands) {
            self.check_shapes(call, args, &mut operands)?;
        }
        let size = if self.core.needs_costs { call.work_of(args.iter().map(|a| a.shape.len)) } else { 0 };
        if self.blocking { self.run(call, &operands, size) } else { self.submit(call, &operands, size) }
    }

    /// The operands fit the call, are this runtime's, and are borrowed as their roles demand. Adds them to `operands`.
    pub(super) fn check<'a>(&self, call: &Call, args: &[Arg<'a>], operands: &mut Operands<'a>) -> Result<()> {
        if self.fits(call, args, operands) { Ok(()) } else { self.check_shapes(call, args, operands) }
    }

    /// Is that so, as far as types alone tell?
    #[inline(always)]
    fn fits<'a>(&self, call: &Call, args: &[Arg<'a>], operands: &mut Operands<'a>) -> bool {
        let Some(types) = call.types_alone() else { return false };
        if types.len() != args.len() || args.len() > INLINE {
            return false;
        }
        let used = args.iter().zip(types).map(|(arg, (element, role))| {
            (arg.shape.element == *element && self.may_use(arg, *role)).then(|| Usage::new(arg.node, *role))
        });
        operands.fill_few(used).is_some()
    }

    /// The same where there is more to check than types, or something does not fit.
    #[inline(never)]
    fn check_shapes<'a>(&self, call: &Call, args: &[Arg<'a>], operands: &mut Operands<'a>) -> Result<()> {
        let shapes: SmallVec<[Shape; INLINE]> = args.iter().map(|a| a.shape).collect();
        call.check(&shapes).map_err(|reason| Error::shape(call.name(), reason))?;
        let roles = call.roles();
        let used =
            args.iter().zip(roles).map(|(arg, role)| self.may_use(arg, *role).then(|| Usage::new(arg.node, *role)));
        operands.fill(used).ok_or_else(|| self.refused(call, args))
    }

    /// An operand is not this runtime's, or not borrowed as its role demands.
    #[cold]
    fn refused(&self, call: &Call, args: &[Arg<'_>]) -> Error {
        let mut all = args.iter().zip(call.roles());
        let operand = all.position(|(arg, role)| !self.may_use(arg, *role)).unwrap_or_default();
        if args.get(operand).is_some_and(|arg| self.owns(arg)) {
            let why = format!("operand {operand} is written: pass it with arg_mut");
            return Error::shape(call.name(), why);
        }
        Error::OtherRuntime { call: call.name().into(), operand }
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
    fn run(&self, call: &Call, operands: &[Usage<'_>], size: usize) -> Result<Event> {
        for one in operands {
            one.node().settle(one.role())?;
        }
        let Some((at, pe)) = self.core.choose(&self.allowed, call, size, operands, &[]) else {
            return Err(self.no_pe(call, operands));
        };
        if self.core.time_limit.is_some() && !pe.resource.is_host() {
            if in_kernel() {
                return Err(Error::WouldDeadlock);
            }
            // Somebody else has to be waiting for the device, so that this thread can be told that it takes too long.
            return self.run_watched(at, pe, call, operands, size);
        }
        let _busy = self.core.needs_costs.then(|| pe.occupy());
        self.core.execute(at, pe, &Job { call, operands, size, allowed: &self.allowed, task: None, hand: None })?;
        Ok(Event::DONE)
    }

    #[inline(never)]
    fn run_watched(&self, at: usize, pe: &Pe, call: &Call, operands: &[Usage<'_>], size: usize) -> Result<Event> {
        let event = self.enqueue(at, pe, call, operands, size)?;
        self.wait(event)?;
        Ok(event)
    }

    #[inline]
    fn submit(&self, call: &Call, operands: &[Usage<'_>], size: usize) -> Result<Event> {
        match self.core.choose(&self.allowed, call, size, operands, &[]) {
            Some((at, pe)) => self.append(at, pe, call, operands, size),
            None => Err(self.no_pe(call, operands)),
        }
    }

    /// Appends the call to a PE's queue.
    #[inline(never)]
    pub(super) fn enqueue(
        &self,
        at: usize,
        pe: &Pe,
        call: &Call,
        operands: &[Usage<'_>],
        size: usize,
    ) -> Result<Event> {
        self.append(at, pe, call, operands, size)
    }

    #[inline(always)]
    fn append(&self, at: usize, pe: &Pe, call: &Call, operands: &[Usage<'_>], size: usize) -> Result<Event> {
        let core = &*self.core;
        pe.worker.ensure(&core.shared, at)?;
        let expected_ns = match core.needs_costs {
            true => core.costs.estimate(call.kind(), at, size).unwrap_or(UNMEASURED_NS) as u64,
            false => 0,
        };
        let mut after = After::new();
        for one in operands {
            one.node().comes_after(one.role(), at, &mut after);
        }
        // SAFETY: enlisted below, while the arguments still borrow their views; dropped by the worker before the
        // ticket is retired; fragmenting and joining settle first (`data::divide`).
        let place = unsafe { pe.queue.push(call, operands, after, &self.allowed, (size, expected_ns)) };
        let ticket = Ticket::new(at, place);
        for one in operands {
            one.node().enlist(one.role(), ticket);
        }
        Ok(Event::new(ticket, core.id))
    }

    /// Why no PE takes the call. Where only room is lacking, or a device, that is the reason.
    #[cold]
    pub(super) fn no_pe(&self, call: &Call, operands: &[Usage<'_>]) -> Error {
        let resources = &self.core.resources;
        let able = self.core.pes.iter().enumerate().filter(|(i, pe)| self.allowed.contains(*i) && pe.can(call));
        let mut missing = able.map(|(_, pe)| match resources.is_lost(pe.resource) {
            true => Some(resources.gone(pe.resource)),
            false => can_never_hold(resources, pe.resource, Some(&call.to_string()), operands.iter().map(Usage::node)),
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

impl Shared {
    /// The PE for the call, among those allowed that can do it and were not tried.
    #[inline(always)]
    pub(super) fn choose(
        &self,
        allowed: &PeSet,
        call: &Call,
        size: usize,
        operands: &[Usage<'_>],
        tried: &[usize],
    ) -> Option<(usize, &Pe)> {
        if let PeSet::Only(at) = *allowed {
            let pe = self.pes.get(at)?;
            let takes_it = pe.can(call) && (pe.resource.is_host() || self.can_hold(pe, operands)) && tried.is_empty();
            return takes_it.then_some((at, pe));
        }
        self.choose_of_several(allowed, call, size, operands, tried)
    }

    /// The same where several are allowed.
    #[inline(never)]
    fn choose_of_several(
        &self,
        allowed: &PeSet,
        call: &Call,
        size: usize,
        operands: &[Usage<'_>],
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
    #[inline(never)]
    fn can_hold(&self, pe: &Pe, operands: &[Usage<'_>]) -> bool {
        let nodes = operands.iter().map(Usage::node);
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
        operands: &[Usage<'_>],
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
        operands: &[Usage<'_>],
        tried: &[usize],
    ) -> SmallVec<[Candidate; 8]> {
        let can = |i: usize, pe: &Pe| allowed.contains(i) && !tried.contains(&i) && pe.can(call);
        let has_room = |pe: &Pe| pe.resource.is_host() || self.can_hold(pe, operands);
        let fitting = self.pes.iter().enumerate().filter(|&(i, pe)| can(i, pe) && has_room(pe));
        let outlook = self.policy.needs_transfers().then(|| {
            let mut outlook = Outlook::default();
            operands.iter().for_each(|one| outlook.add(one.node(), one.role()));
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
