//! Where handles were found last, so that the next look-up needs no lock.
//!
//! A hint is a place that once stood for an address; whether it still does, the place says. A hint that was overwritten, or
//! never set, costs a look-up under the lock.

use crate::place::Place;
use crate::slab::hete_Data;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};

/// Pages that no handle was hinted in take no memory.
const HINTS: usize = 1 << 15;

static PLACES: [AtomicPtr<Place>; HINTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; HINTS];

/// Handles of fragments lie side by side: each gets a hint of its own.
#[inline]
fn hint(handle: usize) -> &'static AtomicPtr<Place> {
    &PLACES[handle / size_of::<hete_Data>() % HINTS]
}

/// The place that stood for this handle when it was looked up last, or for another one.
#[inline]
pub(crate) fn find(handle: usize) -> Option<NonNull<Place>> {
    NonNull::new(hint(handle).load(Acquire))
}

/// Remembers a place that stands for this handle. Places stay where they are for ever.
pub(crate) fn set(handle: usize, place: NonNull<Place>) {
    hint(handle).store(place.as_ptr(), Release);
}
