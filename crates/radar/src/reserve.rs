//! Room for as many elements as a user asks for, or an error instead of an abort.

use crate::{Error, Result};

/// An empty vector with room for `len` elements.
pub(crate) fn reserve<T>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(len) {
        Ok(()) => Ok(room),
        Err(_) => Err(Error::Memory { what, bytes: len.saturating_mul(size_of::<T>()) }),
    }
}
