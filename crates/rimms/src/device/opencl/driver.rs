//! One device as its driver shows it: what it is, its context and its queues.
//!
//! Owns [`Driver`]: the devices of a platform share a context, so that copies
//! between them are direct, and each reaches what another [lends](super::peers); each has one queue, whose commands run in order,
//! and [one more](Driver::aside) for copies out that have nothing to wait for there.
//! And [`Facts`], read once.

use super::peers::Peers;
use super::queue::Queue;
use super::raw::{Context, Id, Result};
use cl3::device as of;
use std::sync::{Arc, OnceLock};

/// What is asked of a device once.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) name: String,
    /// `OpenCL 3.0 …`, in the device's words, and of the driver.
    pub(super) version: String,
    pub(super) driver_version: String,
    /// Bytes of its memory, in all and of the largest buffer.
    pub(super) memory: u64,
    pub(super) largest_buffer: u64,
    /// Bytes that the offset of a part of a buffer has to be a multiple of.
    pub(super) buffer_align: u64,
    /// Bytes of local memory that a group has.
    pub(super) local_memory: u64,
    /// Does it work on the host's memory?
    pub(super) is_unified: bool,
    /// Can it wait for another device's commands? PoCL's `basic` (`cpu-minimal` since 4.0), which runs commands in the
    /// threads that hand them over, does so for ever.
    pub(super) waits_for_others: bool,
    /// Is it for one thread at a time? Oclgrind, which runs kernels in the threads that wait for them, ends the process where
    /// two do.
    pub(super) is_for_one_thread: bool,
    /// Can both reach one piece of memory at any time, at the same addresses?
    pub(super) has_fine_svm: bool,
}

impl Facts {
    pub(super) fn of(device: Id) -> Self {
        let name = device.text(of::CL_DEVICE_NAME);
        Self {
            waits_for_others: !["basic", "cpu-minimal"].iter().any(|simple| name.starts_with(simple)),
            is_for_one_thread: name.starts_with("Oclgrind"),
            name,
            version: device.text(of::CL_DEVICE_VERSION),
            driver_version: device.text(of::CL_DRIVER_VERSION),
            memory: device.number(of::CL_DEVICE_GLOBAL_MEM_SIZE),
            largest_buffer: device.number(of::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
            // In bits; a power of two by the specification.
            buffer_align: (device.number(of::CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8).next_power_of_two().max(16),
            local_memory: device.number(of::CL_DEVICE_LOCAL_MEM_SIZE),
            is_unified: device.number(of::CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
            has_fine_svm: device.number(of::CL_DEVICE_SVM_CAPABILITIES) & of::CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct Driver {
    pub(super) device: Id,
    pub(super) facts: Facts,
    pub(super) queue: Arc<Queue>,
    pub(super) context: Arc<Context>,
    /// This and the others of the context.
    pub(super) peers: Arc<Peers>,
    aside: OnceLock<Option<Queue>>,
}

impl Driver {
    pub(super) fn new(device: Id, facts: Facts, context: Arc<Context>, peers: Arc<Peers>) -> Result<Self> {
        let queue = Arc::new(Queue::new(&context, device)?);
        peers.join(&queue);
        Ok(Self { device, facts, queue, context, peers, aside: OnceLock::new() })
    }

    /// A queue for copies out beside what the first one is at, made when it is first asked for. What they have to come after the
    /// host waits for: no driver has to wait for one queue in another. `None` where nothing is gained, since commands run in
    /// the threads that hand them over or wait for them, and where the driver gives no second queue.
    pub(super) fn aside(&self) -> Option<&Queue> {
        let runs_by_itself = self.facts.waits_for_others && !self.facts.is_for_one_thread;
        let make = || Queue::beside(&self.queue, &self.context, self.device).ok();
        self.aside.get_or_init(|| runs_by_itself.then(make).flatten()).as_ref()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // What is still queued, on whichever device, may use memory that goes next.
        let _ = self.peers.finish();
        let _ = self.aside.get().and_then(Option::as_ref).map(Queue::finish);
    }
}
