//! Pinned host memory that copies go through, so that nobody waits for those in, and the device has a fast way out.
//!
//! Owns [`Staging`], one for each direction and queue: a few slots that are made on first use. The bytes of a
//! copy in are put into the slot that was used longest ago, once the command
//! that used it is over, and the device takes them from there in its own time. A copy out fills one slot while another
//! is emptied.
//! No more memory than the slots is ever taken; what is larger than a slot goes through several, one
//! after the other, or, where host and device share memory, straight; and so does what comes out there.
#![allow(unsafe_code)]

use super::commands::{At, Mapped};
use super::driver::Driver;
use super::queue::Queue;
use super::raw::Result;
use std::collections::VecDeque;

/// Bytes of a slot, and how many there are.
const SLOT: usize = 256 << 10;
const SLOTS: usize = 8;
/// Slots that a copy out has filled at once.
const FILLING: usize = 2;

#[derive(Debug)]
struct Slot {
    memory: Mapped,
    /// The last command that used it.
    user: u64,
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
            let Ok(at) = self.next(driver, &driver.queue) else {
                driver.queue.write(part, to)?;
                continue;
            };
            let Some(slot) = self.slots.get_mut(at) else { continue };
            let Some(room) = slot.memory.bytes().get_mut(..part.len()) else { continue };
            room.copy_from_slice(part);
            // SAFETY: the slot's bytes stay as they are until its user is over: `next` waits for that.
            slot.user = unsafe { driver.queue.write_later(room, to) }?;
        }
        Ok(())
    }

    /// Device → host, by this queue. Returns when the bytes are there.
    pub(super) fn read(&mut self, driver: &Driver, queue: &Queue, from: At<'_>, bytes: &mut [u8]) -> Result<()> {
        if driver.facts.is_unified {
            return queue.read(from, bytes);
        }
        let mut filling: VecDeque<(usize, &mut [u8])> = VecDeque::with_capacity(FILLING);
        for (i, part) in bytes.chunks_mut(SLOT).enumerate() {
            let from = At { offset: from.offset + i * SLOT, ..from };
            while filling.len() >= FILLING.min(self.slots.len().max(1)) {
                self.empty(queue, filling.pop_front())?;
            }
            let Ok(at) = self.next(driver, queue) else {
                queue.read(from, part)?;
                continue;
            };
            let Some(slot) = self.slots.get_mut(at) else { continue };
            let Some(room) = slot.memory.bytes().get_mut(..part.len()) else { continue };
            // SAFETY: the slot is nobody else's until its user is over: `empty` waits for that, or whoever takes it next.
            slot.user = unsafe { queue.read_later(from, room) }?;
            queue.flush()?;
            filling.push_back((at, part));
        }
        filling.into_iter().try_for_each(|part| self.empty(queue, Some(part)))
    }

    /// Takes what a slot was filled with.
    fn empty(&mut self, queue: &Queue, filled: Option<(usize, &mut [u8])>) -> Result<()> {
        let Some((at, part)) = filled else { return Ok(()) };
        let Some(slot) = self.slots.get_mut(at) else { return Ok(()) };
        queue.wait(slot.user)?;
        if let Some(room) = slot.memory.bytes().get(..part.len()) {
            part.copy_from_slice(room);
        }
        Ok(())
    }

    /// A slot that no command uses.
    fn next(&mut self, driver: &Driver, queue: &Queue) -> Result<usize> {
        if self.slots.len() < SLOTS && self.slots.iter().all(|slot| !queue.is_over(slot.user)) {
            let made = Mapped::new(&driver.context, queue, SLOT);
            match made {
                Ok(memory) => {
                    self.next = self.slots.len();
                    self.slots.push(Slot { memory, user: 0 });
                }
                Err(code) if self.slots.is_empty() => return Err(code),
                Err(_) => {}
            }
        }
        let at = self.next % self.slots.len().max(1);
        self.next = at + 1;
        if let Some(slot) = self.slots.get(at) {
            // How it ended is told by the queue, or was to who asked for it.
            let _ = queue.reach(slot.user);
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests;
