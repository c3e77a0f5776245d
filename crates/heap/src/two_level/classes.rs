//! Size classes: 32 to each power of two, so the sizes of a class differ by less than
//! 1/32, and below 32 bytes one for each size.
//!
//! Owns which class a size has, each list's head, and two levels of bitmaps that find
//! the next list with a block in it in two steps. Invariant: a class's bit is set
//! where it has a head, a row's where one of its classes has.

use crate::HeapError;
use crate::chain::END;

/// Classes to a power of two, and bits of a row's bitmap.
const ROW: u32 = 32;
const ROW_LOG2: u32 = ROW.trailing_zeros();

/// The class of a free block of `size` bytes, at least 1.
#[inline]
pub(super) fn class_of(size: u64) -> u32 {
    let log2 = (size | u64::from(ROW - 1)).ilog2();
    // Small sizes are row 0 (31 has log2 4); then the five bits below the highest
    // choose the column. Five bits plus a row below 64 fit a u32.
    let shift = log2.saturating_sub(ROW_LOG2);
    let row = log2 + 1 - ROW_LOG2;
    (row << ROW_LOG2) + ((size >> shift) as u32 & (ROW - 1))
}

/// The first class all of whose blocks hold `bytes`, if 64 bits name one.
#[inline]
pub(super) fn class_sure_for(bytes: u64) -> Option<u32> {
    let log2 = (bytes | u64::from(ROW - 1)).ilog2();
    let step = (1u64 << log2.saturating_sub(ROW_LOG2)) - 1;
    bytes.checked_add(step).map(class_of)
}

#[derive(Debug)]
pub(super) struct Classes {
    /// Rows that have a block: at most 60.
    rows: u64,
    /// Classes of each row that have a block.
    columns: Vec<u32>,
    heads: Vec<u32>,
}

impl Classes {
    /// Empty lists for every size up to `capacity`.
    pub(super) fn new(capacity: u64) -> Result<Self, HeapError> {
        let rows = (class_of(capacity) / ROW + 1) as usize;
        let (mut columns, mut heads) = (Vec::new(), Vec::new());
        let reserved = columns.try_reserve_exact(rows).and_then(|()| heads.try_reserve_exact(rows << ROW_LOG2));
        if reserved.is_err() {
            return Err(HeapError::NoMetadata { bytes: (rows as u64) << (ROW_LOG2 + 2) });
        }
        columns.resize(rows, 0);
        heads.resize(rows << ROW_LOG2, END);
        Ok(Self { rows: 0, columns, heads })
    }

    pub(super) fn len(&self) -> u32 {
        // At most 60 rows of 32.
        self.heads.len() as u32
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.heads.as_slice()) + size_of_val(self.columns.as_slice())
    }

    /// The first block of a class, or [`END`].
    #[inline]
    pub(super) fn head(&self, class: u32) -> u32 {
        self.heads[class as usize]
    }

    /// Makes `at` the first block of a class and returns the one that was, or [`END`].
    #[inline]
    pub(super) fn push(&mut self, class: u32, at: u32) -> u32 {
        let (row, column) = (class >> ROW_LOG2, class & (ROW - 1));
        self.rows |= 1 << row;
        self.columns[row as usize] |= 1 << column;
        std::mem::replace(&mut self.heads[class as usize], at)
    }

    /// Replaces the first block of a class, with [`END`] where none is left.
    #[inline]
    pub(super) fn set_head(&mut self, class: u32, at: u32) {
        self.heads[class as usize] = at;
        if at == END {
            let (row, column) = (class >> ROW_LOG2, class & (ROW - 1));
            let columns = &mut self.columns[row as usize];
            *columns &= !(1 << column);
            if *columns == 0 {
                self.rows &= !(1 << row);
            }
        }
    }

    /// The first block of the lowest class from `class` on that has one.
    #[inline]
    pub(super) fn first_from(&self, class: u32) -> Option<u32> {
        let (row, column) = (class >> ROW_LOG2, class & (ROW - 1));
        let here = self.columns.get(row as usize)? & (u32::MAX << column);
        let (row, columns) = if here != 0 {
            (row, here)
        } else {
            // Row 63 does not exist, so the shift stays below 64.
            let above = self.rows & (u64::MAX << (row + 1));
            if above == 0 {
                return None;
            }
            let row = above.trailing_zeros();
            (row, self.columns[row as usize])
        };
        Some(self.head((row << ROW_LOG2) + columns.trailing_zeros()))
    }

    /// The highest class that has a block.
    pub(super) fn highest(&self) -> Option<u32> {
        let row = self.rows.checked_ilog2()?;
        Some((row << ROW_LOG2) + self.columns[row as usize].ilog2())
    }
}

#[cfg(test)]
impl Classes {
    pub(super) fn check(&self) {
        for class in 0..self.len() {
            let (row, column) = (class / ROW, class % ROW);
            let set = self.columns[row as usize] >> column & 1 == 1;
            assert_eq!(set, self.head(class) != END);
            assert_eq!(self.rows >> row & 1 == 1, self.columns[row as usize] != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes around every power of two and every class boundary up to 2^64.
    fn sizes() -> impl Iterator<Item = u64> {
        let near = (5..64).flat_map(|log2| {
            (0..=32u64).flat_map(move |column| {
                let edge = (1u64 << log2).saturating_add(column << (log2 - 5));
                [edge - 1, edge, edge.saturating_add(1)]
            })
        });
        (1..5000).chain(near).chain([u64::MAX - 1, u64::MAX])
    }

    #[test]
    fn classes_order_sizes_and_differ_by_less_than_one_in_32() {
        let mut all: Vec<u64> = sizes().collect();
        all.sort_unstable();
        all.dedup();
        for pair in all.windows(2) {
            let (low, high) = (pair[0], pair[1]);
            assert!(class_of(low) <= class_of(high), "{low} {high}");
            if low < 32 {
                assert_ne!(class_of(low), class_of(high));
            }
        }
        for pair in all.chunk_by(|a, b| class_of(*a) == class_of(*b)) {
            let (low, high) = (pair[0], pair[pair.len() - 1]);
            assert!(high - low <= low / 32, "{low} and {high} share a class");
        }
        assert_eq!(class_of(u64::MAX) / ROW, 59);
    }

    #[test]
    fn a_sure_class_is_the_lowest_that_holds_the_request() {
        for bytes in sizes() {
            match class_sure_for(bytes) {
                Some(sure) => {
                    let own = class_of(bytes);
                    let starts_a_class = bytes == 1 || class_of(bytes - 1) != own;
                    assert_eq!(sure, if starts_a_class { own } else { own + 1 }, "{bytes}");
                }
                None => assert_eq!(class_of(bytes), class_of(u64::MAX)),
            }
        }
    }
}
