//! One device as its driver shows it: what it is, its context and its queue.
//!
//! Owns [`Driver`] and [`Facts`], read once.

use super::library::{Attribute, Result};
use super::queue::Queue;
use super::raw::{Context, Id};
use std::sync::Arc;

/// What is asked of a device once.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) name: String,
    /// Bytes of its memory.
    pub(super) memory: u64,
    /// Its compute capability, 90 for 9.0.
    pub(super) capability: i32,
    /// Is its memory the host's?
    pub(super) is_integrated: bool,
    /// Can it reach host memory that is made for that, by the address that the host has?
    pub(super) maps_host_memory: bool,
    /// Can memory come and go in the order of its commands?
    pub(super) has_pools: bool,
}

impl Facts {
    pub(super) fn of(id: Id) -> Result<Self> {
        use Attribute::{
            CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY as MAPS, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR, CU_DEVICE_ATTRIBUTE_INTEGRATED as INTEGRATED,
            CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as POOLS, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING as UNIFIED,
        };
        let is = |attribute| id.attribute(attribute).map(|value| value != 0);
        Ok(Self {
            name: id.name()?,
            memory: id.memory()? as u64,
            capability: 10 * id.attribute(MAJOR)? + id.attribute(MINOR)?,
            is_integrated: is(INTEGRATED)?,
            maps_host_memory: is(MAPS)? && is(UNIFIED)?,
            // What a driver does not know it does not have.
            has_pools: is(POOLS).unwrap_or(false),
        })
    }
}

#[derive(Debug)]
pub(super) struct Driver {
    pub(super) facts: Facts,
    pub(super) queue: Queue,
    pub(super) context: Arc<Context>,
}

impl Driver {
    pub(super) fn new(id: Id) -> Result<Self> {
        let facts = Facts::of(id)?;
        let context = Arc::new(Context::retain(id)?);
        Ok(Self { facts, queue: Queue::new(&context)?, context })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // What is still queued uses memory that goes next.
        let _ = self.queue.finish();
    }
}
