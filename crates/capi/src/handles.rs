//! Handles: what `hete_Data *` a program may hand in, and what each stands for.
//!
//! A handle is an address, and is looked up as a number: nothing behind it is read before it is known. The structs that
//! handles point to belong to this library; programs see them, and it never reads them back, so a program that
//! writes into one confuses nobody but itself.
//!
//! Freed handles stay known as such, and their addresses out of use, until [`REMEMBERED`] more were freed after them.
//! So a handle that is freed twice, or used after that, is found for as long as that; later its address may be that of
//! another handle, which no library can tell from the first.
//!
//! No locks here: the [session](crate::session) has one around all of this.
#![allow(unsafe_code)]

use crate::error::{Fault, Result, hete_Error::*};
use crate::place::{Place, Tree, TreeRef, Within};
use crate::pool::Pool;
use crate::slab::{Slab, hete_Data};
use rimms::{HeteData, View};
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

/// Freed handles that are told apart from those in use: 16 bytes each and an entry of the table.
pub(crate) const REMEMBERED: usize = 1 << 16;

#[derive(Debug, Clone, Copy)]
enum Entry {
    Live(NonNull<Place>),
    Freed,
}

// SAFETY: places are Send and Sync.
unsafe impl Send for Entry {}

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
    places: Pool<Place>,
    trees: Pool<Tree>,
}

impl Handles {
    /// A new datum's handle.
    pub(crate) fn add(&mut self, data: HeteData<u8>) -> Result<*mut hete_Data> {
        self.entries.try_reserve(1).map_err(|_| no_room(1))?;
        let (Some(()), Some(tree)) = (self.places.reserve(1), self.trees.take()) else { return Err(no_room(1)) };
        let within = Within::of(&data, None);
        let root = Slab::new(vec![hete_Data::of(&data)]);
        let (handle, tree) = (root.first(), TreeRef::new(tree));
        tree.put(data, root);
        self.put(handle.addr(), tree, true, within);
        Ok(handle)
    }

    /// A place for this handle; there is room.
    fn put(&mut self, handle: usize, tree: TreeRef, is_open: bool, within: Within) {
        let Some(place) = self.places.take() else { return };
        // SAFETY: places stay where they are.
        unsafe { place.as_ref() }.put(handle, tree, is_open, within);
        self.entries.insert(handle, Entry::Live(place));
    }

    /// What a handle stands for.
    #[inline]
    pub(crate) fn find(&self, handle: usize) -> Result<&Place> {
        // SAFETY: places stay where they are.
        self.find_pointer(handle).map(|place| unsafe { place.as_ref() })
    }

    /// The same by where it is, for ever.
    #[inline]
    pub(crate) fn find_pointer(&self, handle: usize) -> Result<NonNull<Place>> {
        match self.entries.get(&handle) {
            Some(Entry::Live(place)) => Ok(*place),
            other => Err(unknown(handle, other.is_some())),
        }
    }

    /// The handles of a place's fragments, if it is divided.
    fn fragments(&self, handle: usize) -> Result<Option<&Slab>> {
        Ok(self.find(handle)?.within().children.as_ref())
    }

    /// The handle of fragment `i`.
    pub(crate) fn child(&self, handle: usize, i: usize) -> Result<*mut hete_Data> {
        let children = self.fragments(handle)?;
        let len = children.map_or(0, Slab::len);
        children.and_then(|slab| slab.get(i)).ok_or_else(|| {
            let more = if len == 0 { ": the data is not divided; hete_Fragment does that" } else { "" };
            Fault::new(HETE_ERROR_INDEX, format!("fragment {i} was asked for, but there are {len}{more}"))
        })
    }

    pub(crate) fn children(&self, handle: usize) -> Result<usize> {
        Ok(self.fragments(handle)?.map_or(0, Slab::len))
    }

    /// The handle is that of a whole datum.
    pub(crate) fn check_whole(&self, handle: usize) -> Result<()> {
        match self.find(handle)?.within().parent {
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
        self.places.reserve(n).ok_or_else(|| no_room(n))?;
        let mut handles = Vec::new();
        handles.try_reserve_exact(n).map_err(|_| no_room(n))?;
        Ok(handles)
    }

    /// The view of this handle, which the caller still holds exclusively, has been divided anew, or joined: its fragments
    /// get handles, the former ones are freed.
    pub(crate) fn divided(&mut self, handle: usize, mut handles: Vec<hete_Data>) {
        self.retire_below(handle);
        let Ok(place) = self.find_pointer(handle) else { return };
        // SAFETY: places stay where they are.
        let place = unsafe { place.as_ref() };
        let (Some(tree), Some(view)) = (place.tree(), place.within().view) else { return };
        // SAFETY: the view of a live handle; nobody else is at it.
        let view = unsafe { view.as_ref() };
        handles.extend(view.fragments().map(hete_Data::of));
        if handles.is_empty() {
            return;
        }
        let slab = Slab::new(handles);
        for (view, address) in view.fragments().zip(slab.addresses()) {
            self.put(address, tree, place.is_open(), Within::of(view, Some(handle)));
        }
        place.set_children(Some(slab));
    }

    /// Takes out a datum that nobody is at, and frees its handles. `None` where the handle is none of a whole datum.
    pub(crate) fn remove(&mut self, handle: usize) -> Option<HeteData<u8>> {
        self.check_whole(handle).ok()?;
        let tree = self.find(handle).ok()?.tree()?;
        self.retire_below(handle);
        let (data, root) = tree.take()?;
        self.free(handle);
        self.retire(root);
        self.trees.give_back(tree.pointer());
        Some(data)
    }

    /// All data, which nobody is at.
    pub(crate) fn clear(&mut self) -> Vec<HeteData<u8>> {
        let live = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::Live(_)));
        let roots: Vec<usize> =
            live.map(|(handle, _)| *handle).filter(|handle| self.check_whole(*handle).is_ok()).collect();
        roots.into_iter().filter_map(|root| self.remove(root)).collect()
    }

    /// From now on this handle is known as freed. Gives back those of its fragments.
    fn free(&mut self, handle: usize) -> Option<Slab> {
        let Some(Entry::Live(place)) = self.entries.insert(handle, Entry::Freed) else { return None };
        // SAFETY: places stay where they are.
        let children = unsafe { place.as_ref() }.clear();
        self.places.give_back(place);
        children
    }

    fn retire_below(&mut self, handle: usize) {
        let mut slabs: Vec<Slab> =
            self.find(handle).ok().and_then(|place| place.set_children(None)).into_iter().collect();
        while let Some(slab) = slabs.pop() {
            slabs.extend(slab.addresses().filter_map(|address| self.free(address)));
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
            oldest.addresses().for_each(|address| _ = self.entries.remove(&address));
        }
    }

    /// From now on the program may, or may not, write the host's bytes whenever it likes.
    pub(crate) fn set_open(&mut self, handle: usize, is_open: bool) {
        let Ok(place) = self.find(handle) else { return };
        if place.within().children.is_none() && place.is_open() == is_open {
            return;
        }
        let mut above = if is_open { place.within().parent } else { None };
        let mut below: SmallVec<[usize; 8]> = SmallVec::from_iter([handle]);
        while let Some(place) = below.pop().and_then(|handle| self.find(handle).ok()) {
            // What is not open has nothing open below.
            if is_open || place.is_open() {
                place.set_open(is_open);
                below.extend(place.within().children.iter().flat_map(Slab::addresses));
            }
        }
        while let Some(place) = above.and_then(|handle| self.find(handle).ok()) {
            place.set_open(true);
            above = place.within().parent;
        }
    }

    /// The leaves of this place whose host bytes the program may have changed since others got a copy.
    pub(crate) fn open_leaves(&self, place: &Place, mut found: impl FnMut(NonNull<View<u8>>)) {
        let mut left: SmallVec<[&Place; 4]> = SmallVec::from_iter([place]);
        while let Some(place) = left.pop() {
            match &place.within().children {
                _ if !place.is_open() => {}
                None => place.within().view.into_iter().for_each(&mut found),
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
