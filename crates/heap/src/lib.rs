//! Marking systems: how a device heap finds and marks free space.
//!
//! This crate owns the bookkeeping of a range of addresses and nothing else: no
//! memory is touched, so the range may belong to a device the host cannot reach,
//! start at any address and have any alignment. It has no dependencies.
//!
//! | system | type | granularity | allocate | free | for |
//! | --- | --- | --- | --- | --- | --- |
//! | `bitset` | [`Bitset`] | a fixed block | first fit, word-parallel search | clears a bit a block | the least metadata: 1 bit a block |
//! | `next-fit` | [`NextFit`] | 1 byte | a walk from the rolling position | expected O(1) | few, short-lived blocks |
//! | `two-level` | [`TwoLevel`] | 1 byte | O(1) | O(1) | everything else; the default |
//!
//! The first two are the marking systems of the RIMMS paper (its section on heap
//! management); the third is the two-level segregated fit of Masmano et al. (2004).
//!
//! ```
//! use rimms_heap::{HeapError, HeapKind};
//!
//! let kind: HeapKind = "bitset:4KiB".parse()?;
//! let mut heap = kind.build(0x8000_0000, 1 << 20)?;
//! let signal = heap.allocate(8192 * 4, 64)?;
//! assert_eq!(heap.size_of(signal), Some(32_768));
//! assert_eq!(heap.free(signal)?, 32_768);
//! assert_eq!(heap.free(signal), Err(HeapError::DoubleFree { address: signal }));
//! assert_eq!(heap.report().largest_free, 1 << 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! * [`MarkingSystem`]: the trait that users of a heap see, object-safe.
//! * [`Heap`]: what all systems share, written once: checks of arguments, errors,
//!   totals, and the memo of the newest block.
//! * [`Marks`]: what a marking system is to [`Heap`]: offsets in, offsets out.
//!   Implement it to add one.
//!
//! # The memo
//!
//! When the newest block is freed with nothing freed or allocated since, [`Heap`]
//! leaves its marks standing and hands it out again to a request for the same
//! bytes and alignment; anything else clears them first. The answer is the one
//! that the marking system would have given, since it is the same request to the
//! same state, and every report counts the block as free.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bitset;
mod chain;
mod error;
mod heap;
mod kind;
mod next_fit;
pub mod size;
mod system;
mod table;
mod two_level;

pub use bitset::{BitMarks, Bitset};
pub use error::HeapError;
pub use heap::Heap;
pub use kind::{HeapKind, KindError};
pub use next_fit::{ListMarks, NextFit};
pub use size::{SizeError, parse_size};
pub use system::{Grant, HeapReport, MarkingSystem, Marks, Survey, Want};
pub use two_level::{SegregatedMarks, TwoLevel};
