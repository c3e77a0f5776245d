//! The operands of one launch as buffers of their own.
//!
//! Owns [`Parts`]. A block is a place in the device's one buffer; a kernel that is watched, or that is written for
//! work-items, gets a part of it with the operand's bounds, role and name, so that what is wrong is told of the operand. Parts
//! are freed when the launch has ended: an address kept from it is stale.

use super::memory::{SimMemory, fault, of_memory};
use crate::device::{DeviceError, DeviceInfo, Operand, Operation};
use crate::op::{Call, Part, Role};
use rimms_devmem::{Address, Fault, Flags, Memory};
use std::ops::Deref;

pub(super) struct Parts<'a> {
    memory: &'a SimMemory,
    parts: Vec<Part>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(
        info: &DeviceInfo,
        memory: &'a SimMemory,
        call: &Call,
        operands: &[Operand<'_>],
    ) -> Result<Self, DeviceError> {
        // Made one by one, so that those there are already are freed where one fails.
        let mut made = Self { memory, parts: Vec::with_capacity(operands.len()) };
        for (i, operand) in operands.iter().enumerate() {
            let part = made.part(operand).map_err(|e| fault(info, Operation::Launch, &e))?;
            made.parts.push(part);
            let mut name = own_name(call, i).map_or_else(|| format!("operand {i} of {}", call.name()), str::to_owned);
            // Offsets count from where the buffer begins.
            match part.address.raw() - part.buffer.raw() {
                0 => {}
                before => name += &format!(", which begins at {before}"),
            }
            memory.device().memory().set_name(part.buffer, &name);
        }
        Ok(made)
    }

    fn part(&self, operand: &Operand<'_>) -> Result<Part, Fault> {
        let (span, base) = (operand.span(), self.memory.base().raw());
        let view = self.memory.device().host();
        // A part begins at a multiple of what types may be aligned to; the operand a few bytes behind that, if need be.
        let offset = span.address.wrapping_sub(base);
        let before = offset % Memory::SUB_BUFFER_ALIGN;
        let flags = if operand.role() == Role::In { Flags::READ_ONLY } else { Flags::READ_WRITE };
        let size = before + span.rows.extent() as u64;
        let buffer = view.sub_buffer(self.memory.base(), offset - before, size, flags)?;
        Ok(Part { buffer, address: Address::from_raw(buffer.raw() + before), rows: of_memory(&span.rows) })
    }

    /// Poisons what is only written: nothing that was there before is read. Who reads what the call has not written, later,
    /// is told whose output it was.
    pub(super) fn forget_outputs(&self, call: &Call, operands: &[Operand<'_>]) -> Result<(), Fault> {
        let outputs = self.parts.iter().zip(operands).enumerate().filter(|(_, (_, o))| o.role() == Role::Out);
        for (i, (part, operand)) in outputs {
            let name = match own_name(call, i) {
                Some(own) => format!("{own} of {}", call.name()),
                None => format!("operand {i} of {}", call.name()),
            };
            let rows = &operand.span().rows;
            let (count, bytes) = if rows.is_run() { (1, rows.bytes()) } else { (rows.rows, rows.row_bytes) };
            for row in 0..count {
                let at = part.address.raw() + (row * rows.pitch) as u64;
                self.memory.forget(Address::from_raw(at), bytes as u64, Some(&name))?;
            }
        }
        Ok(())
    }
}

/// The name that the operand was given where the op was made.
fn own_name(call: &Call, operand: usize) -> Option<&str> {
    if let Call::User(user) = call { user.op().operand_name(operand) } else { None }
}

impl Deref for Parts<'_> {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        &self.parts
    }
}

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        for part in &self.parts {
            // Only what a kernel has forgotten to let go of stays.
            let _ = self.memory.device().host().deallocate(part.buffer);
        }
    }
}
