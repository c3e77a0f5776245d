//! Pinned host memory that copies in go through, so that nobody waits for them.
//!
//! Owns [`Staging`]: a few slots that are made on first use. The bytes of a
//! copy are put into the slot that was used longest ago, once the command
//! that used it is over, and the device takes them from there in its own time.
//! No more memory than the slots is ever taken; what is larger than a slot goes through several, one
//! after the other, or, where host and device share memory, straight.
#![allow(unsafe_code)]

use super::driver::Driver;
use super::queue::{At, Mapped};
use super::raw::{Event, Result};

/// Bytes of a slot, and how many there are.
const SLOT: usize = 256 << 10;
const SLOTS: usize = 8;

#[derive(Debug)]
struct Slot {
    memory: Mapped,
    /// The command that uses it.
    user: Option<Event>,
}

/// The slots, in the order in which they will be used.
#[derive(Debug, Default)]
pub(super) struct Staging {
    slots: Vec<Slot>,
    next: usize,
}

impl Staging {
    /// Host → device, in the order of the queue. Returns when the bytes may be changed.
    pub(super) fn write(&mut self, driver: &Driver, bytes: &[u8], to: At<'_>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.len() > SLOT && driver.facts.is_unified {
            return driver.queue.write(bytes, to);
        }
        for (i, part) in bytes.chunks(SLOT).enumerate() {
            let to = At { offset: to.offset + i * SLOT, ..to };
            // Without room for a slot there is still the way that waits.
            let Ok(slot) = self.slot(driver) else {
                driver.queue.write(part, to)?;
                continue;
            };
            let staged = slot.memory.bytes();
            let Some(room) = staged.get_mut(..part.len()) else { continue };
            room.copy_from_slice(part);
            // SAFETY: the slot's bytes stay as they are until its user is over: `slot` waits for that.
            slot.user = Some(unsafe { driver.queue.write_later(room, to) }?);
        }
        Ok(())
    }

    /// A slot that nobody uses.
    fn slot(&mut self, driver: &Driver) -> Result<&mut Slot> {
        if self.slots.len() < SLOTS && self.slots.iter().all(|slot| slot.is_in_use()) {
            self.slots.push(Slot { memory: Mapped::new(&driver.context, &driver.queue, SLOT)?, user: None });
            self.next = self.slots.len() - 1;
        }
        let at = self.next % self.slots.len().max(1);
        self.next = at + 1;
        let slot = self.slots.get_mut(at).ok_or(super::raw::Code(cl3::error_codes::CL_OUT_OF_HOST_MEMORY))?;
        if let Some(user) = slot.user.take() {
            user.wait()?;
        }
        Ok(slot)
    }
}

impl Slot {
    fn is_in_use(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.outcome().is_none())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(user) = self.user.take() {
            let _ = user.wait();
        }
    }
}
