//! One simulated memory: its buffers come and go here.
//!
//! Owns [`Memory`], its allocation and its accounting; what is done through addresses is in [`access`] and
//! [`rows`], what was wrong with them in [`judge`]. An allocation takes capacity, index and storage, and gives
//! back what it has when one of them is not to be had.

mod access;
mod judge;
mod rows;

use std::fmt;
use std::panic::Location;

use crate::indices::Indices;
use crate::raw::block::{Retired, Storage};
use crate::raw::hazard;
use crate::raw::pool;
use crate::raw::table::Table;
use crate::shards::Shards;
use crate::{Address, AddressLayout, AddressSpace, Fault, Flags, FreedAt, Init};

/// A simulated memory: buffers that are reached through checked addresses.
///
/// All methods take `&self` and may be called from any number of threads at once. Whatever address, size or
/// alignment they are given, they either do what they say or return a [`Fault`] and do nothing. Racing loads,
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
}

impl Memory {
    /// An empty memory, limited by its layout and by what the host has.
    pub fn new(space: AddressSpace, layout: AddressLayout) -> Self {
        Memory {
            space,
            layout,
            table: Table::new(layout),
            indices: Indices::new(layout),
            shards: Shards::new(space, u64::MAX),
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
        let bytes = self.size_on_host(size, init)?;
        let mut shard = self.shards.own();
        if !self.shards.reserve(&mut shard, size) {
            drop(shard);
            let (space, capacity) = (self.space, self.capacity());
            let refuse = |free| Fault::OutOfMemory { space, wanted: size, free, capacity };
            self.shards.reserve_from_all(size).map_err(refuse)?;
            shard = self.shards.own();
        }
        shard.live += 1;
        let (index, storage) = (shard.indices.pop_front(), shard.pool.take(bytes));
        drop(shard);
        let storage = storage.or_else(|| Storage::from_host(pool::room_for(bytes)));
        self.place(index, storage, bytes, flags, init).inspect_err(|_| {
            let mut shard = self.shards.own();
            shard.live -= 1;
            self.shards.release(&mut shard, size);
        })
    }

    /// The size, if such a buffer can be.
    fn size_on_host(&self, size: u64, init: Init<'_>) -> Result<usize, Fault> {
        let (space, greatest) = (self.space, self.layout.greatest_buffer());
        if size > greatest {
            return Err(Fault::TooBig { space, wanted: size, greatest });
        }
        if let Init::Bytes(bytes) = init
            && bytes.len() as u64 != size
        {
            return Err(Fault::WrongSize { space, wanted: size, found: bytes.len() as u64 });
        }
        usize::try_from(size).map_err(|_| Fault::HostOutOfMemory { space, wanted: size })
    }

    /// Makes `storage` the buffer with this index, or with another if it has none.
    fn place(
        &self,
        index: Option<u32>,
        storage: Option<Storage>,
        bytes: usize,
        flags: Flags,
        init: Init<'_>,
    ) -> Result<Address, Fault> {
        let out_of_memory = Fault::HostOutOfMemory { space: self.space, wanted: bytes as u64 };
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
        let address = self.layout.base(index.into(), slot.count_use() - 1);
        let flags = if self.space == AddressSpace::Constant { Flags::READ_ONLY } else { flags };
        storage.prepare(address.raw(), bytes, flags, init);
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
    /// [`Fault::BadFree`]: null, never allocated, free already, or not the start of a buffer.
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
        let Some(retired) = self.table.unlink(address, freed) else {
            return Err(self.judge_free(address));
        };
        let index = self.layout.index_of(address) as u32;
        let used_up = self.table.slot(address).is_some_and(|slot| self.indices.is_used_up(slot.uses()));
        if used_up {
            self.indices.rest(index);
        }
        let mut shard = self.shards.own();
        self.shards.release(&mut shard, retired.length());
        shard.live -= 1;
        if !used_up {
            shard.indices.push_back(index);
        }
        let due = shard.pool.retire(retired);
        drop(shard);
        due.into_iter().for_each(|retired| self.reclaim(retired));
        Ok(())
    }

    /// Sorts out which retired storage nobody is at work on any more.
    fn reclaim(&self, retired: Vec<Retired>) {
        let announced = hazard::look();
        self.shards.own().pool.sort(retired, &announced, self.layout);
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
