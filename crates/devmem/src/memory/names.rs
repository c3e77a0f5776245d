//! Names of buffers.
//!
//! Owns the names given at allocation, by index. A name stays when its buffer is freed, for those who want to say what
//! a stale address once meant, until the buffer after the next in the same slot.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Memory;
use crate::Address;

type Named = Option<(Address, Arc<str>)>;

/// By index: the base and the name of its last buffer and of the one before.
#[derive(Default)]
pub(super) struct Names(Mutex<HashMap<u32, [Named; 2]>>);

impl Names {
    /// The index has another buffer now; whether a name is left.
    pub(super) fn begin_next(&self, index: u32) -> bool {
        let mut names = self.0.lock();
        let Some([last, before]) = names.get_mut(&index) else { return false };
        *before = last.take();
        let left = before.is_some();
        if !left {
            names.remove(&index);
        }
        left
    }
}

impl Memory {
    /// The name of the buffer that `address` lies in, if it was given one. A buffer that is freed keeps its name until its
    /// slot has had another.
    pub fn name_of(&self, address: Address) -> Option<Arc<str>> {
        if !self.table.slot(address)?.is_noted() {
            return None;
        }
        let base = Address::from_raw(self.layout.base_of(address.raw()));
        let names = self.names.0.lock();
        let names = names.get(&(self.layout.index_of(address) as u32))?;
        names.iter().flatten().find(|(of, _)| *of == base).map(|(_, name)| name.clone())
    }

    /// Names the buffer that begins at `address`; nothing happens when there is none.
    pub fn set_name(&self, address: Address, name: &str) {
        let Some(slot) = self.table.slot(address) else { return };
        if self.size_of(address).is_ok() {
            let base = Address::from_raw(self.layout.base_of(address.raw()));
            self.names.0.lock().entry(self.layout.index_of(address) as u32).or_default()[0] = Some((base, name.into()));
            slot.set_noted(true);
        }
    }
}
