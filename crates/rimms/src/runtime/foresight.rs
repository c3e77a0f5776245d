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
        for pe in self.0.pes.iter().filter(|pe| pe.resource == r) {
            let (mut distance, mut unknown) = (0, candidates.len());
            pe.queue.each_pending(&mut |work| {
                distance += 1;
                for candidate in candidates.iter_mut() {
                    let is_sooner = candidate.next_use.is_none_or(|known| distance < known);
                    if is_sooner && work.operands.iter().any(|view| candidate.is_used_by(view)) {
                        unknown -= usize::from(candidate.next_use.is_none());
                        candidate.next_use = Some(distance);
                    }
                }
                unknown > 0 && distance < HORIZON
            });
        }
    }
}
