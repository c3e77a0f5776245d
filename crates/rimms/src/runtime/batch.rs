//! Calls that are submitted together.

use super::{Arg, Event, Runtime};
use crate::error::{Error, Result};
use crate::memory::Operands;
use crate::op::Call;
use crate::order::in_kernel;
use crate::sched::{Candidate, Placement};
use std::sync::atomic::Ordering::Relaxed;

/// Calls that do not depend on each other, for a policy that looks at all of them before it places one.
///
/// That they do not depend on each other is the borrow checker's doing: until they are submitted the batch borrows what
/// they write, so no other call of the batch can use it. Nothing is done before [`submit`](Self::submit).
///
/// ```
/// use rimms::{Complex32, Runtime, arg, arg_mut, sched};
/// use rimms::op::{Call, Fft};
/// let rt = Runtime::builder().cpus(2).policy(sched::by_name("heft-rt")?).build()?;
/// let (mut x, mut y) = (rt.alloc::<Complex32>(8 * 64)?, rt.alloc::<Complex32>(8 * 64)?);
/// x.overwrite()?.fill(Complex32::ONE)?;
/// x.fragment(8)?;
/// y.fragment(8)?;
/// let fft = Call::Fft(Fft { n: 64, rows: 1, inverse: false, in_place: false });
/// let mut batch = rt.batch();
/// for (x, y) in x.fragments().zip(y.fragments_mut()) {
///     batch.call(&fft, &mut [arg(x), arg_mut(y)])?;
/// }
/// let done = batch.submit()?; // in the order in which they were added
/// rt.wait_all(&done)?;
/// assert_eq!(y[7].read()?[0].re, 64.0);
/// # Ok::<(), rimms::Error>(())
/// ```
#[must_use = "nothing is done before it is submitted"]
pub struct Batch<'a> {
    rt: Runtime,
    calls: Vec<Member<'a>>,
}

struct Member<'a> {
    call: Call,
    operands: Operands<'a>,
    size: usize,
}

impl Runtime {
    /// Calls that do not depend on each other, to be submitted together.
    pub fn batch<'a>(&self) -> Batch<'a> {
        Batch { rt: self.clone(), calls: Vec::new() }
    }
}

impl<'a> Batch<'a> {
    /// Adds a call.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::OtherRuntime`]: it is not added then.
    pub fn call(&mut self, call: &Call, args: &mut [Arg<'a>]) -> Result<()> {
        let mut operands = Operands::none();
        self.rt.check(call, args, &mut operands)?;
        let size = call.work_of(args.iter().map(|a| a.shape.len));
        self.calls.push(Member { call: call.clone(), operands, size });
        Ok(())
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Submits them, where and in the order that the policy says. Returns their events in the order in which they were
    /// added. On a [blocking](Runtime::blocking) handle all of them are done then.
    ///
    /// # Errors
    /// Before anything happens: [`Error::NoPe`], [`Error::NeverFits`], [`Error::DeviceLost`], of the first call that no PE
    /// takes. Later, by the events. On a blocking handle the first error of any. [`Error::Config`] where the system gives no
    /// thread for a PE: calls that were submitted before that are done all the same.
    pub fn submit(self) -> Result<Vec<Event>> {
        let Self { rt, calls } = &self;
        if rt.blocking && in_kernel() {
            return Err(Error::WouldDeadlock);
        }
        let core = &*rt.core;
        let mut ready: Vec<Vec<Candidate>> = Vec::with_capacity(calls.len());
        for Member { call, operands, size } in calls {
            let candidates = core.candidates(&rt.allowed, call, *size, operands, &[]);
            if candidates.is_empty() {
                return Err(rt.no_pe(call, operands));
            }
            ready.push(candidates.into_vec());
        }
        let turn = core.turn.fetch_add(calls.len(), Relaxed);
        let mut events: Vec<Option<Event>> = vec![None; calls.len()];
        // A policy of the user's may name a call twice, or none at all: those go to their first candidate.
        let rest = (0..calls.len()).map(|call| Placement { call, candidate: 0 });
        for Placement { call: at, candidate } in core.policy.arrange(turn, &ready).into_iter().chain(rest) {
            let (Some(member), Some(event @ None)) = (calls.get(at), events.get_mut(at)) else { continue };
            let candidates = &ready[at];
            let chosen = candidates.get(candidate).or(candidates.first()).map_or(0, |c| c.pe);
            let Some(pe) = core.pes.get(chosen) else { continue };
            *event = Some(rt.enqueue(chosen, pe, &member.call, &member.operands, member.size)?);
        }
        let events: Vec<Event> = events.into_iter().flatten().collect();
        if rt.blocking {
            rt.wait_all(&events)?;
        }
        Ok(events)
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.calls.iter().map(|member| &member.call)).finish()
    }
}
