//! Marking systems by name, as a command line or a configuration gives them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::{Bitset, HeapError, MarkingSystem, NextFit, SizeError, TwoLevel, parse_size};

/// The block size of a bitset that gives none: the paper's (its section 5.2.1).
const DEFAULT_BLOCK: u64 = 4096;

/// Which marking system, with its parameters. Parses from and prints as `bitset`
/// (blocks of 4096 B), `bitset:8KiB`, `next-fit` or `two-level`.
///
/// ```
/// use rimms_heap::HeapKind;
///
/// assert_eq!("bitset:8KiB".parse(), Ok(HeapKind::Bitset { block: 8192 }));
/// assert_eq!(HeapKind::Bitset { block: 8192 }.to_string(), "bitset:8192");
/// assert_eq!(HeapKind::default(), HeapKind::TwoLevel);
/// assert_eq!(HeapKind::NextFit.build(64, 100)?.report().free, 100);
/// # Ok::<(), rimms_heap::HeapError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeapKind {
    /// [`Bitset`]: a bit a block, first fit.
    Bitset {
        /// Bytes of a block, a power of two.
        block: u64,
    },
    /// [`NextFit`]: a linked list and a rolling search position.
    NextFit,
    /// [`TwoLevel`]: two-level segregated fit.
    #[default]
    TwoLevel,
}

impl HeapKind {
    /// One of each system, the bitset with the paper's blocks of 4096 B.
    pub const ALL: [Self; 3] = [Self::Bitset { block: DEFAULT_BLOCK }, Self::NextFit, Self::TwoLevel];

    /// A heap of this kind over `capacity` bytes from `base`, all free.
    ///
    /// # Errors
    /// [`HeapError::BadRange`], [`HeapError::BadBlockSize`], or
    /// [`HeapError::NoMetadata`] where the host has no room for the bookkeeping.
    pub fn build(self, base: u64, capacity: u64) -> Result<Box<dyn MarkingSystem>, HeapError> {
        Ok(match self {
            Self::Bitset { block } => Box::new(Bitset::new(base, capacity, block)?),
            Self::NextFit => Box::new(NextFit::new(base, capacity)?),
            Self::TwoLevel => Box::new(TwoLevel::new(base, capacity)?),
        })
    }

    /// The bytes of an empty heap that a request takes, with what it leaves unusable for the next one of the same
    /// alignment: requests made one after the other of an empty heap, whose first address is a multiple of `align`,
    /// all fit if their footprints do, the last one counted by its bytes alone. `u64::MAX` where that is too much to
    /// count.
    ///
    /// ```
    /// use rimms_heap::HeapKind;
    /// assert_eq!(HeapKind::TwoLevel.footprint(100, 16), 112);
    /// assert_eq!(HeapKind::Bitset { block: 4096 }.footprint(100, 16), 4096);
    /// ```
    pub fn footprint(self, bytes: u64, align: u64) -> u64 {
        let grain = match self {
            Self::Bitset { block } => block.max(align),
            Self::NextFit | Self::TwoLevel => align,
        };
        bytes.checked_next_multiple_of(grain).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for HeapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bitset { block } => write!(f, "bitset:{block}"),
            Self::NextFit => f.write_str("next-fit"),
            Self::TwoLevel => f.write_str("two-level"),
        }
    }
}

impl FromStr for HeapKind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let (name, block) = match text.split_once(':') {
            Some((name, block)) => (name, Some(block)),
            None => (text, None),
        };
        match (name, block) {
            ("bitset", None) => Ok(Self::Bitset { block: DEFAULT_BLOCK }),
            ("bitset", Some(block)) => {
                let block = parse_size(block).map_err(KindError::Size)?;
                if !block.is_power_of_two() {
                    return Err(KindError::Block { block });
                }
                Ok(Self::Bitset { block })
            }
            ("next-fit", None) => Ok(Self::NextFit),
            ("two-level", None) => Ok(Self::TwoLevel),
            ("next-fit" | "two-level", Some(_)) => Err(KindError::NoBlocks { name: name.to_owned() }),
            _ => Err(KindError::Unknown { name: name.to_owned() }),
        }
    }
}

/// Why a text names no marking system.
///
/// ```
/// let error = "buddy".parse::<rimms_heap::HeapKind>().unwrap_err();
/// assert!(error.to_string().contains("two-level"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindError {
    /// No system has this name.
    Unknown {
        /// The name given.
        name: String,
    },
    /// A block size was given to a system without blocks.
    NoBlocks {
        /// The name given.
        name: String,
    },
    /// The block size is not a size.
    Size(SizeError),
    /// The block size is not a power of two.
    Block {
        /// Bytes given.
        block: u64,
    },
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(
                f,
                "no marking system is named {name:?}; known: bitset, bitset:BLOCK (for example \
                 bitset:4KiB), next-fit, two-level"
            ),
            Self::NoBlocks { name } => {
                write!(f, "{name} has no blocks; only bitset takes a block size")
            }
            Self::Size(error) => write!(f, "bad block size: {error}"),
            Self::Block { block } => HeapError::BadBlockSize { block: *block }.fmt(f),
        }
    }
}

impl Error for KindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Size(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_prints_what_it_parses() {
        for kind in HeapKind::ALL.into_iter().chain([HeapKind::Bitset { block: 8 }]) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert!(kind.to_string().starts_with(kind.build(0, 4096).unwrap().name()));
        }
        assert_eq!("bitset".parse(), Ok(HeapKind::Bitset { block: 4096 }));
        assert_eq!("bitset:64KiB".parse(), Ok(HeapKind::Bitset { block: 65_536 }));
    }

    #[test]
    fn errors_name_what_was_given_and_what_is_known() {
        for (text, said) in [
            ("slab", "\"slab\""),
            ("slab", "bitset:4KiB"),
            ("", "next-fit"),
            ("Bitset", "two-level"),
            ("next-fit:8", "only bitset"),
            ("bitset:", "whole number"),
            ("bitset:7x", "\"x\""),
            ("bitset:12", "12 is not a power of two"),
            ("bitset:0", "0 is not a power of two"),
        ] {
            let message = text.parse::<HeapKind>().unwrap_err().to_string();
            assert!(message.contains(said), "{text:?}: {message}");
        }
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for kind in HeapKind::ALL {
            for (base, capacity) in [(0, 0), (u64::MAX, 2), (2, u64::MAX), (u64::MAX - 9, 11)] {
                let refused = kind.build(base, capacity).map(|_| ());
                assert_eq!(refused, Err(HeapError::BadRange { base, capacity }), "{kind}");
            }
        }
        let refused = HeapKind::Bitset { block: 24 }.build(0, 100).map(|_| ());
        assert_eq!(refused, Err(HeapError::BadBlockSize { block: 24 }));
        let refused = HeapKind::Bitset { block: 1 }.build(0, u64::MAX).map(|_| ());
        assert!(matches!(refused, Err(HeapError::NoMetadata { .. })));
    }
}
