//! A view: a datum or a fragment of it.
//!
//! `&View<T>` is a reference to no bytes at all whose address is that of a node
//! in the datum's tree. So `x[i]` can be an ordinary place expression, two
//! views cannot be swapped (they are unsized), and the runtime may update a
//! node's state while the program holds `&mut View` to it, since that reference
//! claims no byte of the node.
#![allow(unsafe_code)]

use crate::coherence::{ResourceId, ResourceSet};
use crate::error::{Error, Result};
use crate::memory::Node;
use crate::op::Element;
use bytemuck::Pod;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::ops::{Index, IndexMut};

/// A datum, or a fragment of it.
///
/// Obtained from [`HeteData`](super::HeteData) by dereferencing, and from another view by index once that is
/// divided. Passed to calls by reference: `&` is In, `&mut` is Out or InOut.
///
/// ```
/// use rimms::Runtime;
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<f32>(12)?;
/// x.overwrite()?.write_with(|i| i as f32)?;
/// x.fragment(4)?;                    // x[0] … x[3], three elements each
/// x[1].fragment_sizes(&[1, 2])?;     // and x[1] into x[1][0] and x[1][1]
/// assert_eq!(x[1][1].read()?[..], [4.0, 5.0]);
/// let (front, back) = x.fragments_mut().split_at_mut(2);
/// assert_eq!((front.len(), back.len()), (2, 2));
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct View<T> {
    _element: PhantomData<T>,
    /// The node's contents change behind any reference to the view.
    _pinned: PhantomPinned,
    _nothing: UnsafeCell<[()]>,
}

// SAFETY: a view is a name for a node, which is Send and Sync; T: Send + Sync guards the elements.
unsafe impl<T: Send + Sync> Send for View<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for View<T> {}

impl<T: Pod> View<T> {
    /// The view that a node stands for.
    #[inline]
    pub(super) fn of(node: &Node) -> &Self {
        let fat = std::ptr::slice_from_raw_parts(std::ptr::from_ref(node).cast::<()>(), 0);
        // SAFETY: the pointer is non-null, aligned for a type of alignment 1 and refers to no bytes.
        // Nodes live as long as what `node` is borrowed from.
        unsafe { &*(fat as *const Self) }
    }

    /// The same for writing.
    ///
    /// # Safety
    /// For the lifetime of the result no other view of this node, of one below or above it is used.
    #[inline]
    #[allow(clippy::mut_from_ref)] // no byte of the node is claimed; the caller vouches for the view
    pub(super) unsafe fn of_mut(node: &Node) -> &mut Self {
        let fat = std::ptr::slice_from_raw_parts(std::ptr::from_ref(node).cast::<()>(), 0);
        // SAFETY: as in `of`; exclusive as the caller vouches. No byte is claimed.
        unsafe { &mut *(fat.cast_mut() as *mut Self) }
    }

    #[inline]
    pub(crate) fn node(&self) -> &Node {
        // SAFETY: `of` and `of_mut` are the only makers; they store a node's address and borrow it for as long.
        unsafe { &*std::ptr::from_ref(self).cast::<Node>() }
    }

    /// The same bytes as elements of another type: for callers that know only at run time what data is made of, such as
    /// those in other languages. Its fragments and its state are those of this view.
    ///
    /// ```
    /// # use rimms::{Complex32, Runtime};
    /// # let rt = Runtime::builder().cpus(1).build()?;
    /// let mut bytes = rt.alloc::<u8>(64)?;
    /// bytes.cast_mut::<Complex32>()?.overwrite()?.fill(Complex32::ONE)?;
    /// rt.fft_in_place(bytes.cast_mut()?)?;
    /// assert_eq!(bytes.cast::<f32>()?.read()?[..3], [8.0, 0.0, 0.0]);
    /// assert!(bytes.cast::<[u8; 7]>().is_err());
    /// # Ok::<(), rimms::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] where the bytes, or those of a tile's row, do not divide into elements of that type, or do not begin
    /// where such an element may.
    #[inline]
    pub fn cast<U: Pod>(&self) -> Result<&View<U>> {
        self.check_cast::<U>()?;
        Ok(View::of(self.node()))
    }

    /// The same, for writing.
    ///
    /// # Errors
    /// As [`cast`](Self::cast).
    #[inline]
    pub fn cast_mut<U: Pod>(&mut self) -> Result<&mut View<U>> {
        self.check_cast::<U>()?;
        // SAFETY: `&mut self` is exclusive over the node and what is below it, and is borrowed for as long as the result.
        Ok(unsafe { View::of_mut(self.node()) })
    }

    #[inline]
    fn check_cast<U: Pod>(&self) -> Result<()> {
        let (size, rows) = (size_of::<U>(), self.node().region().rows);
        if size != 0 && rows.row_bytes.is_multiple_of(size) && self.begins_as::<U>() {
            return Ok(());
        }
        Err(self.no_cast::<U>())
    }

    /// Does each row begin where a `U` may?
    #[inline]
    fn begins_as<U>(&self) -> bool {
        let node = self.node();
        let start = node.datum().host_span(node.region()).address;
        let rows = node.region().rows;
        start.is_multiple_of(align_of::<U>() as u64) && (rows.is_run() || rows.pitch.is_multiple_of(align_of::<U>()))
    }

    #[cold]
    fn no_cast<U: Pod>(&self) -> Error {
        let (node, name, size) = (self.node(), Element::of::<U>().name(), size_of::<U>());
        let (what, bytes) = (node.datum().describe(node), node.region().rows.row_bytes);
        let why = match self.begins_as::<U>() {
            true => format!("{what}: its rows of {bytes} bytes are no elements of {name}, of {size} bytes each"),
            false => format!("{what} does not begin where a {name} may"),
        };
        Error::shape("cast", why)
    }

    /// Number of elements.
    #[inline]
    #[allow(clippy::len_without_is_empty)] // never empty: length 0 is refused at allocation
    pub fn len(&self) -> usize {
        self.node().bytes() / size_of::<T>()
    }

    /// Rows and elements of a row. One row unless the view is a tile.
    pub fn rows(&self) -> (usize, usize) {
        let rows = self.node().region().rows;
        (rows.rows, rows.row_bytes / size_of::<T>())
    }

    /// Where the view begins in its datum, and where it ends, in bytes. A tile does not have all that lies between.
    pub fn extent(&self) -> std::ops::Range<usize> {
        self.node().extent()
    }

    /// Do the two have a byte in common? Views of different data never do; tiles side by side do not.
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # let rt = Runtime::builder().cpus(1).build()?;
    /// let mut m = rt.alloc::<u32>(16)?;
    /// m.tile(4, 2, 2)?; // a 4×4 matrix as four tiles of 2×2
    /// assert_eq!((m[0].extent(), m[1].extent()), (0..24, 8..32));
    /// assert!(!m[0].overlaps(&m[1]) && m[0].overlaps(&*m));
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn overlaps<U: Pod>(&self, other: &View<U>) -> bool {
        let (a, b) = (self.node(), other.node());
        std::ptr::eq(a.datum(), b.datum()) && a.region().overlaps(b.region())
    }

    /// Do the elements follow each other in memory, so that the view is a slice to the host?
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.node().region().rows.is_run()
    }

    /// The resource that wrote last; `None` while uninitialised, or where the fragments differ.
    pub fn last_resource(&self) -> Option<ResourceId> {
        let mut last = None;
        let same = self.node().each_leaf(&mut |leaf| {
            let this = leaf.state().last();
            if *last.get_or_insert(this) == this { Ok(()) } else { Err(()) }
        });
        same.ok().and(last.flatten())
    }

    /// The resources that hold the newest bytes of the whole view.
    #[inline]
    pub fn valid(&self) -> ResourceSet {
        let node = self.node();
        if node.is_leaf() { node.state().valid() } else { self.valid_of_all() }
    }

    #[cold]
    fn valid_of_all(&self) -> ResourceSet {
        let mut valid: Option<ResourceSet> = None;
        let _ = self.node().each_leaf(&mut |leaf| -> Result<(), ()> {
            let this = leaf.state().valid();
            valid = Some(valid.map_or(this, |v| v.and(this)));
            Ok(())
        });
        valid.unwrap_or_default()
    }

    /// Does `r` hold the newest bytes of the whole view, so that reading them there copies nothing? The check before
    /// each call: one load and one bit test for an undivided view (paper §5.3: 1.16 cycles).
    #[inline]
    pub fn is_valid_on(&self, r: ResourceId) -> bool {
        let node = self.node();
        // Of a divided node nothing is valid; its leaves say.
        node.state().is_valid_on(r) || (!node.is_leaf() && self.valid().contains(r))
    }

    /// Where the view lies on a resource: a pointer on the host, a device address elsewhere;
    /// `None` where it has no place there, or not in one piece. The bytes there may be stale: see [`valid`](Self::valid).
    pub fn address_on(&self, r: ResourceId) -> Option<u64> {
        let datum = self.node().datum();
        datum.resources().ids().any(|id| id == r).then(|| datum.address_on(self.node(), r)).flatten()
    }

    /// Number of fragments; 0 while the view is not divided.
    pub fn fragment_count(&self) -> usize {
        self.node().children().len()
    }

    /// Fragment `i`.
    ///
    /// # Errors
    /// [`Error::Index`] from [`fragment_count`](Self::fragment_count) on.
    pub fn get(&self, i: usize) -> Result<&Self> {
        let children = self.node().children();
        children.get(i).map(Self::of).ok_or(Error::Index { index: i, len: children.len() })
    }

    /// Fragment `i`, for writing.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_mut(&mut self, i: usize) -> Result<&mut Self> {
        let children = self.node().children();
        let child = children.get(i).ok_or(Error::Index { index: i, len: children.len() })?;
        // SAFETY: `&mut self` is exclusive over the whole subtree, and is borrowed for as long as the result.
        Ok(unsafe { Self::of_mut(child) })
    }
}

impl<T: Pod> Index<usize> for View<T> {
    type Output = Self;

    /// Panics out of range, as slices do; [`View::get`] returns a `Result`.
    #[inline]
    fn index(&self, i: usize) -> &Self {
        Self::of(&self.node().children()[i])
    }
}

impl<T: Pod> IndexMut<usize> for View<T> {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut Self {
        let child = &self.node().children()[i];
        // SAFETY: as in `get_mut`.
        unsafe { Self::of_mut(child) }
    }
}

impl<T: Pod> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("of", &self.node().datum().describe(self.node()))
            .field("fragments", &self.fragment_count())
            .field("valid", &self.valid())
            .field("last", &self.last_resource())
            .finish()
    }
}
