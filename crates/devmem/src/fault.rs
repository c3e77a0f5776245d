//! Everything that can be wrong with a use of a simulated memory.
//!
//! Owns [`Fault`] and what its variants carry. A fault is a value: nothing was read, written or freed by
//! the operation that returned it.

use std::fmt;
use std::panic::Location;

use thiserror::Error;

use crate::{Access, Address, AddressSpace};

/// The use of memory that went wrong: what, where, how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The memory's address space.
    pub space: AddressSpace,
    /// The address that was used.
    pub address: Address,
    /// The buffer index in it.
    pub index: u64,
    /// The generation in it (0 in an untagged layout).
    pub generation: u64,
    /// The offset in it, bytes.
    pub offset: u64,
    /// Bytes that were to be read or written; 0 for a free.
    pub size: u64,
    /// What was to be done.
    pub access: Access,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { space, address, index, generation, offset, size, access } = self;
        write!(f, "{access}")?;
        if *access != Access::Free {
            write!(f, " of {size} bytes")?;
        }
        write!(f, " at {space} {address} (buffer {index}")?;
        if *generation > 0 {
            write!(f, ", generation {generation}")?;
        }
        write!(f, ", offset {offset})")
    }
}

/// Where a buffer was freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreedAt {
    /// The line of the caller of `deallocate`.
    pub location: &'static Location<'static>,
    /// The number given to [`Memory::deallocate_labelled`](crate::Memory::deallocate_labelled), 0 when
    /// there was none.
    pub label: u64,
}

impl fmt::Display for FreedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location)?;
        if self.label != 0 {
            write!(f, " (label {})", self.label)?;
        }
        Ok(())
    }
}

/// Why an address cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadFree {
    /// It is null.
    Null,
    /// No buffer ever had it.
    NeverAllocated,
    /// Its buffer is free already; where that was done, if it is still known.
    Twice(Option<FreedAt>),
    /// It lies inside a buffer, not at its start.
    Inside,
    /// Something wants the buffer to stay.
    Held(Holder),
}

/// What keeps a buffer from being freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A kernel that runs.
    Kernel,
    /// A region of it that the host has mapped.
    Mapping,
    /// A buffer that is a part of it.
    Part,
}

impl fmt::Display for BadFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadFree::Null => f.write_str("the address is null"),
            BadFree::NeverAllocated => f.write_str("no buffer ever had this address"),
            BadFree::Twice(freed) => write!(f, "the buffer is free already{}", Where(*freed)),
            BadFree::Held(Holder::Kernel) => f.write_str("a kernel that runs uses the buffer"),
            BadFree::Held(Holder::Mapping) => f.write_str("the host has the buffer mapped; unmap it first"),
            BadFree::Held(Holder::Part) => f.write_str("a sub-buffer of it lives; free that first"),
            BadFree::Inside => f.write_str("free the address that allocate gave, offset 0"),
        }
    }
}

/// ", freed at …" where that is known.
struct Where(Option<FreedAt>);

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(freed) => write!(f, ", freed at {freed}"),
            None => Ok(()),
        }
    }
}

/// Why a simulated memory refused an operation.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
///
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let buffer = memory.allocate(64, Flags::default(), Init::Zeroed).unwrap();
/// let near_end = memory.layout().add(buffer, 62).unwrap();
/// let fault = memory.store(near_end, &[0; 4]).unwrap_err();
/// assert!(matches!(fault, Fault::OutOfBounds { beyond: 2, length: 64, .. }));
/// assert_eq!(
///     fault.to_string(),
///     "write of 4 bytes at global 0x0001_0000_0000_003e (buffer 1, offset 62): \
///      ends 2 bytes beyond the 64 bytes of the buffer"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The buffer index is 0.
    #[error("{place}: null address")]
    Null {
        /// The use.
        place: Place,
    },
    /// No buffer ever had this index and generation: the address is foreign or made up.
    #[error("{place}: no buffer ever had this address")]
    NeverAllocated {
        /// The use.
        place: Place,
    },
    /// The buffer is no more: use after free.
    #[error("{place}: use after free{}", Where(*freed))]
    Freed {
        /// The use.
        place: Place,
        /// Where it was freed; known until another buffer in the same slot is freed.
        freed: Option<FreedAt>,
    },
    /// The range does not end inside the buffer.
    #[error("{place}: ends {beyond} bytes beyond the {length} bytes of the buffer")]
    OutOfBounds {
        /// The use.
        place: Place,
        /// Bytes of the buffer.
        length: u64,
        /// Bytes from the end of the buffer to the end of the range.
        beyond: u64,
    },
    /// The end of the range cannot be said in 64 bits.
    #[error("{place}: offset and size together exceed 64 bits")]
    Overflow {
        /// The use.
        place: Place,
    },
    /// A store to a buffer that can only be read.
    #[error("{place}: the buffer is read-only")]
    ReadOnly {
        /// The use.
        place: Place,
    },
    /// A load from a buffer that can only be written.
    #[error("{place}: the buffer is write-only")]
    WriteOnly {
        /// The use.
        place: Place,
    },
    /// A typed access at an offset that its type does not allow.
    #[error("{place}: wanted an offset that is a multiple of {alignment}")]
    Misaligned {
        /// The use.
        place: Place,
        /// Bytes the offset must be a multiple of.
        alignment: u64,
    },
    /// The address cannot be freed.
    #[error("{place}: bad free: {reason}")]
    BadFree {
        /// The use.
        place: Place,
        /// What is wrong with it.
        reason: BadFree,
    },
    /// The mapping that was used is not one of the memory, or not any more.
    #[error("{place}: this region is not mapped")]
    NotMapped {
        /// The use.
        place: Place,
    },
    /// The host's bytes do not have the size or shape of the device's.
    #[error("{space} memory: wanted {wanted} bytes from the caller, found {found}")]
    WrongSize {
        /// The memory's address space.
        space: AddressSpace,
        /// Bytes the operation needs.
        wanted: u64,
        /// Bytes it was given.
        found: u64,
    },
    /// Rows that are longer than the distance between them would overlap.
    #[error("{place}: rows of {row_bytes} bytes overlap when they start {pitch} bytes apart")]
    RowsOverlap {
        /// The use.
        place: Place,
        /// Bytes of a row.
        row_bytes: u64,
        /// Bytes from the start of a row to the start of the next.
        pitch: u64,
    },
    /// The capacity of the memory does not allow another buffer of this size.
    #[error(
        "{space} memory is full: wanted {wanted} bytes, {free} of {capacity} are free; free buffers or enlarge the memory"
    )]
    OutOfMemory {
        /// The memory's address space.
        space: AddressSpace,
        /// Bytes asked for.
        wanted: u64,
        /// Bytes free when asked.
        free: u64,
        /// Bytes of the whole memory.
        capacity: u64,
    },
    /// An address of this memory cannot reach all of such a buffer.
    #[error("a buffer of {wanted} bytes in {space} memory, whose addresses reach {greatest}")]
    TooBig {
        /// The memory's address space.
        space: AddressSpace,
        /// Bytes asked for.
        wanted: u64,
        /// Bytes of the greatest buffer.
        greatest: u64,
    },
    /// As many buffers live as the layout has indices.
    #[error("{space} memory has no index left: all {indices} are in use; free buffers or choose more index bits")]
    IndicesUsedUp {
        /// The memory's address space.
        space: AddressSpace,
        /// How many indices there are.
        indices: u64,
    },
    /// The host itself has no memory left for the simulation.
    #[error("the host gave no memory for {wanted} bytes of {space} memory")]
    HostOutOfMemory {
        /// The memory's address space.
        space: AddressSpace,
        /// Bytes asked for.
        wanted: u64,
    },
}

impl Fault {
    /// The use that went wrong; `None` where it was not the use of an address.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Fault::Null { place }
            | Fault::NeverAllocated { place }
            | Fault::Freed { place, .. }
            | Fault::OutOfBounds { place, .. }
            | Fault::Overflow { place }
            | Fault::ReadOnly { place }
            | Fault::WriteOnly { place }
            | Fault::Misaligned { place, .. }
            | Fault::BadFree { place, .. }
            | Fault::NotMapped { place }
            | Fault::RowsOverlap { place, .. } => Some(place),
            Fault::WrongSize { .. }
            | Fault::OutOfMemory { .. }
            | Fault::TooBig { .. }
            | Fault::IndicesUsedUp { .. }
            | Fault::HostOutOfMemory { .. } => None,
        }
    }

    /// The same fault of another use.
    pub(crate) fn at(mut self, use_: Place) -> Self {
        match &mut self {
            Fault::Null { place }
            | Fault::NeverAllocated { place }
            | Fault::Freed { place, .. }
            | Fault::OutOfBounds { place, .. }
            | Fault::Overflow { place }
            | Fault::ReadOnly { place }
            | Fault::WriteOnly { place }
            | Fault::Misaligned { place, .. }
            | Fault::BadFree { place, .. }
            | Fault::NotMapped { place }
            | Fault::RowsOverlap { place, .. } => *place = use_,
            _ => {}
        }
        self
    }
}
