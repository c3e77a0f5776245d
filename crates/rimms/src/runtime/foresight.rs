//! What the queues know of calls to come: for whoever has to choose a block that makes room for others.

use super::Shared;
use crate::coherence::ResourceId;
use crate::memory::{Candidate, Foresight as Foresees, Node, Usage};

/// How far ahead a queue is looked through. Blocks that are needed later than that are as good as not needed, and what
/// looking costs has to end somewhere.
const HORIZON: u64 = 1024;

/// The pending calls of all PEs.
pub(super) struct Foresight<'a>(pub(super) &'a Shared);

impl Foresees for Foresight<'_> {
    fn next_uses(&self, r: ResourceId, candidates: &mut [Candidate]) {
        let places = Places::of(candidates);
        for pe in self.0.pes.iter().filter(|pe| pe.resource == r) {
            let (mut distance, mut unknown) = (0, candidates.len());
            pe.queue.each_pending(&mut |work| {
                distance += 1;
                for view in work.operands.operands().iter().map(Usage::node) {
                    for i in places.near(view) {
                        let Some(candidate) = candidates.get_mut(i) else { continue };
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

/// Where candidates lie in their data, in order: every operand of every pending call is looked up, and the rows of a
/// matrix are blocks of one datum.
struct Places {
    /// The datum, where the block begins there, and which candidate it is.
    starts: Vec<(usize, usize, usize)>,
    /// No block reaches farther from where it begins.
    longest: usize,
}

impl Places {
    fn of(candidates: &[Candidate]) -> Self {
        let start = |(i, c): (usize, &Candidate)| (c.datum(), c.extent().start, i);
        let mut starts: Vec<_> = candidates.iter().enumerate().map(start).collect();
        starts.sort_unstable();
        let longest = candidates.iter().map(|c| c.extent().len()).max().unwrap_or(0);
        Self { starts, longest }
    }

    /// Candidates that may have bytes in common with a view.
    fn near(&self, view: &Node) -> impl Iterator<Item = usize> {
        let (datum, extent) = (std::ptr::from_ref(view.datum()).addr(), view.extent());
        let first = (datum, extent.start.saturating_sub(self.longest), 0);
        let from = self.starts.partition_point(|place| *place < first);
        let rest = self.starts.get(from..).unwrap_or_default();
        rest.iter().take_while(move |(d, start, _)| *d == datum && *start < extent.end).map(|(.., i)| *i)
    }
}
