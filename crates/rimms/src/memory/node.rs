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
use crate::coherence::State;
use crate::device::Rows;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

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
    state: AtomicU64,
    datum: NonNull<Datum>,
    region: Region,
    children: UnsafeCell<Option<Box<[Node]>>>,
}

const _: () = assert!(size_of::<Node>() <= 64);

// SAFETY: the state is atomic; the datum is Sync; `children` is replaced only
// through `divide` and `undivide`, whose callers hold the view exclusively.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Node {
    #[inline]
    pub(super) const fn new(datum: NonNull<Datum>, region: Region, state: State) -> Self {
        Self { state: AtomicU64::new(state.to_bits()), datum, region, children: UnsafeCell::new(None) }
    }

    #[inline]
    pub(crate) fn datum(&self) -> &Datum {
        // SAFETY: a node lives inside its datum, so whoever can reach the node keeps the datum alive.
        unsafe { self.datum.as_ref() }
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
        // SAFETY: replaced only by holders of the exclusive view, who cannot be there while we borrow the node.
        unsafe { (*self.children.get()).as_deref().unwrap_or_default() }
    }

    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.children().is_empty()
    }

    /// A leaf's state. Acquire: whoever sees a resource in the valid set sees the bytes too.
    #[inline]
    pub(crate) fn state(&self) -> State {
        State::from_word(self.state.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state.to_bits(), Ordering::Release);
    }

    /// The first leaf, in order.
    pub(crate) fn first_leaf(&self) -> &Node {
        self.children().first().map_or(self, Node::first_leaf)
    }

    /// The state that all leaves are in; `None` where they differ.
    pub(crate) fn uniform_state(&self) -> Option<State> {
        let mut leaves = self.children().iter();
        let Some(first) = leaves.next() else { return Some(self.state()) };
        let state = first.uniform_state()?;
        leaves.all(|c| if c.is_leaf() { c.state() == state } else { c.uniform_state() == Some(state) }).then_some(state)
    }

    /// Calls `f` with every leaf, in order, until it fails.
    pub(crate) fn each_leaf<'a, E>(&'a self, f: &mut dyn FnMut(&'a Node) -> Result<(), E>) -> Result<(), E> {
        let children = self.children();
        if children.is_empty() {
            return f(self);
        }
        children.iter().try_for_each(|c| c.each_leaf(f))
    }

    /// Sets the state of every leaf.
    #[inline]
    pub(crate) fn set_all(&self, state: State) {
        if self.is_leaf() { self.set_state(state) } else { self.set_all_below(state) }
    }

    fn set_all_below(&self, state: State) {
        self.children().iter().for_each(|c| c.set_all(state));
    }

    /// Divides a leaf into these regions; each inherits the leaf's state.
    ///
    /// # Safety
    /// The caller holds the view exclusively: no other reference into this node's subtree is used meanwhile.
    pub(crate) unsafe fn divide(&self, regions: impl ExactSizeIterator<Item = Region>) {
        let state = self.state();
        let slab: Box<[Node]> = regions.map(|region| Node::new(self.datum, region, state)).collect();
        self.set_state(State::UNINITIALISED);
        // SAFETY: exclusive, as the caller vouches.
        unsafe { *self.children.get() = Some(slab) }
    }

    /// Makes the node a leaf again, with this state.
    ///
    /// # Safety
    /// As for [`divide`](Self::divide).
    pub(crate) unsafe fn undivide(&self, state: State) {
        self.set_state(state);
        // SAFETY: exclusive, as the caller vouches.
        unsafe { *self.children.get() = None }
    }
}
