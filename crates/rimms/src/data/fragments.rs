//! All fragments of a view at once.
#![allow(unsafe_code)]

use super::View;
use crate::error::{Error, Result};
use crate::memory::Node;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::slice;

/// The fragments of a view, for reading: an iterator that can also be indexed.
///
/// ```
/// # use rimms::Runtime;
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<f32>(12)?;
/// assert_eq!(x.fragments().len(), 0); // not divided
/// x.fragment(3)?;
/// assert_eq!(x.fragments().map(|f| f.len()).collect::<Vec<_>>(), [4, 4, 4]);
/// assert_eq!(x.fragments().get(2)?.len(), 4);
/// assert!(x.fragments().get(3).is_err());
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone)]
pub struct Fragments<'a, T> {
    nodes: slice::Iter<'a, Node>,
    element: PhantomData<&'a T>,
}

/// The fragments of a view, for writing: each is handed out once, so several can be held together.
///
/// ```
/// use rimms::{Complex32, Runtime};
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<Complex32>(32)?;
/// x.overwrite()?.fill(Complex32::ONE)?;
/// x.fragment(4)?;
/// // From one fragment of a datum to another:
/// let (from, mut to) = x.fragments_mut().split_at_mut(1);
/// rt.fft(from.get(0)?, to.get_mut(2)?)?;
/// assert_eq!(x[3].read()?[0], Complex32::new(8.0, 0.0));
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct FragmentsMut<'a, T> {
    nodes: slice::Iter<'a, Node>,
    element: PhantomData<&'a mut T>,
}

impl<T: Pod> View<T> {
    /// The fragments, for reading; none while the view is not divided.
    pub fn fragments(&self) -> Fragments<'_, T> {
        Fragments { nodes: self.node().children().iter(), element: PhantomData }
    }

    /// The fragments, for writing, all disjoint.
    pub fn fragments_mut(&mut self) -> FragmentsMut<'_, T> {
        FragmentsMut { nodes: self.node().children().iter(), element: PhantomData }
    }

    /// Fragments before `at` and from `at` on. `at` beyond the end puts all of them into the first part.
    pub fn split_at_mut(&mut self, at: usize) -> (FragmentsMut<'_, T>, FragmentsMut<'_, T>) {
        self.fragments_mut().split_at_mut(at)
    }
}

impl<'a, T: Pod> Fragments<'a, T> {
    /// The `i`-th of those left.
    ///
    /// # Errors
    /// [`Error::Index`] beyond the last.
    pub fn get(&self, i: usize) -> Result<&'a View<T>> {
        let nodes = self.nodes.as_slice();
        nodes.get(i).map(View::of).ok_or(Error::Index { index: i, len: nodes.len() })
    }
}

impl<'a, T: Pod> FragmentsMut<'a, T> {
    /// The `i`-th of those left.
    ///
    /// # Errors
    /// [`Error::Index`] beyond the last.
    pub fn get(&self, i: usize) -> Result<&View<T>> {
        let nodes = self.nodes.as_slice();
        nodes.get(i).map(View::of).ok_or(Error::Index { index: i, len: nodes.len() })
    }

    /// The same for writing.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_mut(&mut self, i: usize) -> Result<&mut View<T>> {
        let nodes = self.nodes.as_slice();
        let node = nodes.get(i).ok_or(Error::Index { index: i, len: nodes.len() })?;
        // SAFETY: those left are exclusively ours, and `&mut self` is borrowed for as long as the result.
        Ok(unsafe { View::of_mut(node) })
    }

    /// Those before `at` (of the ones left) and those from `at` on.
    pub fn split_at_mut(self, at: usize) -> (Self, Self) {
        let nodes = self.nodes.as_slice();
        let (a, b) = nodes.split_at(at.min(nodes.len()));
        let part = |nodes: &'a [Node]| Self { nodes: nodes.iter(), element: PhantomData };
        (part(a), part(b))
    }
}

impl<'a, T: Pod> Iterator for Fragments<'a, T> {
    type Item = &'a View<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nodes.next().map(View::of)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<T: Pod> ExactSizeIterator for Fragments<'_, T> {}

impl<'a, T: Pod> Iterator for FragmentsMut<'a, T> {
    type Item = &'a mut View<T>;

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: made from an exclusive view for 'a; each node is handed out once, and is then no longer among those left.
        self.nodes.next().map(|node| unsafe { View::of_mut(node) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl<T: Pod> ExactSizeIterator for FragmentsMut<'_, T> {}

impl<T> fmt::Debug for Fragments<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fragments({})", self.nodes.len())
    }
}

impl<T> fmt::Debug for FragmentsMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FragmentsMut({})", self.nodes.len())
    }
}
