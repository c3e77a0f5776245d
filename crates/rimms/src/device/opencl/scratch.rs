//! What kernels need beside their operands: rooms that are used again, and tables.
//!
//! Commands run in order, so one call's rooms are free for the next as soon as it is queued. A room
//! grows when more is asked for; tables are kept until there are too many.

use super::raw::{Buffer, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of all tables that are kept.
const TABLES: usize = 64 << 20;

/// What a table holds, and for how many points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Table {
    /// `exp(-2πi·t/n)`.
    Roots(usize),
    /// `exp(-πi·j²/n)`.
    Chirp(usize),
    /// The transform of what a chirp is filtered with.
    Filter(usize),
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    rooms: Vec<Option<(Arc<Buffer>, usize)>>,
    tables: HashMap<Table, Arc<Buffer>>,
    table_bytes: usize,
}

impl Scratch {
    pub(super) fn room(
        &mut self,
        i: usize,
        bytes: usize,
        make: impl FnOnce(usize) -> Result<Buffer>,
    ) -> Result<Arc<Buffer>> {
        if self.rooms.len() <= i {
            self.rooms.resize_with(i + 1, || None);
        }
        if let Some(Some((room, size))) = self.rooms.get(i)
            && *size >= bytes
        {
            return Ok(room.clone());
        }
        let room = Arc::new(make(bytes)?);
        if let Some(slot) = self.rooms.get_mut(i) {
            *slot = Some((room.clone(), bytes));
        }
        Ok(room)
    }

    pub(super) fn table(
        &mut self,
        table: Table,
        make: impl FnOnce() -> Vec<[f32; 2]>,
        place: impl FnOnce(&[u8]) -> Result<Buffer>,
    ) -> Result<Arc<Buffer>> {
        if let Some(there) = self.tables.get(&table) {
            return Ok(there.clone());
        }
        let values = make();
        let bytes = bytemuck::cast_slice(&values);
        if self.table_bytes + bytes.len() > TABLES {
            self.tables.clear();
            self.table_bytes = 0;
        }
        let buffer = Arc::new(place(bytes)?);
        self.tables.insert(table, buffer.clone());
        self.table_bytes += bytes.len();
        Ok(buffer)
    }
}
