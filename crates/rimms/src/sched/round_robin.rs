//! Round-robin: CEDR's SIMPLE.

use super::{Candidate, Policy};

/// The next PE in turn that can run the call.
///
/// ```
/// # use rimms::{Runtime, sched::RoundRobin};
/// # use std::sync::Arc;
/// let rt = Runtime::builder().cpus(2).policy(Arc::new(RoundRobin)).build()?;
/// let mut x = rt.alloc::<f32>(16)?;
/// for _ in 0..6 {
///     rt.fill(1.0, &mut x)?;
/// }
/// rt.finish()?;
/// assert_eq!([rt.counters().calls("cpu0"), rt.counters().calls("cpu1")], [3, 3]);
/// # Ok::<(), rimms::Error>(())
/// ```
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
