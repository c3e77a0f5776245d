//! Names of buffers.
//!
//! Owns the names given at allocation, by index. A name stays when its buffer is freed, for those who want to say what
//! a stale address once meant, until the index has its next buffer.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Memory;
use crate::Address;

/// By index: the base of the buffer, and its name.
#[derive(Default)]
pub(super) struct Names(Mutex<HashMap<u32, (Address, Arc<str>)>>);

impl Names {
    pub(super) fn forget(&self, index: u32) {
        self.0.lock().remove(&index);
    }
}

impl Memory {
    /// The name of the buffer that `address` lies in, if it was given one. The last buffer of a slot keeps its name when it is
    /// freed, until the slot has its next one.
    pub fn name_of(&self, address: Address) -> Option<Arc<str>> {
        if !self.table.slot(address)?.is_noted() {
            return None;
        }
        let base = Address::from_raw(self.layout.base_of(address.raw()));
        let names = self.names.0.lock();
        let (of, name) = names.get(&(self.layout.index_of(address) as u32))?;
        (*of == base).then(|| name.clone())
    }

    /// Names the buffer that begins at `address`; nothing happens when there is none.
    pub fn set_name(&self, address: Address, name: &str) {
        let Some(slot) = self.table.slot(address) else { return };
        if self.size_of(address).is_ok() {
            let base = Address::from_raw(self.layout.base_of(address.raw()));
            self.names.0.lock().insert(self.layout.index_of(address) as u32, (base, name.into()));
            slot.set_noted(true);
        }
    }
}
