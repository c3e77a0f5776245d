//! Rows: one operation on many ranges, told of as one.

use super::View;
use crate::observe::{Data, Event, Observer, Stored};
use crate::{Address, Fault, Rows};

impl<O: Observer> View<'_, O> {
    /// Copies rows that begin at `address` into `into`, as [`Memory::load_rows`](crate::Memory::load_rows).
    ///
    /// # Errors
    /// As [`Memory::load_rows`](crate::Memory::load_rows).
    pub fn load_rows(&self, address: Address, rows: Rows, into: &mut [u8]) -> Result<(), Fault> {
        let result = self.memory.load_rows_at(address, rows, into).map_err(|fault| self.named(fault));
        self.observer.load_rows(self.at(), &self.rows_event(address, rows, result.as_ref().copied()), rows);
        result.map(drop)
    }

    /// Copies `from`, rows one behind the other, to rows that begin at `address`, as
    /// [`Memory::store_rows`](crate::Memory::store_rows).
    ///
    /// # Errors
    /// As [`Memory::store_rows`](crate::Memory::store_rows).
    pub fn store_rows(&self, address: Address, rows: Rows, from: &[u8]) -> Result<(), Fault> {
        let store = || match self.compares_stores() {
            true => self.memory.store_rows_at::<true>(address, rows, from),
            false => self.memory.store_rows_at::<false>(address, rows, from),
        };
        let span = usize::try_from(rows.span().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let result = self.refuse_change(address, span).and_then(|()| store());
        let changes = !matches!(result, Ok((_, false)));
        let event = self.rows_event(address, rows, result.as_ref().map(|(root, _)| *root));
        self.observer.store_rows(self.at(), &event, rows, Stored { data: Data::Bytes(from), changes });
        result.map(drop)
    }

    /// An event from the first row's start to the last one's end.
    fn rows_event<'e>(&'e self, address: Address, rows: Rows, outcome: Result<Address, &'e Fault>) -> Event<'e> {
        Event { size: rows.span().unwrap_or(u64::MAX), ..self.event(address, 0, outcome) }
    }
}
