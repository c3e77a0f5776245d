//! Placing several calls at once: in order, by earliest finish of all pairs, by rank.

use super::{Candidate, EarliestFinish, Policy};

/// Where one of several calls goes.
///
/// ```
/// use rimms::sched::{Candidate, EarliestTaskFirst, Placement, Policy};
/// let pe = |pe, cost| Candidate { pe, cost_ns: Some(cost), ..Candidate::default() };
/// let ready = [vec![pe(0, 30.0), pe(1, 50.0)], vec![pe(0, 10.0), pe(1, 15.0)]];
/// // The short one first, where it ends first; then the long one, behind it, which is still sooner than on the other PE.
/// let placed = [Placement { call: 1, candidate: 0 }, Placement { call: 0, candidate: 0 }];
/// assert_eq!(EarliestTaskFirst.arrange(0, &ready), placed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// Which call.
    pub call: usize,
    /// Which of its candidates.
    pub candidate: usize,
}

/// What the calls that were placed add to the queues they go to.
#[derive(Default)]
pub(super) struct Added(Vec<(usize, u64, f64)>);

impl Added {
    /// The candidate as it is once they are there.
    pub(super) fn on(&self, candidate: &Candidate) -> Candidate {
        let of_pe = self.0.iter().filter(|(pe, ..)| *pe == candidate.pe);
        of_pe.fold(*candidate, |c, (_, calls, ns)| Candidate { queued: c.queued + calls, busy_ns: c.busy_ns + ns, ..c })
    }

    pub(super) fn place(&mut self, candidate: &Candidate) {
        let ns = candidate.cost_ns.unwrap_or(0.0) + candidate.transfer_ns;
        match self.0.iter_mut().find(|(pe, ..)| *pe == candidate.pe) {
            Some((_, calls, busy)) => (*calls, *busy) = (*calls + 1, *busy + ns),
            None => self.0.push((candidate.pe, 1, ns)),
        }
    }

    /// Places these calls, one after the other, each where the policy says once those before are there.
    pub(super) fn in_turn(
        mut self,
        policy: &(impl Policy + ?Sized),
        turn: usize,
        ready: &[Vec<Candidate>],
        order: impl Iterator<Item = usize>,
    ) -> Vec<Placement> {
        let placed = order.enumerate().filter_map(|(nth, call)| {
            let now: Vec<Candidate> = ready.get(call)?.iter().map(|c| self.on(c)).collect();
            let candidate = policy.choose(turn.wrapping_add(nth), &now);
            self.place(now.get(candidate)?);
            Some(Placement { call, candidate })
        });
        placed.collect()
    }
}

/// When it would finish the call; a PE never measured is tried before all.
fn finish(c: &Candidate) -> f64 {
    c.cost_ns.map_or(f64::NEG_INFINITY, |cost| c.busy_ns + cost)
}

/// CEDR's ETF: of all calls that are ready and all PEs, the pair that finishes first, again and again. A call that is
/// submitted alone goes where `eft` sends it.
///
/// For T calls that are [submitted together](crate::Runtime::batch), on P PEs: O(T²·P).
///
/// ```
/// # use rimms::sched::{EarliestTaskFirst, Policy};
/// assert_eq!(EarliestTaskFirst.name(), "etf");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct EarliestTaskFirst;

impl Policy for EarliestTaskFirst {
    fn name(&self) -> &'static str {
        "etf"
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize {
        EarliestFinish.choose(turn, candidates)
    }

    fn arrange(&self, _turn: usize, ready: &[Vec<Candidate>]) -> Vec<Placement> {
        let mut left: Vec<usize> = (0..ready.len()).collect();
        let (mut added, mut placed) = (Added::default(), Vec::with_capacity(ready.len()));
        loop {
            let pairs = left.iter().enumerate().flat_map(|(at, call)| {
                let now = ready[*call].iter().map(|c| added.on(c)).enumerate();
                now.map(move |(candidate, c)| (at, candidate, c))
            });
            // Ties go to the first.
            let Some((at, candidate, c)) = pairs.reduce(|a, b| if finish(&b.2) < finish(&a.2) { b } else { a }) else {
                return placed;
            };
            added.place(&c);
            placed.push(Placement { call: left.remove(at), candidate });
        }
    }
}

/// CEDR's HEFT-RT: the calls that are ready in the order of their mean cost, the longest first, each where it finishes
/// first. A call that is submitted alone goes where `eft` sends it.
///
/// ```
/// use rimms::sched::{Candidate, HeftRt, Policy};
/// let pe = |pe, cost| Candidate { pe, cost_ns: Some(cost), ..Candidate::default() };
/// let ready = [vec![pe(0, 10.0), pe(1, 15.0)], vec![pe(0, 30.0), pe(1, 50.0)]];
/// let placed = HeftRt.arrange(0, &ready);
/// assert_eq!(placed.iter().map(|p| (p.call, p.candidate)).collect::<Vec<_>>(), [(1, 0), (0, 1)]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HeftRt;

impl Policy for HeftRt {
    fn name(&self) -> &'static str {
        "heft-rt"
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize {
        EarliestFinish.choose(turn, candidates)
    }

    fn arrange(&self, turn: usize, ready: &[Vec<Candidate>]) -> Vec<Placement> {
        // Of the PEs that were measured; a call that never was is taken to be the longest, since it has to be tried.
        let mean = |candidates: &Vec<Candidate>| {
            let known: Vec<f64> = candidates.iter().filter_map(|c| c.cost_ns).collect();
            if known.is_empty() { f64::INFINITY } else { known.iter().sum::<f64>() / known.len() as f64 }
        };
        let mut order: Vec<(usize, f64)> = ready.iter().map(mean).enumerate().collect();
        order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Added::default().in_turn(self, turn, ready, order.into_iter().map(|(call, _)| call))
    }
}
