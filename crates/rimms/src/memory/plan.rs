//! Plans: copies that were found to be needed under a datum's lock, to be made without it.

use super::claims::with_host;
use super::datum::Datum;
use super::node::{Node, Region, room_for};
use super::residency::Residency;
use super::resources::Block;
use super::transfer::{self, Move, Place, Way};
use crate::coherence::{Event, MemoryMode, ResourceId, ResourceSet, State, Transfer};
use crate::device::{Rows, Span};
use crate::error::{Error, Result};
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;

/// One copy: of leaves in a row that travel together.
struct Copy<'a> {
    step: Move,
    region: Region,
    /// Where the bytes come from; held until they have arrived. The target's is held by whoever wants them there.
    source: Option<Arc<Block>>,
    leaves: SmallVec<[&'a Node; 4]>,
}

/// Copies to be made, in order.
#[derive(Default)]
pub(super) struct Copies<'a>(SmallVec<[Copy<'a>; 1]>);

impl<'a> Copies<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a leaf's, which joins the one before where it lies next to it in the same memory.
    pub(super) fn push(&mut self, leaf: &'a Node, step: Move, source: Option<&Arc<Block>>) {
        if let Some(last) = self.0.last_mut()
            && last.source.as_ref().map(Arc::as_ptr) == source.map(Arc::as_ptr)
            && let Some(joined) = last.step.joined(&step)
            // On devices the rows of a tile lie side by side, in the host's storage they do not; and the way may lead
            // through that.
            && let Some(region) = last.region.joined(leaf.region())
        {
            last.region = region;
            last.step = joined;
            last.leaves.push(leaf);
            return;
        }
        self.push_alone(*leaf.region(), step, source, SmallVec::from_slice(&[leaf]));
    }

    fn push_alone(&mut self, region: Region, step: Move, source: Option<&Arc<Block>>, leaves: SmallVec<[&'a Node; 4]>) {
        self.0.push(Copy { step, region, source: source.cloned(), leaves });
    }

    /// Does any of them go from device to device, where the bytes may have to pass through the host's storage?
    fn may_pass_through_the_host(&self) -> bool {
        self.0.iter().any(|Copy { step: Move { from, to, host_is_current }, .. }| {
            !from.resource.is_host() && !to.resource.is_host() && from.resource != to.resource && !host_is_current
        })
    }

    /// Makes them, and says of each leaf when its bytes have arrived. What is copied beside calls tells nothing of the link.
    ///
    /// # Errors
    /// The first that fails; the rest are not made.
    pub(super) fn make(
        self,
        datum: &Datum,
        cause: Cause,
        beside_calls: bool,
        arrived: &mut dyn FnMut(&Node, Way),
    ) -> Result<()> {
        for copy in self.0 {
            let way = transfer::make(datum, &copy.region, copy.step, cause, beside_calls)?;
            copy.leaves.iter().for_each(|leaf| arrived(leaf, way));
        }
        Ok(())
    }
}

/// What makes a view valid where it is to be read.
pub(super) struct Plan<'a> {
    reader: ResourceId,
    copies: Copies<'a>,
    /// Leaves whose caches are to be maintained: who wrote them.
    caches: SmallVec<[(&'a Node, ResourceId); 1]>,
    /// Where some of the copies go.
    _aside: Aside,
}

impl<'a> Plan<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.copies.is_empty() && self.caches.is_empty()
    }

    /// What is to be claimed for it.
    pub(super) fn targets(&self) -> ResourceSet {
        if self.copies.may_pass_through_the_host() { with_host(self.reader) } else { ResourceSet::only(self.reader) }
    }

    /// Carries it out, under a claim of its [targets](Self::targets).
    ///
    /// # Errors
    /// The first copy that fails. Those before it were made, and the states say so.
    pub(super) fn carry_out(self, datum: &Datum, cause: Cause) -> Result<()> {
        let (mode, r) = (datum.mode, self.reader);
        let read = |leaf: &Node, way| {
            if datum.resources.is_lost(r) {
                return; // what has arrived there is gone
            }
            leaf.change(|state| {
                let state = mode.step(state, Event::Read(r)).ok()?.state;
                Some(if way == Way::ThroughHost && mode == MemoryMode::ValidSet {
                    state.shared_with(ResourceId::HOST)
                } else {
                    state
                })
            });
        };
        for (leaf, writer) in self.caches {
            maintain(datum, writer, r, leaf)?;
            read(leaf, Way::Direct);
        }
        self.copies.make(datum, cause, false, &mut |leaf, way| read(leaf, way))
    }
}

/// Memory for copies that mode `last-resource` makes although the host has the bytes: its readers, which may be
/// looking at them just now, are not to be disturbed, and the copy counts all the same.
struct Aside(Vec<u8>);

impl Aside {
    fn new(view: &Node, r: ResourceId) -> Result<Self> {
        let mut wanted = 0;
        if r.is_host() {
            let _ = view.each_leaf(&mut |leaf| -> Result<(), ()> {
                wanted = if leaf.state().host_has_copy() { view.region().rows.extent() } else { wanted };
                Ok(())
            });
        }
        let mut room = room_for(wanted)?;
        room.resize(wanted, 0);
        let _ = room.as_mut_ptr().expose_provenance();
        Ok(Self(room))
    }

    /// Where a view goes whose leaf in question is in this state: here, or to its own place.
    fn span_for(&self, state: State, own: &Span) -> Span {
        if state.host_has_copy() { Span { address: self.0.as_ptr().addr() as u64, ..*own } } else { *own }
    }
}

impl Node {
    /// What makes every leaf valid on `r`, where the view lies at `here`.
    ///
    /// # Errors
    /// `Uninitialised`, or no room for the plan.
    pub(super) fn plan_read<'a>(&'a self, residency: &Residency, r: ResourceId, here: &Span) -> Result<Plan<'a>> {
        let datum = self.datum();
        let mode = datum.mode;
        let mut plan =
            Plan { reader: r, copies: Copies::default(), caches: SmallVec::new(), _aside: Aside::new(self, r)? };
        // The new state equals the old one where the host had its copy before.
        let here_for = |state: State| if r.is_host() { plan._aside.span_for(state, here) } else { *here };
        if let Some((state, from, block)) = self.moves_as_one(residency, r) {
            let to = Place { resource: r, span: here_for(state) };
            let step = Move { from, to, host_is_current: host_is_current(state) };
            let mut leaves = SmallVec::new();
            let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
                leaves.push(leaf);
                Ok(())
            });
            plan.copies.push_alone(*self.region(), step, block, leaves);
            return Ok(plan);
        }
        let (mut copies, mut caches) = (Copies::default(), SmallVec::new());
        self.each_leaf(&mut |leaf| {
            let state = leaf.state();
            let Ok(step) = mode.step(state, Event::Read(r)) else { return Err(uninitialised(leaf, residency)) };
            match step.transfer {
                None => {}
                Some(Transfer::Copy { from, to }) => {
                    let to = Place { resource: to, span: self.part_of(&here_for(state), leaf) };
                    let (from, block) = place_on(residency, from, leaf)?;
                    copies.push(leaf, Move { from, to, host_is_current: host_is_current(state) }, block);
                }
                Some(Transfer::Maintain { from, .. }) => caches.push((leaf, from)),
            }
            Ok(())
        })?;
        (plan.copies, plan.caches) = (copies, caches);
        Ok(plan)
    }

    /// The state that all leaves are in and the source, where they are in one and lie in one piece: one copy, strides
    /// and all. The state is read once: another reader's copy, which holds no lock, may just be adding to the first
    /// leaf's what is not yet, or never will be, true of the others.
    fn moves_as_one<'r>(
        &self,
        residency: &'r Residency,
        r: ResourceId,
    ) -> Option<(State, Place, Option<&'r Arc<Block>>)> {
        let state = self.uniform_state()?;
        match self.datum().mode.step(state, Event::Read(r)).ok()?.transfer {
            Some(Transfer::Copy { from, .. }) => {
                let (place, block) = place_on(residency, from, self).ok()?;
                Some((state, place, block))
            }
            _ => None,
        }
    }

    /// Where `leaf` lies, when the view lies at `span`.
    pub(super) fn part_of(&self, span: &Span, leaf: &Node) -> Span {
        let rows = self.region().rows;
        let from = leaf.region().offset - self.region().offset;
        if rows.is_run() {
            return Span { address: span.address + from as u64, rows: leaf.region().rows };
        }
        let (row, column) = (from / rows.pitch, from % rows.pitch);
        let address = span.address + (row * span.rows.pitch + column) as u64;
        Span { address, rows: Rows { pitch: span.rows.pitch, ..leaf.region().rows } }
    }
}

/// Does the host hold the newest bytes, whatever the mode makes of it?
pub(super) fn host_is_current(state: State) -> bool {
    state.is_valid_on(ResourceId::HOST) || state.host_has_copy()
}

/// Where a view lies on `r`, and in which block.
///
/// # Errors
/// `Uninitialised` where it lies nowhere there.
pub(super) fn place_on<'r>(
    residency: &'r Residency,
    r: ResourceId,
    node: &Node,
) -> Result<(Place, Option<&'r Arc<Block>>)> {
    if r.is_host() {
        return Ok((Place { resource: r, span: node.datum().host_span(node.region()) }, None));
    }
    match residency.locate(r, node.region()) {
        Some((span, block)) => Ok((Place { resource: r, span }, Some(block))),
        None => Err(uninitialised(node, residency)),
    }
}

/// Why the leaf cannot be read. What failed first is the cause, not what failed for that: a chain of calls may be long.
pub(super) fn uninitialised(leaf: &Node, residency: &Residency) -> Error {
    let first = |cause: Arc<Error>| match &*cause {
        Error::Uninitialised { cause: Some(first), .. } => first.clone(),
        _ => cause,
    };
    Error::Uninitialised { datum: leaf.datum().describe(leaf), cause: residency.cause(leaf.region()).map(first) }
}

fn maintain(datum: &Datum, from: ResourceId, to: ResourceId, leaf: &Node) -> Result<()> {
    let span = datum.host_span(leaf.region());
    let failed = |e| datum.resources.failure(e, "cache maintenance", "the device");
    if !from.is_host() {
        datum.resources.device(from).invalidate(&span).map_err(failed)?;
    }
    if !to.is_host() {
        datum.resources.device(to).flush(&span).map_err(failed)?;
    }
    Ok(())
}
