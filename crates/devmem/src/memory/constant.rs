//! Constant memory as a view: the buffers of another memory, which can only be read through it.

use bytemuck::Pod;

use super::Memory;
use crate::{Access, Address, AddressLayout, AddressSpace, Fault};

/// The constant address space of a device: a read-only view of its global memory.
///
/// Addresses are those of the memory behind it. Faults name the constant space.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
///
/// let global = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let table = global.allocate(4, Flags::READ_WRITE, Init::Bytes(b"pi=3"))?;
/// let constant = global.constant();
/// assert_eq!(constant.load_value::<[u8; 4]>(table)?, *b"pi=3");
/// let fault = constant.store(table, b"pi=4").unwrap_err();
/// assert_eq!(
///     fault.to_string(),
///     "write of 4 bytes at constant 0x0001_0000_0000_0000 (buffer 1, offset 0): the buffer is read-only"
/// );
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Constant<'a>(&'a Memory);

impl Memory {
    /// This memory as constant memory.
    pub fn constant(&self) -> Constant<'_> {
        Constant(self)
    }
}

impl Constant<'_> {
    /// How addresses are made.
    pub fn layout(&self) -> AddressLayout {
        self.0.layout
    }

    /// As [`Memory::load`].
    ///
    /// # Errors
    /// As [`Memory::load`].
    pub fn load(&self, address: Address, into: &mut [u8]) -> Result<(), Fault> {
        self.0.load(address, into).map_err(as_constant)
    }

    /// As [`Memory::load_value`].
    ///
    /// # Errors
    /// As [`Memory::load_value`].
    pub fn load_value<T: Pod>(&self, address: Address) -> Result<T, Fault> {
        self.0.load_value(address).map_err(as_constant)
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always: the [`Fault`] that a read of those bytes would have, or else [`Fault::ReadOnly`].
    pub fn store(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        self.check(address, from.len() as u64, Access::Write)
    }

    /// As [`Memory::check`]; writes and frees are refused.
    ///
    /// # Errors
    /// The [`Fault`] that the access would have.
    pub fn check(&self, address: Address, size: u64, access: Access) -> Result<(), Fault> {
        let mut place = self.0.place_of(address, size, access);
        place.space = AddressSpace::Constant;
        match self.0.check(address, size, Access::Read) {
            Ok(()) | Err(Fault::WriteOnly { .. }) if access != Access::Read => Err(Fault::ReadOnly { place }),
            Err(fault) => Err(fault.at(place)),
            Ok(()) => Ok(()),
        }
    }
}

pub(crate) fn as_constant(fault: Fault) -> Fault {
    match fault.place() {
        Some(place) => fault.at(crate::Place { space: AddressSpace::Constant, ..*place }),
        None => fault,
    }
}
