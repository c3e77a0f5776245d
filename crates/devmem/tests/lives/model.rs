//! The naive oracle of the lives of buffers: every buffer there ever was in a list, bytes in lists of their own.

use std::collections::HashMap;

use rimms_devmem::{Address, AddressLayout, Flags, Lifecycle};

/// What a refusal was for, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum No {
    Freed,
    Out,
    Flags,
    Misaligned,
    NotMapped,
    HeldByMapping,
    HeldByKernel,
    HeldByPart,
    FreedTwice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) buffer: usize,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) flags: Flags,
}

pub(crate) struct Buffer {
    pub(crate) address: Address,
    /// Which of the lists of bytes, and where in it.
    bytes: usize,
    origin: u64,
    pub(crate) length: u64,
    flags: Flags,
    live: bool,
    kernels: u64,
    /// The buffer that the bytes belong to, where that is another.
    root: Option<usize>,
    parts: u64,
}

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) buffers: Vec<Buffer>,
    bytes: Vec<Vec<u8>>,
    /// By number of mapping: what it is while it is.
    pub(crate) regions: HashMap<usize, Region>,
    next_region: usize,
    /// The last buffer of each index.
    last_of_index: HashMap<u64, usize>,
}

type Answer<T> = Result<T, No>;

impl Model {
    fn enter(&mut self, layout: AddressLayout, buffer: Buffer) -> usize {
        self.last_of_index.insert(layout.decode(buffer.address).index, self.buffers.len());
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    pub(crate) fn allocate(&mut self, layout: AddressLayout, address: Address, bytes: Vec<u8>, flags: Flags) -> usize {
        let length = bytes.len() as u64;
        self.bytes.push(bytes);
        let bytes = self.bytes.len() - 1;
        let buffer = Buffer { address, bytes, origin: 0, length, flags, live: true, kernels: 0, root: None, parts: 0 };
        self.enter(layout, buffer)
    }

    /// Whether such a part may be.
    pub(crate) fn may_lend(&self, parent: usize, origin: u64, size: u64) -> Answer<()> {
        let parent = self.live(parent)?;
        if origin + size > parent.length {
            return Err(No::Out);
        }
        if !origin.is_multiple_of(16) { Err(No::Misaligned) } else { Ok(()) }
    }

    pub(crate) fn lend(
        &mut self,
        layout: AddressLayout,
        address: Address,
        parent: usize,
        at: (u64, u64),
        flags: Flags,
    ) {
        let root = self.buffers[parent].root.unwrap_or(parent);
        let (bytes, origin) = (self.buffers[parent].bytes, self.buffers[parent].origin + at.0);
        self.buffers[root].parts += 1;
        let root = Some(root);
        self.enter(
            layout,
            Buffer { address, bytes, origin, length: at.1, flags, live: true, kernels: 0, root, parts: 0 },
        );
    }

    fn live(&self, buffer: usize) -> Answer<&Buffer> {
        Some(&self.buffers[buffer]).filter(|buffer| buffer.live).ok_or(No::Freed)
    }

    fn is_mapped(&self, buffer: usize) -> bool {
        self.regions.values().any(|region| region.buffer == buffer)
    }

    pub(crate) fn free(&mut self, number: usize) -> Answer<()> {
        let buffer = self.live(number).map_err(|_| No::FreedTwice)?;
        if self.is_mapped(number) {
            return Err(No::HeldByMapping);
        }
        if buffer.kernels > 0 {
            return Err(No::HeldByKernel);
        }
        if buffer.parts > 0 {
            return Err(No::HeldByPart);
        }
        if let Some(root) = buffer.root {
            self.buffers[root].parts -= 1;
        }
        self.buffers[number].live = false;
        Ok(())
    }

    /// Frees all that can be, parts first; how many remain.
    pub(crate) fn clear(&mut self) -> u64 {
        for parts in [true, false] {
            for number in 0..self.buffers.len() {
                if self.buffers[number].root.is_some() == parts {
                    let _ = self.free(number);
                }
            }
        }
        self.live_buffers()
    }

    pub(crate) fn live_buffers(&self) -> u64 {
        self.buffers.iter().filter(|buffer| buffer.live).count() as u64
    }

    pub(crate) fn charged(&self) -> u64 {
        self.buffers.iter().filter(|buffer| buffer.live && buffer.root.is_none()).map(|buffer| buffer.length).sum()
    }

    pub(crate) fn hold(&mut self, buffer: usize) -> Answer<()> {
        self.live(buffer)?;
        self.buffers[buffer].kernels += 1;
        Ok(())
    }

    pub(crate) fn release(&mut self, buffer: usize) {
        self.buffers[buffer].kernels -= 1;
    }

    pub(crate) fn map(&mut self, buffer: usize, offset: u64, size: u64, flags: Flags) -> Answer<usize> {
        let of = self.live(buffer)?;
        if offset + size > of.length {
            return Err(No::Out);
        }
        if flags.readable() && !of.flags.readable() || flags.writable() && !of.flags.writable() {
            return Err(No::Flags);
        }
        self.regions.insert(self.next_region, Region { buffer, offset, size, flags });
        self.next_region += 1;
        Ok(self.next_region - 1)
    }

    pub(crate) fn unmap(&mut self, region: usize) -> Answer<()> {
        self.regions.remove(&region).map(drop).ok_or(No::NotMapped)
    }

    /// The bytes of a range, for reading or for writing.
    pub(crate) fn range(&mut self, buffer: usize, offset: u64, size: u64, write: bool) -> Answer<&mut [u8]> {
        let of = self.live(buffer)?;
        if offset + size > of.length {
            return Err(No::Out);
        }
        if if write { !of.flags.writable() } else { !of.flags.readable() } {
            return Err(No::Flags);
        }
        let (bytes, at) = (of.bytes, (of.origin + offset) as usize);
        Ok(&mut self.bytes[bytes][at..at + size as usize])
    }

    pub(crate) fn mapped(&mut self, region: usize, at: u64, size: u64, write: bool) -> Answer<&mut [u8]> {
        let region = *self.regions.get(&region).ok_or(No::NotMapped)?;
        if at + size > region.size {
            return Err(No::Out);
        }
        if if write { !region.flags.writable() } else { !region.flags.readable() } {
            return Err(No::Flags);
        }
        self.range(region.buffer, region.offset + at, size, write)
    }

    pub(crate) fn lifecycle(&self, layout: AddressLayout, number: usize) -> Lifecycle {
        let buffer = &self.buffers[number];
        let last = self.last_of_index[&layout.decode(buffer.address).index];
        match buffer.live {
            true if self.is_mapped(number) => Lifecycle::Mapped,
            true if buffer.kernels > 0 || buffer.parts > 0 => Lifecycle::InUse,
            true => Lifecycle::Allocated,
            false if last != number && self.buffers[last].live => Lifecycle::Recycled,
            false => Lifecycle::Freed,
        }
    }
}
