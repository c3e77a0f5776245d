//! The blocks of one datum on devices.
//!
//! A block holds a region of the datum without gaps between its rows. The first
//! use of any fragment allocates one block for the whole datum where that fits,
//! so that fragments are arithmetic; otherwise the fragment gets one alone.

use super::access::Located;
use super::node::Region;
use super::resources::Block;
use crate::coherence::ResourceId;
use crate::device::{Rows, Span};
use crate::error::Error;
use std::sync::Arc;

struct Placed {
    resource: ResourceId,
    region: Region,
    block: Arc<Block>,
}

/// Which blocks there are, and why bytes are missing. Guarded by the datum's lock.
#[derive(Default)]
pub(super) struct Residency {
    blocks: Vec<Placed>,
    /// Failed writes, the newest last.
    causes: Vec<(Region, Arc<Error>)>,
}

impl Residency {
    /// Where `region` lies on `r`.
    pub(super) fn locate(&self, r: ResourceId, region: &Region) -> Option<Located> {
        self.blocks.iter().filter(|p| p.resource == r).find_map(|p| {
            let span = p.span_of(region)?;
            Some(Located { span, block: Some(p.block.clone()) })
        })
    }

    /// Is there any block on `r`?
    pub(super) fn has_any(&self, r: ResourceId) -> bool {
        self.blocks.iter().any(|p| p.resource == r)
    }

    pub(super) fn insert(&mut self, resource: ResourceId, region: Region, block: Arc<Block>) {
        self.blocks.push(Placed { resource, region, block });
    }

    /// Gives up blocks on `r` (any, if `None`) that lie inside `region` without being the one that covers all of it.
    pub(super) fn remove_parts(&mut self, r: Option<ResourceId>, region: &Region) {
        self.blocks.retain(|p| {
            let other = r.is_some_and(|r| r != p.resource);
            other || !p.region.overlaps(region) || p.span_of(region).is_some()
        });
    }

    pub(super) fn record(&mut self, region: Region, cause: Arc<Error>) {
        self.causes.retain(|(r, _)| *r != region);
        self.causes.push((region, cause));
    }

    pub(super) fn forget_causes(&mut self, region: &Region) {
        self.causes.retain(|(r, _)| !r.overlaps(region));
    }

    /// The newest failure that touched `region`.
    pub(super) fn cause(&self, region: &Region) -> Option<Arc<Error>> {
        self.causes.iter().rev().find(|(r, _)| r.overlaps(region)).map(|(_, c)| c.clone())
    }
}

impl Placed {
    /// Where `region` lies in this block, if all of it does.
    fn span_of(&self, region: &Region) -> Option<Span> {
        let (block, wanted) = (&self.region.rows, &region.rows);
        let from = region.offset.checked_sub(self.region.offset)?;
        if block.is_run() {
            let fits = from + wanted.extent() <= block.bytes();
            return fits.then(|| Span { address: self.block.address() + from as u64, rows: *wanted });
        }
        // A tile, packed: rows of the datum's pitch became rows without gaps.
        let (row, column) = (from / block.pitch, from % block.pitch);
        let same_pitch = wanted.rows == 1 || wanted.pitch == block.pitch;
        let fits = same_pitch && column + wanted.row_bytes <= block.row_bytes && row + wanted.rows <= block.rows;
        fits.then(|| Span {
            address: self.block.address() + (row * block.row_bytes + column) as u64,
            rows: Rows { pitch: block.row_bytes, ..*wanted },
        })
    }
}
