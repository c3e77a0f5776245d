//! Loads, stores, copies and fills: one check for a range, then its bytes.
//!
//! Each operation tries the fast check with the buffer pinned. What it refuses is judged at leisure; if the
//! judgement finds nothing wrong (the buffer came into being in between), it tries again.

use bytemuck::Pod;

use super::Memory;
use crate::raw::block::Block;
use crate::raw::near::Near;
use crate::raw::words::Bytes;
use crate::{Access, Address, Fault};

/// Bytes moved at a time where they cannot be moved directly.
const STAGE: usize = 512;

/// An access to be checked.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) address: Address,
    pub(super) size: u64,
    /// What the offset must be a multiple of, a power of two.
    pub(super) alignment: u64,
    pub(super) access: Access,
}

impl Range {
    /// Any bytes.
    #[inline(always)]
    pub(super) fn bytes(address: Address, size: u64, access: Access) -> Self {
        Range { address, size, alignment: 1, access }
    }

    /// A value of this type.
    #[inline(always)]
    fn of<T>(address: Address, access: Access) -> Self {
        Range { address, size: size_of::<T>() as u64, alignment: align_of::<T>() as u64, access }
    }
}

impl Memory {
    /// Copies the bytes at `address` into `into`.
    ///
    /// # Errors
    /// The [`Fault`] of the access; `into` is then unchanged. Loading no bytes is allowed anywhere in a live
    /// buffer, its end included.
    ///
    /// Cost: about 2 ns for up to 16 bytes in whole 32-bit words, on any number of threads; long ranges at 4
    /// bytes a cycle.
    #[inline]
    pub fn load(&self, address: Address, into: &mut [u8]) -> Result<(), Fault> {
        self.load_at(address, into).map(drop)
    }

    /// As [`load`](Self::load); where the bytes are in the buffer that they belong to, as for all `…_at`.
    #[inline(always)]
    pub(crate) fn load_at(&self, address: Address, into: &mut [u8]) -> Result<Address, Fault> {
        self.with_root::<0, _>(Range::bytes(address, into.len() as u64, Access::Read), |bytes, root| {
            bytes.load(into);
            root
        })
    }

    /// Copies `from` to the bytes at `address`.
    ///
    /// # Errors
    /// The [`Fault`] of the access; nothing is then stored.
    ///
    /// Cost: as [`load`](Self::load); some 5 ns more for each 32-bit word that is stored to in part.
    #[inline]
    pub fn store(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        self.store_at::<false>(address, from).map(drop)
    }

    /// As [`store`](Self::store), and whether any byte has changed if that is asked.
    #[inline(always)]
    pub(crate) fn store_at<const COMPARE: bool>(
        &self,
        address: Address,
        from: &[u8],
    ) -> Result<(Address, bool), Fault> {
        self.with_root::<0, _>(Range::bytes(address, from.len() as u64, Access::Write), |bytes, root| {
            let changes = !COMPARE || !equal(bytes, from);
            bytes.store(from);
            (root, changes)
        })
    }

    /// The value at `address`.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let buffer = memory.allocate(16, Flags::default(), Init::Zeroed)?;
    /// memory.store_value(buffer, 1.5f64)?;
    /// assert_eq!(memory.load_value::<f64>(buffer)?, 1.5);
    /// let odd = memory.layout().add(buffer, 2).unwrap();
    /// assert!(matches!(memory.load_value::<f32>(odd), Err(Fault::Misaligned { alignment: 4, .. })));
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// The [`Fault`] of the access, or [`Fault::Misaligned`] when the offset is no multiple of `T`'s alignment.
    #[inline]
    pub fn load_value<T: Pod>(&self, address: Address) -> Result<T, Fault> {
        loop {
            if let Some((value, _)) = self.try_load_value(None, address) {
                return Ok(value);
            }
            self.judge_value::<T>(address, Access::Read)?;
            if size_of::<T>() == 0 {
                return Ok(T::zeroed());
            }
        }
    }

    /// The value at `address` and where it is in the buffer that it belongs to (as for all that give an address), if
    /// the access may be done. Where `near` is given, only those buffers are looked for, as for all that are given it.
    #[inline(always)]
    pub(crate) fn try_load_value<T: Pod>(&self, near: Option<&Near<'_>>, address: Address) -> Option<(T, Address)> {
        // Whole words go through registers: as bytes in memory they would be stored one by one and read back as one.
        if align_of::<T>() >= align_of::<u32>() {
            match size_of::<T>() {
                4 => return self.load_words::<T, 1>(near, address),
                8 => return self.load_words::<T, 2>(near, address),
                16 => return self.load_words::<T, 4>(near, address),
                _ => {}
            }
        }
        let mut value = T::zeroed();
        let root = self.try_with::<0, _>(near, Range::of::<T>(address, Access::Read), |bytes, root| {
            bytes.load(bytemuck::bytes_of_mut(&mut value));
            root
        })?;
        Some((value, root))
    }

    #[inline(always)]
    fn load_words<T: Pod, const N: usize>(&self, near: Option<&Near<'_>>, address: Address) -> Option<(T, Address)> {
        let load = |bytes: Bytes<'_>, root| (bytemuck::cast(bytes.load_words::<N>()), root);
        self.try_words::<T, N, _>(near, address, Access::Read, load)
    }

    /// Why the access to a value may not be done; `Ok` if it may (now).
    #[inline(always)]
    pub(crate) fn judge_value<T>(&self, address: Address, access: Access) -> Result<(), Fault> {
        self.judge::<0>(address, size_of::<T>() as u64, align_of::<T>() as u64, access)
    }

    /// Stores a value at `address`.
    ///
    /// # Errors
    /// The [`Fault`] of the access, or [`Fault::Misaligned`] when the offset is no multiple of `T`'s alignment.
    #[inline]
    pub fn store_value<T: Pod>(&self, address: Address, value: T) -> Result<(), Fault> {
        while self.try_store_value::<T, false>(None, address, value).is_none() {
            self.judge_value::<T>(address, Access::Write)?;
            if size_of::<T>() == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Stores a value if the access may be done; whether any byte has changed, if that is asked.
    #[inline(always)]
    pub(crate) fn try_store_value<T: Pod, const COMPARE: bool>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        value: T,
    ) -> Option<(Address, bool)> {
        if align_of::<T>() >= align_of::<u32>() {
            match size_of::<T>() {
                4 => return self.store_words::<T, 1, COMPARE>(near, address, value),
                8 => return self.store_words::<T, 2, COMPARE>(near, address, value),
                16 => return self.store_words::<T, 4, COMPARE>(near, address, value),
                _ => {}
            }
        }
        self.try_with::<0, _>(near, Range::of::<T>(address, Access::Write), |bytes, root| {
            let changes = !COMPARE || !equal(bytes, bytemuck::bytes_of(&value));
            bytes.store(bytemuck::bytes_of(&value));
            (root, changes)
        })
    }

    #[inline(always)]
    fn store_words<T: Pod, const N: usize, const COMPARE: bool>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        value: T,
    ) -> Option<(Address, bool)> {
        self.try_words::<T, N, _>(near, address, Access::Write, |bytes, root| {
            let words: [u32; N] = bytemuck::cast(value);
            let changes = !COMPARE || bytes.load_words::<N>() != words;
            bytes.store_words::<N>(words);
            (root, changes)
        })
    }

    /// Copies `size` bytes from `from` to `to` in this memory. The ranges may overlap: the bytes arrive as they
    /// were before.
    ///
    /// # Errors
    /// The [`Fault`] of the load, or else of the store; nothing is then stored.
    pub fn copy(&self, to: Address, from: Address, size: u64) -> Result<(), Fault> {
        self.copy_from(to, self, from, size)
    }

    /// Copies `size` bytes from `from` in `source` to `to` in this memory.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn copy_from(&self, to: Address, source: &Memory, from: Address, size: u64) -> Result<(), Fault> {
        self.copy_from_at(to, source, from, size).map(drop)
    }

    /// As [`copy_from`](Self::copy_from); where the bytes were, and where they are now.
    pub(crate) fn copy_from_at(
        &self,
        to: Address,
        source: &Memory,
        from: Address,
        size: u64,
    ) -> Result<(Address, Address), Fault> {
        // Both buffers stay until the copy is done, and both ranges are checked before anything is stored.
        let backwards = std::ptr::eq(self, source) && to > from && to.raw() - from.raw() < size;
        source.with_root::<0, _>(Range::bytes(from, size, Access::Read), |from, from_root| {
            self.with_root::<1, _>(Range::bytes(to, size, Access::Write), |to, to_root| {
                copy_bytes(to, from, backwards);
                (from_root, to_root)
            })
        })?
    }

    /// Fills `size` bytes at `address` with `pattern`, over and over; the last one is cut where the range ends.
    ///
    /// # Errors
    /// The [`Fault`] of the store, or [`Fault::WrongSize`] when the pattern is empty and the range is not.
    pub fn fill(&self, address: Address, pattern: &[u8], size: u64) -> Result<(), Fault> {
        self.fill_at(address, pattern, size).map(drop)
    }

    pub(crate) fn fill_at(&self, address: Address, pattern: &[u8], size: u64) -> Result<Address, Fault> {
        if pattern.is_empty() && size > 0 {
            self.check(address, size, Access::Write)?;
            return Err(Fault::WrongSize { space: self.space, wanted: 1, found: 0 });
        }
        self.with_root::<0, _>(Range::bytes(address, size, Access::Write), |bytes, root| {
            fill_bytes(bytes, pattern);
            root
        })
    }

    /// Checks an access without doing it. The answer is that of one moment: another thread may free the buffer
    /// right after.
    ///
    /// # Errors
    /// The [`Fault`] that the access would have.
    pub fn check(&self, address: Address, size: u64, access: Access) -> Result<(), Fault> {
        match access {
            Access::Free => match self.judge::<0>(address, 0, 1, access) {
                Ok(()) if self.layout.decode(address).offset == 0 => Ok(()),
                _ => Err(self.judge_free(address)),
            },
            _ => self.with::<0, _>(Range::bytes(address, size, access), |_| ()),
        }
    }

    /// Where the bytes are in the buffer that they belong to, if they may be accessed so.
    pub(crate) fn locate(&self, address: Address, size: u64, access: Access) -> Result<Address, Fault> {
        self.with_root::<0, _>(Range::bytes(address, size, access), |_, root| root)
    }

    /// Where the byte at `address` is in the buffer that it belongs to; `None` when there is no live buffer.
    pub(crate) fn root_of(&self, address: Address) -> Option<Address> {
        let pinned = self.table.pin::<0>(address)?;
        let offset = address.raw().checked_sub(pinned.block().base())?;
        (offset < self.layout.greatest_buffer()).then(|| Address::from_raw(pinned.block().root().wrapping_add(offset)))
    }

    /// Does something with the bytes of a range, once it is checked; `WORD` says which of the thread's two
    /// announcements to use.
    #[inline(always)]
    pub(super) fn with<const WORD: usize, R>(
        &self,
        range: Range,
        act: impl FnOnce(Bytes<'_>) -> R,
    ) -> Result<R, Fault> {
        self.with_root::<WORD, R>(range, |bytes, _| act(bytes))
    }

    /// As [`with`](Self::with), also with the address that the first byte has in the buffer that it belongs to (which is not
    /// the buffer of the range where that is a part of another). Of no bytes, null.
    #[inline(always)]
    pub(super) fn with_root<const WORD: usize, R>(
        &self,
        range: Range,
        act: impl FnOnce(Bytes<'_>, Address) -> R,
    ) -> Result<R, Fault> {
        let Range { address, size, alignment, access } = range;
        // Taken once; the loop would make a copy for each turn.
        let mut act = Some(act);
        loop {
            let done = self.try_with::<WORD, _>(None, range, |bytes, root| act.take().map(|act| act(bytes, root)));
            if let Some(result) = done.flatten() {
                return Ok(result);
            }
            self.judge::<WORD>(address, size, alignment, access)?;
            if size == 0
                && let Some(act) = act.take()
            {
                return Ok(act(Bytes::NONE, Address::NULL));
            }
        }
    }

    /// As [`with_root`](Self::with_root), if the range may be accessed so and is not empty. The fast check, and nothing else.
    #[inline(always)]
    pub(super) fn try_with<const WORD: usize, R>(
        &self,
        near: Option<&Near<'_>>,
        range: Range,
        act: impl FnOnce(Bytes<'_>, Address) -> R,
    ) -> Option<R> {
        let Range { address, size, alignment, access } = range;
        self.try_on_block::<WORD, R>(near, address, |block| {
            let bytes = match access {
                Access::Write => block.writable(address.raw(), size, alignment),
                Access::Atomic => block.changeable(address.raw(), size, alignment),
                _ => block.readable(address.raw(), size, alignment),
            };
            Some(act(bytes?, root_in(block, address)))
        })
    }

    /// As [`try_with`](Self::try_with), for `SIZE` bytes at a multiple of as many: a shorter check.
    #[inline(always)]
    pub(super) fn try_unit<const SIZE: u64, R>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        access: Access,
        act: impl FnOnce(Bytes<'_>, Address) -> R,
    ) -> Option<R> {
        self.try_on_block::<0, R>(near, address, |block| {
            let bytes = match access {
                Access::Write => block.writable_unit::<SIZE>(address.raw()),
                Access::Atomic => block.changeable_unit::<SIZE>(address.raw()),
                _ => block.readable_unit::<SIZE>(address.raw()),
            };
            Some(act(bytes?, root_in(block, address)))
        })
    }

    /// The bytes of a value of `N` words, by the shorter check where the type is aligned to its size.
    #[inline(always)]
    fn try_words<T, const N: usize, R>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        access: Access,
        act: impl FnOnce(Bytes<'_>, Address) -> R,
    ) -> Option<R> {
        match (size_of::<T>(), align_of::<T>()) {
            (4, 4) => self.try_unit::<4, _>(near, address, access, act),
            (8, 8) => self.try_unit::<8, _>(near, address, access, act),
            (16, 16) => self.try_unit::<16, _>(near, address, access, act),
            _ => self.try_with::<0, _>(near, Range::of::<T>(address, access), act),
        }
    }

    /// Does something with the block that an address leads to (or of another buffer, or none: `act` checks that): one of the
    /// near ones, where some are given, or else the one in its slot, pinned.
    #[inline(always)]
    fn try_on_block<const WORD: usize, R>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        act: impl FnOnce(&Block) -> Option<R>,
    ) -> Option<R> {
        match near {
            None => act(self.table.pin::<WORD>(address)?.block()),
            Some(near) => near.with(address, act),
        }
    }

    /// Some buffers of this memory for one thread to work on.
    pub(crate) fn near(&self) -> Near<'_> {
        Near::new(&self.table)
    }
}

/// Where an address of the block's buffer is in the buffer that the bytes belong to.
#[inline(always)]
fn root_in(block: &Block, address: Address) -> Address {
    Address::from_raw(block.root().wrapping_add(address.raw().wrapping_sub(block.base())))
}

/// Whether the range holds these bytes, as many as they are.
pub(super) fn equal(bytes: Bytes<'_>, with: &[u8]) -> bool {
    let mut stage = [0; STAGE];
    let mut parts = with.chunks(STAGE).zip((0..).step_by(STAGE));
    parts.all(|(part, at)| {
        let stage = &mut stage[..part.len()];
        bytes.part(at, part.len()).load(stage);
        stage == part
    })
}

/// Copies as if all of `from` were read before anything is stored: piece by piece, beginning at the end
/// that the copy moves towards.
fn copy_bytes(to: Bytes<'_>, from: Bytes<'_>, backwards: bool) {
    let mut stage = [0; STAGE];
    let size = to.len();
    let mut done = 0;
    while done < size {
        let piece = STAGE.min(size - done);
        let at = if backwards { size - done - piece } else { done };
        let stage = &mut stage[..piece];
        from.part(at, piece).load(stage);
        to.part(at, piece).store(stage);
        done += piece;
    }
}

/// Repeats the pattern over the range, by a stage that holds it as often as fits.
fn fill_bytes(bytes: Bytes<'_>, pattern: &[u8]) {
    let mut stage = [0; STAGE];
    let whole = STAGE / pattern.len().max(1) * pattern.len();
    stage[..whole].chunks_exact_mut(pattern.len().max(1)).for_each(|copy| copy.copy_from_slice(pattern));
    // A pattern that does not fit is its own stage.
    let stage = if whole == 0 { pattern } else { &stage[..whole] };
    let mut done = 0;
    while done < bytes.len() && !stage.is_empty() {
        bytes.part(done, stage.len()).store(stage);
        done += stage.len();
    }
}
