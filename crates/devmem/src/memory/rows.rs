//! Rows: ranges of equal length at equal distances, checked as one range.
//!
//! Owns [`Rows`], where the rows of an access lie.

use super::Memory;
use super::access::{Range, equal};
use crate::{Access, Address, Fault};

/// Ranges of equal length at equal distances: rows of a matrix, or of a part of one.
///
/// ```
/// use rimms_devmem::Rows;
///
/// let tile = Rows { count: 3, bytes: 16, pitch: 64 };
/// assert_eq!((tile.span(), tile.packed()), (Some(144), Some(48)));
/// assert_eq!(Rows { count: u64::MAX, ..tile }.span(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    /// How many.
    pub count: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// Bytes from the start of one to that of the next.
    pub pitch: u64,
}

impl Rows {
    /// Bytes from the first row's start to the last one's end, if 64 bits can say it.
    pub fn span(&self) -> Option<u64> {
        match self.count.checked_sub(1) {
            Some(gaps) => gaps.checked_mul(self.pitch)?.checked_add(self.bytes),
            None => Some(0),
        }
    }

    /// Bytes of all rows without what lies between them, if 64 bits can say it.
    pub fn packed(&self) -> Option<u64> {
        self.count.checked_mul(self.bytes)
    }

    /// Where they begin, bytes from the first, of as many rows as there are bytes for on the host.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        let pitch = self.pitch as usize;
        // Steps beyond the range that was checked are never asked for: the rows end first.
        (0usize..).map(move |row| row.wrapping_mul(pitch))
    }

    /// Bytes of a row, at least 1, as slices are cut by it.
    fn step(&self) -> usize {
        (self.bytes as usize).max(1)
    }
}

impl Memory {
    /// Copies rows that begin at `address` into `into`, one behind the other.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory, Rows};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let buffer = memory.allocate(12, Flags::default(), Init::Bytes(b"ab..cd..ef.."))?;
    /// let mut packed = [0; 6];
    /// memory.load_rows(buffer, Rows { count: 3, bytes: 2, pitch: 4 }, &mut packed)?;
    /// assert_eq!(&packed, b"abcdef");
    /// let gaps = memory.layout().add(buffer, 2).unwrap();
    /// memory.store_rows(gaps, Rows { count: 2, bytes: 2, pitch: 4 }, b"1234")?;
    /// let mut all = [0; 12];
    /// memory.load(buffer, &mut all)?;
    /// assert_eq!(&all, b"ab12cd34ef..");
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// The [`Fault`] of the whole range, from the first row's start to the last row's end; [`Fault::WrongSize`]
    /// when `into` is not as long as all rows; [`Fault::RowsOverlap`] when there is more than one row
    /// and the pitch is less than their bytes. `into` is then unchanged.
    pub fn load_rows(&self, address: Address, rows: Rows, into: &mut [u8]) -> Result<(), Fault> {
        self.load_rows_at(address, rows, into).map(drop)
    }

    /// As [`load_rows`](Self::load_rows); where the first row is in the buffer that its bytes belong to.
    pub(crate) fn load_rows_at(&self, address: Address, rows: Rows, into: &mut [u8]) -> Result<Address, Fault> {
        let range = self.range_of(address, rows, Access::Read, into.len())?;
        self.with_root::<0, _>(range, |bytes, root| {
            for (at, row) in rows.starts().zip(into.chunks_exact_mut(rows.step())) {
                bytes.part(at, row.len()).load(row);
            }
            root
        })
    }

    /// Copies `from`, rows one behind the other, to rows that begin at `address`. Bytes between the rows are left alone.
    ///
    /// # Errors
    /// As [`load_rows`](Self::load_rows); nothing is then stored.
    pub fn store_rows(&self, address: Address, rows: Rows, from: &[u8]) -> Result<(), Fault> {
        self.store_rows_at::<false>(address, rows, from).map(drop)
    }

    /// As [`store_rows`](Self::store_rows); where the first row is in the buffer that its bytes belong to, and whether
    /// any byte has changed if that is asked.
    pub(crate) fn store_rows_at<const COMPARE: bool>(
        &self,
        address: Address,
        rows: Rows,
        from: &[u8],
    ) -> Result<(Address, bool), Fault> {
        let range = self.range_of(address, rows, Access::Write, from.len())?;
        self.with_root::<0, _>(range, |bytes, root| {
            let mut changes = !COMPARE;
            for (at, row) in rows.starts().zip(from.chunks_exact(rows.step())) {
                let part = bytes.part(at, row.len());
                changes = changes || !equal(part, row);
                part.store(row);
            }
            (root, changes)
        })
    }

    /// The range that the rows lie in, for so many bytes of the host.
    fn range_of(&self, address: Address, rows: Rows, access: Access, found: usize) -> Result<Range, Fault> {
        let (Some(span), Some(packed)) = (rows.span(), rows.packed()) else {
            return Err(Fault::Overflow { place: self.place_of(address, u64::MAX, access) });
        };
        if rows.count > 1 && rows.pitch < rows.bytes {
            let place = self.place_of(address, span, access);
            return Err(Fault::RowsOverlap { place, row_bytes: rows.bytes, pitch: rows.pitch });
        }
        if packed != found as u64 {
            return Err(Fault::WrongSize { space: self.space, wanted: packed, found: found as u64 });
        }
        Ok(Range::bytes(address, span, access))
    }
}
