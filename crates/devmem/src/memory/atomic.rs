//! Atomic operations on checked addresses.
//!
//! An aligned operation is the host's own on one word or two. One that is not aligned is done under a lock of its
//! buffer, by exchange of the two words around it where it lies within such: atomic to all others that are not
//! aligned, and in that case to all. What lies across the words' boundary is not atomic to aligned operations on the
//! same bytes; checkers report operations that are not aligned.

use std::sync::atomic::Ordering::{AcqRel, Acquire};

use super::Memory;
use super::access::Range;
use crate::atomic::word::Sealed;
use crate::raw::near::Near;
use crate::raw::words::Bytes;
use crate::{Access, Address, AtomicInteger, AtomicOp, AtomicValue, Fault};

/// What an atomic operation has done.
#[derive(Clone, Copy)]
pub(crate) struct Change<T> {
    pub(crate) before: T,
    pub(crate) stored: bool,
    pub(crate) aligned: bool,
    /// Where in the buffer that the bytes belong to.
    pub(crate) root: Address,
}

impl Memory {
    /// Does an atomic operation on the value at `address`; the value that was there before.
    ///
    /// Offsets should be multiples of the type's size. Others are possible: such operations are atomic to each other, but
    /// to those at proper offsets only where they do not cross a multiple of 8.
    ///
    /// # Errors
    /// The [`Fault`] of the access, which needs a buffer that can be read and written; nothing is then changed.
    ///
    /// Cost: that of the host's operation and some 2 ns.
    #[inline]
    pub fn atomic<T: AtomicValue>(&self, address: Address, op: T::Op, operand: T) -> Result<T, Fault> {
        let op: AtomicOp = op.into();
        loop {
            if let Some(change) = self.try_change_by(None, address, op, operand) {
                return Ok(change.before);
            }
            self.judge_atomic::<T>(address)?;
        }
    }

    // In line, so that the operation is known where the caller knows it.
    #[inline(always)]
    pub(crate) fn try_change_by<T: AtomicValue>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        op: AtomicOp,
        operand: T,
    ) -> Option<Change<T>> {
        let on_word = move |word: T::Word<'_>| T::change(word, op, operand);
        self.try_change(near, address, on_word, move |value| Some(value.apply(op, operand)))
    }

    /// Why the operation may not be done; `Ok` if it may (now).
    #[inline(always)]
    pub(crate) fn judge_atomic<T>(&self, address: Address) -> Result<(), Fault> {
        self.judge::<0>(address, size_of::<T>() as u64, 1, Access::Atomic)
    }

    /// Stores `new` at `address` if the value there is `expected`, in one step. The value that was there before: `new`
    /// was stored if that equals `expected`.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let lock = memory.allocate(4, Flags::READ_WRITE, Init::Zeroed)?;
    /// assert_eq!(memory.compare_exchange(lock, 0u32, 1)?, 0); // taken
    /// assert_eq!(memory.compare_exchange(lock, 0u32, 1)?, 1); // somebody has it
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// As [`atomic`](Self::atomic).
    #[inline]
    pub fn compare_exchange<T: AtomicInteger>(&self, address: Address, expected: T, new: T) -> Result<T, Fault> {
        loop {
            if let Some(change) = self.try_change_if(None, address, expected, new) {
                return Ok(change.before);
            }
            self.judge_atomic::<T>(address)?;
        }
    }

    #[inline(always)]
    pub(crate) fn try_change_if<T: AtomicInteger>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        expected: T,
        new: T,
    ) -> Option<Change<T>> {
        let exchange = move |word: T::Word<'_>| T::compare_exchange(word, expected, new);
        let change = self.try_change(near, address, exchange, move |value| (value == expected).then_some(new))?;
        Some(Change { stored: change.before == expected, ..change })
    }

    /// Does an operation that the host has for words, or for other offsets what it computes (`None`: nothing to store), if
    /// the access may be done.
    #[inline(always)]
    fn try_change<T: AtomicValue>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        on_word: impl Fn(<T as Sealed>::Word<'_>) -> T + Copy,
        apply: impl Fn(T) -> Option<T> + Copy,
    ) -> Option<Change<T>> {
        let change = |bytes: Bytes<'_>, root: Address| {
            Some(Change { before: on_word(T::word(bytes)?), stored: true, aligned: true, root })
        };
        let done = match size_of::<T>() {
            4 => self.try_unit::<4, _>(near, address, Access::Atomic, change),
            _ => self.try_unit::<8, _>(near, address, Access::Atomic, change),
        };
        match (done.flatten(), near) {
            (None, None) => self.try_change_anywhere(address, on_word, apply),
            (change, _) => change,
        }
    }

    /// The same at any offset.
    #[cold]
    #[inline(never)]
    fn try_change_anywhere<T: AtomicValue>(
        &self,
        address: Address,
        on_word: impl Fn(<T as Sealed>::Word<'_>) -> T,
        apply: impl Fn(T) -> Option<T>,
    ) -> Option<Change<T>> {
        let range = Range::bytes(address, size_of::<T>() as u64, Access::Atomic);
        self.try_with::<0, _>(None, range, |bytes, root| match T::word(bytes) {
            Some(word) => Change { before: on_word(word), stored: true, aligned: true, root },
            None => self.change_locked(root, bytes, &apply),
        })
    }

    fn change_locked<T: AtomicValue>(
        &self,
        root: Address,
        bytes: Bytes<'_>,
        apply: &impl Fn(T) -> Option<T>,
    ) -> Change<T> {
        let change = || match bytes.window() {
            Some((window, skip)) => change_in_window(window, skip, apply),
            None => {
                let mut before = T::zeroed();
                bytes.load(bytemuck::bytes_of_mut(&mut before));
                if let Some(after) = apply(before) {
                    bytes.store(bytemuck::bytes_of(&after));
                }
                before
            }
        };
        // The lock of the buffer that the bytes belong to: parts of one buffer have one lock.
        let before = match self.table.slot(root) {
            Some(slot) => slot.locked(change),
            None => change(),
        };
        Change { before, stored: true, aligned: false, root }
    }
}

fn change_in_window<T: AtomicValue>(
    window: &std::sync::atomic::AtomicU64,
    skip: usize,
    apply: &impl Fn(T) -> Option<T>,
) -> T {
    let mut before = window.load(Acquire);
    loop {
        let mut bytes = before.to_ne_bytes();
        let part = &mut bytes[skip..skip + size_of::<T>()];
        let value: T = bytemuck::pod_read_unaligned(part);
        let Some(after) = apply(value) else { return value };
        part.copy_from_slice(bytemuck::bytes_of(&after));
        match window.compare_exchange_weak(before, u64::from_ne_bytes(bytes), AcqRel, Acquire) {
            Ok(_) => return value,
            Err(found) => before = found,
        }
    }
}
