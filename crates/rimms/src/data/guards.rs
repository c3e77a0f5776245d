//! Guards: how the host's code reaches a view's bytes. Acquiring one is the paper's `hete_Sync`, with the intent stated:
//! it waits for the calls in flight that it comes after (writers; before a write readers too), and for no others.
//!
//! | guard | copied in | afterwards valid |
//! | --- | --- | --- |
//! | [`View::read`] | what is stale on the host | the host too |
//! | [`View::update`] | what is stale on the host | the host alone |
//! | [`View::overwrite`] | nothing | nobody, until it is written; then the host alone |
//!
//! The host's storage is reached by pointer here, under these rules: a shared
//! guard borrows the view, so no writer exists; an exclusive one borrows it
//! mutably, so nobody else exists; [`Node::fetch`](crate::memory::Node) has
//! made the bytes newest before a slice to them is made.
#![allow(unsafe_code)]

use super::View;
use crate::coherence::{ResourceId, State};
use crate::error::{Error, Result};
use crate::op::Role;
use crate::trace::Cause;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The rows of a view in the host's memory.
#[derive(Clone, Copy)]
struct HostRows<T> {
    start: NonNull<T>,
    rows: usize,
    columns: usize,
    /// Bytes from row to row.
    pitch: usize,
}

impl<T: Pod> HostRows<T> {
    fn of(view: &View<T>) -> Self {
        let (rows, columns) = view.rows();
        let node = view.node();
        Self { start: node.datum().host_pointer(node.region()).cast(), rows, columns, pitch: node.region().rows.pitch }
    }

    fn row(&self, i: usize) -> Result<*mut [T]> {
        if i >= self.rows {
            return Err(Error::Index { index: i, len: self.rows });
        }
        // SAFETY: row i of a region that lies inside the datum's storage.
        let start = unsafe { self.start.byte_add(i * self.pitch) };
        Ok(std::ptr::slice_from_raw_parts_mut(start.as_ptr(), self.columns))
    }

    /// All elements, for a view without gaps.
    fn whole(&self) -> *mut [T] {
        std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.rows * self.columns)
    }
}

impl<T: Pod> View<T> {
    /// Lends the newest elements as a slice. Copies in what the host does not have (cause `host access`).
    ///
    /// # Errors
    /// [`Error::Uninitialised`], which says why where a call that was to write the elements failed; [`Error::Strided`] for a tile; a failed copy.
    #[inline]
    pub fn read(&self) -> Result<ReadGuard<'_, T>> {
        self.check_contiguous()?;
        self.bring_to_host(Role::In)?;
        Ok(ReadGuard { rows: HostRows::of(self), view: PhantomData })
    }

    /// The same, row by row, for tiles (and any other view).
    ///
    /// # Errors
    /// As [`read`](Self::read), `Strided` apart.
    pub fn read_rows(&self) -> Result<ReadRows<'_, T>> {
        self.bring_to_host(Role::In)?;
        Ok(ReadRows { rows: HostRows::of(self), view: PhantomData })
    }

    /// Lends the newest elements for reading and writing. From here on the host's are the only valid ones.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn update(&mut self) -> Result<UpdateGuard<'_, T>> {
        self.check_contiguous()?;
        self.own_by_host()?;
        Ok(UpdateGuard { rows: HostRows::of(self), view: PhantomData })
    }

    /// The same, row by row.
    ///
    /// # Errors
    /// As [`update`](Self::update), `Strided` apart.
    pub fn update_rows(&mut self) -> Result<UpdateRows<'_, T>> {
        self.own_by_host()?;
        Ok(UpdateRows { rows: HostRows::of(self), view: PhantomData })
    }

    /// To write every element, with nothing copied in. The old elements are gone at once: until the guard's
    /// `copy_from_slice`, `fill` or `write_with` has run, the view is uninitialised.
    ///
    /// # Errors
    /// [`Error::WouldDeadlock`] inside a kernel, where calls in flight use the view.
    #[inline]
    pub fn overwrite(&mut self) -> Result<Overwrite<'_, T>> {
        self.node().settle(Role::Out)?;
        // Held until the state says that the old bytes are no longer wanted.
        let place = self.node().fetch(ResourceId::HOST, Role::Out, Cause::HostAccess)?;
        self.node().begin(ResourceId::HOST, Role::Out);
        drop(place);
        self.node().forget_causes();
        Ok(Overwrite { view: self })
    }

    #[inline]
    fn check_contiguous(&self) -> Result<()> {
        if self.is_contiguous() {
            return Ok(());
        }
        let node = self.node();
        Err(Error::Strided { datum: node.datum().describe(node), rows: node.region().rows.rows })
    }

    /// Waits for the calls in flight that this access comes after, then copies in what is stale.
    #[inline]
    fn bring_to_host(&self, role: Role) -> Result<()> {
        self.node().settle(role)?;
        self.node().fetch(ResourceId::HOST, role, Cause::HostAccess)?;
        Ok(())
    }

    #[inline]
    fn own_by_host(&mut self) -> Result<()> {
        self.bring_to_host(Role::InOut)?;
        self.node().set_all(State::owned(ResourceId::HOST));
        Ok(())
    }
}

/// A slice of the newest elements. Made by [`View::read`].
///
/// ```
/// # use rimms::{Runtime, device::sim::Sim};
/// # let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// rt.fill(2.0, &mut x)?; // on the accelerator
/// assert_eq!(x.read()?.iter().sum::<f32>(), 128.0); // copied to the host
/// assert_eq!(x.read()?[63], 2.0); // still valid there
/// assert_eq!(rt.counters().device_to_host().copies, 1);
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct ReadGuard<'a, T> {
    rows: HostRows<T>,
    view: PhantomData<&'a [T]>,
}

impl<T: Pod> Deref for ReadGuard<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: contiguous (checked at acquisition); shared as the module says.
        unsafe { &*self.rows.whole() }
    }
}

/// A mutable slice of the newest elements. Made by [`View::update`].
///
/// ```
/// # use rimms::{Runtime, device::sim::Sim};
/// # let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// rt.fill(2.0, &mut x)?; // on the accelerator
/// x.update()?[0] += 1.0; // copied to the host; what the accelerator has is stale now
/// rt.scale_in_place(10.0, &mut x)?; // so it is copied back
/// assert_eq!(x.read()?[..2], [30.0, 20.0]);
/// assert_eq!(rt.counters().host_to_device().copies, 1);
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct UpdateGuard<'a, T> {
    rows: HostRows<T>,
    view: PhantomData<&'a mut [T]>,
}

impl<T: Pod> Deref for UpdateGuard<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: contiguous (checked at acquisition); exclusive as the module says.
        unsafe { &*self.rows.whole() }
    }
}

impl<T: Pod> DerefMut for UpdateGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self`.
        unsafe { &mut *self.rows.whole() }
    }
}

/// The newest elements row by row. Made by [`View::read_rows`].
///
/// ```
/// # use rimms::Runtime;
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let mut m = rt.alloc::<u32>(16)?;
/// m.overwrite()?.write_with(|i| i as u32)?;
/// m.tile(4, 2, 2)?; // a 4×4 matrix as four tiles of 2×2
/// let rows: Vec<_> = m[1].read_rows()?.iter().collect();
/// assert_eq!(rows, [[2, 3], [6, 7]]);
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct ReadRows<'a, T> {
    rows: HostRows<T>,
    view: PhantomData<&'a [T]>,
}

impl<'a, T: Pod> ReadRows<'a, T> {
    /// Row `i`.
    ///
    /// # Errors
    /// [`Error::Index`] beyond the last.
    pub fn row(&self, i: usize) -> Result<&'a [T]> {
        // SAFETY: inside the view; shared as the module says.
        self.rows.row(i).map(|row| unsafe { &*row })
    }

    /// All rows, from the first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let rows = HostRows { ..self.rows };
        (0..rows.rows).map(move |i| {
            // SAFETY: as above; i is below the number of rows, so there is one.
            rows.row(i).map_or(&[][..], |row| unsafe { &*row })
        })
    }
}

/// The newest elements row by row, for writing. Made by [`View::update_rows`].
///
/// ```
/// # use rimms::Runtime;
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let mut m = rt.alloc::<u32>(16)?;
/// m.overwrite()?.fill(0)?;
/// m.tile(4, 2, 2)?; // a 4×4 matrix as four tiles of 2×2
/// m[1].update_rows()?.row(0)?.copy_from_slice(&[8, 9]);
/// m.join()?;
/// assert_eq!(m.read()?[..8], [0, 0, 8, 9, 0, 0, 0, 0]);
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct UpdateRows<'a, T> {
    rows: HostRows<T>,
    view: PhantomData<&'a mut [T]>,
}

impl<T: Pod> UpdateRows<'_, T> {
    /// Row `i`.
    ///
    /// # Errors
    /// [`Error::Index`] beyond the last.
    pub fn row(&mut self, i: usize) -> Result<&mut [T]> {
        // SAFETY: inside the view; exclusive as the module says, and one row at a time.
        self.rows.row(i).map(|row| unsafe { &mut *row })
    }
}

macro_rules! debug_as_view {
    ($($guard:ident),*) => {$(
        impl<T> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} x {})", stringify!($guard), self.rows.rows, self.rows.columns)
            }
        }
        // SAFETY: as the reference to elements that it is.
        unsafe impl<T: Send + Sync> Send for $guard<'_, T> {}
        // SAFETY: as above.
        unsafe impl<T: Send + Sync> Sync for $guard<'_, T> {}
    )*};
}
debug_as_view!(ReadGuard, UpdateGuard, ReadRows, UpdateRows);

/// A write-only view: bytes that nobody wrote are never shown. Made by [`View::overwrite`].
///
/// ```
/// use rimms::Runtime;
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<u32>(4)?;
/// assert!(x.overwrite()?.copy_from_slice(&[1, 2]).is_err()); // not all of it
/// assert!(x.read().is_err());
/// x.overwrite()?.write_with(|i| i as u32 * 10)?;
/// assert_eq!(x.read()?[..], [0, 10, 20, 30]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[must_use = "the view is uninitialised until something is written"]
pub struct Overwrite<'a, T: Pod> {
    view: &'a mut View<T>,
}

impl<T: Pod> Overwrite<'_, T> {
    /// Every element from a slice, row by row.
    ///
    /// # Errors
    /// [`Error::Shape`] where it has not exactly as many; the view is uninitialised then.
    pub fn copy_from_slice(self, from: &[T]) -> Result<()> {
        if from.len() != self.view.len() {
            let why = format!("{} elements are wanted, {} were given", self.view.len(), from.len());
            return Err(Error::shape("overwrite", why));
        }
        let columns = self.view.rows().1;
        for (i, row) in from.chunks_exact(columns).enumerate() {
            self.row(i)?.copy_from_slice(row);
        }
        self.written()
    }

    /// One value everywhere.
    ///
    /// # Errors
    /// None today.
    pub fn fill(self, value: T) -> Result<()> {
        for i in 0..self.view.rows().0 {
            self.row(i)?.fill(value);
        }
        self.written()
    }

    /// Element `i` becomes `f(i)`, counted row by row.
    ///
    /// # Errors
    /// None today. If `f` panics the view stays uninitialised.
    pub fn write_with(self, mut f: impl FnMut(usize) -> T) -> Result<()> {
        let (rows, columns) = self.view.rows();
        for r in 0..rows {
            for (c, to) in self.row(r)?.iter_mut().enumerate() {
                *to = f(r * columns + c);
            }
        }
        self.written()
    }

    /// The view is written by other means than this guard: by code that has its [address](View::address_on), in another
    /// language, say. Such code may go on writing until the view is next used.
    ///
    /// ```
    /// # use rimms::{ResourceId, Runtime};
    /// # let rt = Runtime::builder().cpus(1).build()?;
    /// let mut x = rt.alloc::<u32>(4)?;
    /// let at = x.address_on(ResourceId::HOST).unwrap();
    /// let guard = x.overwrite()?;
    /// // SAFETY: the guard is all there is of x now, and each element is written.
    /// unsafe {
    ///     std::ptr::with_exposed_provenance_mut::<[u32; 4]>(at as usize).write([1, 2, 3, 4]);
    ///     guard.assume_written()?;
    /// }
    /// assert_eq!(x.read()?[..], [1, 2, 3, 4]);
    /// # Ok::<(), rimms::Error>(())
    /// ```
    ///
    /// # Errors
    /// None today.
    ///
    /// # Safety
    /// Who writes does so only while nobody else reads or writes the view: no guard of it, no call that is not done. What
    /// was not written is shown as what it happens to be, which may be what the memory was used for before.
    pub unsafe fn assume_written(self) -> Result<()> {
        self.written()
    }

    #[allow(clippy::mut_from_ref)] // one row at a time, inside this module only
    fn row(&self, i: usize) -> Result<&mut [T]> {
        // SAFETY: inside the view, which is borrowed mutably; the storage was frozen at birth, so its
        // bytes are initialised to the compiler. Each row is dropped before the next is taken.
        HostRows::of(self.view).row(i).map(|row| unsafe { &mut *row })
    }

    fn written(self) -> Result<()> {
        self.view.node().set_all(State::owned(ResourceId::HOST));
        Ok(())
    }
}

impl<T: Pod> fmt::Debug for Overwrite<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Overwrite({:?})", self.view)
    }
}
