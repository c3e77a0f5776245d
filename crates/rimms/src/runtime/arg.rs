//! Arguments of a call: views with what the caller allows.

use crate::data::{HeteData, View};
use crate::memory::Node;
use crate::op::{Element, Shape};
use bytemuck::Pod;
use std::fmt;

/// An argument of [`Runtime::call`](super::Runtime::call): a view, borrowed as the op's role for it demands.
///
/// Made by [`arg`] (for In operands), [`arg_mut`] (for any), or `.into()`.
pub struct Arg<'a> {
    pub(super) node: &'a Node,
    pub(super) shape: Shape,
    pub(super) exclusive: bool,
}

/// A view to be read.
#[inline]
pub fn arg<T: Pod>(view: &View<T>) -> Arg<'_> {
    Arg { node: view.node(), shape: Shape::new(view.len(), Element::of::<T>()), exclusive: false }
}

/// A view to be written, or read and written.
#[inline]
pub fn arg_mut<T: Pod>(view: &mut View<T>) -> Arg<'_> {
    Arg { exclusive: true, ..arg(view) }
}

impl<'a, T: Pod> From<&'a View<T>> for Arg<'a> {
    fn from(view: &'a View<T>) -> Self {
        arg(view)
    }
}

impl<'a, T: Pod> From<&'a mut View<T>> for Arg<'a> {
    fn from(view: &'a mut View<T>) -> Self {
        arg_mut(view)
    }
}

impl<'a, T: Pod> From<&'a HeteData<T>> for Arg<'a> {
    fn from(data: &'a HeteData<T>) -> Self {
        arg(data)
    }
}

impl<'a, T: Pod> From<&'a mut HeteData<T>> for Arg<'a> {
    fn from(data: &'a mut HeteData<T>) -> Self {
        arg_mut(data)
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.exclusive { "&mut " } else { "&" }, self.shape)
    }
}
