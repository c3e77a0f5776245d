//! Why a heap refuses. Closed, typed, and written by hand: the crate has no dependencies.

use std::error::Error;
use std::fmt;

/// A refusal. The heap is as it was before the call.
///
/// ```
/// use rimms_heap::{HeapError, MarkingSystem, NextFit};
///
/// let mut heap = NextFit::new(0, 100)?;
/// let refused = heap.allocate(101, 1);
/// assert_eq!(refused, Err(HeapError::NeverFits { wanted: 101, align: 1, capacity: 100 }));
/// # Ok::<(), HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapError {
    /// Fewer bytes are free than were wanted.
    Full {
        /// Bytes wanted.
        wanted: u64,
        /// Alignment wanted.
        align: u64,
        /// Bytes free.
        free: u64,
        /// Bytes of the whole range.
        capacity: u64,
    },
    /// Enough bytes are free, but no one run holds the request at its alignment.
    Fragmented {
        /// Bytes wanted.
        wanted: u64,
        /// Alignment wanted.
        align: u64,
        /// Bytes free.
        free: u64,
        /// Bytes of the longest free run.
        largest_free: u64,
    },
    /// Not even the empty heap could serve the request.
    NeverFits {
        /// Bytes wanted.
        wanted: u64,
        /// Alignment wanted.
        align: u64,
        /// Bytes of the whole range.
        capacity: u64,
    },
    /// Zero bytes were wanted.
    ZeroSize,
    /// The alignment is not a power of two.
    BadAlign {
        /// Alignment wanted.
        align: u64,
    },
    /// The address lies in free space: freed before, or never handed out.
    DoubleFree {
        /// Address given.
        address: u64,
    },
    /// The address lies outside the range.
    Foreign {
        /// Address given.
        address: u64,
        /// First address of the range.
        base: u64,
        /// Bytes of the range.
        capacity: u64,
    },
    /// The address lies inside a live block, but not at its start.
    Misaligned {
        /// Address given.
        address: u64,
    },
    /// The range is empty or reaches past the last address.
    BadRange {
        /// First address wanted.
        base: u64,
        /// Bytes wanted.
        capacity: u64,
    },
    /// The block size is not a power of two.
    BadBlockSize {
        /// Bytes of a block wanted.
        block: u64,
    },
    /// The host has no memory for the metadata.
    NoMetadata {
        /// Bytes of metadata wanted.
        bytes: u64,
    },
    /// The entries' index type can name no more blocks.
    TooManyBlocks {
        /// Entries that exist at most.
        limit: u64,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Full { wanted, align, free, capacity } => write!(
                f,
                "the heap is full: {wanted} B (alignment {align}) wanted, {free} of {capacity} B \
                 free; free blocks or use a larger heap"
            ),
            Self::Fragmented { wanted, align, free, largest_free } => write!(
                f,
                "the heap is fragmented: {wanted} B (alignment {align}) wanted, {free} B free, but \
                 no free run fits and the longest has {largest_free} B; free neighbouring blocks \
                 or ask for less at a time"
            ),
            Self::NeverFits { wanted, align, capacity } => write!(
                f,
                "{wanted} B (alignment {align}) never fit a heap of {capacity} B, not even when it \
                 is empty; use a larger heap"
            ),
            Self::ZeroSize => f.write_str("0 B wanted; ask for at least 1 B"),
            Self::BadAlign { align } => {
                write!(f, "alignment {align} is not a power of two; use 1 where any address will do")
            }
            Self::DoubleFree { address } => write!(
                f,
                "nothing is live at {address:#x}: it was freed before or never handed out; free \
                 each block once"
            ),
            Self::Foreign { address, base, capacity } => write!(
                f,
                "{address:#x} is not in this heap, which has {capacity} B from {base:#x}; free a \
                 block in the heap it came from"
            ),
            Self::Misaligned { address } => {
                write!(f, "{address:#x} lies inside a live block; free a block by its first address")
            }
            Self::BadRange { base, capacity } => write!(
                f,
                "a heap of {capacity} B from {base:#x} is empty or passes the last address; give \
                 it at least 1 B and an end of at most 2^64"
            ),
            Self::BadBlockSize { block } => write!(f, "block size {block} is not a power of two; use one such as 4096"),
            Self::NoMetadata { bytes } => write!(
                f,
                "the host has no {bytes} B for the heap's metadata; use a smaller heap or larger \
                 blocks"
            ),
            Self::TooManyBlocks { limit } => {
                write!(f, "the heap has {limit} blocks and runs already, and can name no more; free some")
            }
        }
    }
}

impl Error for HeapError {}
