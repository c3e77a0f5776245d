//! Minimum execution time: CEDR's MET, with costs that are functions of size.

use super::{Candidate, Policy};

/// The kind of PE on which the call takes the least time, however long its queues are; among the PEs of that kind, the
/// next in turn.
///
/// What a call takes on a kind is the least that was measured on one of its PEs. A kind that was never measured is tried
/// before all; ties go to the first.
///
/// ```
/// use rimms::sched::{Candidate, MinimumExecutionTime, Policy};
/// let pe = |pe, kind, cost_ns| Candidate { pe, kind, cost_ns, ..Candidate::default() };
/// let pes = [pe(0, 0, Some(90.0)), pe(1, 1, Some(20.0)), pe(2, 1, Some(20.0))]; // cpu0, acc0, acc1
/// assert_eq!([0, 1, 2].map(|turn| MinimumExecutionTime.choose(turn, &pes)), [1, 2, 1]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MinimumExecutionTime;

impl Policy for MinimumExecutionTime {
    fn name(&self) -> &'static str {
        "met"
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize {
        let of = |kind: usize| candidates.iter().filter(move |c| c.kind == kind);
        let cost = |kind: usize| of(kind).filter_map(|c| c.cost_ns).reduce(f64::min).unwrap_or(f64::NEG_INFINITY);
        let kinds = candidates.iter().map(|c| (c.kind, cost(c.kind)));
        let Some((best, _)) = kinds.reduce(|best, other| if other.1 < best.1 { other } else { best }) else { return 0 };
        let pes = candidates.iter().enumerate().filter(|(_, c)| c.kind == best);
        pes.map(|(i, _)| i).nth(turn % of(best).count().max(1)).unwrap_or(0)
    }
}
