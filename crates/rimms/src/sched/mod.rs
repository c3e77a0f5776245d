//! Scheduling: which PE runs a call.
//!
//! A [`Policy`] is a pure function over a snapshot: the PEs that can run the
//! call, how busy each is and what the call would cost there. It holds no
//! state; what must be remembered between calls (a turn, measured costs) is
//! kept by the runtime and is part of the snapshot. [`cost`] is where costs come from, [`table`] how they outlive a
//! runtime.
//!
//! | name | rule |
//! | --- | --- |
//! | `round-robin` | the next PE in turn that can run the call |
//! | `random`, `random:SEED` | any PE that can run the call, each as likely; the same ones each time for one seed (0 where none is given) |
//! | `met` | the kind of PE on which a call of this size takes the least, whatever waits there; within the kind, the next in turn; a kind never measured is tried first |
//! | `eft` | the earliest finish: time until the PE is free plus the measured cost of a call of this size; a PE never measured is tried first |
//! | `etf` | of all calls that are ready and all PEs the pair that finishes first, again and again; for calls that are submitted together ([`Runtime::batch`](crate::Runtime::batch)), else as `eft` |
//! | `heft-rt` | the calls that are ready in the order of their mean cost, the longest first, each to its earliest finish; the same holds |
//! | `locality` | the earliest finish, with the copies counted in that the PE would need: what is stale there, over measured link speeds |
//!
//! A call is placed when it is submitted, and what is placed stays. CEDR's ETF and HEFT-RT, which choose among the calls
//! that are ready too, do so among those that are submitted together.
//!
//! Adding a policy: one file here, a line in [`by_name`] and one in [`POLICIES`].

mod cost;
mod eft;
mod locality;
mod met;
mod random;
mod ready;
mod round_robin;
mod table;
#[cfg(test)]
mod tests;

pub use cost::Costs;
pub(crate) use cost::kind_of;
pub use eft::EarliestFinish;
pub use locality::Locality;
pub use met::MinimumExecutionTime;
pub use random::Random;
pub use ready::{EarliestTaskFirst, HeftRt, Placement};
pub use round_robin::RoundRobin;
pub use table::{Cost, CostTable};

use crate::error::{Error, Result};
use ready::Added;
use std::fmt;
use std::sync::Arc;

/// A PE that can run the call.
///
/// ```
/// use rimms::sched::{Candidate, EarliestFinish, Policy};
/// let slow = Candidate { pe: 0, cost_ns: Some(900.0), ..Candidate::default() };
/// let fast_but_busy = Candidate { pe: 3, busy_ns: 500.0, cost_ns: Some(100.0), ..Candidate::default() };
/// // The answer is an index among the candidates, not the number of a PE.
/// assert_eq!(EarliestFinish.choose(0, &[slow, fast_but_busy]), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Candidate {
    /// Its number in the runtime.
    pub pe: usize,
    /// Its kind: PEs have the same number here if their names differ in the digits at the end alone.
    pub kind: usize,
    /// Calls that it was given and has not done.
    pub queued: u64,
    /// Nanoseconds until it has done what it was given before.
    pub busy_ns: f64,
    /// Nanoseconds a call of this kind and size is expected to take; `None` where nothing was measured yet.
    pub cost_ns: Option<f64>,
    /// Nanoseconds until the calls in flight that it comes after are expected to be done. 0 unless asked for.
    pub ready_ns: f64,
    /// Nanoseconds that copying what is stale there is expected to take. 0 unless asked for.
    pub transfer_ns: f64,
}

/// A scheduling policy.
///
/// ```
/// use rimms::{Runtime, sched::{Candidate, Policy}};
/// # use std::sync::Arc;
/// #[derive(Debug)]
/// struct LastOne;
///
/// impl Policy for LastOne {
///     fn name(&self) -> &'static str { "last-one" }
///     fn needs_costs(&self) -> bool { false }
///     fn choose(&self, _turn: usize, candidates: &[Candidate]) -> usize { candidates.len() - 1 }
/// }
///
/// let rt = Runtime::builder().cpus(3).policy(Arc::new(LastOne)).build()?.blocking();
/// rt.fill(0_u32, &mut rt.alloc(16)?)?;
/// assert_eq!((rt.policy(), rt.counters().calls("cpu2")), ("last-one", 1));
/// # Ok::<(), rimms::Error>(())
/// ```
pub trait Policy: Send + Sync + fmt::Debug {
    /// The name used on command lines.
    fn name(&self) -> &'static str;

    /// Does it look at costs? Calls are timed only if it does.
    fn needs_costs(&self) -> bool;

    /// Does it look at what would have to be copied? Worked out only if it does.
    fn needs_transfers(&self) -> bool {
        false
    }

    /// Picks one of `candidates`: an index into them, which are never empty. `turn` counts the calls of the runtime.
    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize;

    /// Places calls that are [submitted together](crate::Runtime::batch), and do not depend on each other: which goes to
    /// which of its candidates, in which order. By default in theirs, each [chosen](Self::choose) as if those before it
    /// were in the queues.
    fn arrange(&self, turn: usize, ready: &[Vec<Candidate>]) -> Vec<Placement> {
        Added::default().in_turn(self, turn, ready, 0..ready.len())
    }
}

/// The policies there are: names that [`by_name`] knows.
pub const POLICIES: [&str; 7] = ["round-robin", "random", "met", "eft", "etf", "heft-rt", "locality"];

/// A policy by its name. `random` takes a seed: `random:42`.
///
/// ```
/// assert_eq!(rimms::sched::by_name("eft")?.name(), "eft");
/// assert_eq!(rimms::sched::by_name("random:42")?.name(), "random");
/// assert!(rimms::sched::by_name("best").unwrap_err().to_string().contains("met, eft, etf, heft-rt, locality"));
/// # Ok::<(), rimms::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unknown`], which lists those there are; [`Error::Config`] for a seed that is none.
pub fn by_name(name: &str) -> Result<Arc<dyn Policy>> {
    match name {
        "round-robin" => Ok(Arc::new(RoundRobin)),
        "random" => Ok(Arc::new(Random::default())),
        "met" => Ok(Arc::new(MinimumExecutionTime)),
        "eft" => Ok(Arc::new(EarliestFinish)),
        "etf" => Ok(Arc::new(EarliestTaskFirst)),
        "heft-rt" => Ok(Arc::new(HeftRt)),
        "locality" => Ok(Arc::new(Locality)),
        _ => match name.strip_prefix("random:").map(|seed| (seed, seed.parse())) {
            Some((_, Ok(seed))) => Ok(Arc::new(Random { seed })),
            Some((seed, Err(_))) => {
                let why = format!("policy `random`: the seed `{seed}` is no whole number from 0 to {}", u64::MAX);
                Err(Error::Config(why.into()))
            }
            None => Err(Error::Unknown { what: "policy", name: name.into(), known: POLICIES.join(", ").into() }),
        },
    }
}
