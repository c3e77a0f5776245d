//! One simulated memory: its buffers come and go here.
//!
//! Owns [`Memory`]. Buffers come and go in [`buffers`], are held and mapped in [`holds`]; what is done through
//! addresses is in [`access`] and [`rows`], what was wrong with them in [`judge`].

mod access;
mod atomic;
mod buffers;
mod constant;
mod dump;
mod holds;
mod judge;
mod names;
mod rows;

pub(crate) use atomic::Change;
pub use constant::Constant;
pub(crate) use constant::as_constant;
pub use dump::Dump;
pub use holds::{Hold, Lifecycle, MapId, Mapping};
pub use rows::Rows;

use std::fmt;

use crate::indices::Indices;
use crate::raw::table::Table;
use crate::shards::Shards;
use crate::{AddressLayout, AddressSpace};
use holds::Holders;
use names::Names;

/// A simulated memory: buffers that are reached through checked addresses.
///
/// All methods take `&self` and may be called from any number of threads at once. Whatever address, size or
/// alignment they are given, they either do what they say or return a [`Fault`](crate::Fault) and do nothing. Racing loads,
/// stores and frees of the same buffer are no undefined behaviour: a racing load sees each 32-bit word as some
/// store left it, and an access that a free overtakes touches the old buffer's bytes or faults, never another
/// buffer's.
///
/// ```
/// use rimms_devmem::{Address, AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
///
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let buffer = memory.allocate(16, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(buffer, Address::from_raw(0x0001_0000_0000_0000));
/// memory.store(buffer, b"0123456789abcdef")?;
/// memory.store_value(memory.layout().add(buffer, 4).unwrap(), u32::from_ne_bytes(*b"____"))?;
/// let mut bytes = [0; 16];
/// memory.load(buffer, &mut bytes)?;
/// assert_eq!(&bytes, b"0123____89abcdef");
///
/// memory.deallocate(buffer)?;
/// assert!(matches!(memory.load(buffer, &mut bytes), Err(Fault::Freed { freed: Some(_), .. })));
/// # Ok::<(), Fault>(())
/// ```
pub struct Memory {
    space: AddressSpace,
    layout: AddressLayout,
    table: Table,
    indices: Indices,
    shards: Shards,
    holders: Holders,
    names: Names,
}

impl Memory {
    /// An empty memory, limited by its layout and by what the host has.
    pub fn new(space: AddressSpace, layout: AddressLayout) -> Self {
        Memory {
            space,
            layout,
            table: Table::new(layout, space.is_shared()),
            indices: Indices::new(layout),
            shards: Shards::new(space, u64::MAX),
            holders: Holders::default(),
            names: Names::default(),
        }
    }

    /// An empty memory of `bytes` bytes: at no time are the sizes of its live buffers more than that in total.
    ///
    /// Buffers cost just their size of it: neither fragments nor headers count.
    ///
    /// ```
    /// use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    ///
    /// let memory = Memory::with_capacity_limit(AddressSpace::Global, AddressLayout::GLOBAL, 1024);
    /// memory.allocate(1000, Flags::default(), Init::Zeroed)?;
    /// let fault = memory.allocate(25, Flags::default(), Init::Zeroed).unwrap_err();
    /// assert!(matches!(fault, Fault::OutOfMemory { wanted: 25, free: 24, .. }));
    /// # Ok::<(), Fault>(())
    /// ```
    pub fn with_capacity_limit(space: AddressSpace, layout: AddressLayout, bytes: u64) -> Self {
        Memory { shards: Shards::new(space, bytes), ..Memory::new(space, layout) }
    }

    /// The address space this memory is.
    pub fn space(&self) -> AddressSpace {
        self.space
    }

    /// How its addresses are made.
    pub fn layout(&self) -> AddressLayout {
        self.layout
    }

    /// The most bytes that may be live at once; `u64::MAX` without a limit.
    pub fn capacity(&self) -> u64 {
        self.shards.capacity()
    }

    /// Total size of the live buffers, bytes. Exact at some moment during the call.
    pub fn allocated_bytes(&self) -> u64 {
        self.shards.live().0
    }

    /// How many buffers live. Exact at some moment during the call.
    pub fn live_buffers(&self) -> u64 {
        self.shards.live().1
    }

    /// How many times an index had to start again at generation 0, because all indices had used up
    /// theirs or were in use. After that many, a stale address may pass for a live one.
    pub fn generation_restarts(&self) -> u64 {
        self.indices.restarts()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, buffers) = self.shards.live();
        f.debug_struct("Memory")
            .field("space", &self.space)
            .field("layout", &self.layout)
            .field("live_buffers", &buffers)
            .field("allocated_bytes", &bytes)
            .finish_non_exhaustive()
    }
}
