//! The resources of one runtime, their devices and counters: what every datum needs to know.

use super::links::Links;
use super::pressure::Pressure;
use super::registry::Registry;
use crate::coherence::{MemoryMode, ResourceId};
use crate::device::{Device, DeviceError, Lent, Usage};
use crate::error::Error;
use crate::order::Order;
use crate::trace::{Log, Tally};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a device has lent for a datum.
pub(super) type Storage = (Arc<Block>, Lent);

/// One resource: its device, and who has how much of its memory.
struct Resource {
    device: Arc<dyn Device>,
    registry: Registry,
    pressure: Pressure,
    /// Why the device is gone, if it is.
    lost: OnceLock<Arc<Error>>,
    /// Operations that the device is at now.
    operations: AtomicU32,
    /// When the last one began while there was none, or ended: nanoseconds of this runtime's life.
    last_sign: AtomicU64,
}

impl Resource {
    fn sign(&self, clock: Instant) {
        self.last_sign.store(clock.elapsed().as_nanos() as u64, Relaxed);
    }
}

/// An operation of a device, until dropped.
pub(crate) struct Operation<'a> {
    resource: &'a Resource,
    clock: Instant,
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        self.resource.sign(self.clock);
        self.resource.operations.fetch_sub(1, Release);
    }
}

/// Shared by the runtime and all its data; outlives both.
pub(crate) struct Resources {
    pub(crate) mode: MemoryMode,
    /// Data of at least so many bytes are in mode `zero-copy` instead.
    pub(crate) shared_from: usize,
    pub(crate) tally: Tally,
    /// The timeline, if one is kept.
    pub(crate) log: Option<Arc<Log>>,
    pub(crate) order: Order,
    pub(crate) links: Links,
    /// The resource of each queue's PE.
    queues: Vec<ResourceId>,
    /// Whose memory data in mode `zero-copy` lie in, if any device lends its own.
    lender: Option<ResourceId>,
    all: Vec<Resource>,
    any_lost: AtomicBool,
    /// Since then; only where devices have a time limit.
    clock: Option<Instant>,
    /// Blocks whose release failed; tried again before the next allocation, and when somebody looks.
    unfreed: Mutex<Vec<(ResourceId, u64)>>,
}

impl Resources {
    /// `devices[0]` is the host; `queues` are the resources that the PEs work on. With a limit, devices' operations are
    /// watched; with a log, what is done is entered there.
    pub(crate) fn new(
        (mode, shared_from): (MemoryMode, usize),
        devices: Vec<Arc<dyn Device>>,
        queues: Vec<ResourceId>,
        has_limit: bool,
        log: Option<Arc<Log>>,
    ) -> Self {
        let (tally, order) = (Tally::new(devices.len(), queues.len()), Order::new(queues.len(), log.clone()));
        let links = Links::new(devices.len());
        let resource = |device| Resource {
            device,
            registry: Registry::default(),
            pressure: Pressure::default(),
            lost: OnceLock::new(),
            operations: AtomicU32::new(0),
            last_sign: AtomicU64::new(0),
        };
        let lends = |(_, device): &(ResourceId, &Arc<dyn Device>)| device.lends_memory();
        let ids = (0..).map_while(ResourceId::new);
        let lender = ids.zip(&devices).find(lends).map(|(r, _)| r).filter(|_| shared_from < usize::MAX);
        let all = devices.into_iter().map(resource).collect();
        let (any_lost, unfreed) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let clock = has_limit.then(Instant::now);
        Self { mode, shared_from, tally, log, order, links, queues, lender, all, any_lost, clock, unfreed }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ResourceId> {
        (0..self.all.len()).filter_map(ResourceId::new)
    }

    /// A resource's device. Ids are made by this runtime, so there always is one.
    #[inline]
    pub(crate) fn device(&self, r: ResourceId) -> &Arc<dyn Device> {
        &self.all[r.index()].device
    }

    pub(super) fn registry(&self, r: ResourceId) -> &Registry {
        &self.all[r.index()].registry
    }

    pub(super) fn pressure(&self, r: ResourceId) -> &Pressure {
        &self.all[r.index()].pressure
    }

    /// Has anything on `r` had to make room before?
    #[inline]
    pub(crate) fn is_short_of_room(&self, r: ResourceId) -> bool {
        self.pressure(r).is_short()
    }

    /// The resource that the PE of a queue works on.
    pub(crate) fn of_queue(&self, queue: usize) -> Option<ResourceId> {
        self.queues.get(queue).copied()
    }

    /// How full a resource's memory is, once what could not be released before was tried again.
    pub(crate) fn usage(&self, r: ResourceId) -> Option<Usage> {
        self.release_unfreed();
        self.all.get(r.index()).map(|resource| resource.device.usage())
    }

    /// Says that the device of `r` is at an operation, for as long as the result lives.
    #[inline]
    pub(crate) fn operation(&self, r: ResourceId) -> Option<Operation<'_>> {
        let clock = self.clock?;
        let resource = &self.all[r.index()];
        // The sign first: whoever looks sees it with the operation, and does not take this for a long one.
        if resource.operations.load(Relaxed) == 0 {
            resource.sign(clock);
        }
        resource.operations.fetch_add(1, Release);
        Some(Operation { resource, clock })
    }

    /// Has the device of `r` been at an operation for longer than this, and ended none meanwhile?
    pub(crate) fn is_stuck(&self, r: ResourceId, limit: Duration) -> bool {
        let (Some(clock), resource) = (self.clock, &self.all[r.index()]) else { return false };
        resource.operations.load(Acquire) > 0 && {
            let sign = Duration::from_nanos(resource.last_sign.load(Relaxed));
            clock.elapsed().saturating_sub(sign) > limit
        }
    }

    /// Is any device gone?
    #[inline]
    pub(super) fn is_any_lost(&self) -> bool {
        self.any_lost.load(Acquire)
    }

    /// Is the device of `r` gone?
    #[inline]
    pub(crate) fn is_lost(&self, r: ResourceId) -> bool {
        self.is_any_lost() && self.why_lost(r).is_some()
    }

    pub(super) fn why_lost(&self, r: ResourceId) -> Option<&Arc<Error>> {
        self.all[r.index()].lost.get()
    }

    /// Returns whether it was there until now.
    pub(super) fn set_lost(&self, r: ResourceId, cause: Arc<Error>) -> bool {
        let is_new = self.all[r.index()].lost.set(cause).is_ok();
        self.any_lost.store(true, Release);
        is_new
    }

    fn release(&self, r: ResourceId, address: u64) {
        if self.is_lost(r) {
            return; // with all its memory
        }
        let device = self.device(r);
        let _operation = self.operation(r);
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

    /// The mode of a datum of so many bytes, and its storage, where a device lends its memory for that.
    ///
    /// # Errors
    /// No room there, if there is to be.
    #[inline]
    pub(super) fn storage(self: &Arc<Self>, bytes: usize) -> Result<(MemoryMode, Option<Storage>), Error> {
        if bytes < self.shared_from { Ok((self.mode, None)) } else { self.shared_storage(bytes) }
    }

    #[cold]
    fn shared_storage(self: &Arc<Self>, bytes: usize) -> Result<(MemoryMode, Option<Storage>), Error> {
        match self.lent(bytes) {
            Ok(lent) => Ok((MemoryMode::ZeroCopy, lent)),
            // Nobody has asked for it.
            Err(_) if self.mode != MemoryMode::ZeroCopy => Ok((self.mode, None)),
            Err(error) => Err(error),
        }
    }

    fn lent(self: &Arc<Self>, bytes: usize) -> Result<Option<Storage>, Error> {
        // Without the lender they lie in the host's own memory.
        let Some(r) = self.lender.filter(|r| !self.is_lost(*r)) else { return Ok(None) };
        let device = self.device(r);
        let block = match self.allocate(r, bytes).map_err(|e| self.failure(e, "alloc", &device.info().name)) {
            Ok(block) => block,
            Err(_) if self.is_lost(r) => return Ok(None),
            Err(error) => return Err(error),
        };
        match device.lend(block.address) {
            Some(lent) => Ok(Some((block, lent))),
            None => {
                let why = format!("{} lends its memory, but not the block at {:#x}", device.info().name, block.address);
                Err(Error::Config(why.into()))
            }
        }
    }

    pub(super) fn allocate(self: &Arc<Self>, r: ResourceId, bytes: usize) -> Result<Arc<Block>, DeviceError> {
        self.release_unfreed();
        let bytes = bytes as u64;
        let registry = self.registry(r);
        registry.begin();
        let _operation = self.operation(r);
        let address = self.device(r).allocate(bytes).inspect_err(|_| registry.ended())?;
        let last_use = AtomicU64::new(0);
        if let Some(log) = &self.log {
            log.allocated(r, bytes);
        }
        Ok(Arc::new(Block { resources: self.clone(), resource: r, address, bytes, last_use }))
    }
}

/// A block of a device's memory, freed by its last owner: the datum, or a call still running on it.
pub(crate) struct Block {
    resources: Arc<Resources>,
    resource: ResourceId,
    address: u64,
    bytes: u64,
    /// By the clock of the resource's registry.
    pub(super) last_use: AtomicU64,
}

impl Block {
    pub(super) fn resource(&self) -> ResourceId {
        self.resource
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Also where the device panics.
        struct Ended<'a>(&'a Registry);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                self.0.ended();
            }
        }
        let _ended = Ended(self.resources.registry(self.resource));
        if let Some(log) = &self.resources.log {
            log.released(self.resource, self.bytes);
        }
        self.resources.release(self.resource, self.address);
    }
}
