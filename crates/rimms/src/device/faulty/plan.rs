//! Which operation goes wrong, and how.

use std::ops::Range;
use std::time::Duration;

/// What happens to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not done, and reported as failed.
    Fail,
    /// Half of it is done, and it is reported as failed.
    CutOff,
    /// It comes late, and succeeds.
    Delay(Duration),
    /// The device is gone: this operation and all that follow are not done, and report that it is lost.
    Lose,
}

/// Faults by the number of the operation, from 0.
///
/// ```
/// use rimms::device::faulty::{Fault, Plan};
/// let plan = Plan::nth(3, Fault::Fail).and(7..9, Fault::CutOff);
/// assert_eq!((plan.fault(3), plan.fault(4), plan.fault(8)), (Some(Fault::Fail), None, Some(Fault::CutOff)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan(Vec<(Range<u64>, Fault)>);

impl Plan {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Operation `n` alone.
    pub fn nth(n: u64, fault: Fault) -> Self {
        Self::none().and(n..n.saturating_add(1), fault)
    }

    /// Every operation from `n` on.
    pub fn from(n: u64, fault: Fault) -> Self {
        Self::none().and(n..u64::MAX, fault)
    }

    /// These too. Where ranges overlap the first counts.
    #[must_use]
    pub fn and(mut self, operations: Range<u64>, fault: Fault) -> Self {
        self.0.push((operations, fault));
        self
    }

    /// What happens to operation `n`.
    pub fn fault(&self, n: u64) -> Option<Fault> {
        self.0.iter().find(|(range, _)| range.contains(&n)).map(|(_, fault)| *fault)
    }
}
