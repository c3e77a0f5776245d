//! The two contracts of this crate: [`MarkingSystem`], which users of a heap see,
//! and [`Marks`], which a marking system fulfils towards [`Heap`](crate::Heap).
//!
//! Addresses exist only in the first; the second counts offsets from the start of
//! the range, so that no marking system can wrap at the end of the address space.

use std::fmt;

use crate::HeapError;

/// The bookkeeping of one range of addresses: hands out blocks and takes them back.
///
/// Blocks never overlap and never leave the range. Every refusal is an error that
/// leaves the heap as it was.
///
/// ```
/// use rimms_heap::{HeapKind, MarkingSystem};
///
/// fn largest_after(heap: &mut dyn MarkingSystem, bytes: u64) -> u64 {
///     match heap.allocate(bytes, 1) {
///         Ok(_) | Err(_) => heap.report().largest_free,
///     }
/// }
/// let mut heap = HeapKind::NextFit.build(0, 1000)?;
/// assert_eq!(largest_after(heap.as_mut(), 1), 999);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
pub trait MarkingSystem: Send + fmt::Debug {
    /// The name that [`HeapKind`](crate::HeapKind) parses: `bitset`, `next-fit` or `two-level`.
    fn name(&self) -> &'static str;

    /// Takes `bytes` bytes whose address is a multiple of `align`, a power of two
    /// (1 for any address).
    ///
    /// # Errors
    /// [`ZeroSize`](HeapError::ZeroSize) and [`BadAlign`](HeapError::BadAlign) for a
    /// bad request; [`NeverFits`](HeapError::NeverFits) when not even the empty heap
    /// could serve it; [`Full`](HeapError::Full) and
    /// [`Fragmented`](HeapError::Fragmented) when this one cannot now;
    /// [`NoMetadata`](HeapError::NoMetadata) and
    /// [`TooManyBlocks`](HeapError::TooManyBlocks) when the bookkeeping cannot grow.
    fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, HeapError>;

    /// Gives back the live block at `address` and says how many bytes the heap gained.
    ///
    /// # Errors
    /// [`Foreign`](HeapError::Foreign) outside the range,
    /// [`Misaligned`](HeapError::Misaligned) inside a live block but not at its
    /// start, [`DoubleFree`](HeapError::DoubleFree) where nothing is live.
    fn free(&mut self, address: u64) -> Result<u64, HeapError>;

    /// The heap's figures, exact. Finding the largest free run may cost time
    /// proportional to the metadata.
    fn report(&self) -> HeapReport;

    /// The bytes that freeing `address` would give back, where a live block starts there.
    fn size_of(&self, address: u64) -> Option<u64>;
}

/// The figures of a heap at one moment. All sizes in bytes.
///
/// ```
/// let mut heap = rimms_heap::TwoLevel::new(4096, 1000)?;
/// use rimms_heap::MarkingSystem;
/// heap.allocate(300, 1)?;
/// let report = heap.report();
/// assert_eq!((report.used, report.free, report.largest_free), (300, 700, 700));
/// assert_eq!((report.base, report.capacity, report.live), (4096, 1000, 1));
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapReport {
    /// The first address of the range.
    pub base: u64,
    /// The length of the range.
    pub capacity: u64,
    /// Bytes in live blocks, with what rounding to the system's granularity adds.
    pub used: u64,
    /// `capacity - used`.
    pub free: u64,
    /// The longest run of free bytes; a request for it with alignment 1 succeeds.
    pub largest_free: u64,
    /// Live blocks.
    pub live: u64,
    /// Entries of metadata: for bitset one a live block (its length), for next-fit
    /// and two-level one a live block and one a free run.
    pub entries: u64,
    /// Bytes of metadata reserved on the host, spare entries included.
    pub metadata_bytes: u64,
}

/// A checked request, as [`Heap`](crate::Heap) passes it to [`Marks::place`]: `bytes` is
/// at least 1 and at most what is free, `align` a power of two.
///
/// ```
/// let want = rimms_heap::Want { bytes: 10, align: 64, base: 1000 };
/// assert_eq!(want.padding(0), 24); // 1000 + 24 is a multiple of 64
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// Bytes wanted.
    pub bytes: u64,
    /// A power of two that the address must be a multiple of.
    pub align: u64,
    /// The first address of the range, which alignment is relative to.
    pub base: u64,
}

impl Want {
    /// Bytes between `offset` and the first aligned address at or after it.
    #[inline]
    pub fn padding(&self, offset: u64) -> u64 {
        self.base.wrapping_add(offset).wrapping_neg() & (self.align - 1)
    }

    /// The padding with which the request fits a free run, or `None`.
    #[inline]
    pub(crate) fn fits(&self, offset: u64, size: u64) -> Option<u64> {
        if self.bytes > size {
            return None;
        }
        let padding = self.padding(offset);
        (padding <= size - self.bytes).then_some(padding)
    }
}

/// A block that [`Marks::place`] has marked.
///
/// ```
/// let grant = rimms_heap::Grant { offset: 0, size: 4096, repeats: true };
/// assert!(grant.repeats);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where the block starts, from the start of the range.
    pub offset: u64,
    /// Bytes marked as used, which [`Marks::release`] gives back.
    pub size: u64,
    /// Whether releasing this block at once would restore a state in which the same
    /// request gives the same block.
    pub repeats: bool,
}

/// What [`Marks::survey`] counts.
///
/// ```
/// let survey = rimms_heap::Survey { largest_free: 10, entries: 1, metadata_bytes: 16 };
/// assert_eq!(survey.entries, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// See [`HeapReport::largest_free`].
    pub largest_free: u64,
    /// See [`HeapReport::entries`].
    pub entries: u64,
    /// See [`HeapReport::metadata_bytes`].
    pub metadata_bytes: u64,
}

/// A marking system as [`Heap`](crate::Heap) sees it: which offsets of a range are
/// taken. `Heap` has checked every argument and keeps the totals.
///
/// ```
/// use rimms_heap::{Grant, Heap, HeapError, MarkingSystem, Marks, Survey, Want};
///
/// /// One block at a time.
/// #[derive(Debug)]
/// struct Single { capacity: u64, live: Option<(u64, u64)> }
///
/// impl Marks for Single {
///     const NAME: &'static str = "single";
///     fn place(&mut self, want: Want) -> Result<Option<Grant>, HeapError> {
///         if self.live.is_some() {
///             return Ok(None);
///         }
///         let grant = Grant { offset: want.padding(0), size: want.bytes, repeats: true };
///         self.live = Some((grant.offset, grant.size));
///         Ok(Some(grant))
///     }
///     fn release(&mut self, offset: u64) -> Option<u64> {
///         let size = self.size_at(offset)?;
///         self.live = None;
///         Some(size)
///     }
///     fn size_at(&self, offset: u64) -> Option<u64> {
///         self.live.filter(|live| live.0 == offset).map(|live| live.1)
///     }
///     fn is_free(&self, offset: u64) -> bool {
///         !self.live.is_some_and(|(at, size)| (at..at + size).contains(&offset))
///     }
///     fn survey(&self, as_if_free: Option<u64>) -> Survey {
///         let empty = self.live.is_none() || as_if_free.is_some();
///         Survey {
///             largest_free: if empty { self.capacity } else { 0 },
///             entries: u64::from(!empty),
///             metadata_bytes: 0,
///         }
///     }
/// }
///
/// let mut heap = Heap::over(0, 100, Single { capacity: 100, live: None })?;
/// let address = heap.allocate(60, 1)?;
/// assert!(heap.allocate(1, 1).is_err());
/// heap.free(address)?;
/// # Ok::<(), HeapError>(())
/// ```
pub trait Marks: Send + fmt::Debug {
    /// See [`MarkingSystem::name`].
    const NAME: &'static str;

    /// Finds and marks a block, or says `None` where no free run fits.
    ///
    /// # Errors
    /// [`HeapError::NoMetadata`] and [`HeapError::TooManyBlocks`]; nothing is marked then.
    fn place(&mut self, want: Want) -> Result<Option<Grant>, HeapError>;

    /// Clears the marks of the live block that starts at `offset` and returns its
    /// size, or `None`, changing nothing, where none starts there.
    fn release(&mut self, offset: u64) -> Option<u64>;

    /// The size of the live block that starts at `offset`.
    fn size_at(&self, offset: u64) -> Option<u64>;

    /// Whether the byte at `offset`, inside the range, belongs to no live block.
    /// Asked only to explain a refusal.
    fn is_free(&self, offset: u64) -> bool;

    /// Counts, as if the live block that starts at `as_if_free` had been released.
    fn survey(&self, as_if_free: Option<u64>) -> Survey;
}
