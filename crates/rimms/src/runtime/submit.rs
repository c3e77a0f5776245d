//! One call: checks, choice of a PE, operands to their place, execution, states.
//!
//! Who may touch which bytes meanwhile is settled before: the arguments borrow
//! their views, outputs mutably. That, and blocks held until the launch is over
//! ([`Located`]), is what makes the operands handed to a device sound.
#![allow(unsafe_code)]

use super::pe::Pe;
use super::{Arg, Runtime};
use crate::device::{DeviceError, Operand};
use crate::error::{Error, Result};
use crate::memory::{Located, device_error};
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
    fn from(error: Error) -> Self {
        let elsewhere = matches!(
            error,
            Error::Device { .. } | Error::Full { .. } | Error::Fragmented { .. } | Error::NeverFits { .. }
        );
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
        let shapes: SmallVec<[Shape; INLINE]> = args.iter().map(|a| a.shape).collect();
        if let Err(reason) = call.check(&shapes) {
            return Err(Error::shape(call.name(), reason));
        }
        self.check_args(call, args)?;
        let size = call.work(&shapes);
        let mut tried: SmallVec<[usize; 4]> = SmallVec::new();
        let mut first_error: Option<Error> = None;
        loop {
            let Some(at) = self.choose(call, size, &tried) else {
                return Err(first_error.unwrap_or_else(|| self.no_pe(call)));
            };
            let Some(pe) = self.core.pes.get(at) else { return Err(self.no_pe(call)) };
            if first_error.is_some() {
                self.core.resources.tally.retried();
            }
            match self.attempt(at, pe, call, size, args) {
                Ok(()) => return Ok(()),
                Err(Failure { error, elsewhere: true }) => {
                    tried.push(at);
                    first_error.get_or_insert(error);
                }
                // What was lost in the first attempt is the reason, not that the second finds it missing.
                Err(Failure { error, .. }) => return Err(first_error.unwrap_or(error)),
            }
        }
    }

    /// The arguments are this runtime's, and borrowed as their roles demand.
    #[inline]
    fn check_args(&self, call: &Call, args: &[Arg<'_>]) -> Result<()> {
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
    fn choose(&self, call: &Call, size: usize, tried: &[usize]) -> Option<usize> {
        let core = &*self.core;
        let fit = |i: usize, pe: &Pe| self.allowed.contains(i) && !tried.contains(&i) && pe.can(call);
        let needs_costs = core.policy.needs_costs();
        let mut candidates: SmallVec<[Candidate; 8]> = SmallVec::new();
        for (i, pe) in core.pes.iter().enumerate() {
            if fit(i, pe) {
                let cost_ns = if needs_costs { core.costs.estimate(call.kind(), i, size) } else { None };
                // What it runs now is taken to be like this call.
                let busy_ns = if needs_costs { pe.running() as f64 * cost_ns.unwrap_or(0.0) } else { 0.0 };
                candidates.push(Candidate { pe: i, busy_ns, cost_ns });
            }
        }
        match candidates.as_slice() {
            [] => None,
            [only] => Some(only.pe),
            several => {
                let turn = core.turn.fetch_add(1, Relaxed);
                several.get(core.policy.choose(turn, several)).or(several.first()).map(|c| c.pe)
            }
        }
    }

    #[cold]
    fn no_pe(&self, call: &Call) -> Error {
        let why = self.core.pes.iter().enumerate().map(|(i, pe)| {
            if self.allowed.contains(i) { pe.why_not(call) } else { format!("{}: not among those allowed", pe.name()) }
        });
        Error::NoPe { call: call.to_string().into(), why: why.collect::<Vec<_>>().join("; ").into() }
    }

    fn attempt(&self, at: usize, pe: &Pe, call: &Call, size: usize, args: &[Arg<'_>]) -> Result<(), Failure> {
        let roles = call.roles();
        let operands = || args.iter().zip(roles);
        let mut located: SmallVec<[Located; INLINE]> = SmallVec::new();
        for (arg, &role) in operands() {
            located.push(arg.node.fetch(pe.resource, role, Cause::Input)?);
        }
        for (arg, &role) in operands() {
            arg.node.begin(pe.resource, role);
        }
        let spans: SmallVec<[Operand; INLINE]> = located
            .iter()
            .zip(roles)
            // SAFETY: `located` holds each block (the datum its host storage) beyond the launch; the arguments
            // borrow their views for as long, those that are written exclusively (`check_args`).
            .map(|(l, &role)| unsafe { Operand::new(l.span, role) })
            .collect();
        let busy = pe.occupy();
        let start = self.core.policy.needs_costs().then(Instant::now);
        let launched = pe.device.launch(pe.unit, call, &spans);
        if let (Some(start), Ok(())) = (start, &launched) {
            self.core.costs.record(call.kind(), at, size, start.elapsed().as_nanos() as f64);
        }
        drop(busy);
        if let Err(e) = launched {
            return Err(self.launch_failed(pe, call, args, e));
        }
        for (arg, &role) in operands() {
            if let Err(error) = arg.node.commit(pe.resource, role) {
                return Err(record(args, roles, error));
            }
        }
        self.core.resources.tally.called(at, args.len());
        Ok(())
    }

    #[cold]
    fn launch_failed(&self, pe: &Pe, call: &Call, args: &[Arg<'_>], e: DeviceError) -> Failure {
        let elsewhere = e.is_retryable();
        let error = device_error(e, &call.to_string(), pe.name());
        Failure { elsewhere, ..record(args, call.roles(), error) }
    }
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
