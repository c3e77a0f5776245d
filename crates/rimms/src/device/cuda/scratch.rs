//! What kernels need beside their operands: rooms of device memory that are used again.
//!
//! Commands run in order, so one call's rooms are free for the next as soon as it is queued. A room grows when more is asked for:
//! the old one goes when the device is done with it.

use super::library::Result;
use super::raw::Context;
use std::sync::Arc;

/// Device memory that is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    context: Arc<Context>,
    pub(super) address: u64,
    bytes: usize,
}

impl Room {
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        Ok(Self { context: context.clone(), address: context.allocate(bytes)?, bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // That waits for what uses it.
        let _ = self.context.free(self.address);
    }
}

/// What rooms are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Tiles without their gaps, of what is read and of what is written.
    In,
    Out,
    /// A library's own.
    Work,
    /// The parts of a search: places and values.
    Places,
    Values,
    /// What memory is filled with.
    Pattern,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    rooms: Vec<(Use, Room)>,
}

impl Scratch {
    /// The address of so many bytes at least.
    pub(super) fn room(&mut self, context: &Arc<Context>, usage: Use, bytes: usize) -> Result<u64> {
        let found = self.rooms.iter_mut().find(|(kept, _)| *kept == usage);
        match found {
            Some((_, room)) if room.bytes >= bytes => return Ok(room.address),
            Some((_, room)) => {
                let larger = Room::new(context, bytes)?;
                *room = larger;
                return Ok(room.address);
            }
            None => {}
        }
        let room = Room::new(context, bytes.max(1))?;
        let address = room.address;
        self.rooms.push((usage, room));
        Ok(address)
    }
}
