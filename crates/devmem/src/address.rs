//! What the bits of a simulated address mean.
//!
//! Owns [`AddressLayout`], the only place where buffer index, generation and offset are packed into an
//! [`Address`] and taken out again. Invariant: arithmetic done through a layout never leaves the buffer
//! (index and generation) it started in; whether the offset is inside the buffer's *length* is for
//! [`Memory`](crate::Memory) to check.

use std::fmt;

use thiserror::Error;

/// The address of a byte in a simulated memory: a number, not a pointer of the host.
///
/// ```
/// use rimms_devmem::Address;
///
/// let first = Address::from_raw(0x0001_0000_0000_0000);
/// assert_eq!(first.to_string(), "0x0001_0000_0000_0000");
/// assert!(Address::NULL.is_null() && !first.is_null());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Address(u64);

impl Address {
    /// The address that no buffer has.
    pub const NULL: Address = Address(0);

    /// The address with these bits; any number may be given, the memory judges it when it is used.
    pub const fn from_raw(bits: u64) -> Self {
        Address(bits)
    }

    /// The bits of the address.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Whether all bits are 0. (Every address with buffer index 0 faults as null when it is used.)
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = [48, 32, 16, 0].map(|shift| self.0 >> shift & 0xffff);
        write!(f, "0x{a:04x}_{b:04x}_{c:04x}_{d:04x}")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The parts of an [`Address`], as [`AddressLayout::decode`] finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Number of the buffer's slot; 0 is null.
    pub index: u64,
    /// Which use of that slot is meant; always 0 in an untagged layout.
    pub generation: u64,
    /// Bytes from the start of the buffer.
    pub offset: u64,
}

/// How an address is split, from the top bit down: buffer index, generation (none in an untagged
/// layout), offset.
///
/// Generation 0 comes first, so the addresses of buffers in slots used for the first time are the same
/// with and without a tag as long as the offset of the tagged layout is not exceeded.
///
/// ```
/// use rimms_devmem::{Address, AddressLayout};
///
/// let layout = AddressLayout::GLOBAL; // [index 16][generation 8][offset 40]
/// let address = layout.encode(1, 2, 0x30).unwrap();
/// assert_eq!(address, Address::from_raw(0x0001_0200_0000_0030));
/// assert_eq!(layout.decode(address).generation, 2);
/// // Arithmetic never walks into another buffer.
/// assert_eq!(layout.offset(address, -0x31), None);
/// assert_eq!(layout.offset(address, 1 << 40), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressLayout {
    index_bits: u32,
    generation_bits: u32,
    /// The bits above the offset, which say which buffer is meant: at hand for arithmetic.
    buffer_bits: u64,
}

/// A layout that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "an address of {index_bits} index and {generation_bits} generation bits: wanted 1 to {most} index bits and at most {} bits of both, so that an offset remains",
    63,
    most = AddressLayout::MAX_INDEX_BITS
)]
pub struct LayoutError {
    /// Index bits asked for.
    pub index_bits: u32,
    /// Generation bits asked for.
    pub generation_bits: u32,
}

impl AddressLayout {
    /// The most index bits a layout may have: slots are numbered by 32-bit integers.
    pub const MAX_INDEX_BITS: u32 = 32;

    /// Global and constant memory: `[index 16][generation 8][offset 40]`.
    pub const GLOBAL: Self = Self::of(16, 8);
    /// Local memory, one for each work-group: `[index 16][generation 8][offset 40]`.
    pub const LOCAL: Self = Self::GLOBAL;
    /// Private memory, one for each work-item: `[index 20][generation 12][offset 32]`.
    pub const PRIVATE: Self = Self::of(20, 12);
    /// Global and constant memory without generations: `[index 16][offset 48]`.
    pub const GLOBAL_UNTAGGED: Self = Self::of(16, 0);
    /// Local memory without generations: `[index 16][offset 48]`.
    pub const LOCAL_UNTAGGED: Self = Self::GLOBAL_UNTAGGED;
    /// Private memory without generations: `[index 32][offset 32]`.
    pub const PRIVATE_UNTAGGED: Self = Self::of(32, 0);

    /// A layout whose addresses carry the generation of their buffer, so that a stale address is told
    /// from that of the slot's next buffer.
    ///
    /// # Errors
    /// [`LayoutError`] when there are no index bits, more than [`MAX_INDEX_BITS`](Self::MAX_INDEX_BITS),
    /// or no bit is left for the offset.
    pub const fn tagged(index_bits: u32, generation_bits: u32) -> Result<Self, LayoutError> {
        if index_bits == 0 || index_bits > Self::MAX_INDEX_BITS || generation_bits > 63 - index_bits {
            return Err(LayoutError { index_bits, generation_bits });
        }
        Ok(Self::of(index_bits, generation_bits))
    }

    /// Of at least 1 and at most 63 bits in all.
    const fn of(index_bits: u32, generation_bits: u32) -> Self {
        Self { index_bits, generation_bits, buffer_bits: !0 << (64 - index_bits - generation_bits) }
    }

    /// A layout of index and offset alone: a stale address becomes valid again when its slot is reused.
    ///
    /// # Errors
    /// As [`tagged`](Self::tagged).
    pub const fn untagged(index_bits: u32) -> Result<Self, LayoutError> {
        Self::tagged(index_bits, 0)
    }

    /// Bits of the buffer index.
    pub const fn index_bits(self) -> u32 {
        self.index_bits
    }

    /// Bits of the generation; 0 in an untagged layout.
    pub const fn generation_bits(self) -> u32 {
        self.generation_bits
    }

    /// Bits of the offset.
    pub const fn offset_bits(self) -> u32 {
        64 - self.index_bits - self.generation_bits
    }

    /// The greatest buffer index, which is also how many buffers can live at once (index 0 is null).
    pub const fn greatest_index(self) -> u64 {
        (1 << self.index_bits) - 1
    }

    /// How many uses of a slot are told apart; 1 in an untagged layout.
    pub const fn generations(self) -> u64 {
        1 << self.generation_bits
    }

    /// Bytes of the greatest buffer.
    pub const fn greatest_buffer(self) -> u64 {
        1 << self.offset_bits()
    }

    /// The address with these parts, or `None` when one of them has more bits than its field.
    pub const fn encode(self, index: u64, generation: u64, offset: u64) -> Option<Address> {
        if index > self.greatest_index() || generation >= self.generations() || offset >= self.greatest_buffer() {
            return None;
        }
        let high = index << self.generation_bits | generation;
        Some(Address(high << self.offset_bits() | offset))
    }

    /// The parts of an address; every address has some.
    #[inline]
    pub const fn decode(self, address: Address) -> Parts {
        let high = address.0 >> self.offset_bits();
        let generation = high & (self.generations() - 1);
        Parts { index: self.index_of(address), generation, offset: self.offset_of(address) }
    }

    /// The address `bytes` further on, or `None` when that is outside the offsets of the same buffer.
    ///
    /// The end of a buffer of the greatest size is such an address: it has no number of its own.
    #[inline]
    pub const fn add(self, address: Address, bytes: u64) -> Option<Address> {
        // Less than a greatest buffer on: the sum does not wrap around to this buffer.
        let sum = address.0.wrapping_add(bytes);
        if (sum ^ address.0 | bytes) & self.buffer_bits == 0 { Some(Address(sum)) } else { None }
    }

    /// The address `delta` bytes away, forwards or backwards, or `None` when that is outside the offsets
    /// of the same buffer.
    pub const fn offset(self, address: Address, delta: i64) -> Option<Address> {
        if delta >= 0 {
            self.add(address, delta.unsigned_abs())
        } else if delta.unsigned_abs() > self.decode(address).offset {
            None
        } else {
            Some(Address(address.0 - delta.unsigned_abs()))
        }
    }

    #[inline]
    pub(crate) const fn index_of(self, address: Address) -> u64 {
        address.0 >> (64 - self.index_bits)
    }

    #[inline]
    pub(crate) const fn offset_of(self, address: Address) -> u64 {
        address.0 & !self.buffer_bits
    }

    /// The address of byte 0 of the buffer in this slot after `previous` others. The index is one of the layout's.
    pub(crate) const fn base(self, index: u64, previous: u64) -> Address {
        let generation = previous & (self.generations() - 1);
        Address((index << self.generation_bits | generation) << self.offset_bits())
    }

    /// The address of byte 0 of the buffer, which also identifies index and generation.
    pub(crate) const fn base_of(self, address: u64) -> u64 {
        address & self.buffer_bits
    }
}

#[cfg(test)]
mod tests;
