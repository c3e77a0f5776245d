//! Handles: what `hete_Data *` a program may hand in, and what each stands for.
//!
//! A handle is an address, and is looked up as a number: nothing behind it is read before it is known. The structs that
//! handles point to belong to this module; programs see them, and the library never reads them back, so a program that
//! writes into one confuses nobody but itself.
//!
//! Freed handles stay known as such, and their addresses out of use, until [`REMEMBERED`] more were freed after them.
//! So a handle that is freed twice, or used after that, is found for as long as that; later its address may be that of
//! another handle, which no library can tell from the first.
//!
//! No locks here: the [session](crate::session) has one around all of this.
#![allow(unsafe_code, non_camel_case_types)]

use crate::error::{Fault, Result, hete_Error::*};
use rimms::{HeteData, View};
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

/// Freed handles that are told apart from those in use: 16 bytes each and an entry of the table.
pub(crate) const REMEMBERED: usize = 1 << 16;

/// Data that is allocated once (the paper's `hete_Data`), or a fragment of it. Made by `hete_Malloc`, `hete_Index`.
///
/// For reading only. When the host's bytes are the newest, and when they may be written, says `hete_Sync`.
#[repr(C)]
#[derive(Debug)]
pub struct hete_Data {
    /// The host's bytes, aligned to 64 for what `hete_Malloc` gave; NULL once freed.
    pub data: *mut c_void,
    /// How many there are; 0 once freed.
    pub size: usize,
}

/// A part of a datum that a call is at, and whether it writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    /// Bytes of the datum, `from..to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) writes: bool,
}

impl Use {
    /// Do both touch the same bytes, and one of them changes them?
    #[inline]
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to && (self.writes || other.writes)
    }
}

/// A datum, and what calls are at in it.
#[derive(Debug)]
struct Tree {
    data: HeteData<u8>,
    /// Its handle.
    root: Slab,
    /// Keeps its room from call to call.
    uses: Vec<Use>,
}

/// A datum by the place where it is, so that no further look-up is needed. There as long as it is not removed: that is, under
/// the lock under which its handle was found, or while a part of it is claimed, since who removes it sees to it that none is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeRef(NonNull<Tree>);

// SAFETY: a tree's parts are Send and Sync, and it is reached under the session's lock alone.
unsafe impl Send for TreeRef {}

/// What a handle stands for.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) tree: TreeRef,
    /// A node of the tree's datum: there as long as the handle is live, since both go in one step.
    pub(crate) view: NonNull<View<u8>>,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The program may write the host's bytes whenever it likes, of this leaf or of some fragment.
    pub(crate) is_open: bool,
    parent: Option<usize>,
    children: Option<Slab>,
}

// SAFETY: the view is a node of a datum, which is Send and Sync, and is only used as the session allows; slabs are owned.
unsafe impl Send for Place {}

impl Place {
    pub(crate) fn part(&self, writes: bool) -> Use {
        Use { from: self.from, to: self.to, writes }
    }
}

/// Handles that were made together.
#[derive(Debug)]
struct Slab(NonNull<[hete_Data]>);

// SAFETY: owned memory, reached by address.
unsafe impl Send for Slab {}

impl Slab {
    fn new(handles: Vec<hete_Data>) -> Self {
        // A box's pointer is not null.
        Self(NonNull::from(Box::leak(handles.into_boxed_slice())))
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn addresses(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, n) = (self.0.cast::<hete_Data>().as_ptr().addr(), self.0.len());
        (0..n).map(move |i| start + i * size_of::<hete_Data>())
    }

    fn get(&self, i: usize) -> Option<*mut hete_Data> {
        // SAFETY: inside the slab.
        (i < self.0.len()).then(|| unsafe { self.0.cast::<hete_Data>().as_ptr().add(i) })
    }

    /// From now on the program sees nothing there.
    fn blank(&self) {
        for at in (0..self.len()).filter_map(|i| self.get(i)) {
            // SAFETY: inside the slab, which is ours; programs only read it.
            unsafe { at.write(hete_Data { data: std::ptr::null_mut(), size: 0 }) };
        }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: leaked in `new`, and taken back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[derive(Debug)]
enum Entry {
    Live(Place),
    Freed,
}

/// Addresses differ in their middle bits.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        // The table uses the highest bits and the lowest: both halves of the product have to do with all of the address.
        let product = u128::from(self.0 ^ n as u64) * u128::from(0x9E37_79B9_7F4A_7C15_u64);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// All handles, and the data that they belong to.
#[derive(Default)]
pub(crate) struct Handles {
    entries: HashMap<usize, Entry, BuildHasherDefault<AddressHasher>>,
    retired: VecDeque<Slab>,
    retired_handles: usize,
}

impl Handles {
    /// A new datum's handle.
    pub(crate) fn add(&mut self, mut data: HeteData<u8>) -> Result<*mut hete_Data> {
        self.entries.try_reserve(1).map_err(|_| no_room(1))?;
        let (view, size) = (NonNull::from(&mut *data), data.len());
        let slab = Slab::new(vec![visible(&data)]);
        let handle = slab.0.cast::<hete_Data>().as_ptr();
        let tree = Box::new(Tree { data, root: slab, uses: Vec::new() });
        let tree = TreeRef(NonNull::from(Box::leak(tree)));
        let place = Place { tree, view, from: 0, to: size, is_open: true, parent: None, children: None };
        self.entries.insert(handle.addr(), Entry::Live(place));
        Ok(handle)
    }

    /// What a handle stands for.
    #[inline]
    pub(crate) fn find(&self, handle: usize) -> Result<&Place> {
        match self.entries.get(&handle) {
            Some(Entry::Live(place)) => Ok(place),
            other => Err(unknown(handle, other.is_some())),
        }
    }

    fn find_mut(&mut self, handle: usize) -> Option<&mut Place> {
        match self.entries.get_mut(&handle) {
            Some(Entry::Live(place)) => Some(place),
            _ => None,
        }
    }

    /// Is nobody at this part of the place's datum, so that it may be used?
    #[inline]
    pub(crate) fn is_free(&self, place: &Place, part: Use) -> bool {
        self.conflicts(place, part) == 0
    }

    /// Is nobody at any part of the place's datum?
    #[inline]
    pub(crate) fn is_idle(&self, place: &Place) -> bool {
        // SAFETY: the tree of a live handle.
        unsafe { place.tree.0.as_ref() }.uses.is_empty()
    }

    /// How many are at this part, in another way than it could be used at the same time.
    #[inline]
    pub(crate) fn conflicts(&self, place: &Place, part: Use) -> usize {
        // SAFETY: the tree of a live handle.
        let uses = unsafe { &place.tree.0.as_ref().uses };
        uses.iter().filter(|other| other.conflicts(&part)).count()
    }

    /// Somebody is at this part, from now on.
    #[inline]
    pub(crate) fn claim(&mut self, mut tree: TreeRef, part: Use) {
        // SAFETY: the tree of a handle that was found under this lock; `&mut self`.
        unsafe { tree.0.as_mut() }.uses.push(part);
    }

    /// And no longer.
    #[inline]
    pub(crate) fn release(&mut self, mut tree: TreeRef, part: Use) {
        // SAFETY: there while this part is claimed; `&mut self`.
        let uses = unsafe { &mut tree.0.as_mut().uses };
        if let Some(at) = uses.iter().rposition(|other| *other == part) {
            uses.swap_remove(at);
        }
    }

    /// The handle of fragment `i`.
    pub(crate) fn child(&self, handle: usize, i: usize) -> Result<*mut hete_Data> {
        let children = self.find(handle)?.children.as_ref();
        let len = children.map_or(0, Slab::len);
        children.and_then(|slab| slab.get(i)).ok_or_else(|| {
            let more = if len == 0 { ": the data is not divided; hete_Fragment does that" } else { "" };
            Fault::new(HETE_ERROR_INDEX, format!("fragment {i} was asked for, but there are {len}{more}"))
        })
    }

    pub(crate) fn children(&self, handle: usize) -> Result<usize> {
        Ok(self.find(handle)?.children.as_ref().map_or(0, Slab::len))
    }

    /// The handle is that of a whole datum.
    pub(crate) fn check_whole(&self, handle: usize) -> Result<()> {
        match self.find(handle)?.parent {
            None => Ok(()),
            Some(_) => {
                let why = "this is a fragment, which goes with the data that it is a part of: free that, or join it";
                Err(Fault::new(HETE_ERROR_ARGUMENT, why))
            }
        }
    }

    /// Room for the handles of `n` fragments, before anything is divided.
    pub(crate) fn reserve(&mut self, n: usize) -> Result<Vec<hete_Data>> {
        self.entries.try_reserve(n).map_err(|_| no_room(n))?;
        let mut handles = Vec::new();
        handles.try_reserve_exact(n).map_err(|_| no_room(n))?;
        Ok(handles)
    }

    /// The view of this handle, which the caller still holds exclusively, has been divided anew, or joined: its fragments
    /// get handles, the former ones are freed.
    pub(crate) fn divided(&mut self, handle: usize, mut handles: Vec<hete_Data>) {
        self.retire_below(handle);
        let Some(place) = self.find_mut(handle) else { return };
        let (tree, is_open, mut from) = (place.tree, place.is_open, place.from);
        // SAFETY: the view of a live handle; nobody else is at it.
        let view = unsafe { place.view.as_ref() };
        handles.extend(view.fragments().map(visible));
        if handles.is_empty() {
            return;
        }
        let slab = Slab::new(handles);
        for (view, address) in view.fragments().zip(slab.addresses()) {
            let to = from + view.len();
            let (view, parent) = (NonNull::from(view), Some(handle));
            let place = Place { tree, view, from, to, is_open, parent, children: None };
            self.entries.insert(address, Entry::Live(place));
            from = to;
        }
        if let Some(place) = self.find_mut(handle) {
            place.children = Some(slab);
        }
    }

    /// Takes out a datum that nobody is at, and frees its handles. `None` where the handle is none of a whole datum.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<HeteData<u8>> {
        let tree = self.find(handle).ok().filter(|place| place.parent.is_none())?.tree;
        self.retire_below(handle);
        self.entries.insert(handle, Entry::Freed);
        // SAFETY: leaked in `add`; the last handle that names it is gone, and nobody has claimed a part of it.
        let Tree { data, root, .. } = *unsafe { Box::from_raw(tree.0.as_ptr()) };
        self.retire(root);
        Some(data)
    }

    /// All data, which nobody is at.
    pub(crate) fn clear(&mut self) -> Vec<HeteData<u8>> {
        let is_root = |entry: &Entry| matches!(entry, Entry::Live(Place { parent: None, .. }));
        let roots = self.entries.iter().filter(|(_, entry)| is_root(entry)).map(|(handle, _)| *handle);
        let roots: Vec<usize> = roots.collect();
        roots.into_iter().filter_map(|root| self.remove(root)).collect()
    }

    fn retire_below(&mut self, handle: usize) {
        let mut slabs: Vec<Slab> = self.find_mut(handle).and_then(|place| place.children.take()).into_iter().collect();
        while let Some(slab) = slabs.pop() {
            for address in slab.addresses() {
                if let Some(Entry::Live(Place { children: Some(below), .. })) =
                    self.entries.insert(address, Entry::Freed)
                {
                    slabs.push(below);
                }
            }
            self.retire(slab);
        }
    }

    fn retire(&mut self, slab: Slab) {
        slab.blank();
        self.retired_handles += slab.len();
        self.retired.push_back(slab);
        while self.retired_handles > REMEMBERED && self.retired.len() > 1 {
            let Some(oldest) = self.retired.pop_front() else { return };
            self.retired_handles -= oldest.len();
            oldest.addresses().for_each(|address| drop(self.entries.remove(&address)));
        }
    }

    /// From now on the program may, or may not, write the host's bytes whenever it likes.
    pub(crate) fn set_open(&mut self, handle: usize, is_open: bool) {
        let Some(place) = self.find_mut(handle) else { return };
        if place.children.is_none() && place.is_open == is_open {
            return;
        }
        let mut above = if is_open { place.parent } else { None };
        let mut below: SmallVec<[usize; 8]> = SmallVec::from_iter([handle]);
        while let Some(place) = below.pop().and_then(|handle| self.find_mut(handle)) {
            // What is not open has nothing open below.
            if is_open || place.is_open {
                place.is_open = is_open;
                below.extend(place.children.iter().flat_map(Slab::addresses));
            }
        }
        while let Some(place) = above.and_then(|handle| self.find_mut(handle)) {
            place.is_open = true;
            above = place.parent;
        }
    }

    /// The leaves of this place whose host bytes the program may have changed since others got a copy.
    pub(crate) fn open_leaves(&self, place: &Place, mut found: impl FnMut(NonNull<View<u8>>)) {
        let mut left: SmallVec<[&Place; 4]> = SmallVec::from_iter([place]);
        while let Some(place) = left.pop() {
            match &place.children {
                _ if !place.is_open => {}
                None => found(place.view),
                Some(slab) => left.extend(slab.addresses().filter_map(|address| self.find(address).ok())),
            }
        }
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        drop(self.clear());
    }
}

/// What the program sees of a view.
fn visible(view: &View<u8>) -> hete_Data {
    let address = view.address_on(rimms::ResourceId::HOST).unwrap_or(0);
    hete_Data { data: std::ptr::with_exposed_provenance_mut(address as usize), size: view.len() }
}

#[cold]
fn unknown(handle: usize, was_freed: bool) -> Box<Fault> {
    match (handle, was_freed) {
        (0, _) => Fault::null("the data"),
        (_, true) => {
            let why = "the data was freed, or the fragment went when its data was divided anew or joined";
            Fault::new(HETE_ERROR_FREED, why)
        }
        (_, false) => {
            let why = "this pointer is no data of this library: hete_Malloc and hete_Index give such";
            Fault::new(HETE_ERROR_HANDLE, why)
        }
    }
}

#[cold]
fn no_room(handles: usize) -> Box<Fault> {
    Fault::new(HETE_ERROR_MEMORY, format!("the host has no room for {handles} handles"))
}

#[cfg(test)]
mod tests;
