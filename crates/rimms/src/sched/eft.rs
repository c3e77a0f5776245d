//! Earliest finish time: CEDR's EFT, with costs that are functions of size.

use super::{Candidate, Policy};

/// The PE that would finish the call first. Ties go to the first; a PE never measured is tried before all.
///
/// ```
/// use rimms::sched::{Candidate, EarliestFinish, Policy};
/// let pe = |pe, busy_ns, cost_ns| Candidate { pe, busy_ns, cost_ns, ..Candidate::default() };
/// assert_eq!(EarliestFinish.choose(0, &[pe(0, 0.0, Some(50.0)), pe(1, 40.0, Some(20.0))]), 0); // 50 < 60
/// assert_eq!(EarliestFinish.choose(0, &[pe(0, 0.0, Some(50.0)), pe(1, 10.0, Some(20.0))]), 1); // 30 < 50
/// assert_eq!(EarliestFinish.choose(0, &[pe(0, 0.0, Some(50.0)), pe(1, 90.0, None)]), 1); // not measured yet
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct EarliestFinish;

impl Policy for EarliestFinish {
    fn name(&self) -> &'static str {
        "eft"
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn choose(&self, _turn: usize, candidates: &[Candidate]) -> usize {
        let finish = |c: &Candidate| c.cost_ns.map_or(f64::NEG_INFINITY, |cost| c.busy_ns + cost);
        let mut best = 0;
        for (i, c) in candidates.iter().enumerate().skip(1) {
            if candidates.get(best).is_some_and(|b| finish(c) < finish(b)) {
                best = i;
            }
        }
        best
    }
}
