//! Pinned host memory that copies go through, so that the driver can make them while the host goes on.
//!
//! Owns [`Staging`]: a few slots that are made on first use. A copy in puts its bytes into the slot that was used
//! longest ago, once the command that used it is over, and the device takes them from there in its own time. A copy out
//! fills slot after slot, and empties each when its command is over: while one is emptied the next is filled. No more memory
//! than the slots is ever taken; what is larger goes through several.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use super::blocks::Pinned;
use super::driver::Driver;
use super::library::{Code, Result};
use super::raw::Event;
use crate::device::{HostSource, HostTarget, Rows};
use std::collections::VecDeque;

/// Bytes of a slot, and how many there are.
const SLOT: usize = 256 << 10;
const SLOTS: usize = 8;

#[derive(Debug)]
struct Slot {
    memory: Pinned,
    /// Noted behind the command that uses it.
    over: Event,
    is_in_use: bool,
}

impl Slot {
    fn new(driver: &Driver) -> Result<Self> {
        Ok(Self { memory: Pinned::new(&driver.context, SLOT)?, over: Event::new(&driver.context)?, is_in_use: false })
    }

    /// Returns when nobody uses it.
    fn wait(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_in_use) {
            self.over.wait().inspect_err(|_| self.is_in_use = true)?;
        }
        Ok(())
    }

    /// Notes that the command queued last uses it.
    fn used(&mut self, driver: &Driver) -> Result<()> {
        match driver.queue.stream.record(&self.over) {
            Ok(()) => self.is_in_use = true,
            Err(_) => driver.queue.finish()?,
        }
        Ok(())
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: initialised memory of ours, which no command uses: `wait` was called.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().as_ptr(), self.memory.bytes()) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// A part of a region that fits into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// How many bytes of the region come before it, and how far from the region's start it begins.
    at: usize,
    offset: usize,
    rows: Rows,
}

/// The pieces of a region of such rows.
fn pieces(rows: &Rows, room: usize) -> Vec<Piece> {
    if rows.bytes() == 0 {
        return Vec::new();
    }
    // Without gaps it is one row.
    let rows = if rows.is_run() { Rows::run(rows.bytes()) } else { *rows };
    let piece = |row: usize, column: usize, part| Piece {
        at: row * rows.row_bytes + column,
        offset: row * rows.pitch + column,
        rows: part,
    };
    if rows.row_bytes > room {
        let parts = |row| {
            let part = move |column| piece(row, column, Rows::run(room.min(rows.row_bytes - column)));
            (0..rows.row_bytes).step_by(room).map(part)
        };
        return (0..rows.rows).flat_map(parts).collect();
    }
    let at_once = room / rows.row_bytes;
    let some = |row| piece(row, 0, Rows { rows: at_once.min(rows.rows - row), ..rows });
    (0..rows.rows).step_by(at_once).map(some).collect()
}

/// Bytes of a region from the `at`-th on.
fn gather(from: &HostSource<'_>, mut at: usize, mut to: &mut [u8]) {
    let (whole, width) = (from.whole(), from.rows().row_bytes.max(1));
    while !to.is_empty() {
        let rest = match whole {
            Some(bytes) => bytes.get(at..),
            None => from.row(at / width).get(at % width..),
        };
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(to.len());
        let (now, later) = std::mem::take(&mut to).split_at_mut(count);
        now.copy_from_slice(&rest[..count]);
        if count == 0 {
            return; // The region is shorter than it says.
        }
        (to, at) = (later, at + count);
    }
}

/// Bytes of a region from the `at`-th on.
fn scatter(mut from: &[u8], to: &mut HostTarget<'_>, mut at: usize) {
    let width = to.rows().row_bytes.max(1);
    while !from.is_empty() {
        let rest = match to.rows().is_run() {
            true => to.whole().and_then(|bytes| bytes.get_mut(at..)),
            false => to.row(at / width).get_mut(at % width..),
        };
        let rest = rest.unwrap_or_default();
        let count = rest.len().min(from.len());
        let (now, later) = from.split_at(count);
        rest[..count].copy_from_slice(now);
        if count == 0 {
            return;
        }
        (from, at) = (later, at + count);
    }
}

/// The slots, in the order in which they will be used.
#[derive(Debug, Default)]
pub(super) struct Staging {
    slots: VecDeque<Slot>,
}

impl Staging {
    /// Host → device, in the order of the queue. Returns when the bytes may be changed.
    pub(super) fn write(&mut self, driver: &Driver, from: &HostSource<'_>, (to, rows): (u64, &Rows)) -> Result<()> {
        for piece in pieces(rows, SLOT) {
            let slot = self.slot(driver, 0)?;
            gather(from, piece.at, &mut slot.bytes()[..piece.rows.bytes()]);
            let start = slot.memory.start().as_ptr();
            // SAFETY: the slot holds the rows, and stays as it is until the command is over: `slot` waits for that.
            unsafe { driver.queue.write_later(start, to + piece.offset as u64, &piece.rows) }?;
            slot.used(driver)?;
        }
        Ok(())
    }

    /// Device → host. Returns when the bytes are there.
    pub(super) fn read(&mut self, driver: &Driver, (from, rows): (u64, &Rows), to: &mut HostTarget<'_>) -> Result<()> {
        let pieces = pieces(rows, SLOT);
        let (mut begun, mut ended) = (0, 0);
        while let Some(first) = pieces.get(ended) {
            // As many as there are slots.
            while let Some(piece) = pieces.get(begun).filter(|_| begun - ended < SLOTS) {
                let slot = self.slot(driver, begun - ended)?;
                let start = slot.memory.start().as_ptr();
                // SAFETY: the slot has room for the rows, and nobody looks at it before the command is over.
                unsafe { driver.queue.read_later(from + piece.offset as u64, start, &piece.rows) }?;
                slot.used(driver)?;
                begun += 1;
            }
            // Those that are full or being filled are the last.
            let place = self.slots.len().saturating_sub(begun - ended);
            let Some(slot) = self.slots.get_mut(place) else { break };
            slot.wait()?;
            scatter(&slot.bytes()[..first.rows.bytes()], to, first.at);
            ended += 1;
        }
        Ok(())
    }

    /// A slot that nobody uses, none of the last `kept` ones; it becomes the last.
    fn slot(&mut self, driver: &Driver, kept: usize) -> Result<&mut Slot> {
        let is_free = |slot: &Slot| !slot.is_in_use || slot.over.is_over();
        let has_other = self.slots.len() > kept;
        if has_other && (self.slots.len() == SLOTS || self.slots.front().is_some_and(is_free)) {
            self.slots.rotate_left(1);
        } else {
            match Slot::new(driver) {
                Ok(slot) => self.slots.push_back(slot),
                // Without room for another there are still those.
                Err(_) if has_other => self.slots.rotate_left(1),
                Err(code) => return Err(code),
            }
        }
        let slot = self.slots.back_mut().ok_or(Code { library: Code::DRIVER, number: 2 })?;
        slot.wait()?;
        Ok(slot)
    }
}
