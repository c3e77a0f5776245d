//! The resources of one runtime, their devices and counters: what every datum needs to know.

use crate::coherence::{MemoryMode, ResourceId};
use crate::device::{Device, DeviceError, DeviceErrorKind, Usage};
use crate::error::Error;
use super::links::Links;
use crate::order::Order;
use crate::trace::Tally;
use parking_lot::Mutex;
use std::sync::Arc;

/// Shared by the runtime and all its data; outlives both.
pub(crate) struct Resources {
    pub(crate) mode: MemoryMode,
    pub(crate) tally: Tally,
    pub(crate) order: Order,
    pub(crate) links: Links,
    /// The resource of each queue's PE.
    queues: Vec<ResourceId>,
    devices: Vec<Arc<dyn Device>>,
    /// Blocks whose release failed; tried again before the next allocation, and when somebody looks.
    unfreed: Mutex<Vec<(ResourceId, u64)>>,
}

impl Resources {
    /// `devices[0]` is the host; `queues` are the resources that the PEs work on.
    pub(crate) fn new(mode: MemoryMode, devices: Vec<Arc<dyn Device>>, queues: Vec<ResourceId>) -> Self {
        let (tally, order) = (Tally::new(devices.len(), queues.len()), Order::new(queues.len()));
        let links = Links::new(devices.len());
        Self { mode, tally, order, links, queues, devices, unfreed: Mutex::new(Vec::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ResourceId> {
        (0..self.devices.len()).filter_map(ResourceId::new)
    }

    /// A resource's device. Ids are made by this runtime, so there always is one.
    #[inline]
    pub(crate) fn device(&self, r: ResourceId) -> &Arc<dyn Device> {
        &self.devices[r.index()]
    }

    /// The resource that the PE of a queue works on.
    pub(crate) fn of_queue(&self, queue: usize) -> Option<ResourceId> {
        self.queues.get(queue).copied()
    }

    /// How full a resource's memory is, once what could not be released before was tried again.
    pub(crate) fn usage(&self, r: ResourceId) -> Option<Usage> {
        self.release_unfreed();
        self.devices.get(r.index()).map(|d| d.usage())
    }

    pub(crate) fn lose(&self, _r: ResourceId, _e: &Arc<Error>) {}

    fn release(&self, r: ResourceId, address: u64) {
        let device = self.device(r);
        // A release that failed changed nothing, so it may be repeated.
        if device.free(address).is_err() && device.free(address).is_err() {
            self.unfreed.lock().push((r, address));
        }
    }

    fn release_unfreed(&self) {
        let waiting = std::mem::take(&mut *self.unfreed.lock());
        for (r, address) in waiting {
            self.release(r, address);
        }
    }

    pub(crate) fn allocate(self: &Arc<Self>, r: ResourceId, bytes: usize) -> Result<Arc<Block>, DeviceError> {
        self.release_unfreed();
        let address = self.device(r).allocate(bytes as u64)?;
        Ok(Arc::new(Block { resources: self.clone(), resource: r, address }))
    }
}

/// A block of a device's memory, freed by its last owner: the datum, or a call still running on it.
pub(crate) struct Block {
    resources: Arc<Resources>,
    resource: ResourceId,
    address: u64,
}

impl Block {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.resources.release(self.resource, self.address);
    }
}

/// A device's error as the caller sees it: lack of room has kinds of its own.
pub(crate) fn device_error(error: DeviceError, call: &str, pe: &str) -> Error {
    let device = error.device.clone();
    match error.kind {
        DeviceErrorKind::NeverFits { wanted, capacity } => Error::NeverFits { device, wanted, capacity },
        DeviceErrorKind::Full { wanted, free, capacity } => Error::Full { device, wanted, free, capacity },
        DeviceErrorKind::Fragmented { wanted, free, largest } => Error::Fragmented { device, wanted, free, largest },
        DeviceErrorKind::Kernel => Error::Kernel { call: call.into(), pe: pe.into(), message: error.message },
        DeviceErrorKind::Panicked => Error::Panicked { call: call.into(), pe: pe.into(), message: error.message },
        _ => Error::Device { call: call.into(), pe: pe.into(), error },
    }
}
