//! Futures of one type, in one block that is used over and over.
//!
//! Owns [`Futures`]. Invariant: a future in a place is not moved until it is dropped there, so it is pinned: the places
//! lie in a block that never grows, and nobody outside gets hold of what is in them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A block of as many values; `None` where the host has no memory for them.
pub(crate) fn filled<T>(n: usize, value: impl Fn() -> T) -> Option<Box<[T]>> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).ok()?;
    values.extend((0..n).map(|_| value()));
    Some(values.into_boxed_slice())
}

/// A block of places for futures.
pub(crate) struct Futures<F> {
    places: Box<[Option<F>]>,
}

impl<E, F: Future<Output = Result<(), E>>> Futures<F> {
    /// A block with so many places; `None` where the host has no memory for them.
    pub(crate) fn new(places: usize) -> Option<Self> {
        Some(Futures { places: filled(places, || None)? })
    }

    /// Puts a future into a place, in the stead of what was there, and polls it. A future that is ready leaves its place; its
    /// error is what comes of it, if there is one.
    #[inline(always)]
    pub(crate) fn begin(&mut self, place: usize, future: F, context: &mut Context<'_>) -> Poll<Option<Box<E>>> {
        let Some(at) = self.places.get_mut(place) else {
            // The block has a place for every item: this future is dropped and never ready.
            return Poll::Pending;
        };
        *at = Some(future);
        Self::poll_in(at, context)
    }

    /// Polls the future in a place; a place without one is never ready.
    #[inline(always)]
    pub(crate) fn poll(&mut self, place: usize, context: &mut Context<'_>) -> Poll<Option<Box<E>>> {
        match self.places.get_mut(place) {
            Some(at) if at.is_some() => Self::poll_in(at, context),
            _ => Poll::Pending,
        }
    }

    #[inline(always)]
    fn poll_in(at: &mut Option<F>, context: &mut Context<'_>) -> Poll<Option<Box<E>>> {
        let Some(future) = at else { return Poll::Pending };
        // SAFETY: the future stays in its place until it is dropped there (by the assignments here and in `begin` and
        // `clear`, or with the block), and the block's places do not move when `Futures` does.
        let result = match unsafe { Pin::new_unchecked(future) }.poll(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => None,
            // Errors are large: in a box, what is handed on is a word.
            Poll::Ready(Err(error)) => Some(boxed(error)),
        };
        *at = None;
        Poll::Ready(result)
    }

    /// Drops what is in the places, the first `count` of them.
    pub(crate) fn clear(&mut self, count: usize) {
        self.places.iter_mut().take(count).for_each(|at| *at = None);
    }
}

#[cold]
fn boxed<E>(error: E) -> Box<E> {
    Box::new(error)
}
