//! The tree of fragments: one node a view, one state word a leaf.
//!
//! A node is 64 bytes. The children of a node lie in one slab, so dividing a
//! datum into n costs one allocation and n nodes to fill in; no heap of a device is touched.
//!
//! Unsafe, for two things: the pointer from a node to its datum, and the
//! replacement of children. Both rest on who may hold what: nodes live inside
//! their datum (the root) or in the slab of their parent, so a reference to a
//! node never outlives the datum; and children are only replaced through
//! [`Node::divide`] and [`Node::undivide`], whose callers hold the view exclusively.
#![allow(unsafe_code)]

use super::Datum;
use crate::coherence::{State, StateCell};
use crate::device::Rows;
use crate::error::Error;
use crate::order::Users;
use smallvec::SmallVec;
use std::ptr::NonNull;

/// A part of a datum: where it starts, in bytes, and its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    pub(crate) offset: usize,
    pub(crate) rows: Rows,
}

impl Region {
    pub(crate) const fn run(offset: usize, bytes: usize) -> Self {
        Self { offset, rows: Rows::run(bytes) }
    }

    /// Where its last byte ends.
    pub(crate) const fn end(&self) -> usize {
        self.offset + self.rows.extent()
    }

    /// The run that this one and `next` make up, if they are one.
    pub(super) fn joined(&self, next: &Self) -> Option<Self> {
        let follows = self.rows.rows == 1 && next.rows.rows == 1 && self.end() == next.offset;
        follows.then(|| Self::run(self.offset, self.rows.row_bytes + next.rows.row_bytes))
    }

    /// Do the two have a byte in common? Tiles side by side interleave without that.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.offset < other.end()
            && other.offset < self.end()
            && (self.rows.is_run() && other.rows.is_run()
                || (0..self.rows.rows).any(|i| {
                    let a = self.offset + i * self.rows.pitch;
                    let end = a + self.rows.row_bytes;
                    // The first row of the other that does not end before this one starts.
                    let skip = (a + 1).saturating_sub(other.offset + other.rows.row_bytes);
                    let first = skip.div_ceil(other.rows.pitch.max(1));
                    first < other.rows.rows && other.offset + first * other.rows.pitch < end
                }))
    }
}

/// A view's place in the tree of its datum.
pub(crate) struct Node {
    /// A leaf's state. Of a divided node nothing is valid: what is true of it is said by its leaves, and "valid"
    /// can be asked with one test for both.
    state: StateCell,
    datum: NonNull<Datum>,
    region: Region,
    /// Of a leaf: the calls that use it. Of a divided node: where its children lie.
    users: Users,
}

const _: () = assert!(size_of::<Node>() <= 64);

// SAFETY: state and users are atomic; the datum is Sync; children are replaced only
// through `divide` and `undivide`, whose callers hold the view exclusively.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    #[inline]
    pub(super) fn new(datum: NonNull<Datum>, region: Region, state: State) -> Self {
        Self { state: StateCell::new(state), datum, region, users: Users::nobody() }
    }

    #[inline]
    pub(crate) fn datum(&self) -> &Datum {
        // SAFETY: a node lives inside its datum, so whoever can reach the node keeps the datum alive.
        unsafe { self.datum.as_ref() }
    }

    /// The same by a pointer that may be used for all of its allocation.
    #[inline]
    pub(super) fn datum_pointer(&self) -> NonNull<Datum> {
        self.datum
    }

    /// Where the view begins in its datum, and where it ends.
    pub(crate) fn extent(&self) -> std::ops::Range<usize> {
        self.region.offset..self.region.end()
    }

    #[inline]
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Bytes of the view.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.region.rows.bytes()
    }

    /// The children; none for a leaf.
    #[inline]
    pub(crate) fn children(&self) -> &[Node] {
        let Some((address, n)) = self.users.children() else { return &[] };
        // SAFETY: a slab that `divide` gave up. It is taken back only by holders of the exclusive view, who cannot be
        // there while we borrow the node, and who wait for the calls that use it (`data`).
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), n) }
    }

    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.users.is_leaf()
    }

    /// A leaf's users.
    #[inline]
    pub(super) fn users(&self) -> &Users {
        &self.users
    }

    /// A leaf's state. Acquire: whoever sees a resource in the valid set sees the bytes too.
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state.get()
    }

    #[inline]
    pub(crate) fn set_state(&self, state: State) {
        self.state.set(state);
    }

    /// The leaves, in order. Not recursive: a program may nest as deep as it likes.
    pub(crate) fn leaves(&self) -> Leaves<'_> {
        Leaves { rest: SmallVec::from_iter([std::slice::from_ref(self).iter()]) }
    }

    /// The first leaf, in order.
    pub(crate) fn first_leaf(&self) -> &Node {
        self.leaves().next().unwrap_or(self)
    }

    /// The state that all leaves are in; `None` where they differ.
    pub(crate) fn uniform_state(&self) -> Option<State> {
        if self.is_leaf() {
            return Some(self.state());
        }
        let state = self.first_leaf().state();
        let children = self.children();
        // The common case, one level, without the walk.
        let flat = children.iter().all(|c| c.is_leaf() && c.state() == state);
        (flat || self.leaves().all(|leaf| leaf.state() == state)).then_some(state)
    }

    /// Calls `f` with every leaf, in order, until it fails.
    #[inline]
    pub(crate) fn each_leaf<'a, E>(&'a self, f: &mut dyn FnMut(&'a Node) -> Result<(), E>) -> Result<(), E> {
        if self.is_leaf() { f(self) } else { self.leaves().try_for_each(f) }
    }

    /// Sets the state of every leaf.
    #[inline]
    pub(crate) fn set_all(&self, state: State) {
        if self.is_leaf() { self.set_state(state) } else { self.leaves().for_each(|leaf| leaf.set_state(state)) }
    }

    /// Divides a leaf into these regions; each inherits the leaf's state. They lie in the order in which they are given:
    /// none begins, or ends, before one that comes earlier (fragments, and tiles row after row).
    ///
    /// # Errors
    /// [`Error::HostMemory`] where there is no room for the nodes; nothing has changed then.
    ///
    /// # Safety
    /// The caller holds the view exclusively, and no call in flight uses it: no other reference into this node's
    /// subtree is used meanwhile. It is a leaf.
    pub(crate) unsafe fn divide(&self, regions: impl ExactSizeIterator<Item = Region>) -> Result<(), Error> {
        let state = self.state();
        let mut slab: Vec<Node> = room_for(regions.len())?;
        slab.extend(regions.map(|region| Node::new(self.datum, region, state)));
        debug_assert!(slab.is_sorted_by_key(|n| n.region.offset) && slab.is_sorted_by_key(|n| n.region.end()));
        let n = slab.len();
        let slab = Box::into_raw(slab.into_boxed_slice()).cast::<Node>();
        self.set_state(State::UNINITIALISED);
        self.users.forget_readers();
        self.users.set_children(slab.expose_provenance(), n);
        Ok(())
    }

    /// Makes the node a leaf again, with this state.
    ///
    /// # Safety
    /// As for [`divide`](Self::divide).
    pub(crate) unsafe fn undivide(&self, state: State) {
        // SAFETY: exclusive, as the caller vouches.
        drop(unsafe { self.take_children() });
        self.set_state(state);
    }

    /// Takes the slab of children back; the node is a leaf then.
    ///
    /// # Safety
    /// As for [`divide`](Self::divide).
    unsafe fn take_children(&self) -> Option<Box<[Node]>> {
        let (address, n) = self.users.children()?;
        self.users.clear_children();
        let slab = std::ptr::with_exposed_provenance_mut::<Node>(address);
        // SAFETY: `divide` gave up a box of this address and length, and it is forgotten now.
        Some(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(slab, n)) })
    }
}

impl Drop for Node {
    /// Takes deep trees apart level by level, where the derived drop would recurse.
    #[inline]
    fn drop(&mut self) {
        if !self.users.are_none() {
            self.drop_below();
        }
    }
}

impl Node {
    #[cold]
    fn drop_below(&mut self) {
        if self.is_leaf() {
            return self.users.forget_readers();
        }
        // SAFETY: `&mut self`, here and for the nodes of a slab that is ours.
        let mut slabs: SmallVec<[Box<[Node]>; 4]> = unsafe { self.take_children() }.into_iter().collect();
        while let Some(slab) = slabs.pop() {
            // SAFETY: as above.
            slabs.extend(slab.iter().filter_map(|node| unsafe { node.take_children() }));
        }
    }
}

/// The leaves of a view, in order.
pub(crate) struct Leaves<'a> {
    /// What is left at each level; the deepest last.
    rest: SmallVec<[std::slice::Iter<'a, Node>; 4]>,
}

impl<'a> Iterator for Leaves<'a> {
    type Item = &'a Node;

    fn next(&mut self) -> Option<&'a Node> {
        loop {
            match self.rest.last_mut()?.next() {
                None => drop(self.rest.pop()),
                Some(node) if node.is_leaf() => return Some(node),
                Some(node) => self.rest.push(node.children().iter()),
            }
        }
    }
}

/// An empty vector with room for `n`, where there is that much.
///
/// # Errors
/// [`Error::HostMemory`].
pub(crate) fn room_for<T>(n: usize) -> Result<Vec<T>, Error> {
    let mut room = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>());
    room.try_reserve_exact(n).map_err(|_| Error::HostMemory { bytes })?;
    Ok(room)
}

impl Node {
    /// Changes a leaf's state in one step, whoever else changes it meanwhile: to `f` of what it is, unless that is `None`.
    #[inline]
    pub(super) fn change(&self, f: impl FnMut(State) -> Option<State>) {
        self.state.change(f);
    }
}
