//! What a handle stands for: a place in a datum, and who is at what in that datum.
//!
//! Places and trees stay where they are for ever (they come from a [pool](crate::pool)). Whose thread owns a tree looks at
//! its places without a lock; all else is looked at, and all is changed, under the session's lock, by who has revoked the
//! ownership and found nobody there. Three things are atomic, as threads that own nothing look at them too: which handle a
//! place stands for, in which tree, and whose that is.
#![allow(unsafe_code)]

use crate::lane::{Lane, Owner};
use crate::slab::Slab;
use rimms::{HeteData, View};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// A part of a datum that a call is at, and whether it writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    /// Bytes of the datum, `from..to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) writes: bool,
    /// Which of them, for one that does not have all.
    pub(crate) tile: Option<Tile>,
}

/// The rows of a tile. In numbers, not by its view: that is gone already while the handles of a view that was joined are
/// still to be freed, and others may ask for these meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    rows: usize,
    row_bytes: usize,
    /// From the beginning of one row to that of the next.
    pitch: usize,
}

impl Tile {
    /// Of a view that has not all the bytes between its first and its last.
    fn of(view: &View<u8>) -> Option<Self> {
        let (rows, row_bytes) = view.rows();
        let bytes = view.extent().len();
        let pitch = (bytes - row_bytes) / (rows - 1).max(1);
        (bytes != view.len()).then_some(Self { rows, row_bytes, pitch })
    }

    /// Has one that begins there any of these bytes?
    fn has(&self, start: usize, bytes: &Range<usize>) -> bool {
        // The first row that does not end before the bytes begin.
        let first = (bytes.start + 1).saturating_sub(start + self.row_bytes).div_ceil(self.pitch.max(1));
        first < self.rows && start + first * self.pitch < bytes.end
    }
}

impl Use {
    /// Do both touch the same bytes, and one of them changes them?
    #[inline]
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.from < other.to
            && other.from < self.to
            && (self.writes || other.writes)
            && ((self.tile.is_none() && other.tile.is_none()) || self.meets(other))
    }

    /// Two of which one is a tile, at least: its rows may go past the other.
    #[cold]
    fn meets(&self, other: &Self) -> bool {
        match (self.tile, other.tile) {
            (Some(a), Some(b)) => (0..a.rows).map(|i| self.from + i * a.pitch).any(|row| {
                let bytes = row..row + a.row_bytes;
                b.has(other.from, &bytes)
            }),
            (Some(tile), None) => tile.has(self.from, &(other.from..other.to)),
            (None, Some(tile)) => tile.has(other.from, &(self.from..self.to)),
            (None, None) => true,
        }
    }
}

/// A datum, and what calls are at in it.
#[derive(Default)]
pub(crate) struct Tree {
    /// Whose thread uses it by its lane; then nobody is at it in another way.
    pub(crate) owner: Owner<Place>,
    inside: UnsafeCell<Inside>,
}

#[derive(Default)]
struct Inside {
    /// The datum and its handle, while there is one.
    data: Option<(HeteData<u8>, Slab)>,
    /// Calls that were admitted under the lock. Keeps its room from call to call.
    uses: Vec<Use>,
    /// The lane that owned it last, while it may still be at it.
    lane: Option<NonNull<Lane<Place>>>,
}

// SAFETY: the datum is Send and Sync, the rest is owned; looked at and changed as the module says.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

/// A tree, by where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TreeRef(NonNull<Tree>);

// SAFETY: as the tree itself, which stays where it is.
unsafe impl Send for TreeRef {}

/// Methods but the first: under the lock.
impl TreeRef {
    #[inline]
    pub(crate) fn owner(&self) -> &Owner<Place> {
        // SAFETY: trees stay where they are; this part is atomic.
        unsafe { &self.0.as_ref().owner }
    }

    pub(crate) fn new(tree: NonNull<Tree>) -> Self {
        Self(tree)
    }

    pub(crate) fn pointer(self) -> NonNull<Tree> {
        self.0
    }

    #[allow(clippy::mut_from_ref)]
    fn inside(&self) -> &mut Inside {
        // SAFETY: under the lock, and each caller here is done with it before it returns.
        unsafe { &mut *self.0.as_ref().inside.get() }
    }

    pub(crate) fn put(self, data: HeteData<u8>, root: Slab) {
        self.inside().data = Some((data, root));
    }

    /// Takes the datum out; nobody is at it.
    pub(crate) fn take(self) -> Option<(HeteData<u8>, Slab)> {
        self.owner().revoke();
        let inside = self.inside();
        inside.lane = None;
        inside.data.take()
    }

    /// How many are at this part, in another way than it could be used at the same time. From now on nobody comes by a lane.
    pub(crate) fn conflicts(self, part: Use) -> usize {
        let former = self.owner().revoke();
        let inside = self.inside();
        inside.lane = former.or(inside.lane);
        let locked = inside.uses.iter().filter(|other| other.conflicts(&part)).count();
        locked + self.by_lane(|other| other.conflicts(&part))
    }

    /// How many uses of the lane that owned the tree last are such. It is forgotten once it is at nothing here.
    fn by_lane(self, is_such: impl Fn(&Use) -> bool) -> usize {
        let inside = self.inside();
        let Some(lane) = inside.lane else { return 0 };
        let (mut all, mut such) = (0, 0);
        // SAFETY: lanes stay for ever, and are made to be looked at.
        unsafe { lane.as_ref() }.each(|place, writes| {
            // SAFETY: places stay for ever, and are changed under the lock alone, which is held.
            let place = unsafe { place.as_ref() };
            if place.tree() == Some(self) {
                all += 1;
                such += usize::from(is_such(&place.part(writes)));
            }
        });
        if all == 0 {
            inside.lane = None;
        }
        such
    }

    /// Is the lane that owned the tree last at nothing here?
    fn is_left(self) -> bool {
        self.by_lane(|_| false);
        self.inside().lane.is_none()
    }

    /// Somebody is at this part, from now on.
    pub(crate) fn claim(self, part: Use) {
        self.inside().uses.push(part);
    }

    /// And no longer. If nobody is at the tree then, it is `lane`'s.
    pub(crate) fn release(self, part: Use, lane: Option<&'static Lane<Place>>) {
        let inside = self.inside();
        if let Some(at) = inside.uses.iter().rposition(|other| *other == part) {
            inside.uses.swap_remove(at);
        }
        if let Some(lane) = lane
            && inside.uses.is_empty()
            && self.is_left()
        {
            self.owner().give(lane);
        }
    }
}

/// What a handle stands for.
#[derive(Default)]
pub(crate) struct Place {
    /// 0 while it stands for nothing.
    handle: AtomicUsize,
    tree: AtomicPtr<Tree>,
    /// The program may write the host's bytes whenever it likes, of this leaf or of some fragment.
    is_open: AtomicBool,
    within: UnsafeCell<Within>,
}

impl Within {
    pub(crate) fn of(view: &View<u8>, parent: Option<usize>) -> Self {
        let Range { start, end } = view.extent();
        let (view, size, tile) = (Some(NonNull::from(view)), view.len(), Tile::of(view));
        Self { view, from: start, to: end, size, tile, parent, children: None }
    }
}

/// Where in its datum a place is.
#[derive(Default)]
pub(crate) struct Within {
    /// A node of the tree's datum: there for whoever is admitted to the place. `None` while the place
    /// stands for nothing.
    pub(crate) view: Option<NonNull<View<u8>>>,
    /// Bytes of its datum, `from..to`: all of them, unless it is a tile.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How many it has.
    pub(crate) size: usize,
    pub(crate) tile: Option<Tile>,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Option<Slab>,
}

// SAFETY: the view is a node of a datum, which is Send and Sync; slabs are owned; used as the module says.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place of {:#x}", self.handle.load(Acquire))
    }
}

impl Place {
    /// Does the place stand for this handle just now?
    #[inline]
    pub(crate) fn stands_for(&self, handle: usize) -> bool {
        self.handle.load(Acquire) == handle
    }

    #[inline]
    pub(crate) fn tree(&self) -> Option<TreeRef> {
        NonNull::new(self.tree.load(Acquire)).map(TreeRef)
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    /// Under the lock.
    pub(crate) fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Relaxed);
    }

    /// Under the lock, or by the thread that owns the tree and has entered its lane with this place.
    #[inline(always)]
    pub(crate) fn within(&self) -> &Within {
        // SAFETY: changed under the lock, when nobody is at the place, and by nobody who has this.
        unsafe { &*self.within.get() }
    }

    /// As above.
    #[inline(always)]
    pub(crate) fn part(&self, writes: bool) -> Use {
        let within = self.within();
        let (from, to) = (within.from, within.to);
        Use { from, to, writes, tile: within.tile }
    }

    /// Under the lock: is nobody at the place, in another way than it could be used at the same time?
    pub(crate) fn is_free(&self, writes: bool) -> bool {
        self.tree().is_none_or(|tree| tree.conflicts(self.part(writes)) == 0)
    }

    /// Under the lock: from now on the place stands for this handle.
    pub(crate) fn put(&self, handle: usize, tree: TreeRef, is_open: bool, within: Within) {
        // SAFETY: under the lock, and it stood for nothing.
        unsafe { *self.within.get() = within };
        self.set_open(is_open);
        self.tree.store(tree.0.as_ptr(), Release);
        // Last: who sees the handle sees the tree.
        self.handle.store(handle, Release);
    }

    /// Under the lock, when nobody is at it: from now on it stands for nothing. Gives back the handles of its fragments.
    pub(crate) fn clear(&self) -> Option<Slab> {
        self.handle.store(0, Release);
        self.tree.store(std::ptr::null_mut(), Release);
        // SAFETY: under the lock, and nobody is at it.
        unsafe { std::mem::take(&mut *self.within.get()) }.children
    }

    /// Under the lock, when nobody else is at it: the handles of its fragments are these. Gives back the former ones.
    pub(crate) fn set_children(&self, children: Option<Slab>) -> Option<Slab> {
        // SAFETY: under the lock, and nobody else is at it.
        std::mem::replace(unsafe { &mut (*self.within.get()).children }, children)
    }
}

#[cfg(test)]
mod tests {
    use super::{Tile, Use};

    #[test]
    fn tiles_meet_where_their_rows_do() {
        let run = |from, to| Use { from, to, writes: true, tile: None };
        let tile = |from: usize, rows: usize, row_bytes: usize| {
            let tile = Tile { rows, row_bytes, pitch: 16 };
            Use { from, to: from + (rows - 1) * 16 + row_bytes, writes: true, tile: Some(tile) }
        };
        let left = tile(0, 4, 8);
        for other in [run(0, 1), run(7, 9), run(16, 17), run(0, 64), run(55, 60), left, tile(4, 4, 8), tile(20, 2, 4)] {
            assert!(left.conflicts(&other) && other.conflicts(&left), "{other:?}");
        }
        for other in [run(8, 16), run(24, 32), run(56, 64), tile(8, 4, 8), tile(24, 2, 8), tile(64, 2, 8)] {
            assert!(!left.conflicts(&other) && !other.conflicts(&left), "{other:?}");
        }
    }
}
