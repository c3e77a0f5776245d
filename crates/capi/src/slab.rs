//! The structs that handles point to, as programs see them.
#![allow(unsafe_code, non_camel_case_types)]

use rimms::{ResourceId, View};
use std::ffi::c_void;
use std::ptr::NonNull;

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

impl hete_Data {
    /// What the program sees of a view.
    pub(crate) fn of(view: &View<u8>) -> Self {
        let address = view.address_on(ResourceId::HOST).unwrap_or(0);
        Self { data: std::ptr::with_exposed_provenance_mut(address as usize), size: view.len() }
    }
}

/// Handles that were made together.
#[derive(Debug)]
pub(crate) struct Slab(NonNull<[hete_Data]>);

// SAFETY: owned memory, reached by address.
unsafe impl Send for Slab {}

impl Slab {
    pub(crate) fn new(handles: Vec<hete_Data>) -> Self {
        // A box's pointer is not null.
        Self(NonNull::from(Box::leak(handles.into_boxed_slice())))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn first(&self) -> *mut hete_Data {
        self.0.cast::<hete_Data>().as_ptr()
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, n) = (self.first().addr(), self.0.len());
        (0..n).map(move |i| start + i * size_of::<hete_Data>())
    }

    pub(crate) fn get(&self, i: usize) -> Option<*mut hete_Data> {
        // SAFETY: inside the slab.
        (i < self.0.len()).then(|| unsafe { self.first().add(i) })
    }

    /// From now on the program sees nothing there.
    pub(crate) fn blank(&self) {
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
