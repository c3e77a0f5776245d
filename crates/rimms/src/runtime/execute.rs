//! Executing one call: operands to their place, launch, states; elsewhere if it fails.
//!
//! Done by a worker, or by a thread of the program that makes a blocking call.
//! Either way all that the call comes after is done, and what conflicts with it
//! waits. That, and blocks held until the launch is over, is what makes the
//! operands handed to a device sound.
//!
//! The way of a call that succeeds at once on valid operands is kept short (its
//! instructions are counted by `rimms bench overhead`); all else is cold.
#![allow(unsafe_code)]

use super::Shared;
use super::foresight::Foresight;
use super::hand::Hand;
use super::monitor::Task;
use super::pe::{Pe, PeSet};
use crate::coherence::MemoryMode;
use crate::device::{DeviceError, DeviceErrorKind, Operand, Span};
use crate::error::{Error, Result};
use crate::memory::{Hold, INLINE, Node, Usage, bring};
use crate::op::{Call, Role};
use crate::order::kernel_scope;
use crate::trace::{Cause, Log, Traced};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;

type Places<'a> = SmallVec<[Operand<'a>; INLINE]>;
type Holds<'a> = SmallVec<[Hold<'a>; INLINE]>;

/// Where an attempt came to an end.
enum Stop {
    /// Before the launch: nothing has changed.
    Before(Error),
    Launch(DeviceError),
    /// After it: a result did not come back.
    After(Error),
}

impl Stop {
    #[cold]
    fn before(error: Error) -> Box<Self> {
        Box::new(Self::Before(error))
    }
}

/// A call that is to be executed.
pub(super) struct Job<'a> {
    pub(super) call: &'a Call,
    pub(super) operands: &'a [Usage<'a>],
    /// Elements it works through; 0 where no policy asks.
    pub(super) size: usize,
    pub(super) allowed: &'a PeSet,
    /// For the one who watches, if somebody does.
    pub(super) task: Option<&'a Task>,
    /// The worker's second hand, if a worker executes it.
    pub(super) hand: Option<&'a Hand>,
}

impl<'a> Job<'a> {
    fn written(&self) -> impl Iterator<Item = &'a Node> {
        self.operands.iter().filter(|one| one.role().writes()).map(Usage::node)
    }

    /// The writers start now, unless the call was taken away. Returns whether they do.
    #[inline]
    fn begin(&self, pe: &Pe) -> bool {
        if let Some(task) = self.task {
            return task.launch(|| self.operands.iter().for_each(|one| one.node().begin(pe.resource, one.role())));
        }
        for one in self.operands {
            one.node().begin(pe.resource, one.role());
        }
        true
    }

    /// The call never came about, or failed: what it was to write is missing, and this is why.
    ///
    /// For calls that nobody waits for at once: their old bytes must not pass for the result.
    #[cold]
    pub(super) fn poison(&self, error: &Arc<Error>) {
        for node in self.written() {
            node.spoil();
            node.failed(error);
        }
    }
}

/// How an attempt on one PE ended, where it failed.
pub(super) struct Failure {
    pub(super) error: Error,
    /// May another PE do better?
    pub(super) elsewhere: bool,
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        use Error::{Device, DeviceLost, Fragmented, Full, NeverFits};
        let no_room = matches!(error, Full { .. } | Fragmented { .. } | NeverFits { .. });
        let elsewhere = no_room || matches!(error, Device { .. } | DeviceLost { .. });
        Self { error, elsewhere }
    }
}

impl Shared {
    /// Executes a call on PE `at`, or on another that can do it where that fails and the operands are intact.
    #[inline]
    pub(super) fn execute(&self, at: usize, pe: &Pe, job: &Job<'_>) -> Result<()> {
        match self.attempt(at, pe, job) {
            Ok(()) => Ok(()),
            Err(failure) => self.retry(at, failure, job),
        }
    }

    /// The call failed on PE `at`: the others that can do it, one after the other.
    #[cold]
    pub(super) fn retry(&self, at: usize, failure: Failure, job: &Job<'_>) -> Result<()> {
        let mut tried = vec![at];
        let mut elsewhere = failure.elsewhere;
        while elsewhere {
            let Some((at, pe)) = self.choose(job.allowed, job.call, job.size, job.operands, &tried) else { break };
            self.resources.tally.retried();
            tried.push(at);
            match self.attempt(at, pe, job) {
                Ok(()) => {
                    // Whoever waits for the call looks at the device of its queue.
                    let _ = pe.device.finish();
                    return Ok(());
                }
                Err(next) => elsewhere = next.elsewhere,
            }
        }
        // The first reason counts: that a later attempt finds its operand missing is a consequence.
        Err(failure.error)
    }

    #[inline]
    fn attempt(&self, at: usize, pe: &Pe, job: &Job<'_>) -> Result<(), Failure> {
        if let Some(task) = job.task {
            task.begin(at);
        }
        // Keeps the operands in their places until states are recorded; empty, and free, where nothing can move them.
        let mut holds: Holds<'_> = SmallVec::new();
        let traced = self.resources.log.as_deref().map(Log::call);
        let done = self.place_and_launch(at, pe, job, &mut holds, &traced).and_then(|()| self.bring_back(pe, job));
        // From here on nobody takes the call away from us; or somebody has, and it is ours no longer.
        if job.task.is_some_and(|task| !task.end()) {
            return Err(Failure { error: Error::WouldDeadlock, elsewhere: false });
        }
        if let Some(traced) = &traced {
            traced.end(at, job.call, done.is_err());
        }
        if let Err(stop) = done {
            return Err(self.stopped(pe, job, *stop));
        }
        for one in job.operands {
            one.node().commit(pe.resource, one.role());
        }
        self.resources.tally.called(at, job.operands.len());
        Ok(())
    }

    /// Brings the operands to their place, and launches.
    #[inline]
    fn place_and_launch<'a>(
        &self,
        at: usize,
        pe: &Pe,
        job: &Job<'a>,
        holds: &mut Holds<'a>,
        traced: &Option<Traced<'_>>,
    ) -> Result<(), Box<Stop>> {
        let mut operands: Places<'_> = SmallVec::new();
        if pe.resource.is_host() || job.operands.iter().all(|one| one.node().is_shared()) {
            for (node, role) in job.operands.iter().map(Usage::parts) {
                let span = match node.at_hand(pe.resource, role) {
                    Some(span) => span,
                    None => fetch(pe, node, role, holds).map_err(Stop::before)?,
                };
                // SAFETY: the span lies in the datum's storage, which is initialised (frozen at birth) and has exposed
                // provenance. Whoever executes the call keeps the datum, and what conflicts with the call waits for it: a
                // call that works on host memory is never taken away (`monitor`, `builder`).
                operands.push(unsafe { Operand::in_host_memory(span, role) });
            }
        } else {
            self.place_on_device(pe, job, &mut operands, holds).map_err(Stop::before)?;
            if let Some(hand) = job.hand {
                hand.look_ahead(self, at, pe);
            }
        }
        let turn = pe.turn().map_err(Stop::before)?;
        // Copies may have taken too long: then others are at what this was to write.
        if !job.begin(pe) {
            return Err(Stop::before(self.resources.gone(pe.resource)));
        }
        let launched = match traced {
            None => self.launch(at, pe, job, &operands),
            Some(traced) => traced.launch(|| self.launch(at, pe, job, &operands)),
        };
        drop(turn);
        launched.map_err(|e| Box::new(Stop::Launch(e)))
    }

    /// In mode `reference` results go back to the host.
    #[inline]
    fn bring_back(&self, pe: &Pe, job: &Job<'_>) -> Result<(), Box<Stop>> {
        if self.resources.mode != MemoryMode::Reference || pe.resource.is_host() {
            return Ok(());
        }
        for node in job.written() {
            let spoil = || node.spoil();
            match job.task {
                None => spoil(),
                Some(task) if !task.while_ours(spoil) => return Err(Stop::before(self.resources.gone(pe.resource))),
                Some(_) => {}
            }
            node.bring_back(pe.resource).map_err(|error| Box::new(Stop::After(error)))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn place_on_device<'a>(
        &self,
        pe: &Pe,
        job: &Job<'a>,
        operands: &mut Places<'_>,
        holds: &mut Holds<'a>,
    ) -> Result<()> {
        for (place, one) in bring(job.operands, pe.resource, &Foresight(self))?.into_iter().zip(job.operands) {
            operands.push(match one.node().is_shared() {
                false => Operand::on_device(place.span, one.role()),
                // SAFETY: as in `place_and_launch`.
                true => unsafe { Operand::in_host_memory(place.span, one.role()) },
            });
            holds.push(place.hold);
        }
        Ok(())
    }

    #[cold]
    fn stopped(&self, pe: &Pe, job: &Job<'_>, stop: Stop) -> Failure {
        match stop {
            Stop::Before(error) => error.into(),
            Stop::After(error) => {
                // Results that did come back are none of a call that has failed, and nothing to try it again on.
                job.written().for_each(Node::spoil);
                record(job, error)
            }
            Stop::Launch(error) => {
                if error.kind == DeviceErrorKind::Unsupported {
                    // Nothing has happened: what was to be updated there is what it was.
                    job.operands.iter().for_each(|one| one.node().not_begun(pe.resource, one.role()));
                }
                let elsewhere = error.is_retryable();
                let error = self.resources.failure(error, &job.call.to_string(), pe.name());
                Failure { elsewhere, ..record(job, error) }
            }
        }
    }

    /// Launches, and now and then learns what it cost.
    #[inline]
    fn launch(&self, at: usize, pe: &Pe, job: &Job<'_>, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        let _scope = matches!(job.call, Call::User(_)).then(kernel_scope);
        let _operation = if pe.resource.is_host() { None } else { self.resources.operation(pe.resource) };
        if !self.measures || !self.costs.is_due(job.call.kind(), at, job.size) {
            return pe.device.launch(pe.unit, job.call, operands);
        }
        pe.device.finish()?;
        let start = Instant::now();
        pe.device.launch(pe.unit, job.call, operands)?;
        pe.device.finish()?;
        self.costs.record(job.call.kind(), at, job.size, start.elapsed().as_nanos() as f64);
        Ok(())
    }
}

/// Fetches an operand that is not at hand.
#[cold]
fn fetch<'a>(pe: &Pe, node: &'a Node, role: Role, holds: &mut Holds<'a>) -> Result<Span> {
    let place = node.fetch_slowly(pe.resource, role, Cause::Input)?;
    holds.push(place.hold);
    Ok(place.span)
}

/// Notes why what was to be written is missing.
#[cold]
fn record(job: &Job<'_>, error: Error) -> Failure {
    let cause = Arc::new(error);
    for node in job.written() {
        node.failed(&cause);
    }
    Arc::unwrap_or_clone(cause).into()
}
