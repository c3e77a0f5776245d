//! How many work-items a kernel has, and how they are grouped.
//!
//! Owns [`NdRange`]: three numbers of items, three of a group, and where the global ids begin. Invariants: a group
//! has at least one item and less than 2^32; each number of items is a multiple of the group's; all numbers of items
//! fit into 64 bits. Work-items and groups have numbers, x first, then y, then z; an item's number is that of its group
//! times the group's size plus its own within the group.

use thiserror::Error;

/// The work-items of a launch, in up to three dimensions.
///
/// ```
/// use rimms_devmem::NdRange;
///
/// let range = NdRange::new([8, 6, 1], [4, 2, 1])?;
/// assert_eq!((range.items(), range.groups(), range.group_items()), (48, 6, 8));
/// assert_eq!(NdRange::linear(1000, 100)?.groups(), 10);
/// assert!(NdRange::linear(1000, 300).is_err());
/// # Ok::<(), rimms_devmem::RangeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NdRange {
    global: [u64; 3],
    local: [u32; 3],
    offset: [u64; 3],
    items: u64,
    group_items: u32,
}

/// Why there is no such range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RangeError {
    /// A group without items.
    #[error("a group of {local:?} items: wanted at least 1 in each dimension")]
    NoItems {
        /// The group asked for.
        local: [u32; 3],
    },
    /// Groups that do not fill the range.
    #[error("{global:?} items in groups of {local:?}: wanted a multiple in each dimension")]
    NotMultiple {
        /// The items asked for.
        global: [u64; 3],
        /// The group asked for.
        local: [u32; 3],
    },
    /// More items, with the offset, than numbers for them.
    #[error("{global:?} items from {offset:?} on in groups of {local:?}: wanted numbers of 64 bits, of 32 in a group")]
    TooMany {
        /// The items asked for.
        global: [u64; 3],
        /// The group asked for.
        local: [u32; 3],
        /// Where ids begin.
        offset: [u64; 3],
    },
}

impl NdRange {
    /// One item, a group of its own.
    pub(crate) const ONE: Self = NdRange { global: [1; 3], local: [1; 3], offset: [0; 3], items: 1, group_items: 1 };

    /// `global` work-items in groups of `local`, both in x, y and z; 1 in a dimension that is not used. No items at all
    /// (a 0 in `global`) are a range of no groups.
    ///
    /// # Errors
    /// [`RangeError`].
    pub fn new(global: [u64; 3], local: [u32; 3]) -> Result<Self, RangeError> {
        Self::with_offset(global, local, [0; 3])
    }

    /// As [`new`](Self::new), in one dimension.
    ///
    /// # Errors
    /// [`RangeError`].
    pub fn linear(items: u64, group: u32) -> Result<Self, RangeError> {
        Self::new([items, 1, 1], [group, 1, 1])
    }

    /// As [`new`](Self::new), with global ids that begin at `offset`.
    ///
    /// # Errors
    /// [`RangeError`].
    pub fn with_offset(global: [u64; 3], local: [u32; 3], offset: [u64; 3]) -> Result<Self, RangeError> {
        if local.contains(&0) {
            return Err(RangeError::NoItems { local });
        }
        if (0..3).any(|d| !global[d].is_multiple_of(local[d].into())) {
            return Err(RangeError::NotMultiple { global, local });
        }
        let items = global.into_iter().try_fold(1u64, u64::checked_mul);
        let group_items = local.into_iter().try_fold(1u32, u32::checked_mul);
        let ends = (0..3).try_for_each(|d| global[d].checked_add(offset[d]).map(drop));
        match (items, group_items, ends) {
            (Some(items), Some(group_items), Some(())) => Ok(NdRange { global, local, offset, items, group_items }),
            _ => Err(RangeError::TooMany { global, local, offset }),
        }
    }

    /// Work-items in each dimension.
    pub fn global(&self) -> [u64; 3] {
        self.global
    }

    /// Work-items of a group in each dimension.
    pub fn local(&self) -> [u32; 3] {
        self.local
    }

    /// Where the global ids begin.
    pub fn offset(&self) -> [u64; 3] {
        self.offset
    }

    /// All work-items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// All groups.
    pub fn groups(&self) -> u64 {
        self.items / u64::from(self.group_items)
    }

    /// Work-items of a group.
    pub fn group_items(&self) -> u32 {
        self.group_items
    }

    /// The id of the group with this number.
    pub fn group_id(&self, number: u64) -> [u64; 3] {
        let [x, y] = [0, 1].map(|d| (self.global[d] / u64::from(self.local[d])).max(1));
        [number % x, number / x % y, number / x / y]
    }

    /// The id within its group of the item with this number in it.
    pub fn local_id(&self, number: u32) -> [u32; 3] {
        [0, 1, 2].map(|d| self.local_id_in(d, number))
    }

    /// The global id of an item.
    pub(crate) fn global_id(&self, group: [u64; 3], number: u32) -> [u64; 3] {
        [0, 1, 2].map(|d| self.global_id_in(d, group, number))
    }

    #[inline(always)]
    pub(crate) fn local_id_in(&self, dimension: usize, number: u32) -> u32 {
        let [x, y, _] = self.local;
        if self.group_items == x {
            // One dimension: no division.
            return if dimension == 0 { number } else { 0 };
        }
        match dimension {
            0 => number % x,
            1 => number / x % y,
            _ => number / x / y,
        }
    }

    #[inline(always)]
    pub(crate) fn global_id_in(&self, dimension: usize, group: [u64; 3], number: u32) -> u64 {
        let of_group = group[dimension].wrapping_mul(u64::from(self.local[dimension]));
        // No larger than the items and the offset, which were checked.
        of_group.wrapping_add(u64::from(self.local_id_in(dimension, number))).wrapping_add(self.offset[dimension])
    }
}
