//! Write-backs ahead of need: what the next call will drive out, and what would have to be copied to the host then, is
//! copied while the device is still at the call before it.
//!
//! Owns [`Coming`], the places that a call to come has to have, and [`WriteBacks`], the blocks that are in the way.
//!
//! A guess, on which nothing depends. A block that was not the right one stays, and is valid on the host too; one that
//! could not be copied is written back by whoever evicts it, who tells what went wrong. The copy is that of an
//! [eviction](super::evict), under the same claim. Only where the mode has room for two valid copies is it made at all.

use super::datum::Owned;
use super::evict::{Way, evict, is_dirty};
use super::fit::leading;
use super::node::Region;
use super::operand::{INLINE, Usage};
use super::registry::{Candidate, Foresight};
use super::resources::Resources;
use crate::coherence::{MemoryMode, ResourceId};
use smallvec::SmallVec;
use std::time::Duration;

/// A call to come, as far as its places on `r` matter.
pub(crate) struct Coming {
    r: ResourceId,
    /// Views that need places of their own.
    needed: SmallVec<[(Owned, Region); INLINE]>,
}

/// Blocks to be written back.
pub(crate) struct WriteBacks {
    r: ResourceId,
    victims: Vec<Candidate>,
}

impl Coming {
    pub(crate) fn new(operands: &[Usage<'_>], r: ResourceId) -> Self {
        let nodes = operands.iter().map(Usage::node).filter(|node| !node.is_shared());
        let needed = leading(nodes, |node| node).into_iter().map(|node| (node.datum().share(), *node.region()));
        Self { r, needed: needed.collect() }
    }

    /// What has to be written back before the call finds room on its device, as things are, if that is something, and to copy
    /// so much as is missing is expected to take that long at least.
    pub(crate) fn write_backs(
        &self,
        resources: &Resources,
        foresight: &dyn Foresight,
        worthwhile: Duration,
    ) -> Option<WriteBacks> {
        let r = self.r;
        if resources.mode != MemoryMode::ValidSet || resources.is_lost(r) {
            return None;
        }
        let device = resources.device(r);
        let has_none = |(datum, region): &&(Owned, Region)| datum.lock().get().locate(r, region).is_none();
        let footprint = |(_, region): &(Owned, Region)| device.footprint(region.rows.bytes() as u64);
        let wanted = self.needed.iter().filter(has_none).map(footprint).fold(0, u64::saturating_add);
        let missing = wanted.saturating_sub(if wanted == 0 { 0 } else { device.usage().free });
        let expected_ns = resources.links.estimate(r, ResourceId::HOST, missing as usize);
        if missing == 0 || expected_ns < worthwhile.as_nanos() as f64 {
            return None;
        }
        let mut blocks = resources.registry(r).blocks(|datum, region| {
            self.needed.iter().any(|(own, needed)| std::ptr::eq(&raw const **own, datum) && needed.overlaps(region))
        });
        foresight.next_uses(r, &mut blocks);
        let victims = to_be_written(blocks, r, missing);
        (!victims.is_empty()).then_some(WriteBacks { r, victims })
    }
}

/// Of those who will go, in the order in which they are [evicted](super::evict), the ones who have to be copied first.
///
/// Who is used now is no victim yet, but may be one by then, and cannot be copied: the call that uses it may write it.
fn to_be_written(blocks: Vec<Candidate>, r: ResourceId, mut missing: u64) -> Vec<Candidate> {
    let mut blocks: Vec<(bool, Candidate)> =
        blocks.into_iter().map(|block| (block.is_used || is_dirty(&block, r), block)).collect();
    blocks.sort_by_key(|(dirty, c)| (c.distance(), *dirty, c.bytes < missing, c.last_use));
    let goes = |(_, block): &(bool, Candidate)| {
        let goes = missing > 0;
        missing = missing.saturating_sub(block.bytes);
        goes
    };
    let going = blocks.into_iter().take_while(goes);
    going.filter_map(|(dirty, block)| (dirty && !block.is_used).then_some(block)).collect()
}

impl WriteBacks {
    /// Makes them; as many as can be made.
    pub(crate) fn make(self) {
        for victim in &self.victims {
            // What fails here fails again where somebody is told.
            let _ = evict(victim, self.r, Way::Keep);
        }
    }
}
