//! The naive oracle: a memory as lists of bytes, with one thread in mind and no thought for speed.

use std::collections::VecDeque;

use rimms_devmem::{Access, Address, AddressLayout, AddressSpace, BadFree, Fault, Flags, FreedAt, Init, Place};

pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    flags: Flags,
}

/// What was in an index, generation after generation since the last restart.
#[derive(Default)]
struct Index {
    uses: u64,
    live: Option<Buffer>,
    last_freed: Option<(u64, FreedAt)>,
}

pub(crate) struct Model {
    space: AddressSpace,
    layout: AddressLayout,
    capacity: u64,
    indices: Vec<Index>,
    free: VecDeque<u64>,
    rested: VecDeque<u64>,
    pub(crate) restarts: u64,
}

impl Model {
    pub(crate) fn new(space: AddressSpace, layout: AddressLayout, capacity: u64) -> Self {
        let null = Index::default();
        let (free, rested) = (VecDeque::new(), VecDeque::new());
        Model { space, layout, capacity, indices: vec![null], free, rested, restarts: 0 }
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (Address, &Buffer)> {
        let address = |(i, index): (usize, &Index)| {
            let generation = (index.uses.max(1) - 1) % self.layout.generations();
            self.layout.encode(i as u64, generation, 0).unwrap()
        };
        let all = self.indices.iter().enumerate();
        all.filter_map(move |(i, index)| Some((address((i, index)), index.live.as_ref()?)))
    }

    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.live().map(|(_, buffer)| buffer.bytes.len() as u64).sum()
    }

    pub(crate) fn allocate(&mut self, size: u64, flags: Flags, init: Init<'_>) -> Result<Address, Fault> {
        let space = self.space;
        if size > self.layout.greatest_buffer() {
            return Err(Fault::TooBig { space, wanted: size, greatest: self.layout.greatest_buffer() });
        }
        if let Init::Bytes(bytes) = init
            && bytes.len() as u64 != size
        {
            return Err(Fault::WrongSize { space, wanted: size, found: bytes.len() as u64 });
        }
        let free = self.capacity - self.allocated_bytes();
        if size > free {
            return Err(Fault::OutOfMemory { space, wanted: size, free, capacity: self.capacity });
        }
        let i = if let Some(i) = self.free.pop_front() {
            i
        } else if self.indices.len() as u64 <= self.layout.greatest_index() {
            self.indices.push(Index::default());
            self.indices.len() as u64 - 1
        } else if let Some(i) = self.rested.pop_front() {
            self.restarts += 1;
            i
        } else {
            return Err(Fault::IndicesUsedUp { space, indices: self.layout.greatest_index() });
        };
        let bytes = match init {
            Init::Zeroed => vec![0; size as usize],
            Init::Poison(byte) => vec![byte; size as usize],
            Init::Bytes(bytes) => bytes.to_vec(),
        };
        let flags = if space == AddressSpace::Constant { Flags::READ_ONLY } else { flags };
        let index = &mut self.indices[i as usize];
        index.live = Some(Buffer { bytes, flags });
        index.uses += 1;
        Ok(self.layout.encode(i, (index.uses - 1) % self.layout.generations(), 0).unwrap())
    }

    pub(crate) fn deallocate(&mut self, address: Address, freed: FreedAt) -> Result<(), Fault> {
        let place = self.place(address, 0, Access::Free);
        let bad = |reason| Err(Fault::BadFree { place, reason });
        match self.find(address, 0, Access::Free) {
            Err(Fault::Null { .. }) => return bad(BadFree::Null),
            Err(Fault::Freed { freed, .. }) => return bad(BadFree::Twice(freed)),
            Err(_) => return bad(BadFree::NeverAllocated),
            Ok(_) if place.offset != 0 => return bad(BadFree::Inside),
            Ok(_) => {}
        }
        let index = &mut self.indices[place.index as usize];
        index.live = None;
        index.last_freed = Some((index.uses, freed));
        let used_up = self.layout.generation_bits() > 0 && index.uses.is_multiple_of(self.layout.generations());
        if used_up { &mut self.rested } else { &mut self.free }.push_back(place.index);
        Ok(())
    }

    /// The bytes of a range that may be accessed so.
    pub(crate) fn range(
        &mut self,
        address: Address,
        size: u64,
        alignment: u64,
        access: Access,
    ) -> Result<&mut [u8], Fault> {
        let place = self.place(address, size, access);
        let buffer = self.find(address, size, access)?;
        let length = buffer.bytes.len() as u64;
        let end = u128::from(place.offset) + u128::from(size);
        if end > u128::from(u64::MAX) {
            return Err(Fault::Overflow { place });
        }
        if end > u128::from(length) {
            return Err(Fault::OutOfBounds { place, length, beyond: end as u64 - length });
        }
        match access {
            Access::Read | Access::Atomic if buffer.flags == Flags::WRITE_ONLY => {
                return Err(Fault::WriteOnly { place });
            }
            Access::Write | Access::Atomic if buffer.flags == Flags::READ_ONLY => {
                return Err(Fault::ReadOnly { place });
            }
            _ if !place.offset.is_multiple_of(alignment) => return Err(Fault::Misaligned { place, alignment }),
            _ => {}
        }
        Ok(&mut buffer.bytes[place.offset as usize..end as usize])
    }

    fn place(&self, address: Address, size: u64, access: Access) -> Place {
        let parts = self.layout.decode(address);
        let (index, generation, offset) = (parts.index, parts.generation, parts.offset);
        Place { space: self.space, address, index, generation, offset, size, access }
    }

    fn find(&mut self, address: Address, size: u64, access: Access) -> Result<&mut Buffer, Fault> {
        let place = self.place(address, size, access);
        let generations = self.layout.generations();
        if place.index == 0 {
            return Err(Fault::Null { place });
        }
        let Some(index) = self.indices.get_mut(place.index as usize) else {
            return Err(Fault::NeverAllocated { place });
        };
        // The numbers of the uses that had this generation.
        let mut uses = (1..=index.uses).filter(|using| (using - 1) % generations == place.generation);
        let Some(last) = uses.next_back() else {
            return Err(Fault::NeverAllocated { place });
        };
        match &mut index.live {
            Some(buffer) if last == index.uses => Ok(buffer),
            _ => {
                let freed = index.last_freed.filter(|(using, _)| *using == last).map(|(_, freed)| freed);
                Err(Fault::Freed { place, freed })
            }
        }
    }
}
