//! Rows: ranges of equal length at equal distances, checked as one range.

use super::Memory;
use super::access::Range;
use crate::{Access, Address, Fault};

/// The rows of a strided access: bytes from the first row's start to the last row's end, and host bytes needed.
struct Extent {
    span: u64,
    packed: u64,
}

impl Memory {
    /// Copies `rows` rows of `row_bytes` bytes, which start `pitch` bytes apart from `address` on, into `into`,
    /// one behind the other.
    ///
    /// ```
    /// # use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
    /// # let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    /// let buffer = memory.allocate(12, Flags::default(), Init::Bytes(b"ab..cd..ef.."))?;
    /// let mut packed = [0; 6];
    /// memory.load_rows(buffer, 3, 2, 4, &mut packed)?;
    /// assert_eq!(&packed, b"abcdef");
    /// memory.store_rows(memory.layout().add(buffer, 2).unwrap(), 2, 2, 4, b"1234")?;
    /// let mut all = [0; 12];
    /// memory.load(buffer, &mut all)?;
    /// assert_eq!(&all, b"ab12cd34ef..");
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// The [`Fault`] of the whole range, from the first row's start to the last row's end; [`Fault::WrongSize`]
    /// when `into` is not `rows` × `row_bytes` bytes; [`Fault::RowsOverlap`] when there is more than one row
    /// and `pitch` is less than `row_bytes`. `into` is then unchanged.
    pub fn load_rows(
        &self,
        address: Address,
        rows: u64,
        row_bytes: u64,
        pitch: u64,
        into: &mut [u8],
    ) -> Result<(), Fault> {
        let extent = self.extent(address, rows, row_bytes, pitch, Access::Read)?;
        self.check_packed(&extent, into.len())?;
        self.with::<0, _>(Range::bytes(address, extent.span, Access::Read), |bytes| {
            for (at, row) in starts(pitch).zip(into.chunks_exact_mut((row_bytes as usize).max(1))) {
                bytes.part(at, row.len()).load(row);
            }
        })
    }

    /// Copies `from`, rows one behind the other, to rows of `row_bytes` bytes that start `pitch` bytes apart
    /// from `address` on. Bytes between the rows are left alone.
    ///
    /// # Errors
    /// As [`load_rows`](Self::load_rows); nothing is then stored.
    pub fn store_rows(
        &self,
        address: Address,
        rows: u64,
        row_bytes: u64,
        pitch: u64,
        from: &[u8],
    ) -> Result<(), Fault> {
        let extent = self.extent(address, rows, row_bytes, pitch, Access::Write)?;
        self.check_packed(&extent, from.len())?;
        self.with::<0, _>(Range::bytes(address, extent.span, Access::Write), |bytes| {
            for (at, row) in starts(pitch).zip(from.chunks_exact((row_bytes as usize).max(1))) {
                bytes.part(at, row.len()).store(row);
            }
        })
    }

    fn extent(&self, address: Address, rows: u64, row_bytes: u64, pitch: u64, access: Access) -> Result<Extent, Fault> {
        let extent = || {
            let Some(gaps) = rows.checked_sub(1) else {
                return Some(Extent { span: 0, packed: 0 });
            };
            let span = gaps.checked_mul(pitch)?.checked_add(row_bytes)?;
            Some(Extent { span, packed: rows.checked_mul(row_bytes)? })
        };
        let place = self.place_of(address, u64::MAX, access);
        let extent = extent().ok_or(Fault::Overflow { place })?;
        if rows > 1 && pitch < row_bytes {
            let place = self.place_of(address, extent.span, access);
            return Err(Fault::RowsOverlap { place, row_bytes, pitch });
        }
        Ok(extent)
    }

    fn check_packed(&self, extent: &Extent, found: usize) -> Result<(), Fault> {
        if extent.packed == found as u64 {
            return Ok(());
        }
        Err(Fault::WrongSize { space: self.space, wanted: extent.packed, found: found as u64 })
    }
}

/// Where the rows begin, bytes from the first.
fn starts(pitch: u64) -> impl Iterator<Item = usize> {
    // Steps beyond the range that was checked are never asked for: the rows end first.
    (0usize..).map(move |row| row.wrapping_mul(pitch as usize))
}
