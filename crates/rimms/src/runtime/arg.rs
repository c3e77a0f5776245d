//! Arguments of a call: views with what the caller allows.

use crate::data::{HeteData, View};
use crate::memory::Node;
use crate::op::{Element, Shape};
use bytemuck::Pod;
use std::fmt;

/// An argument of [`Runtime::call`](super::Runtime::call): a view, borrowed as the op's role for it demands.
///
/// Made by [`arg`] (for In operands), [`arg_mut`] (for any), or `.into()`.
///
/// ```
/// # use rimms::{Arg, Runtime, op::{Call, Element, Shape}};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let (mut x, mut y) = (rt.alloc::<u8>(4)?, rt.alloc::<u8>(4)?);
/// x.overwrite()?.copy_from_slice(b"data")?;
/// let mut args = [Arg::from(&x), Arg::from(&mut y)];
/// rt.call(&Call::Copy(Shape::new(4, Element::of::<u8>())), &mut args)?;
/// assert_eq!(y.read()?[..], *b"data");
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct Arg<'a> {
    pub(super) node: &'a Node,
    pub(super) shape: Shape,
    pub(super) exclusive: bool,
}

/// A view to be read.
///
/// ```
/// # use rimms::{Runtime, arg, op::{Call, Element, Shape}};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let x = rt.alloc::<f32>(4)?;
/// assert_eq!(format!("{:?}", arg(&x)), "&4 x f32");
/// // Refused where the op writes:
/// let copy = Call::Copy(Shape::new(4, Element::of::<f32>()));
/// let refused = rt.call(&copy, &mut [arg(&x), arg(&x)]);
/// assert!(refused.unwrap_err().to_string().contains("pass it with arg_mut"));
/// # Ok::<(), rimms::Error>(())
/// ```
#[inline]
pub fn arg<T: Pod>(view: &View<T>) -> Arg<'_> {
    Arg { node: view.node(), shape: Shape::new(view.len(), Element::of::<T>()), exclusive: false }
}

/// A view to be written, or read and written.
///
/// ```
/// # use rimms::{Complex32, Runtime, arg, arg_mut, op::Call};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let (mut x, mut y) = (rt.alloc::<Complex32>(4)?, rt.alloc::<f32>(4)?);
/// x.overwrite()?.fill(Complex32::new(3.0, 4.0))?;
/// rt.call(&Call::Magnitude(4), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [5.0; 4]);
/// # Ok::<(), rimms::Error>(())
/// ```
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
