//! What is wrong with an address: the slow way, taken only after the fast check failed (or for no bytes).
//!
//! Order of judgement: null, never allocated, freed, overflow, out of bounds, flags, alignment.

use super::Memory;
use crate::fault::Place;
use crate::raw::block::Block;
use crate::raw::table::Slot;
use crate::{Access, Address, BadFree, Fault, FreedAt};

/// Whether an address leads to a live buffer.
enum Found<T> {
    Live(T),
    Freed(Option<FreedAt>),
    Never,
}

impl Memory {
    /// The fault of such an access, if it has one. `WORD` is an announcement that is not in use. (The parts of
    /// a range come one by one so that they stay in registers: as a whole they would be put into memory before
    /// each fast check.)
    #[cold]
    #[inline(never)]
    pub(crate) fn judge<const WORD: usize>(
        &self,
        address: Address,
        size: u64,
        alignment: u64,
        access: Access,
    ) -> Result<(), Fault> {
        let place = self.place_of(address, size, access);
        if place.index == 0 {
            return Err(Fault::Null { place });
        }
        match self.find::<WORD, _>(&place, |block| judge_range(block, place, alignment)) {
            Found::Live(None) => Ok(()),
            Found::Live(Some(fault)) => Err(fault),
            Found::Freed(freed) => Err(Fault::Freed { place, freed }),
            Found::Never => Err(Fault::NeverAllocated { place }),
        }
    }

    /// Bytes of the buffer that `address` lies in (its offset may be anything).
    ///
    /// # Errors
    /// [`Fault::Null`], [`Fault::Freed`] or [`Fault::NeverAllocated`] when there is no such buffer.
    pub fn size_of(&self, address: Address) -> Result<u64, Fault> {
        let place = self.place_of(address, 0, Access::Read);
        if place.index == 0 {
            return Err(Fault::Null { place });
        }
        match self.find::<0, _>(&place, Block::length) {
            Found::Live(length) => Ok(length),
            Found::Freed(freed) => Err(Fault::Freed { place, freed }),
            Found::Never => Err(Fault::NeverAllocated { place }),
        }
    }

    /// Refuses what is not the start of a live buffer.
    pub(super) fn judge_start(&self, address: Address, size: u64, access: Access) -> Result<(), Fault> {
        self.size_of(address)?;
        let (place, alignment) = (self.place_of(address, size, access), self.layout.greatest_buffer());
        if place.offset == 0 { Ok(()) } else { Err(Fault::Misaligned { place, alignment }) }
    }

    /// Refuses a region that is not inside the buffer that begins at `start`.
    pub(super) fn judge_part(&self, start: Address, offset: u64, size: u64, access: Access) -> Result<(), Fault> {
        let length = self.size_of(start)?;
        let place = self.place_of(self.layout.add(start, offset).unwrap_or(start), size, access);
        let end = offset.checked_add(size).ok_or(Fault::Overflow { place })?;
        if end <= length { Ok(()) } else { Err(Fault::OutOfBounds { place, length, beyond: end - length }) }
    }

    /// Why the address could not be freed.
    #[cold]
    pub(super) fn judge_free(&self, address: Address) -> Fault {
        let place = self.place_of(address, 0, Access::Free);
        let reason = if place.index == 0 {
            BadFree::Null
        } else {
            match self.find::<0, _>(&place, |_| ()) {
                Found::Live(_) if place.offset != 0 => BadFree::Inside,
                // At its start and yet not there to be freed: another thread was faster.
                Found::Live(_) => BadFree::Twice(None),
                Found::Freed(freed) => BadFree::Twice(freed),
                Found::Never => BadFree::NeverAllocated,
            }
        };
        Fault::BadFree { place, reason }
    }

    pub(crate) fn place_of(&self, address: Address, size: u64, access: Access) -> Place {
        let parts = self.layout.decode(address);
        Place {
            space: self.space,
            address,
            index: parts.index,
            generation: parts.generation,
            offset: parts.offset,
            size,
            access,
        }
    }

    /// Finds the buffer of a place, without taking one moment's slot for another's.
    fn find<const WORD: usize, T>(&self, place: &Place, live: impl Fn(&Block) -> T) -> Found<T> {
        let Some(slot) = self.table.slot(place.address) else {
            return Found::Never;
        };
        loop {
            let uses = slot.uses();
            let found = match self.table.pin::<WORD>(place.address) {
                Some(pinned) if pinned.block().base() == self.layout.base_of(place.address.raw()) => {
                    Found::Live(live(pinned.block()))
                }
                Some(pinned) => self.past(slot, place.generation, uses, pinned.block().is_live()),
                None => self.past(slot, place.generation, uses, false),
            };
            if slot.uses() == uses {
                return found;
            }
        }
    }

    /// The buffer of this generation, of a slot used that often: it is freed, or it never was.
    fn past<T>(&self, slot: &Slot, generation: u64, uses: u64, live: bool) -> Found<T> {
        if generation >= uses.min(self.layout.generations()) {
            return Found::Never;
        }
        // Uses up to and including the last one that was freed.
        let freed_uses = uses - u64::from(live);
        let is_last = freed_uses > 0 && (freed_uses - 1) & (self.layout.generations() - 1) == generation;
        Found::Freed(if is_last { slot.freed() } else { None })
    }
}

/// Judges a range that begins in this live buffer's addresses.
fn judge_range(block: &Block, place: Place, alignment: u64) -> Option<Fault> {
    let length = block.length();
    let Some(end) = place.offset.checked_add(place.size) else {
        return Some(Fault::Overflow { place });
    };
    if end > length {
        return Some(Fault::OutOfBounds { place, length, beyond: end - length });
    }
    match place.access {
        Access::Read | Access::Atomic if !block.flags().readable() => Some(Fault::WriteOnly { place }),
        Access::Write | Access::Atomic if !block.flags().writable() => Some(Fault::ReadOnly { place }),
        _ if !place.offset.is_multiple_of(alignment) => Some(Fault::Misaligned { place, alignment }),
        _ => None,
    }
}
