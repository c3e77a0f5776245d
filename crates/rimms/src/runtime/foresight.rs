//! What the queues know of calls to come: for whoever has to choose a block that makes room for others.

use super::Shared;
use crate::coherence::ResourceId;
use crate::memory::{Candidate, Foresight as Foresees};

/// How far ahead a queue is looked through. Blocks that are needed later than that are as good as not needed, and what
/// looking costs has to end somewhere.
const HORIZON: u64 = 4096;

/// The pending calls of all PEs.
pub(super) struct Foresight<'a>(pub(super) &'a Shared);

impl Foresees for Foresight<'_> {
    fn next_uses(&self, r: ResourceId, candidates: &mut [Candidate]) {
        // Sorted by datum, since every operand of every pending call is looked up.
        let mut by_datum: Vec<(usize, usize)> = candidates.iter().map(Candidate::datum).zip(0..).collect();
        by_datum.sort_unstable();
        for pe in self.0.pes.iter().filter(|pe| pe.resource == r) {
            let (mut distance, mut unknown) = (0, candidates.len());
            pe.queue.each_pending(&mut |work| {
                distance += 1;
                for view in &work.operands {
                    let datum = std::ptr::from_ref(view.datum()).addr();
                    let first = by_datum.partition_point(|(d, _)| *d < datum);
                    for (_, i) in by_datum.iter().skip(first).take_while(|(d, _)| *d == datum) {
                        let Some(candidate) = candidates.get_mut(*i) else { continue };
                        let is_sooner = candidate.next_use.is_none_or(|known| distance < known);
                        if is_sooner && candidate.is_used_by(view) {
                            unknown -= usize::from(candidate.next_use.is_none());
                            candidate.next_use = Some(distance);
                        }
                    }
                }
                unknown > 0 && distance < HORIZON
            });
        }
    }
}
