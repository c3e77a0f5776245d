//! Buffers come and go.
//!
//! An allocation takes capacity, index and storage, and gives back what it has when one of them is not to be had. A
//! buffer of the caller's bytes takes capacity as any other; a part of another buffer takes none.

use std::panic::Location;
use std::thread;

use super::Memory;
use crate::raw::block::{Lent, PART_ALIGN, Retired, Storage};
use crate::raw::hazard;
use crate::raw::host::HostBytes;
use crate::raw::pool;
use crate::raw::table::NotUnlinked;
use crate::{Access, Address, AddressSpace, Fault, Flags, FreedAt, Init};

/// What the bytes of a new buffer are.
enum Bytes<'a> {
    Own(Init<'a>),
    Host(&'a HostBytes),
    Part(&'a Lent),
}

impl Memory {
    /// What the origin of a [`sub_buffer`](Self::sub_buffer) must be a multiple of, bytes.
    pub const SUB_BUFFER_ALIGN: u64 = PART_ALIGN;

    /// A new buffer of `size` bytes.
    ///
    /// A size of 0 is allowed: such a buffer has an address and no bytes. A thread gets back the indices that it
    /// freed, first in, first out, before new ones.
    ///
    /// # Errors
    /// [`Fault::TooBig`], [`Fault::OutOfMemory`], [`Fault::IndicesUsedUp`], [`Fault::HostOutOfMemory`], or
    /// [`Fault::WrongSize`] when `Init::Bytes` are not `size` bytes.
    ///
    /// Cost: some 20 ns for 64 bytes; beyond 64 KiB that of the host's `calloc`.
    pub fn allocate(&self, size: u64, flags: Flags, init: Init<'_>) -> Result<Address, Fault> {
        self.admit(size, size, flags, Bytes::Own(init))
    }

    /// As [`allocate`](Self::allocate), with a name that findings and dumps will give the buffer.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let buffer = memory.allocate_named("samples", 64, Flags::READ_WRITE, Init::Zeroed)?;
    /// assert_eq!(memory.name_of(memory.layout().add(buffer, 5).unwrap()).as_deref(), Some("samples"));
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_named(&self, name: &str, size: u64, flags: Flags, init: Init<'_>) -> Result<Address, Fault> {
        let address = self.allocate(size, flags, init)?;
        self.set_name(address, name);
        Ok(address)
    }

    /// A buffer that is made of the caller's bytes: both work on the same ones.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_host(&self, bytes: &HostBytes, flags: Flags) -> Result<Address, Fault> {
        self.admit(bytes.len(), bytes.len(), flags, Bytes::Host(bytes))
    }

    /// A buffer that is made of the `size` bytes of another from `origin` on: the same bytes, but an address,
    /// bounds and flags of its own. `parent` is the start of the other, which may itself be such a part.
    ///
    /// The buffer that the bytes belong to cannot be freed while a part of it lives.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let whole = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
    /// let part = memory.sub_buffer(whole, 16, 8, Flags::READ_ONLY)?;
    /// memory.store_value(memory.layout().add(whole, 16).unwrap(), 7u64)?;
    /// assert_eq!(memory.load_value::<u64>(part)?, 7);
    /// assert!(matches!(memory.store_value(part, 8u64), Err(Fault::ReadOnly { .. })));
    /// let behind = memory.layout().add(part, 8).unwrap();
    /// assert!(matches!(memory.load_value::<u8>(behind), Err(Fault::OutOfBounds { length: 8, .. })));
    /// assert!(matches!(memory.deallocate(whole), Err(Fault::BadFree { .. })));
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// The [`Fault`] of an access to those bytes of `parent`, [`Fault::Misaligned`] when `origin` is no multiple of
    /// [`SUB_BUFFER_ALIGN`](Self::SUB_BUFFER_ALIGN) or `parent` not the start of a buffer,
    /// [`Fault::IndicesUsedUp`], [`Fault::HostOutOfMemory`].
    ///
    /// Cost: as [`allocate`](Self::allocate) without the bytes; freeing it takes a barrier on all threads
    /// (microseconds).
    pub fn sub_buffer(&self, parent: Address, origin: u64, size: u64, flags: Flags) -> Result<Address, Fault> {
        loop {
            if let Some(lent) = self.table.lend(self.layout, parent, origin, size) {
                return self
                    .admit(0, size, flags, Bytes::Part(&lent))
                    .inspect_err(|_| self.table.give_back(self.layout, lent.root()));
            }
            self.judge_start(parent, size, Access::Read)?;
            self.judge_part(parent, origin, size, Access::Read)?;
            if !origin.is_multiple_of(PART_ALIGN) {
                return Err(Fault::Misaligned {
                    place: self.place_of(parent, size, Access::Read),
                    alignment: PART_ALIGN,
                });
            }
        }
    }

    /// A new buffer of `size` bytes, `charged` of which are taken from the capacity.
    fn admit(&self, charged: u64, size: u64, flags: Flags, bytes: Bytes<'_>) -> Result<Address, Fault> {
        let (space, greatest) = (self.space, self.layout.greatest_buffer());
        if size > greatest {
            return Err(Fault::TooBig { space, wanted: size, greatest });
        }
        // Bytes behind the storage's header.
        let own = match bytes {
            Bytes::Own(Init::Bytes(bytes)) if bytes.len() as u64 != size => {
                return Err(Fault::WrongSize { space, wanted: size, found: bytes.len() as u64 });
            }
            Bytes::Own(_) => usize::try_from(size).map_err(|_| Fault::HostOutOfMemory { space, wanted: size })?,
            _ => 0,
        };
        let mut shard = self.shards.own();
        if !self.shards.reserve(&mut shard, charged) {
            drop(shard);
            let capacity = self.capacity();
            let refuse = |free| Fault::OutOfMemory { space, wanted: size, free, capacity };
            self.shards.reserve_from_all(charged).map_err(refuse)?;
            shard = self.shards.own();
        }
        shard.live += 1;
        let (index, storage) = (shard.indices.pop_front(), shard.pool.take(own));
        drop(shard);
        let storage = storage.or_else(|| Storage::from_host(pool::room_for(own)));
        self.place(index, storage, size, flags, bytes).inspect_err(|_| {
            let mut shard = self.shards.own();
            shard.live -= 1;
            self.shards.release(&mut shard, charged);
        })
    }

    /// Makes `storage` the buffer with this index, or with another if it has none.
    fn place(
        &self,
        index: Option<u32>,
        storage: Option<Storage>,
        size: u64,
        flags: Flags,
        bytes: Bytes<'_>,
    ) -> Result<Address, Fault> {
        let out_of_memory = Fault::HostOutOfMemory { space: self.space, wanted: size };
        let keep_index = |index| self.shards.own().indices.push_front(index);
        let Some(mut storage) = storage else {
            index.into_iter().for_each(keep_index);
            return Err(out_of_memory);
        };
        let Some(index) = index.or_else(|| self.another_index()) else {
            self.shards.own().pool.keep(storage);
            return Err(Fault::IndicesUsedUp { space: self.space, indices: self.layout.greatest_index() });
        };
        let Some(slot) = self.table.slot_or_grow(self.layout.base(index.into(), 0)) else {
            keep_index(index);
            return Err(out_of_memory);
        };
        if slot.is_noted() {
            slot.set_noted(self.names.begin_next(index));
        }
        let address = self.layout.base(index.into(), slot.count_use() - 1);
        let flags = if self.space == AddressSpace::Constant { Flags::READ_ONLY } else { flags };
        match bytes {
            Bytes::Own(init) => storage.prepare(address.raw(), size as usize, flags, init),
            Bytes::Host(bytes) => storage.prepare_host(address.raw(), bytes.clone(), flags),
            Bytes::Part(lent) => storage.prepare_part(address.raw(), lent, flags),
        }
        slot.publish(storage);
        Ok(address)
    }

    /// An index for a thread whose shard has none: one never used, but before the table grows one that another
    /// shard has, and when there is none of either, the one that has rested longest.
    fn another_index(&self) -> Option<u32> {
        let next = || self.indices.fresh(|_| true).or_else(|| self.indices.restart());
        self.indices.fresh(|index| !self.table.begins_chunk(index.into())).or_else(|| self.shards.steal_index(next))
    }

    /// Frees the buffer that begins at `address`. From now on every use of its addresses is a fault that names
    /// the caller's line.
    ///
    /// Accesses at work on it in other threads end undisturbed; its storage is reused only after that.
    ///
    /// # Errors
    /// [`Fault::BadFree`]: null, never allocated, free already, not the start of a buffer, or held by a running kernel, a
    /// mapping or a part.
    ///
    /// Cost: some 20 ns; for a buffer of more than 64 KiB a barrier on all threads (microseconds) and
    /// the host's `free`.
    #[track_caller]
    pub fn deallocate(&self, address: Address) -> Result<(), Fault> {
        self.deallocate_labelled(address, 0)
    }

    /// As [`deallocate`](Self::deallocate), with a number that faults will name with the caller's line, such as
    /// that of a command.
    ///
    /// # Errors
    /// As [`deallocate`](Self::deallocate).
    #[track_caller]
    pub fn deallocate_labelled(&self, address: Address, label: u64) -> Result<(), Fault> {
        let freed = FreedAt { location: Location::caller(), label };
        let retired = match self.table.unlink(address, freed) {
            Ok(retired) => retired,
            Err(NotUnlinked::NotThere) => return Err(self.judge_free(address)),
            Err(NotUnlinked::Held) => return Err(self.judge_held(address)),
        };
        match retired.part_of() {
            Some(root) => self.retire_part(address, root, retired),
            None => self.retire(address, retired),
        }
        Ok(())
    }

    fn retire(&self, address: Address, retired: Retired) {
        let used_up = self.rest_if_used_up(address);
        let mut shard = self.shards.own();
        self.shards.release(&mut shard, retired.charged());
        shard.live -= 1;
        if !used_up {
            shard.indices.push_back(self.layout.index_of(address) as u32);
        }
        let due = shard.pool.retire(retired);
        drop(shard);
        due.into_iter().for_each(|retired| self.reclaim(retired));
    }

    /// Waits until nobody is at work on the part, and gives back the hold on the buffer that it was a part of.
    fn retire_part(&self, address: Address, root: u64, mut retired: Retired) {
        let storage = loop {
            match retired.reclaim(&hazard::look(), self.layout) {
                Ok(storage) => break storage,
                Err(back) => retired = back,
            }
            thread::yield_now();
        };
        self.table.give_back(self.layout, root);
        let used_up = self.rest_if_used_up(address);
        let mut shard = self.shards.own();
        shard.live -= 1;
        shard.pool.keep(storage);
        if !used_up {
            shard.indices.push_back(self.layout.index_of(address) as u32);
        }
    }

    /// Lets the index of the buffer rest if its generations are used up; whether they are.
    fn rest_if_used_up(&self, address: Address) -> bool {
        let used_up = self.table.slot(address).is_some_and(|slot| self.indices.is_used_up(slot.uses()));
        if used_up {
            self.indices.rest(self.layout.index_of(address) as u32);
        }
        used_up
    }

    /// Sorts out which retired storage nobody is at work on any more.
    fn reclaim(&self, retired: Vec<Retired>) {
        let announced = hazard::look();
        self.shards.own().pool.sort(retired, &announced, self.layout);
    }

    /// Frees every buffer that nothing holds, parts before what they are parts of, and says how many remain. Buffers that
    /// other threads allocate meanwhile may stay.
    ///
    /// Cost: that of freeing them, and some nanoseconds for every index that was ever used.
    #[track_caller]
    pub fn clear(&self) -> u64 {
        let location = Location::caller();
        // Parts may come after or before their buffers; the second turn frees what the first had to leave.
        for _ in 0..2 {
            for index in 1..self.table.end() {
                let slot = self.layout.base(index, 0);
                let base = self.table.pin::<0>(slot).filter(|pinned| pinned.block().is_live());
                let Some(base) = base.map(|pinned| Address::from_raw(pinned.block().base())) else { continue };
                if let Ok(retired) = self.table.unlink(base, FreedAt { location, label: 0 }) {
                    match retired.part_of() {
                        Some(root) => self.retire_part(base, root, retired),
                        None => self.retire(base, retired),
                    }
                }
            }
        }
        self.live_buffers()
    }
}
