//! Which atomic operations there are, on which types, and what they compute.
//!
//! Owns [`AtomicOp`] and the types it works on. Integers wrap around. The operations on the host's words are the
//! host's own where it has them, and compare-and-exchange loops for the rest (floating-point sums).

// `Sealed` is public in name only: nobody outside can name it, nor `Bytes`.
#![allow(private_interfaces)]

use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU32, AtomicU64};

use bytemuck::Pod;

use crate::raw::words::{self, Bytes};

/// An atomic operation. All give the value that was there before.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, AtomicOp, Fault, Flags, Init, Memory};
///
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let counter = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(memory.atomic(counter, AtomicOp::Add, 5i64)?, 0);
/// assert_eq!(memory.atomic(counter, AtomicOp::Dec, 0i64)?, 5);
/// assert_eq!(memory.atomic(counter, AtomicOp::Min, -7i64)?, 4);
/// assert_eq!(memory.load_value::<i64>(counter)?, -7);
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// Bits that both have.
    And,
    /// Bits that either has.
    Or,
    /// Bits that one of both has.
    Xor,
    /// The operand takes the value's place.
    Xchg,
    /// One more; the operand is not used.
    Inc,
    /// One less; the operand is not used.
    Dec,
    /// The less of both.
    Min,
    /// The greater of both.
    Max,
    /// The new value takes the place of one that is as expected.
    CompareExchange,
}

/// The atomic operations on floating-point values.
///
/// ```
/// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, FloatOp, Init, Memory};
/// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let sum = memory.allocate(4, Flags::READ_WRITE, Init::Zeroed)?;
/// assert_eq!(memory.atomic(sum, FloatOp::Add, 1.5f32)?, 0.0);
/// assert_eq!(memory.atomic(sum, FloatOp::Xchg, 9.0f32)?, 1.5);
/// # Ok::<(), Fault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatOp {
    /// The sum.
    Add,
    /// The operand takes the value's place.
    Xchg,
}

impl From<FloatOp> for AtomicOp {
    fn from(op: FloatOp) -> Self {
        match op {
            FloatOp::Add => AtomicOp::Add,
            FloatOp::Xchg => AtomicOp::Xchg,
        }
    }
}

impl fmt::Display for AtomicOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AtomicOp::Add => "add",
            AtomicOp::Sub => "sub",
            AtomicOp::And => "and",
            AtomicOp::Or => "or",
            AtomicOp::Xor => "xor",
            AtomicOp::Xchg => "xchg",
            AtomicOp::Inc => "inc",
            AtomicOp::Dec => "dec",
            AtomicOp::Min => "min",
            AtomicOp::Max => "max",
            AtomicOp::CompareExchange => "compare-exchange",
        })
    }
}

/// A type that atomic operations work on: `i32`, `u32`, `i64`, `u64`, `f32` and `f64`.
///
/// ```
/// use rimms_devmem::AtomicValue;
///
/// fn bytes_of<T: AtomicValue>(_: T) -> usize {
///     size_of::<T>()
/// }
/// assert_eq!(bytes_of(1.0f64), 8);
/// ```
pub trait AtomicValue: Pod + PartialEq + fmt::Debug + word::Sealed {
    /// The operations that the type has.
    type Op: Copy + Into<AtomicOp>;
}

/// An [`AtomicValue`] that can be compared and exchanged: the integers.
///
/// ```
/// use rimms_devmem::AtomicInteger;
///
/// fn is_signed<T: AtomicInteger + Default + std::ops::Not<Output = T> + PartialOrd>() -> bool {
///     !T::default() < T::default()
/// }
/// assert!(is_signed::<i32>() && !is_signed::<u64>());
/// ```
pub trait AtomicInteger: AtomicValue<Op = AtomicOp> {}

/// What the operations are in terms of the host's words; not for others to implement.
pub(crate) mod word {
    use super::*;

    pub trait Sealed: Sized {
        /// What an aligned value is in the host's memory.
        type Word<'a>: Copy;

        /// The value after the operation.
        fn apply(self, op: AtomicOp, operand: Self) -> Self;

        /// Does the operation on the host's word; the value before.
        fn change(word: Self::Word<'_>, op: AtomicOp, operand: Self) -> Self;

        /// The word that a range of bytes is, if it is aligned.
        fn word(bytes: Bytes<'_>) -> Option<Self::Word<'_>>;

        /// Compares and exchanges; the value before.
        fn compare_exchange(word: Self::Word<'_>, expected: Self, new: Self) -> Self;
    }
}

macro_rules! integer {
    ($type:ty, $word:ty, $get:ident, $as:expr) => {
        impl AtomicValue for $type {
            type Op = AtomicOp;
        }

        impl AtomicInteger for $type {}

        impl word::Sealed for $type {
            type Word<'a> = &'a $word;

            fn apply(self, op: AtomicOp, operand: Self) -> Self {
                match op {
                    AtomicOp::Add => self.wrapping_add(operand),
                    AtomicOp::Sub => self.wrapping_sub(operand),
                    AtomicOp::And => self & operand,
                    AtomicOp::Or => self | operand,
                    AtomicOp::Xor => self ^ operand,
                    AtomicOp::Xchg | AtomicOp::CompareExchange => operand,
                    AtomicOp::Inc => self.wrapping_add(1),
                    AtomicOp::Dec => self.wrapping_sub(1),
                    AtomicOp::Min => self.min(operand),
                    AtomicOp::Max => self.max(operand),
                }
            }

            #[inline(always)]
            fn change(word: &$word, op: AtomicOp, operand: Self) -> Self {
                let as_word = |value| bytemuck::cast::<$type, _>(value);
                let before = match op {
                    AtomicOp::Add => word.fetch_add(as_word(operand), AcqRel),
                    AtomicOp::Sub => word.fetch_sub(as_word(operand), AcqRel),
                    AtomicOp::And => word.fetch_and(as_word(operand), AcqRel),
                    AtomicOp::Or => word.fetch_or(as_word(operand), AcqRel),
                    AtomicOp::Xor => word.fetch_xor(as_word(operand), AcqRel),
                    AtomicOp::Xchg | AtomicOp::CompareExchange => word.swap(as_word(operand), AcqRel),
                    AtomicOp::Inc => word.fetch_add(1, AcqRel),
                    AtomicOp::Dec => word.fetch_sub(1, AcqRel),
                    AtomicOp::Min => return $as(word).fetch_min(operand, AcqRel),
                    AtomicOp::Max => return $as(word).fetch_max(operand, AcqRel),
                };
                bytemuck::cast(before)
            }

            #[inline(always)]
            fn word(bytes: Bytes<'_>) -> Option<&$word> {
                bytes.$get()
            }

            #[inline(always)]
            fn compare_exchange(word: &$word, expected: Self, new: Self) -> Self {
                let (expected, new) = (bytemuck::cast(expected), bytemuck::cast(new));
                let (Ok(before) | Err(before)) = word.compare_exchange(expected, new, AcqRel, Acquire);
                bytemuck::cast(before)
            }
        }
    };
}

integer!(u32, AtomicU32, single, |word| word as &AtomicU32);
integer!(i32, AtomicU32, single, words::signed_single);
integer!(u64, AtomicU64, double, |word| word as &AtomicU64);
integer!(i64, AtomicU64, double, words::signed_double);

macro_rules! float {
    ($type:ty, $word:ty, $get:ident) => {
        impl AtomicValue for $type {
            type Op = FloatOp;
        }

        impl word::Sealed for $type {
            type Word<'a> = &'a $word;

            /// Only sums and exchanges come here: the type has no other operations.
            fn apply(self, op: AtomicOp, operand: Self) -> Self {
                if op == AtomicOp::Add { self + operand } else { operand }
            }

            #[inline(always)]
            fn change(word: &$word, op: AtomicOp, operand: Self) -> Self {
                if op != AtomicOp::Add {
                    return Self::from_bits(word.swap(operand.to_bits(), AcqRel));
                }
                let mut before = word.load(Acquire);
                loop {
                    let after = (Self::from_bits(before) + operand).to_bits();
                    match word.compare_exchange_weak(before, after, AcqRel, Acquire) {
                        Ok(_) => return Self::from_bits(before),
                        Err(found) => before = found,
                    }
                }
            }

            #[inline(always)]
            fn word(bytes: Bytes<'_>) -> Option<&$word> {
                bytes.$get()
            }

            #[inline(always)]
            fn compare_exchange(word: &$word, expected: Self, new: Self) -> Self {
                let (expected, new) = (expected.to_bits(), new.to_bits());
                let (Ok(before) | Err(before)) = word.compare_exchange(expected, new, AcqRel, Acquire);
                Self::from_bits(before)
            }
        }
    };
}

float!(f32, AtomicU32, single);
float!(f64, AtomicU64, double);

#[cfg(test)]
mod tests;
