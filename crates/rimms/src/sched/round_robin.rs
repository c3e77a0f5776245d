//! Round-robin: CEDR's SIMPLE.

use super::{Candidate, Policy};

/// The next PE in turn that can run the call.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin;

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn needs_costs(&self) -> bool {
        false
    }

    #[inline]
    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize {
        turn % candidates.len().max(1)
    }
}
