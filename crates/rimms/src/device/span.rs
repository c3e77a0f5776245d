//! Where bytes are: rows in a device's or in the host's memory.
//!
//! The only types through which the host's memory reaches a device. Their
//! constructors are unsafe and state what the maker vouches for; using them is safe.
#![allow(unsafe_code)]

use crate::op::Role;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The layout of a region: `rows` rows of `row_bytes` bytes, `pitch` bytes apart.
/// One row is a plain run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    /// Number of rows.
    pub rows: usize,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Bytes from the start of one row to that of the next.
    pub pitch: usize,
}

impl Rows {
    /// A plain run of bytes.
    #[inline]
    pub const fn run(bytes: usize) -> Self {
        Self { rows: 1, row_bytes: bytes, pitch: bytes }
    }

    /// Bytes of all rows, gaps apart.
    #[inline]
    pub const fn bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    /// Bytes from the first row's start to the last one's end.
    #[inline]
    pub const fn extent(&self) -> usize {
        if self.rows == 0 { 0 } else { (self.rows - 1) * self.pitch + self.row_bytes }
    }

    /// Do all rows end before `len`, without overlapping?
    pub(crate) fn fit_in(&self, len: usize) -> bool {
        let gaps = self.rows.saturating_sub(1);
        let extent = gaps.checked_mul(self.pitch).and_then(|g| g.checked_add(self.row_bytes));
        extent.is_some_and(|e| e <= len) && (gaps == 0 || self.pitch >= self.row_bytes)
    }

    /// As many rows of as many bytes, whatever lies between them? What both ends of a transfer must be.
    pub const fn matches(&self, other: &Self) -> bool {
        self.rows == other.rows && self.row_bytes == other.row_bytes
    }

    fn at_most(&self, part: Self) -> Self {
        let (rows, row_bytes) = (self.rows.min(part.rows), self.row_bytes.min(part.row_bytes));
        Self { rows, row_bytes, pitch: self.pitch }
    }

    /// Do the rows follow each other without gaps?
    #[inline]
    pub const fn is_run(&self) -> bool {
        self.rows == 1 || self.pitch == self.row_bytes
    }
}

/// A region of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where the first row starts.
    pub address: u64,
    /// Its layout.
    pub rows: Rows,
}

impl Span {
    /// A plain run of bytes.
    pub const fn run(address: u64, bytes: usize) -> Self {
        Self { address, rows: Rows::run(bytes) }
    }

    /// Where row `i` starts.
    #[inline]
    pub const fn row(&self, i: usize) -> u64 {
        self.address + (i * self.rows.pitch) as u64
    }
}

/// An operand of a launch, valid until that has returned.
///
/// Neither `Clone` nor sent to other threads: whoever is given operands can use them for the launch, and hand them on
/// to another device within it, but not twice at once, nor later.
///
/// ```
/// use rimms::device::{Operand, Span};
/// use rimms::op::Role;
/// let operand = Operand::on_device(Span::run(0x1000, 64), Role::In);
/// assert_eq!((operand.span().rows.bytes(), operand.role()), (64, Role::In));
/// ```
#[derive(Debug)]
pub struct Operand<'a> {
    span: Span,
    role: Role,
    is_host_memory: bool,
    /// Borrowed, and for one thread.
    launch: PhantomData<(&'a (), *const ())>,
}

impl Operand<'_> {
    /// In a device's own memory. The host, which reaches memory by address, refuses such an operand.
    #[inline]
    pub const fn on_device(span: Span, role: Role) -> Self {
        Self { span, role, is_host_memory: false, launch: PhantomData }
    }

    /// In the host's memory.
    ///
    /// # Safety
    /// As long as the operand lives, and where the device that gets it has lent that memory until it has finished, all
    /// rows of `span` are initialised memory, at an address with exposed
    /// provenance; nobody writes an In operand's bytes; nobody else touches those of an Out or InOut operand,
    /// another operand of the same launch included.
    #[inline]
    pub const unsafe fn in_host_memory(span: Span, role: Role) -> Self {
        Self { span, role, is_host_memory: true, launch: PhantomData }
    }

    /// Where.
    #[inline]
    pub const fn span(&self) -> &Span {
        &self.span
    }

    /// What for.
    #[inline]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// May the host's processors reach it by its address?
    #[inline]
    pub const fn is_host_memory(&self) -> bool {
        self.is_host_memory
    }
}

/// A block of a device's memory that the host works on as on its own.
///
/// ```
/// use rimms::device::{Device, udma::{Udma, imitation::System}};
/// # let folder = tempfile::tempdir().unwrap();
/// let system = System::new(folder.path(), 1 << 16)?;
/// let device = system.device(Default::default())?;
/// let block = device.allocate(256).unwrap();
/// assert!(device.lend(block).unwrap().start().is_aligned());
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug)]
pub struct Lent {
    start: NonNull<u8>,
}

impl Lent {
    /// # Safety
    /// The block's bytes are initialised memory from here on, aligned to 64, for as long as the block is live and the device
    /// exists; the device reads and writes them only where it is asked to.
    #[inline]
    pub const unsafe fn new(start: NonNull<u8>) -> Self {
        Self { start }
    }

    /// Its first byte.
    pub const fn start(&self) -> NonNull<u8> {
        self.start
    }
}

/// Host bytes to be read.
#[derive(Debug, Clone, Copy)]
pub struct HostSource<'a> {
    start: NonNull<u8>,
    rows: Rows,
    life: PhantomData<&'a [u8]>,
}

// SAFETY: as `&[u8]`, which it is in all but strides.
unsafe impl Send for HostSource<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostSource<'_> {}

impl<'a> HostSource<'a> {
    /// # Safety
    /// For all of `'a` every row is initialised memory that nobody writes.
    #[inline]
    pub const unsafe fn new(start: NonNull<u8>, rows: Rows) -> Self {
        Self { start, rows, life: PhantomData }
    }

    /// A plain slice.
    pub const fn from_slice(bytes: &'a [u8]) -> Self {
        // A slice's pointer is never null.
        let start = match NonNull::new(bytes.as_ptr().cast_mut()) {
            Some(start) => start,
            None => NonNull::dangling(),
        };
        Self { start, rows: Rows::run(bytes.len()), life: PhantomData }
    }

    /// Rows of a slice, the first at its start; `None` where they are not all inside it.
    pub fn rows_of(bytes: &'a [u8], rows: Rows) -> Option<Self> {
        rows.fit_in(bytes.len()).then(|| Self { rows, ..Self::from_slice(bytes) })
    }

    /// The layout.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// A part of it that starts at its start: as many rows of as many bytes as both have.
    #[must_use]
    pub fn first(&self, part: Rows) -> Self {
        Self { rows: self.rows.at_most(part), ..*self }
    }

    /// Row `i`; empty beyond the last. A region without gaps may be asked for as one row: [`whole`](Self::whole).
    #[inline]
    pub fn row(&self, i: usize) -> &'a [u8] {
        if i >= self.rows.rows {
            return &[];
        }
        // SAFETY: `new` vouches for every row, and i is one of them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(i * self.rows.pitch), self.rows.row_bytes) }
    }

    /// All bytes as one slice, where there are no gaps.
    #[inline]
    pub fn whole(&self) -> Option<&'a [u8]> {
        // SAFETY: without gaps the rows, which `new` vouches for, are one run.
        self.rows.is_run().then(|| unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.rows.bytes()) })
    }
}

/// Host bytes to be written.
#[derive(Debug)]
pub struct HostTarget<'a> {
    start: NonNull<u8>,
    rows: Rows,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: as `&mut [u8]`, which it is in all but strides.
unsafe impl Send for HostTarget<'_> {}

impl<'a> HostTarget<'a> {
    /// # Safety
    /// For all of `'a` every row is initialised memory that nobody else touches.
    #[inline]
    pub const unsafe fn new(start: NonNull<u8>, rows: Rows) -> Self {
        Self { start, rows, life: PhantomData }
    }

    /// A plain slice.
    pub fn from_slice(bytes: &'a mut [u8]) -> Self {
        let rows = Rows::run(bytes.len());
        Self { start: NonNull::from(bytes).cast(), rows, life: PhantomData }
    }

    /// Rows of a slice, the first at its start; `None` where they are not all inside it.
    pub fn rows_of(bytes: &'a mut [u8], rows: Rows) -> Option<Self> {
        rows.fit_in(bytes.len()).then(|| Self { rows, ..Self::from_slice(bytes) })
    }

    /// The layout.
    pub const fn rows(&self) -> &Rows {
        &self.rows
    }

    /// A part of it that starts at its start: as many rows of as many bytes as both have.
    pub fn first(&mut self, part: Rows) -> HostTarget<'_> {
        HostTarget { start: self.start, rows: self.rows.at_most(part), life: PhantomData }
    }

    /// Row `i`; empty beyond the last.
    #[inline]
    pub fn row(&mut self, i: usize) -> &mut [u8] {
        if i >= self.rows.rows {
            return &mut [];
        }
        // SAFETY: `new` vouches for every row, i is one of them, and `&mut self` lends out one at a time.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(i * self.rows.pitch), self.rows.row_bytes) }
    }

    /// All bytes as one slice, where there are no gaps.
    #[inline]
    pub fn whole(&mut self) -> Option<&mut [u8]> {
        // SAFETY: without gaps the rows, which `new` vouches for, are one run; `&mut self` lends it out once at a time.
        self.rows.is_run().then(|| unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.rows.bytes()) })
    }
}
