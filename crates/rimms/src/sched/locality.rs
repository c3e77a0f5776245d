//! Locality: the earliest finish, with the copies that a PE would need counted in.

use super::{Candidate, Policy};

/// The PE that would finish the call first, if it starts when the PE is free and its inputs are written, and then has to
/// wait for the copies that it needs there. The default.
///
/// A PE on which no such call was measured yet costs what another of its kind does (`acc1`: what `acc0` does). Where none
/// was measured either it is taken to need no time: where copies alone do not rule it out, it is tried. Ties go to the PE that needs fewer copies, then to the first.
///
/// ```
/// use rimms::sched::{Candidate, Locality, Policy};
/// let here = Candidate { pe: 0, busy_ns: 300.0, cost_ns: Some(100.0), ..Candidate::default() };
/// let elsewhere = Candidate { pe: 1, cost_ns: Some(100.0), transfer_ns: 2_000.0, ..Candidate::default() };
/// assert_eq!(Locality.choose(0, &[elsewhere, here]), 1); // waiting is cheaper than copying
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Locality;

impl Policy for Locality {
    fn name(&self) -> &'static str {
        "locality"
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn needs_transfers(&self) -> bool {
        true
    }

    fn choose(&self, _turn: usize, candidates: &[Candidate]) -> usize {
        let finish = |c: &Candidate| c.busy_ns.max(c.ready_ns) + c.transfer_ns + c.cost_ns.unwrap_or(0.0);
        let better = |a: &Candidate, b: &Candidate| {
            finish(a).total_cmp(&finish(b)).then(a.transfer_ns.total_cmp(&b.transfer_ns)).is_lt()
        };
        let mut best = 0;
        for (i, c) in candidates.iter().enumerate().skip(1) {
            if candidates.get(best).is_some_and(|b| better(c, b)) {
                best = i;
            }
        }
        best
    }
}
