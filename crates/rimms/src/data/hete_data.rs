//! The owner of a datum.
#![allow(unsafe_code)]

use super::View;
use crate::error::{Error, Result};
use crate::memory::{Owned, Resources};
use crate::op::Element;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// What `hete_Malloc` gives (paper §3.2.1): host data, a place on each resource that used it, and the state that says
/// who holds the newest bytes. Dropping it is `hete_Free`: every copy everywhere is released.
///
/// Fresh data is *uninitialised*: reading it before it was written is an error. Dereferences to [`View`].
///
/// ```
/// use rimms::{ResourceId, Runtime};
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<f32>(3)?;
/// assert!(x.valid().is_empty());
/// x.overwrite()?.copy_from_slice(&[1.0, 2.0, 3.0])?;
/// assert_eq!(x.last_resource(), Some(ResourceId::HOST));
/// assert_eq!(x.read()?.iter().sum::<f32>(), 6.0);
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct HeteData<T> {
    datum: Owned,
    element: PhantomData<T>,
}

impl<T: Pod + Send + Sync> HeteData<T> {
    #[inline]
    pub(crate) fn new(resources: &Arc<Resources>, len: usize, name: Option<&str>) -> Result<Self> {
        if len == 0 || size_of::<T>() == 0 {
            return Err(Error::shape("alloc", "at least one element of at least one byte is wanted"));
        }
        let datum = Owned::new(resources, Element::of::<T>(), align_of::<T>(), len, name)?;
        Ok(Self { datum, element: PhantomData })
    }
}

impl<T: Pod> Deref for HeteData<T> {
    type Target = View<T>;

    #[inline]
    fn deref(&self) -> &View<T> {
        View::of(self.datum.root())
    }
}

impl<T: Pod> DerefMut for HeteData<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut View<T> {
        // SAFETY: `&mut self` is the only handle to the datum, which is not Clone, and is borrowed for as long.
        unsafe { View::of_mut(self.datum.root()) }
    }
}

impl<T: Pod> fmt::Debug for HeteData<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
