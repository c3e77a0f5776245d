//! Buffers that one thread works on for a while: held, so that an access to them need not announce itself.
//!
//! Owns [`Near`], which a worker has of the buffers that its launch uses and of those in its group's local memory. A held
//! buffer is not taken out of its slot, so its block stays published (see the module `raw`) until the hold ends; that is the
//! whole argument. What is not in a place here (a buffer that nobody named, or one whose place another has) is reached
//! through the table as ever.

use std::cell::Cell;
use std::ptr::NonNull;

use super::block::{Block, NOTHING};
use super::table::Table;
use crate::Address;

/// Places; a power of two. Buffers whose indices differ by less have different ones.
const PLACES: usize = 32;

/// Some buffers of a table, each held.
pub(crate) struct Near<'t> {
    table: &'t Table,
    /// Bits of an address below the index, as in the table.
    index_shift: u32,
    /// By the low bits of their index; [`NOTHING`] where there is none.
    places: [Cell<NonNull<Block>>; PLACES],
}

impl<'t> Near<'t> {
    /// No buffers.
    pub(crate) fn new(table: &'t Table) -> Self {
        let places = [const { Cell::new(NonNull::from_ref(&NOTHING)) }; PLACES];
        Near { table, index_shift: table.index_shift(), places }
    }

    /// Holds the buffer that begins at `address` until [`clear`](Self::clear), if it is there and its place is free.
    pub(crate) fn keep(&self, address: Address) {
        let place = self.place(address);
        if place.get() == NonNull::from_ref(&NOTHING)
            && let Some(block) = self.table.hold_block(address)
        {
            place.set(block);
        }
    }

    #[inline(always)]
    fn place(&self, address: Address) -> &Cell<NonNull<Block>> {
        &self.places[(address.raw() >> self.index_shift) as usize % PLACES]
    }

    /// Does something with the block in the place of an address: that of its buffer, or another, or that of none. `act`
    /// comes from this crate and does not come back here.
    #[inline(always)]
    pub(crate) fn with<R>(&self, address: Address, act: impl FnOnce(&Block) -> R) -> R {
        // SAFETY: NOTHING lives forever; any other block is held by `self` as long as it is in its place, and `act` does
        // not take it out of there.
        act(unsafe { self.place(address).get().as_ref() })
    }

    /// Ends all holds.
    pub(crate) fn clear(&self) {
        for place in &self.places {
            let block = place.replace(NonNull::from_ref(&NOTHING));
            // SAFETY: as for `with`: its hold ends only below.
            let block = unsafe { block.as_ref() };
            if block.is_live() {
                self.table.release(Address::from_raw(block.base()));
            }
        }
    }
}

impl Drop for Near<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
