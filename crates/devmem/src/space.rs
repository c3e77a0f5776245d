//! The words of the interface: address spaces, access kinds, buffer flags, initial contents.

use std::fmt;

/// Which of a device's memories a [`Memory`](crate::Memory) is; every fault names it.
///
/// ```
/// assert_eq!(rimms_devmem::AddressSpace::Global.to_string(), "global");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressSpace {
    /// One memory for each work-item.
    Private,
    /// One memory for each device.
    Global,
    /// Read-only memory of a device: whatever their flags, its buffers can only be read.
    Constant,
    /// One memory for each work-group.
    Local,
}

impl AddressSpace {
    /// Whether many threads are expected to allocate in such a memory at once.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, AddressSpace::Global | AddressSpace::Constant)
    }
}

impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressSpace::Private => "private",
            AddressSpace::Global => "global",
            AddressSpace::Constant => "constant",
            AddressSpace::Local => "local",
        })
    }
}

/// What is done to memory through an address.
///
/// ```
/// assert_eq!(rimms_devmem::Access::Write.to_string(), "write");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
// A whole word, which is also where `Result<_, Fault>` says that all is well: a byte would be stored by itself and then
// read with its neighbours wherever such a result is handed on, and the processor waits for the store before it can.
#[repr(u64)]
pub enum Access {
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// Bytes are read and written in one step.
    Atomic,
    /// The buffer is given back.
    Free,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic access",
            Access::Free => "free",
        })
    }
}

/// What may be done with a buffer.
///
/// ```
/// use rimms_devmem::Flags;
///
/// assert!(Flags::READ_ONLY.readable() && !Flags::READ_ONLY.writable());
/// assert_eq!(Flags::default(), Flags::READ_WRITE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    const READ: u8 = 1;
    const WRITE: u8 = 2;

    /// Loads and stores are allowed.
    pub const READ_WRITE: Self = Self(Self::READ | Self::WRITE);
    /// Only loads are allowed.
    pub const READ_ONLY: Self = Self(Self::READ);
    /// Only stores are allowed.
    pub const WRITE_ONLY: Self = Self(Self::WRITE);

    /// Whether loads are allowed.
    pub const fn readable(self) -> bool {
        self.0 & Self::READ != 0
    }

    /// Whether stores are allowed.
    pub const fn writable(self) -> bool {
        self.0 & Self::WRITE != 0
    }
}

impl Default for Flags {
    fn default() -> Self {
        Self::READ_WRITE
    }
}

/// What a new buffer holds.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, Flags, Init, Memory};
///
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// // A GiB of zeros costs nothing until it is touched.
/// let zeros = memory.allocate(1 << 30, Flags::default(), Init::Zeroed).unwrap();
/// let poison = memory.allocate(8, Flags::default(), Init::Poison(0xa5)).unwrap();
/// let given = memory.allocate(4, Flags::default(), Init::Bytes(b"abcd")).unwrap();
/// # let _ = (zeros, poison, given);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Init<'a> {
    /// All bytes 0. Large buffers get pages that the host fills in when they are first touched.
    #[default]
    Zeroed,
    /// Every byte this value, so that bytes nobody wrote are seen to be that. Touches all of the buffer.
    Poison(u8),
    /// A copy of these bytes, whose number must be the size of the buffer.
    Bytes(&'a [u8]),
}
