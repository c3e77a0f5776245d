//! Access: bringing a view's bytes to where they are needed, and recording what was done to them.
//!
//! In three steps, so that a call with several operands changes nothing before
//! all of them are in place: [`Node::fetch`] (allocates and copies; may fail),
//! [`Node::begin`] (the state tells the truth should the writer fail; cannot
//! fail), [`Node::commit`] (the write succeeded) or [`Node::failed`].

use super::datum::Datum;
use super::node::{Node, Region, room_for};
use super::residency::Residency;
use super::resources::{Block, device_error};
use super::transfer::{self, Move, Place, Way};
use crate::coherence::{Event, MemoryMode, ResourceId, ResourceSet, State, Transfer};
use crate::device::{DeviceErrorKind, Rows, Span};
use crate::error::{Error, Result};
use crate::op::Role;
use crate::trace::Cause;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Where a view lies on a resource; holds the block while it is used.
pub(crate) struct Located {
    pub(crate) span: Span,
    /// None on the host, whose storage the datum itself keeps.
    pub(crate) block: Option<Arc<Block>>,
}

impl Located {
    pub(super) fn place(&self, resource: ResourceId) -> Place {
        Place { resource, span: self.span }
    }
}

/// Copies still to be made: leaves in a row that travel as one.
struct Batch<'a> {
    datum: &'a Datum,
    cause: Cause,
    pending: Option<(Move, Region)>,
    /// Leaves whose state changes once the pending copy is made.
    leaves: SmallVec<[(&'a Node, State); 4]>,
}

impl<'a> Batch<'a> {
    fn new(datum: &'a Datum, cause: Cause) -> Self {
        Self { datum, cause, pending: None, leaves: SmallVec::new() }
    }

    fn push(&mut self, leaf: &'a Node, state: State, step: Move) -> Result<()> {
        let joined = self.pending.as_ref().and_then(|(before, region)| {
            let bytes = region.rows.bytes() + leaf.bytes();
            Some((before.joined(&step)?, Region::run(region.offset, bytes)))
        });
        match joined {
            Some(joined) => self.pending = Some(joined),
            None => {
                self.flush()?;
                self.pending = Some((step, *leaf.region()));
            }
        }
        self.leaves.push((leaf, state));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if let Some((step, region)) = self.pending.take() {
            let way = transfer::make(self.datum, &region, step, self.cause)?;
            for (leaf, state) in self.leaves.drain(..) {
                leaf.set_state(passed(self.datum, state, way));
            }
        }
        Ok(())
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

/// The state after a copy that may have gone through the host.
fn passed(datum: &Datum, state: State, way: Way) -> State {
    match (way, datum.resources.mode) {
        (Way::ThroughHost, MemoryMode::ValidSet) => state.shared_with(ResourceId::HOST),
        _ => state,
    }
}

impl Node {
    /// Brings the view to `r` for an access of this role, and says where it is there.
    ///
    /// # Errors
    /// `Uninitialised`, lack of room, a failed copy. The state is as it was, apart from copies that succeeded.
    #[inline]
    pub(crate) fn fetch(&self, r: ResourceId, role: Role, cause: Cause) -> Result<Located> {
        // One load and one bit test: valid here, or nothing to read. What is divided is never valid itself.
        if r.is_host() && if role.reads() { self.state().is_valid_on(r) } else { self.is_leaf() } {
            return Ok(Located { span: self.datum().host_span(self.region()), block: None });
        }
        self.fetch_slowly(r, role, cause)
    }

    #[cold]
    fn fetch_slowly(&self, r: ResourceId, role: Role, cause: Cause) -> Result<Located> {
        let datum = self.datum();
        let mut residency = datum.residency();
        if role.reads() {
            self.check_written(&residency)?;
        }
        let here = if r.is_host() || datum.resources.mode == MemoryMode::ZeroCopy {
            Located { span: datum.host_span(self.region()), block: None }
        } else {
            self.make_room(&mut residency, r, role)?
        };
        if role.reads() {
            self.bring(&residency, r, &here, cause)?;
        }
        Ok(here)
    }

    /// Every leaf that the access reads has been written.
    fn check_written(&self, residency: &Residency) -> Result<()> {
        self.each_leaf(&mut |leaf| {
            if leaf.state().valid().is_empty() {
                let cause = residency.cause(leaf.region());
                return Err(Error::Uninitialised { datum: self.datum().describe(leaf), cause });
            }
            Ok(())
        })
    }

    /// A block on `r` that covers the view; leaves that lay apart there are gathered into it.
    fn make_room(&self, residency: &mut Residency, r: ResourceId, role: Role) -> Result<Located> {
        if let Some(found) = residency.locate(r, self.region()) {
            return Ok(found);
        }
        let datum = self.datum();
        let refused = |e| device_error(e, "allocation", &datum.resources.device(r).info().name);
        if !residency.has_any(r) {
            let whole = *datum.root().region();
            match datum.resources.allocate(r, whole.rows.bytes()) {
                Ok(block) => residency.insert(r, whole, block),
                // No room for all of it: the view alone.
                Err(e) if no_room(&e.kind) && *self.region() != whole => {}
                Err(e) => return Err(refused(e)),
            }
            if let Some(found) = residency.locate(r, self.region()) {
                return Ok(found);
            }
        }
        let block = datum.resources.allocate(r, self.bytes()).map_err(refused)?;
        let rows = self.region().rows;
        let packed = if rows.is_run() { rows } else { Rows { pitch: rows.row_bytes, ..rows } };
        let span = Span { address: block.address(), rows: packed };
        self.gather(residency, r, role, &Place { resource: r, span })?;
        residency.remove_parts(Some(r), self.region());
        residency.insert(r, *self.region(), block.clone());
        Ok(Located { span, block: Some(block) })
    }

    /// Copies leaves that are valid in blocks of their own on `r` to their places in `whole`.
    ///
    /// Before a write only those that nobody else has: the call may still fail before it begins, and nothing is lost
    /// then; the others are no longer valid on `r`.
    fn gather(&self, residency: &Residency, r: ResourceId, role: Role, whole: &Place) -> Result<()> {
        let datum = self.datum();
        let mut batch = Batch::new(datum, Cause::Gather);
        self.each_leaf(&mut |leaf| {
            let state = leaf.state();
            if !state.is_valid_on(r) {
                return Ok(());
            }
            if !role.reads() && state.valid().len() > 1 {
                leaf.apply(datum.resources.mode, Event::Drop(r));
                return Ok(());
            }
            match residency.locate(r, leaf.region()) {
                Some(apart) => {
                    let to = Place { resource: r, span: self.part_of(&whole.span, leaf) };
                    batch.push(leaf, state, Move { from: apart.place(r), to, host_is_current: false })
                }
                None => Ok(()),
            }
        })?;
        batch.flush()
    }

    /// Where `leaf` lies, when the view lies at `span`.
    fn part_of(&self, span: &Span, leaf: &Node) -> Span {
        let rows = self.region().rows;
        let from = leaf.region().offset - self.region().offset;
        if rows.is_run() {
            return Span { address: span.address + from as u64, rows: leaf.region().rows };
        }
        let (row, column) = (from / rows.pitch, from % rows.pitch);
        let address = span.address + (row * span.rows.pitch + column) as u64;
        Span { address, rows: Rows { pitch: span.rows.pitch, ..leaf.region().rows } }
    }

    /// Makes every leaf valid on `r`, where the view lies at `here`.
    fn bring(&self, residency: &Residency, r: ResourceId, here: &Located, cause: Cause) -> Result<()> {
        let datum = self.datum();
        let mode = datum.resources.mode;
        let aside = Aside::new(self, r)?;
        if let Some((state, from)) = self.moves_as_one(residency, r) {
            // The new state equals the old one where the host had its copy before.
            let whole = if r.is_host() { aside.span_for(self.first_leaf().state(), &here.span) } else { here.span };
            let host_is_current = host_is_current(self.first_leaf().state());
            let step = Move { from, to: Place { resource: r, span: whole }, host_is_current };
            let way = transfer::make(datum, self.region(), step, cause)?;
            self.set_all(passed(datum, state, way));
            return Ok(());
        }
        let mut batch = Batch::new(datum, cause);
        self.each_leaf(&mut |leaf| {
            let Ok(step) = mode.step(leaf.state(), Event::Read(r)) else { return uninitialised(leaf) };
            match step.transfer {
                None => leaf.set_state(step.state),
                Some(Transfer::Copy { from, to }) => {
                    let whole = if to.is_host() { aside.span_for(leaf.state(), &here.span) } else { here.span };
                    let to = Place { resource: to, span: self.part_of(&whole, leaf) };
                    let from = place_on(datum, residency, from, leaf)?;
                    let host_is_current = host_is_current(leaf.state());
                    batch.push(leaf, step.state, Move { from, to, host_is_current })?;
                }
                Some(Transfer::Maintain { from, to }) => {
                    maintain(datum, from, to, leaf)?;
                    leaf.set_state(step.state);
                }
            }
            Ok(())
        })?;
        batch.flush()
    }

    /// The new state and the source, where all leaves are in one state and lie in one piece: one copy, strides and all.
    fn moves_as_one(&self, residency: &Residency, r: ResourceId) -> Option<(State, Place)> {
        let step = self.datum().resources.mode.step(self.uniform_state()?, Event::Read(r)).ok()?;
        match step.transfer {
            Some(Transfer::Copy { from, .. }) if from.is_host() => {
                Some((step.state, Place { resource: from, span: self.datum().host_span(self.region()) }))
            }
            Some(Transfer::Copy { from, .. }) => Some((step.state, residency.locate(from, self.region())?.place(from))),
            _ => None,
        }
    }

    /// The writer starts now: until it has succeeded, the state is what it would be had it failed.
    #[inline]
    pub(crate) fn begin(&self, r: ResourceId, role: Role) {
        let event = match role {
            Role::In => return,
            Role::Out => Event::BeginWrite(r),
            Role::InOut => Event::BeginUpdate(r),
        };
        let mode = self.datum().resources.mode;
        if self.is_leaf() { self.apply(mode, event) } else { self.apply_below(mode, event) }
    }

    /// Applies an event that needs no transfer to a leaf.
    #[inline]
    fn apply(&self, mode: MemoryMode, event: Event) {
        if let Ok(step) = mode.step(self.state(), event) {
            self.set_state(step.state);
        }
    }

    /// The same to every leaf.
    fn apply_below(&self, mode: MemoryMode, event: Event) {
        let _ = self.each_leaf(&mut |leaf| -> Result<()> {
            leaf.apply(mode, event);
            Ok(())
        });
    }

    /// The writer succeeded.
    ///
    /// # Errors
    /// In mode `reference`, where the result could not be brought back: it is lost then.
    #[inline]
    pub(crate) fn commit(&self, r: ResourceId, role: Role) -> Result<()> {
        if !role.writes() {
            return Ok(());
        }
        let mode = self.datum().resources.mode;
        // The end of a write does not depend on what was before.
        let Ok(step) = mode.step(State::UNINITIALISED, Event::EndWrite(r)) else { return Ok(()) };
        if let Some(Transfer::Copy { from, .. }) = step.transfer {
            self.bring_back(from)?;
        }
        self.set_all(step.state);
        Ok(())
    }

    #[cold]
    fn bring_back(&self, from: ResourceId) -> Result<()> {
        let datum = self.datum();
        // Half a copy may lie on the host if this fails.
        self.set_all(State::UNINITIALISED);
        let residency = datum.residency();
        let from = place_on(datum, &residency, from, self)?;
        let to = Place { resource: ResourceId::HOST, span: datum.host_span(self.region()) };
        transfer::make(datum, self.region(), Move { from, to, host_is_current: false }, Cause::Output)?;
        Ok(())
    }

    /// The writer failed: `cause` is why what it was to write is missing.
    #[cold]
    pub(crate) fn failed(&self, cause: &Arc<Error>) {
        self.datum().has_failed.store(true, Relaxed);
        self.datum().residency().record(*self.region(), cause.clone());
    }

    /// The host is about to write: what failed before no longer explains what is missing.
    #[inline]
    pub(crate) fn forget_causes(&self) {
        if self.datum().has_failed.load(Relaxed) {
            self.datum().residency().forget_causes(self.region());
        }
    }

    /// Makes the leaves below agree, so that the view can be one leaf again. Returns its state.
    ///
    /// # Errors
    /// Where some leaves were written and others were not; where a copy fails.
    pub(crate) fn agree(&self) -> Result<State> {
        let datum = self.datum();
        let uniform = self.uniform_state();
        if let Some(state) = uniform
            && datum.residency_if_any().is_none()
        {
            return Ok(state); // no device ever used it
        }
        let mut residency = datum.residency();
        // A resource counts only where it holds the view in one piece.
        let zero_copy = datum.resources.mode == MemoryMode::ZeroCopy;
        let whole = |residency: &Residency, valid: ResourceSet, last: Option<ResourceId>| {
            let whole = |r: &ResourceId| r.is_host() || zero_copy || residency.locate(*r, self.region()).is_some();
            let valid = valid.iter().filter(whole).fold(ResourceSet::EMPTY, ResourceSet::with);
            let last = last.filter(|l| valid.contains(*l)).or(valid.first());
            last.and_then(|last| State::new(valid, last))
        };
        if let Some(state) = uniform
            && let Some(agreed) = whole(&residency, state.valid(), state.last())
        {
            residency.remove_parts(None, self.region());
            return Ok(agreed);
        }
        let mut common = None;
        let (mut written, mut missing) = (0_usize, None);
        let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
            let state = leaf.state();
            if state.valid().is_empty() {
                missing = missing.or(Some(leaf));
            } else {
                written += 1;
                let valid = state.valid();
                let last = state.last();
                common = Some(match common {
                    None => (valid, last),
                    Some((all, same)) => (valid.and(all), if same == last { last } else { None }),
                });
            }
            Ok(())
        });
        if let Some(leaf) = missing {
            if written == 0 {
                residency.remove_parts(None, self.region());
                return Ok(State::UNINITIALISED);
            }
            let cause = residency.cause(leaf.region());
            return Err(Error::Uninitialised { datum: datum.describe(leaf), cause });
        }
        let (valid, last) = common.unwrap_or_default();
        let state = match whole(&residency, valid, last) {
            Some(state) => state,
            None => {
                let host = Located { span: datum.host_span(self.region()), block: None };
                self.bring(&residency, ResourceId::HOST, &host, Cause::Join)?;
                State::owned(ResourceId::HOST)
            }
        };
        residency.remove_parts(None, self.region());
        Ok(state)
    }
}

/// Does the host hold the newest bytes, whatever the mode makes of it?
fn host_is_current(state: State) -> bool {
    state.is_valid_on(ResourceId::HOST) || state.host_has_copy()
}

fn no_room(kind: &DeviceErrorKind) -> bool {
    use DeviceErrorKind::{Fragmented, Full, NeverFits};
    matches!(kind, NeverFits { .. } | Full { .. } | Fragmented { .. })
}

fn place_on(datum: &Datum, residency: &Residency, r: ResourceId, node: &Node) -> Result<Place> {
    if r.is_host() {
        return Ok(Place { resource: r, span: datum.host_span(node.region()) });
    }
    match residency.locate(r, node.region()) {
        Some(l) => Ok(l.place(r)),
        None => uninitialised(node),
    }
}

fn maintain(datum: &Datum, from: ResourceId, to: ResourceId, leaf: &Node) -> Result<()> {
    let span = datum.host_span(leaf.region());
    let failed = |e| device_error(e, "cache maintenance", "the device");
    if !from.is_host() {
        datum.resources.device(from).invalidate(&span).map_err(failed)?;
    }
    if !to.is_host() {
        datum.resources.device(to).flush(&span).map_err(failed)?;
    }
    Ok(())
}

fn uninitialised<T>(leaf: &Node) -> Result<T> {
    Err(Error::Uninitialised { datum: leaf.datum().describe(leaf), cause: None })
}
