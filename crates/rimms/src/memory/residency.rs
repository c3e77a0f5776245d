//! The blocks of one datum on devices.
//!
//! A block holds a region of the datum without gaps between its rows. The first
//! use of any fragment allocates one block for the whole datum where that fits,
//! so that fragments are arithmetic; otherwise the fragment gets one alone.
//!
//! A block that is here is also in its resource's [registry](super::registry), and the other way round.

use super::claims::Claims;
use super::datum::Datum;
use super::node::Region;
use super::resources::{Block, Resources};
use crate::coherence::ResourceId;
use crate::device::{Rows, Span};
use crate::error::Error;
use smallvec::SmallVec;
use std::sync::Arc;

struct Placed {
    resource: ResourceId,
    region: Region,
    block: Arc<Block>,
}

/// Blocks that nobody lists any more. To be dropped without the lock: whoever is the last to have one calls the device.
pub(super) type Removed = SmallVec<[Arc<Block>; 2]>;

/// Which blocks there are, what is being done to them, and why bytes are missing. Guarded by the datum's lock.
#[derive(Default)]
pub(super) struct Residency {
    blocks: Vec<Placed>,
    pub(super) claims: Claims,
    /// Failed writes, the newest last. `None` where the host has begun to write since.
    causes: Vec<(Region, Option<Arc<Error>>)>,
}

impl Residency {
    /// Where `region` lies on `r`, and the block it lies in.
    pub(super) fn locate(&self, r: ResourceId, region: &Region) -> Option<(Span, &Arc<Block>)> {
        self.blocks.iter().filter(|p| p.resource == r).find_map(|p| Some((p.span_of(region)?, &p.block)))
    }

    /// Is there any block on `r`?
    pub(super) fn has_any(&self, r: ResourceId) -> bool {
        self.blocks.iter().any(|p| p.resource == r)
    }

    /// The block on `r` at this address, and its region.
    pub(super) fn block_at(&self, r: ResourceId, address: u64) -> Option<(&Region, &Arc<Block>)> {
        let placed = self.blocks.iter().find(|p| p.resource == r && p.block.address() == address)?;
        Some((&placed.region, &placed.block))
    }

    /// Adds a block of `datum`.
    pub(super) fn insert(&mut self, datum: &Datum, region: Region, block: Arc<Block>) {
        let resource = block.resource();
        datum.resources.registry(resource).list(datum.listed(), region, block.clone());
        self.blocks.push(Placed { resource, region, block });
    }

    /// Gives up a block.
    pub(super) fn remove(&mut self, resources: &Resources, block: &Arc<Block>) -> Removed {
        self.remove_where(resources, |p| Arc::ptr_eq(&p.block, block))
    }

    /// Gives up blocks on `r` (any, if `None`) that lie inside `region` without being the one that covers all of it.
    pub(super) fn remove_parts(&mut self, resources: &Resources, r: Option<ResourceId>, region: &Region) -> Removed {
        self.remove_where(resources, |p| {
            r.is_none_or(|r| r == p.resource) && p.region.overlaps(region) && p.span_of(region).is_none()
        })
    }

    /// Gives up all blocks on `r`.
    pub(super) fn remove_all_on(&mut self, resources: &Resources, r: ResourceId) -> Removed {
        self.remove_where(resources, |p| p.resource == r)
    }

    /// The datum is about to be freed: its blocks leave the registries.
    pub(super) fn unlist(&mut self, resources: &Resources) {
        self.blocks.iter().for_each(|p| resources.registry(p.resource).unlist(&p.block));
    }

    fn remove_where(&mut self, resources: &Resources, mut gone: impl FnMut(&Placed) -> bool) -> Removed {
        let mut removed = Removed::new();
        self.blocks.retain(|p| {
            let gone = gone(p);
            if gone {
                resources.registry(p.resource).unlist(&p.block);
                removed.push(p.block.clone());
            }
            !gone
        });
        removed
    }

    pub(super) fn record(&mut self, region: Region, cause: Arc<Error>) {
        self.note(region, Some(cause));
    }

    /// What failed before no longer explains what is missing in `region`; elsewhere it does.
    pub(super) fn forget_causes(&mut self, region: &Region) {
        if self.causes.iter().any(|(r, _)| r.overlaps(region)) {
            self.note(*region, None);
        }
    }

    fn note(&mut self, region: Region, cause: Option<Arc<Error>>) {
        self.causes.retain(|(r, _)| !contains(&region, r));
        if cause.is_some() || self.causes.iter().any(|(r, _)| r.overlaps(&region)) {
            self.causes.push((region, cause));
        }
    }

    /// The newest failure that touched `region`.
    pub(super) fn cause(&self, region: &Region) -> Option<Arc<Error>> {
        self.causes.iter().rev().find(|(r, _)| r.overlaps(region)).and_then(|(_, c)| c.clone())
    }
}

impl Placed {
    /// Where `region` lies in this block, if all of it does.
    fn span_of(&self, region: &Region) -> Option<Span> {
        let (offset, rows) = within(&self.region, region)?;
        Some(Span { address: self.block.address() + offset as u64, rows })
    }
}

/// Where `wanted` lies in a block of region `block`, if all of it does: its offset and its layout there.
fn within(block: &Region, wanted: &Region) -> Option<(usize, Rows)> {
    let from = wanted.offset.checked_sub(block.offset)?;
    let (block, wanted) = (&block.rows, &wanted.rows);
    if block.is_run() {
        let fits = from + wanted.extent() <= block.bytes();
        return fits.then_some((from, *wanted));
    }
    // A tile, packed: rows of the datum's pitch became rows without gaps.
    let (row, column) = (from / block.pitch, from % block.pitch);
    let same_pitch = wanted.rows == 1 || wanted.pitch == block.pitch;
    let fits = same_pitch && column + wanted.row_bytes <= block.row_bytes && row + wanted.rows <= block.rows;
    fits.then(|| (row * block.row_bytes + column, Rows { pitch: block.row_bytes, ..*wanted }))
}

/// Does a block of region `outer` hold all of `inner`?
pub(super) fn contains(outer: &Region, inner: &Region) -> bool {
    within(outer, inner).is_some()
}
