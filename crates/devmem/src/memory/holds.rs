//! Who keeps a buffer from being freed: kernels that run on it, and mappings.
//!
//! Owns [`Hold`] and [`Mapping`]. The count that decides is in the slot (see `raw::table`); whose the holds are is asked
//! only when that matters, by [`Memory::judge_held`]. A count goes up before its mapping is noted here and down after that
//! was removed.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::Memory;
use crate::fault::Holder;
use crate::raw::table::Slot;
use crate::{Access, Address, BadFree, Fault, Flags};

/// The mappings there are. (Kernels and parts are only counted, in the slot.)
#[derive(Default)]
pub(super) struct Holders(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    mappings: HashMap<MapId, Mapping>,
}

/// A buffer that is not freed while this lives. A running kernel has one of each buffer that it was given.
///
/// ```
/// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Lifecycle, Memory};
/// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let buffer = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// let hold = memory.hold(buffer)?;
/// assert_eq!(memory.lifecycle(buffer), Lifecycle::InUse);
/// assert!(memory.deallocate(buffer).unwrap_err().to_string().ends_with("a kernel that runs uses the buffer"));
/// drop(hold);
/// memory.deallocate(buffer)?;
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug)]
#[must_use = "the buffer is held as long as this lives"]
pub struct Hold<'a> {
    memory: &'a Memory,
    buffer: Address,
}

impl Hold<'_> {
    /// The start of the buffer.
    pub fn buffer(&self) -> Address {
        self.buffer
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.memory.table.release(self.buffer);
    }
}

/// The number of a mapping; no two of a memory have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(u64);

/// A region of a buffer that the host holds, as [`Memory::map`] gave it.
///
/// ```
/// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Lifecycle, Memory};
/// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let buffer = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// let mapping = memory.map(buffer, 16, 8, Flags::READ_WRITE)?;
/// assert_eq!((mapping.offset(), mapping.size()), (16, 8));
/// assert_eq!(memory.lifecycle(buffer), Lifecycle::Mapped);
/// memory.store_mapped(&mapping, 4, &[1; 4])?;
/// assert!(matches!(memory.store_mapped(&mapping, 5, &[1; 4]), Err(Fault::OutOfBounds { beyond: 1, .. })));
/// assert!(matches!(memory.deallocate(buffer), Err(Fault::BadFree { .. })));
/// memory.unmap(&mapping)?;
/// assert!(matches!(memory.unmap(&mapping), Err(Fault::NotMapped { .. })));
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    id: MapId,
    buffer: Address,
    offset: u64,
    size: u64,
    flags: Flags,
}

impl Mapping {
    /// Its number.
    pub fn id(&self) -> MapId {
        self.id
    }

    /// The start of its buffer.
    pub fn buffer(&self) -> Address {
        self.buffer
    }

    /// Bytes from the start of the buffer to its first.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What the host may do with it.
    pub fn flags(&self) -> Flags {
        self.flags
    }
}

/// Where in its life the buffer is that an address means.
///
/// ```
/// # use rimms_devmem::{Address, AddressLayout, AddressSpace, Fault, Flags, Init, Lifecycle, Memory};
/// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// assert_eq!(memory.lifecycle(Address::from_raw(1 << 48)), Lifecycle::Never);
/// let buffer = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(memory.lifecycle(buffer), Lifecycle::Allocated);
/// memory.deallocate(buffer)?;
/// assert_eq!(memory.lifecycle(buffer), Lifecycle::Freed);
/// memory.allocate(8, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(memory.lifecycle(buffer), Lifecycle::Recycled);
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// No buffer ever had the address.
    Never,
    /// It lives, and nothing holds it.
    Allocated,
    /// A kernel that runs uses it, or a part of it lives.
    InUse,
    /// The host has it mapped.
    Mapped,
    /// It was freed, and its slot is empty or changing hands.
    Freed,
    /// It was freed, and its slot has another buffer.
    Recycled,
}

impl Memory {
    /// Keeps the buffer that begins at `address` from being freed.
    ///
    /// # Errors
    /// [`Fault::Null`], [`Fault::Freed`] or [`Fault::NeverAllocated`] when no buffer is there; [`Fault::Misaligned`] when
    /// `address` is not the start of one.
    pub fn hold(&self, address: Address) -> Result<Hold<'_>, Fault> {
        while !self.table.hold(address) {
            self.judge_start(address, 0, Access::Read)?;
        }
        Ok(Hold { memory: self, buffer: address })
    }

    /// Gives the host the `size` bytes from `offset` on of the buffer that begins at `address`, to use as `flags` say
    /// (which those of the buffer must allow). Regions may overlap. Until [`unmap`](Self::unmap) the buffer
    /// cannot be freed, and a checker reports kernels that interfere.
    ///
    /// # Errors
    /// The [`Fault`] that the host's access to the region would have; [`Fault::Misaligned`] when `address` is not the
    /// start of a buffer.
    pub fn map(&self, address: Address, offset: u64, size: u64, flags: Flags) -> Result<Mapping, Fault> {
        loop {
            self.judge_start(address, size, access_of(flags))?;
            if self.table.hold(address) {
                break;
            }
        }
        // Held, so what is found now stays true.
        self.check_region(address, offset, size, flags).inspect_err(|_| self.table.release(address))?;
        let mut state = self.holders.0.lock();
        state.last += 1;
        let mapping = Mapping { id: MapId(state.last), buffer: address, offset, size, flags };
        state.mappings.insert(mapping.id, mapping);
        Ok(mapping)
    }

    /// Takes a region back from the host.
    ///
    /// # Errors
    /// [`Fault::NotMapped`] when the mapping is not one of this memory, or not any more.
    pub fn unmap(&self, mapping: &Mapping) -> Result<(), Fault> {
        let mut state = self.holders.0.lock();
        if state.mappings.get(&mapping.id) != Some(mapping) {
            return Err(self.not_mapped(mapping, 0, Access::Free));
        }
        state.mappings.remove(&mapping.id);
        drop(state);
        self.table.release(mapping.buffer);
        Ok(())
    }

    /// Copies bytes of a mapped region, from its byte `at` on, into `into`.
    ///
    /// # Errors
    /// [`Fault::NotMapped`], [`Fault::OutOfBounds`] beyond the region, or [`Fault::WriteOnly`] when the region is.
    pub fn load_mapped(&self, mapping: &Mapping, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        let address = self.in_mapping(mapping, at, into.len() as u64, Access::Read)?;
        self.load(address, into)
    }

    /// Copies `from` to bytes of a mapped region, from its byte `at` on.
    ///
    /// # Errors
    /// [`Fault::NotMapped`], [`Fault::OutOfBounds`] beyond the region, or [`Fault::ReadOnly`] when the region is.
    pub fn store_mapped(&self, mapping: &Mapping, at: u64, from: &[u8]) -> Result<(), Fault> {
        let address = self.in_mapping(mapping, at, from.len() as u64, Access::Write)?;
        self.store(address, from)
    }

    /// The regions of the buffer that begins at `address` that are mapped now, in the order of mapping.
    pub fn mappings(&self, address: Address) -> Vec<Mapping> {
        let state = self.holders.0.lock();
        let mut found: Vec<_> = state.mappings.values().filter(|mapping| mapping.buffer == address).copied().collect();
        found.sort_by_key(|mapping| mapping.id);
        found
    }

    /// Where in its life the buffer is that `address` lies in, at some moment during the call.
    pub fn lifecycle(&self, address: Address) -> Lifecycle {
        let base = Address::from_raw(self.layout.base_of(address.raw()));
        loop {
            let Some(slot) = self.table.slot(base) else { return Lifecycle::Never };
            let uses = slot.uses();
            let state = match self.size_of(base) {
                Ok(_) => match slot.holds() {
                    Some(0) => Lifecycle::Allocated,
                    Some(_) if !self.mappings(base).is_empty() => Lifecycle::Mapped,
                    Some(_) => Lifecycle::InUse,
                    None => Lifecycle::Freed,
                },
                Err(Fault::Freed { .. }) => match self.table.pin::<0>(base) {
                    Some(pinned) if pinned.block().is_live() => Lifecycle::Recycled,
                    _ => Lifecycle::Freed,
                },
                Err(_) => Lifecycle::Never,
            };
            if slot.uses() == uses {
                return state;
            }
        }
    }

    /// Why a buffer that is held cannot be freed.
    #[cold]
    pub(super) fn judge_held(&self, address: Address) -> Fault {
        let is_mapped = self.holders.0.lock().mappings.values().any(|mapping| mapping.buffer == address);
        let holds = self.table.slot(address).and_then(Slot::holds).unwrap_or(0);
        let holder = match () {
            () if is_mapped => Holder::Mapping,
            () if holds > self.parts_of(address) => Holder::Kernel,
            () => Holder::Part,
        };
        Fault::BadFree { place: self.place_of(address, 0, Access::Free), reason: BadFree::Held(holder) }
    }

    /// How many parts of the buffer that begins at `address` live.
    fn parts_of(&self, address: Address) -> u64 {
        let is_part = |index: &u64| {
            let pinned = self.table.pin::<0>(self.layout.base(*index, 0));
            let root = pinned.and_then(|pinned| pinned.block().part_of());
            root.is_some_and(|root| self.layout.base_of(root) == address.raw())
        };
        (1..self.table.end()).filter(is_part).count() as u64
    }

    fn check_region(&self, address: Address, offset: u64, size: u64, flags: Flags) -> Result<(), Fault> {
        self.judge_part(address, offset, size, access_of(flags))?;
        let at = self.layout.add(address, offset).unwrap_or(address);
        if flags.readable() {
            self.judge::<0>(at, size, 1, Access::Read)?;
        }
        if flags.writable() {
            self.judge::<0>(at, size, 1, Access::Write)?;
        }
        Ok(())
    }

    pub(crate) fn in_mapping(&self, mapping: &Mapping, at: u64, size: u64, access: Access) -> Result<Address, Fault> {
        if self.holders.0.lock().mappings.get(&mapping.id) != Some(mapping) {
            return Err(self.not_mapped(mapping, size, access));
        }
        let address = mapping.offset.checked_add(at).and_then(|offset| self.layout.add(mapping.buffer, offset));
        let place = self.place_of(address.unwrap_or(mapping.buffer), size, access);
        let end = at.checked_add(size).ok_or(Fault::Overflow { place })?;
        if end > mapping.size {
            return Err(Fault::OutOfBounds { place, length: mapping.size, beyond: end - mapping.size });
        }
        match access {
            Access::Read if !mapping.flags.readable() => Err(Fault::WriteOnly { place }),
            Access::Write if !mapping.flags.writable() => Err(Fault::ReadOnly { place }),
            // The end of the greatest buffer has no address; nothing is there to be accessed.
            _ => Ok(address.unwrap_or(mapping.buffer)),
        }
    }

    fn not_mapped(&self, mapping: &Mapping, size: u64, access: Access) -> Fault {
        let address = self.layout.add(mapping.buffer, mapping.offset).unwrap_or(mapping.buffer);
        Fault::NotMapped { place: self.place_of(address, size, access) }
    }
}

fn access_of(flags: Flags) -> Access {
    if flags.writable() { Access::Write } else { Access::Read }
}
