//! Buffers come and go, and are given to the host: each told to the observer.

use super::View;
use crate::observe::{Allocated, Contents, Data, Observer};
use crate::{Access, Address, Fault, Flags, HostBytes, Init, Mapping};

impl<O: Observer> View<'_, O> {
    /// A new buffer, as [`Memory::allocate`](crate::Memory::allocate).
    ///
    /// # Errors
    /// As [`Memory::allocate`](crate::Memory::allocate).
    pub fn allocate(&self, size: u64, flags: Flags, init: Init<'_>) -> Result<Address, Fault> {
        self.tell_allocated(self.memory.allocate(size, flags, init), size, flags, Contents::Own(init))
    }

    /// A new buffer with a name, as [`Memory::allocate_named`](crate::Memory::allocate_named).
    ///
    /// # Errors
    /// As [`Memory::allocate_named`](crate::Memory::allocate_named).
    pub fn allocate_named(&self, name: &str, size: u64, flags: Flags, init: Init<'_>) -> Result<Address, Fault> {
        self.tell_allocated(self.memory.allocate_named(name, size, flags, init), size, flags, Contents::Own(init))
    }

    /// A buffer of the host's bytes, as [`Memory::allocate_host`](crate::Memory::allocate_host).
    ///
    /// # Errors
    /// As [`Memory::allocate_host`](crate::Memory::allocate_host).
    pub fn allocate_host(&self, bytes: &HostBytes, flags: Flags) -> Result<Address, Fault> {
        self.tell_allocated(self.memory.allocate_host(bytes, flags), bytes.len(), flags, Contents::Host(bytes))
    }

    /// A part of a buffer as a buffer, as [`Memory::sub_buffer`](crate::Memory::sub_buffer).
    ///
    /// # Errors
    /// As [`Memory::sub_buffer`](crate::Memory::sub_buffer).
    pub fn sub_buffer(&self, parent: Address, origin: u64, size: u64, flags: Flags) -> Result<Address, Fault> {
        let part = self.memory.sub_buffer(parent, origin, size, flags);
        let root = self.memory.layout().add(parent, origin).unwrap_or(parent);
        self.tell_allocated(part, size, flags, Contents::Part(root))
    }

    fn tell_allocated(
        &self,
        result: Result<Address, Fault>,
        size: u64,
        flags: Flags,
        contents: Contents<'_>,
    ) -> Result<Address, Fault> {
        let Self { who, memory, .. } = *self;
        match &result {
            Ok(address) => {
                let buffer = Allocated { who, memory, address: *address, size, flags, contents };
                self.observer.allocated(self.at(), &buffer);
            }
            Err(fault) => self.observer.refused(self.at(), who, memory, fault),
        }
        result
    }

    /// Frees a buffer, as [`Memory::deallocate`](crate::Memory::deallocate).
    ///
    /// # Errors
    /// As [`Memory::deallocate`](crate::Memory::deallocate).
    #[track_caller]
    pub fn deallocate(&self, address: Address) -> Result<(), Fault> {
        let result = self.memory.deallocate(address);
        match &result {
            Ok(()) => self.observer.deallocated(self.at(), self.who, self.memory, address),
            Err(fault) => self.observer.refused(self.at(), self.who, self.memory, fault),
        }
        result
    }

    /// Gives the host a region, as [`Memory::map`](crate::Memory::map).
    ///
    /// # Errors
    /// As [`Memory::map`](crate::Memory::map).
    pub fn map(&self, address: Address, offset: u64, size: u64, flags: Flags) -> Result<Mapping, Fault> {
        let result = self.memory.map(address, offset, size, flags);
        match &result {
            Ok(mapping) => self.observer.mapped(self.at(), self.who, self.memory, mapping),
            Err(fault) => self.observer.refused(self.at(), self.who, self.memory, fault),
        }
        result
    }

    /// Takes a region back from the host, as [`Memory::unmap`](crate::Memory::unmap).
    ///
    /// # Errors
    /// As [`Memory::unmap`](crate::Memory::unmap).
    pub fn unmap(&self, mapping: &Mapping) -> Result<(), Fault> {
        let result = self.memory.unmap(mapping);
        match &result {
            Ok(()) => self.observer.unmapped(self.at(), self.who, self.memory, mapping),
            Err(fault) => self.observer.refused(self.at(), self.who, self.memory, fault),
        }
        result
    }

    /// Copies bytes of a mapped region, as [`Memory::load_mapped`](crate::Memory::load_mapped).
    ///
    /// # Errors
    /// As [`Memory::load_mapped`](crate::Memory::load_mapped).
    pub fn load_mapped(&self, mapping: &Mapping, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        let result = self.memory.in_mapping(mapping, at, into.len() as u64, Access::Read);
        let result = result.and_then(|address| Ok((address, self.memory.load_at(address, into)?)));
        let address = self.mapped_address(mapping, at);
        self.observer.load(self.at(), &self.event(address, into.len(), result.as_ref().map(|(_, root)| *root)));
        result.map(drop)
    }

    /// Stores to bytes of a mapped region, as [`Memory::store_mapped`](crate::Memory::store_mapped).
    ///
    /// # Errors
    /// As [`Memory::store_mapped`](crate::Memory::store_mapped).
    pub fn store_mapped(&self, mapping: &Mapping, at: u64, from: &[u8]) -> Result<(), Fault> {
        let result = self.memory.in_mapping(mapping, at, from.len() as u64, Access::Write);
        let result = result.and_then(|address| self.memory.store_at::<false>(address, from));
        self.tell_store(self.mapped_address(mapping, at), from.len(), &result, Data::Bytes(from));
        result.map(drop)
    }

    fn mapped_address(&self, mapping: &Mapping, at: u64) -> Address {
        let offset = mapping.offset().checked_add(at);
        offset.and_then(|offset| self.memory.layout().add(mapping.buffer(), offset)).unwrap_or(mapping.buffer())
    }
}
