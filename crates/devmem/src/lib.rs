//! A simulated device memory: it exists only in software, its pointers are numbers, and every access is checked.
//!
//! A [`Memory`] is one address space of a device. [`Memory::allocate`] gives an [`Address`], a 64-bit number
//! made of buffer index, generation and offset ([`AddressLayout`]); loads, stores, copies and fills through
//! addresses are checked for everything that can be wrong with them, and what is wrong comes back as a typed
//! [`Fault`].
//!
//! ```
//! use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
//!
//! let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
//! let buffer = memory.allocate(64, Flags::default(), Init::Poison(0xee))?;
//! memory.store_value(buffer, 42u32)?;
//! assert_eq!(memory.load_value::<u32>(buffer)?, 42);
//!
//! let end = memory.layout().add(buffer, 64).unwrap();
//! assert!(matches!(memory.load_value::<u8>(end), Err(Fault::OutOfBounds { beyond: 1, .. })));
//!
//! memory.deallocate(buffer)?;
//! let next = memory.allocate(64, Flags::default(), Init::Zeroed)?;
//! assert_ne!(next, buffer); // the same slot, but its next generation
//! assert!(matches!(memory.load_value::<u32>(buffer), Err(Fault::Freed { .. })));
//! # Ok::<(), Fault>(())
//! ```
//!
//! A [`Device`] puts a global memory and an observer together and runs kernels: `async` functions over a work-item
//! ([`Item`]), with local and private memory and barriers. [`observe`] says what can be watched; [`check`] has the
//! checkers: invalid uses, uninitialised reads, data races, counts.
//!
//! # What holds
//! * No address, size, alignment or flag makes a method panic or leaves defined behaviour, on any number of threads;
//!   a refused operation changes nothing.
//! * An address that was freed is told from the slot's next buffers: by the generation in it, until all
//!   indices have used up their generations ([`Memory::generation_restarts`] says how often that came to pass).
//!   An untagged layout gives this up.
//! * Arithmetic never wraps: not of offset and size, not through an [`AddressLayout`] into another buffer.
//! * An access takes no lock and writes nothing that other threads read but the announcement described in the
//!   module `raw`, in a cache line of its own.
//!
//! # Inside
//! `raw` holds the unsafe code: storage, the slot table, and the argument why no access touches storage after
//! it was reused. `indices` and `shards` are the allocator, `memory` what is done to buffers and through addresses. `view`
//! tells the observer of it, `kernel` runs kernels on views, and `check` is a user of `observe` as any other.

mod address;
mod atomic;
pub mod check;
mod fault;
mod indices;
mod kernel;
mod memory;
pub mod observe;
mod raw;
mod shards;
mod space;
mod sync;
mod view;

pub use address::{Address, AddressLayout, LayoutError, Parts};
pub use atomic::{AtomicInteger, AtomicOp, AtomicValue, FloatOp};
pub use fault::{BadFree, Fault, FreedAt, Holder, Place};
pub use kernel::{
    Arrival, Barrier, Device, Divergence, Failure, Group, Item, Kernel, Launch, NdRange, Outcome, Party, RangeError,
    Who, WorkItem,
};
pub use memory::{Constant, Dump, Hold, Lifecycle, MapId, Mapping, Memory, Rows};
pub use raw::host::HostBytes;
pub use space::{Access, AddressSpace, Flags, Init};
pub use view::View;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
