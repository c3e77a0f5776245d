//! Operations on rows, row by row.

use super::{Data, Event, Stored};
use crate::{Address, Rows};

impl Event<'_> {
    /// Each row as an event of its own; the whole, once, if it was refused or is of no bytes.
    pub(super) fn each_row(&self, rows: Rows, mut tell: impl FnMut(&Event<'_>)) {
        let Ok(root) = self.outcome else { return tell(self) };
        if rows.count == 0 || rows.bytes == 0 {
            // However many rows of nothing there are.
            return tell(&Event { size: 0, ..*self });
        }
        for row in 0..rows.count {
            // The rows are inside a buffer.
            let from = row.wrapping_mul(rows.pitch);
            let at = |address: Address| Address::from_raw(address.raw().wrapping_add(from));
            tell(&Event { address: at(self.address), size: rows.bytes, outcome: Ok(at(root)), ..*self });
        }
    }

    /// The same with the bytes of each.
    pub(super) fn each_row_stored(&self, rows: Rows, stored: Stored<'_>, mut tell: impl FnMut(&Event<'_>, Stored<'_>)) {
        let mut left = match (self.outcome, stored.data) {
            (Ok(_), Data::Bytes(bytes)) => bytes,
            _ => return self.each_row(rows, |row| tell(row, stored)),
        };
        self.each_row(rows, |row| {
            let (bytes, rest) = left.split_at(left.len().min(rows.bytes as usize));
            left = rest;
            tell(row, Stored { data: Data::Bytes(bytes), ..stored });
        });
    }
}
