//! What callers hand in by address. They vouch for it, as NVIDIA's interface asks of them.

use crate::calls::INVALID_VALUE;
use std::ffi::{CStr, c_char};

/// Puts a result where the caller wants it.
pub(crate) fn give<T>(to: *mut T, value: T) -> Result<(), u32> {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's.
    unsafe { to.write(value) };
    Ok(())
}

/// What lies there.
pub(crate) fn take<T: Copy>(from: *const T) -> Result<T, u32> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's.
    Ok(unsafe { from.read_unaligned() })
}

/// So many of them.
pub(crate) fn slice<'a, T>(from: *const T, len: usize) -> &'a [T] {
    if from.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(from, len) }
}

pub(crate) fn text(from: *const c_char) -> Result<String, u32> {
    if from.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's.
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}

/// Copies bytes between places that do not overlap, or are one.
pub(crate) fn copy(from: usize, to: usize, bytes: usize) {
    // SAFETY: the places were found to lie in live blocks, or the caller vouches for them.
    unsafe {
        std::ptr::copy(
            std::ptr::with_exposed_provenance::<u8>(from),
            std::ptr::with_exposed_provenance_mut::<u8>(to),
            bytes,
        );
    }
}
