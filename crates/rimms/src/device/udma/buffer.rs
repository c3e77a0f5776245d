//! One DMA buffer: memory that the CPU and accelerators share, in one piece for both.

use super::UdmaError;
use super::maintenance::{Direction, Maintenance, Side};
use super::mapping::Mapping;
use std::fmt;
use std::io;
use std::ops::Range;

/// A buffer in physical memory, mapped for the CPU. Opened by [`UdmaRoot::open`](super::UdmaRoot::open).
///
/// It is divided by a marking system, and kept coherent, by [`Udma`](super::Udma): its bytes are not for anybody else.
pub struct DmaBuffer {
    name: Box<str>,
    pub(super) mapping: Mapping,
    physical: u64,
    /// None where the hardware sees to it, or the CPU has no caches in between.
    maintenance: Option<Box<dyn Maintenance>>,
}

impl DmaBuffer {
    pub(super) fn new(name: &str, mapping: Mapping, physical: u64) -> Self {
        Self { name: name.into(), mapping, physical, maintenance: None }
    }

    /// The same, with its caches maintained so.
    #[must_use]
    pub fn maintained(self, maintenance: impl Maintenance + 'static) -> Self {
        Self { maintenance: Some(Box::new(maintenance)), ..self }
    }

    /// Its name, such as `udmabuf0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.mapping.bytes() as u64
    }

    /// Where it begins for devices.
    pub fn physical(&self) -> u64 {
        self.physical
    }

    /// Do its caches have to be maintained?
    pub fn is_maintained(&self) -> bool {
        self.maintenance.is_some()
    }

    /// Where physical address `physical` is in it, if it and `bytes` more are.
    pub(super) fn offset_of(&self, physical: u64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(physical.checked_sub(self.physical)?).ok()?;
        (offset.checked_add(bytes)? <= self.mapping.bytes()).then_some(offset)
    }

    /// Where the CPU's address `address` is in it, if it and `bytes` more are.
    pub(super) fn offset_of_mapped(&self, address: u64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(address).ok()?.checked_sub(self.mapping.address())?;
        (offset.checked_add(bytes)? <= self.mapping.bytes()).then_some(offset)
    }

    pub(super) fn maintain(&self, next: Side, direction: Direction, range: Range<usize>) -> io::Result<()> {
        match &self.maintenance {
            Some(maintenance) => maintenance.maintain(next, direction, range.start as u64..range.end as u64),
            None => Ok(()),
        }
    }

    /// What goes wrong if this is not one.
    pub(super) fn check(&self) -> Result<(), UdmaError> {
        match self.physical.checked_add(self.bytes()) {
            Some(_) => Ok(()),
            None => Err(UdmaError::Odd {
                what: self.name.clone(),
                why: format!("{} bytes at {:#x} reach beyond all addresses", self.bytes(), self.physical).into(),
            }),
        }
    }
}

impl fmt::Debug for DmaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bytes at {:#x}", self.name, self.bytes(), self.physical)
    }
}
