//! One call: checks, choice of a PE, operands to their place, execution, states.
//!
//! Who may touch which bytes meanwhile is settled before: the arguments borrow
//! their views, outputs mutably. That, and blocks held until the launch is over,
//! is what makes the operands handed to a device sound.
//!
//! The way of a call that succeeds at once on valid operands is kept short (its
//! instructions are counted by `rimms bench overhead`); all else is cold.
#![allow(unsafe_code)]

use super::pe::Pe;
use super::{Arg, Runtime};
use crate::coherence::MemoryMode;
use crate::device::{DeviceError, Operand};
use crate::error::{Error, Result};
use crate::memory::{Block, device_error};
use crate::op::{Call, Role, Shape};
use crate::sched::Candidate;
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Calls have up to this many operands without an allocation.
const INLINE: usize = 6;

/// How an attempt on one PE ended, where it failed.
struct Failure {
    error: Error,
    /// May another PE do better?
    elsewhere: bool,
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        use Error::{Device, Fragmented, Full, NeverFits};
        let elsewhere = matches!(error, Device { .. } | Full { .. } | Fragmented { .. } | NeverFits { .. });
        Self { error, elsewhere }
    }
}

impl Runtime {
    /// Runs any call, built-in or user-defined, and returns when it is done. `args` in the op's order of operands:
    /// [`arg`](super::arg) for those that are read, [`arg_mut`](super::arg_mut) for those that are written.
    ///
    /// A call that fails on one PE is tried on the others that can do it, as long as its operands are intact.
    ///
    /// # Errors
    /// Before anything happens: [`Error::Shape`], [`Error::OtherRuntime`], [`Error::NoPe`]. After: [`Error::Uninitialised`],
    /// lack of room, a device's or kernel's failure. Inputs are untouched then, outputs uninitialised.
    pub fn call(&self, call: &Call, args: &mut [Arg<'_>]) -> Result<()> {
        self.check(call, args)?;
        match self.choose(call, args, &[]) {
            None => Err(self.no_pe(call)),
            Some((at, pe)) => match self.attempt(at, pe, call, args) {
                Ok(()) => Ok(()),
                Err(failure) => self.retry(at, failure, call, args),
            },
        }
    }

    /// The operands fit the call, are this runtime's, and are borrowed as their roles demand.
    #[inline]
    fn check(&self, call: &Call, args: &[Arg<'_>]) -> Result<()> {
        if call.quick_check(args.len(), |i| args[i].shape.element) != Some(true) {
            call.check(&shapes(args)).map_err(|reason| Error::shape(call.name(), reason))?;
        }
        for (operand, (arg, role)) in args.iter().zip(call.roles()).enumerate() {
            if !Arc::ptr_eq(arg.node.datum().resources(), &self.core.resources) {
                return Err(Error::OtherRuntime { call: call.name().into(), operand });
            }
            if role.writes() && !arg.exclusive {
                let why = format!("operand {operand} is written: pass it with arg_mut");
                return Err(Error::shape(call.name(), why));
            }
        }
        Ok(())
    }

    /// The PE for the call, among those allowed that can do it and were not tried.
    #[inline]
    fn choose(&self, call: &Call, args: &[Arg<'_>], tried: &[usize]) -> Option<(usize, &Pe)> {
        let fits = |i: usize, pe: &Pe| self.allowed.contains(i) && !tried.contains(&i) && pe.can(call);
        let mut only = None;
        for (i, pe) in self.core.pes.iter().enumerate() {
            if fits(i, pe) {
                if only.is_some() {
                    let fitting = self.core.pes.iter().enumerate().filter(|&(i, pe)| fits(i, pe));
                    return self.choose_among(fitting, call, args);
                }
                only = Some((i, pe));
            }
        }
        only
    }

    /// Asks the policy.
    fn choose_among<'a>(
        &self,
        fitting: impl Iterator<Item = (usize, &'a Pe)>,
        call: &Call,
        args: &[Arg<'_>],
    ) -> Option<(usize, &'a Pe)> {
        let core = &*self.core;
        let size = work(call, args);
        let mut pes: SmallVec<[(usize, &Pe); 8]> = SmallVec::new();
        let mut candidates: SmallVec<[Candidate; 8]> = SmallVec::new();
        for (i, pe) in fitting {
            let cost_ns = if core.policy.needs_costs() { core.costs.estimate(call.kind(), i, size) } else { None };
            // What it runs now is taken to be like this call.
            let busy_ns = pe.running() as f64 * cost_ns.unwrap_or(0.0);
            candidates.push(Candidate { pe: i, busy_ns, cost_ns });
            pes.push((i, pe));
        }
        let turn = core.turn.fetch_add(1, Relaxed);
        pes.get(core.policy.choose(turn, &candidates)).or(pes.first()).copied()
    }

    /// The call failed on PE `at`: the others that can do it, one after the other.
    #[cold]
    fn retry(&self, at: usize, failure: Failure, call: &Call, args: &[Arg<'_>]) -> Result<()> {
        let mut tried = vec![at];
        let mut elsewhere = failure.elsewhere;
        while elsewhere {
            let Some((at, pe)) = self.choose(call, args, &tried) else { break };
            self.core.resources.tally.retried();
            tried.push(at);
            match self.attempt(at, pe, call, args) {
                Ok(()) => return Ok(()),
                Err(next) => elsewhere = next.elsewhere,
            }
        }
        // The first reason counts: that a later attempt finds its operand missing is a consequence.
        Err(failure.error)
    }

    #[cold]
    fn no_pe(&self, call: &Call) -> Error {
        let why = self.core.pes.iter().enumerate().map(|(i, pe)| {
            if self.allowed.contains(i) { pe.why_not(call) } else { format!("{}: not among those allowed", pe.name()) }
        });
        Error::NoPe { call: call.to_string().into(), why: why.collect::<Vec<_>>().join("; ").into() }
    }

    #[inline]
    fn attempt(&self, at: usize, pe: &Pe, call: &Call, args: &[Arg<'_>]) -> Result<(), Failure> {
        let roles = call.roles();
        let in_host_memory = pe.resource.is_host() || self.core.resources.mode == MemoryMode::ZeroCopy;
        let mut operands: SmallVec<[Operand<'_>; INLINE]> = SmallVec::new();
        // Keeps the operands' blocks on a device until the launch is over; empty, and free, on the host.
        let mut blocks: Vec<Arc<Block>> = Vec::new();
        for (arg, &role) in args.iter().zip(roles) {
            let located = arg.node.fetch(pe.resource, role, Cause::Input)?;
            if let Some(block) = located.block {
                blocks.push(block);
            }
            operands.push(if in_host_memory {
                // SAFETY: the span lies in the datum's storage, which is initialised (frozen at birth) and has exposed
                // provenance. The arguments borrow their views beyond the launch, those written exclusively (`check`).
                unsafe { Operand::in_host_memory(located.span, role) }
            } else {
                Operand::on_device(located.span, role)
            });
        }
        for (arg, &role) in args.iter().zip(roles) {
            arg.node.begin(pe.resource, role);
        }
        let launched = if self.core.policy.needs_costs() {
            self.launch_timed(at, pe, call, args, &operands)
        } else {
            pe.device.launch(pe.unit, call, &operands)
        };
        if let Err(e) = launched {
            return Err(launch_failed(pe, call, args, e));
        }
        for (arg, &role) in args.iter().zip(roles) {
            if let Err(error) = arg.node.commit(pe.resource, role) {
                return Err(record(args, roles, error));
            }
        }
        self.core.resources.tally.called(at, args.len());
        Ok(())
    }

    /// Launches, and now and then learns what it cost.
    fn launch_timed(
        &self,
        at: usize,
        pe: &Pe,
        call: &Call,
        args: &[Arg<'_>],
        operands: &[Operand<'_>],
    ) -> Result<(), DeviceError> {
        let (kind, size) = (call.kind(), work(call, args));
        let _busy = pe.occupy();
        if !self.core.costs.is_due(kind, at, size) {
            return pe.device.launch(pe.unit, call, operands);
        }
        let start = Instant::now();
        pe.device.launch(pe.unit, call, operands)?;
        self.core.costs.record(kind, at, size, start.elapsed().as_nanos() as f64);
        Ok(())
    }
}

fn shapes(args: &[Arg<'_>]) -> SmallVec<[Shape; INLINE]> {
    args.iter().map(|a| a.shape).collect()
}

fn work(call: &Call, args: &[Arg<'_>]) -> usize {
    call.work(&shapes(args))
}

#[cold]
fn launch_failed(pe: &Pe, call: &Call, args: &[Arg<'_>], e: DeviceError) -> Failure {
    let elsewhere = e.is_retryable();
    let error = device_error(e, &call.to_string(), pe.name());
    Failure { elsewhere, ..record(args, call.roles(), error) }
}

/// Notes why what was to be written is missing.
#[cold]
fn record(args: &[Arg<'_>], roles: &[Role], error: Error) -> Failure {
    let cause = Arc::new(error);
    for (arg, _) in args.iter().zip(roles).filter(|(_, role)| role.writes()) {
        arg.node.failed(&cause);
    }
    Arc::unwrap_or_clone(cause).into()
}
