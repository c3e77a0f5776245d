//! A CUDA device's memory: blocks at the device's own addresses, and the copies between them and the host.
//!
//! Where blocks come from is [`Memory`]: the driver, in the order of the device's commands where it can; one large block under a
//! marking system; or host memory that the device reaches itself. A span that is not wholly inside a live block (of the
//! driver's, or the large one) is refused.
//!
//! All commands go to the device's one queue. Copies in are queued and not waited for, through [staging](super::staging); copies out
//! are waited for.

use super::blocks::{Pinned, Pool};
use super::driver::Driver;
use super::failed;
use super::library::{Code, Result as Raw};
use super::raw::Context;
use super::staging::Staging;
use crate::device::{
    DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Limits, Operation, Span, Usage,
};
use parking_lot::{Mutex, RwLock};
use rimms_heap::{HeapKind, MarkingSystem};
use std::collections::BTreeMap;

/// How a CUDA device's memory is managed.
///
/// ```
/// use rimms::device::cuda::{self, Memory};
/// let slab = Memory::Slab { bytes: 16 << 20, heap: "next-fit".parse().unwrap() };
/// for device in cuda::find_with(slab).devices {
///     println!("{device:?}"); // with 16 MiB each, to see what happens when memory is short
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Each block is one of the driver's: as much as there is. Blocks come and go in the order of the device's commands, and
    /// nobody waits, where the driver can do that.
    #[default]
    Driver,
    /// One large block, divided by a marking system: allocation costs no call of the driver.
    Slab {
        /// Its size.
        bytes: u64,
        /// The marking system.
        heap: HeapKind,
    },
    /// Host memory, pinned, which the device reaches itself: for mode `zero-copy`, where data lie there and nothing is copied.
    /// The right thing where device and host have one memory (Jetson); elsewhere each access goes over the bus.
    Mapped,
}

/// What every block's address is a multiple of.
const ALIGN: u64 = 256;

#[derive(Debug)]
struct Block {
    bytes: u64,
    /// What it lies in, if that is host memory.
    pinned: Option<Pinned>,
}

#[derive(Debug)]
pub(super) struct DeviceMemory {
    kind: Memory,
    /// All that may be in use at once.
    most: u64,
    /// Of a slab.
    marks: Option<Mutex<Box<dyn MarkingSystem>>>,
    pool: Option<Pool>,
    /// By address: live blocks, or the slab.
    blocks: RwLock<BTreeMap<u64, Block>>,
    staging: Mutex<Staging>,
}

impl DeviceMemory {
    pub(super) fn new(driver: &Driver, kind: Memory) -> Result<Self, String> {
        let (facts, context) = (&driver.facts, &driver.context);
        let mut blocks = BTreeMap::new();
        let (mut marks, mut pool) = (None, None);
        let most = match kind {
            Memory::Slab { bytes, heap } => {
                let size = usize::try_from(bytes).map_err(|e| e.to_string())?;
                let start = context.allocate(size).map_err(|e| format!("no block of {bytes} bytes: {e}"))?;
                match heap.build(start, bytes) {
                    Ok(made) => marks = Some(Mutex::new(made)),
                    Err(why) => {
                        let _ = context.free(start);
                        return Err(why.to_string());
                    }
                }
                blocks.insert(start, Block { bytes, pinned: None });
                bytes
            }
            Memory::Mapped if !facts.maps_host_memory => return Err("it cannot reach host memory".into()),
            Memory::Mapped => facts.memory,
            Memory::Driver => {
                if facts.has_pools {
                    pool = Some(Pool::new(context).map_err(|e| format!("no pool of memory: {e}"))?);
                }
                facts.memory
            }
        };
        let (blocks, staging) = (RwLock::new(blocks), Mutex::default());
        Ok(Self { kind, most, marks, pool, blocks, staging })
    }

    pub(super) fn is_host_memory(&self) -> bool {
        self.kind == Memory::Mapped
    }

    /// Bytes in all, where that is known.
    pub(super) fn capacity(&self) -> Option<u64> {
        self.marks.as_ref().map(|_| self.most)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { total: self.most, block: self.most, on_host: u64::MAX }
    }

    pub(super) fn footprint(&self, bytes: u64) -> u64 {
        match self.kind {
            Memory::Slab { heap, .. } => heap.footprint(bytes, ALIGN),
            _ => bytes,
        }
    }

    /// Lets a device of this process copy from it.
    pub(super) fn open_to(&self, peer: &Context) -> Raw<()> {
        self.pool.as_ref().map_or(Ok(()), |pool| pool.open_to(peer))
    }

    pub(super) fn allocate(&self, info: &DeviceInfo, driver: &Driver, bytes: u64) -> Result<u64, DeviceError> {
        if let Some(marks) = &self.marks {
            let made = marks.lock().allocate(bytes, ALIGN);
            return made.map_err(|e| DeviceError::of_heap(info, Operation::Allocate, &e));
        }
        if bytes > self.most {
            let message = format!("{bytes} bytes are wanted, there are {} in all", self.most);
            let kind = DeviceErrorKind::NeverFits { wanted: bytes, capacity: self.most };
            return Err(DeviceError::new(info, Operation::Allocate, kind, message));
        }
        let (address, block) = self.make(driver, bytes).map_err(|code| self.no_room(info, bytes, code))?;
        self.blocks.write().insert(address, block);
        Ok(address)
    }

    fn make(&self, driver: &Driver, bytes: u64) -> Raw<(u64, Block)> {
        let Ok(size) = usize::try_from(bytes.max(1)) else {
            return Err(Code { library: Code::DRIVER, number: OUT_OF_MEMORY });
        };
        if self.is_host_memory() {
            let pinned = Pinned::new(&driver.context, size)?;
            return Ok((pinned.on_device()?, Block { bytes, pinned: Some(pinned) }));
        }
        let address = match &self.pool {
            Some(pool) => pool.allocate(size, &driver.queue.stream)?,
            None => driver.context.allocate(size)?,
        };
        Ok((address, Block { bytes, pinned: None }))
    }

    fn no_room(&self, info: &DeviceInfo, bytes: u64, code: Code) -> DeviceError {
        if code.number != OUT_OF_MEMORY {
            return failed(info, Operation::Allocate, code);
        }
        let free = self.usage().free;
        let message = format!("no room for {bytes} bytes beside the {} in use: {code}", self.most - free);
        let kind = DeviceErrorKind::Full { wanted: bytes, free, capacity: self.most };
        DeviceError::new(info, Operation::Allocate, kind, message)
    }

    pub(super) fn free(&self, info: &DeviceInfo, driver: &Driver, address: u64) -> Result<(), DeviceError> {
        if let Some(marks) = &self.marks {
            let freed = marks.lock().free(address);
            return freed.map(drop).map_err(|e| DeviceError::of_heap(info, Operation::Free, &e));
        }
        // Under the lock: whoever is given the address next finds the old block gone.
        let mut blocks = self.blocks.write();
        let Some(block) = blocks.get(&address) else {
            let message = format!("no block of {} begins at {address:#x}", info.name);
            return Err(DeviceError::new(info, Operation::Free, DeviceErrorKind::Invalid, message));
        };
        let freed = match (&block.pinned, &self.pool) {
            // Commands that use it may still be queued.
            (Some(_), _) => driver.queue.finish(),
            (None, Some(_)) => driver.context.free_later(address, &driver.queue.stream),
            (None, None) => driver.context.free(address),
        };
        freed.map_err(|code| failed(info, Operation::Free, code))?;
        blocks.remove(&address);
        Ok(())
    }

    pub(super) fn usage(&self) -> Usage {
        if let Some(marks) = &self.marks {
            let r = marks.lock().report();
            let (free, largest_free) = (r.free, r.largest_free);
            return Usage { used: r.used, free, largest_free, blocks: r.live, metadata: r.metadata_bytes };
        }
        let blocks = self.blocks.read();
        let used = blocks.values().map(|block| block.bytes).sum();
        let free = self.most.saturating_sub(used);
        Usage { used, free, largest_free: free, blocks: blocks.len() as u64, metadata: 0 }
    }

    /// Refuses what is not all in a live block.
    pub(super) fn check(&self, info: &DeviceInfo, operation: Operation, span: &Span) -> Result<(), DeviceError> {
        let blocks = self.blocks.read();
        let is_inside = blocks.range(..=span.address).next_back().is_some_and(|(start, block)| {
            let end = (span.address - start).checked_add(span.rows.extent() as u64);
            end.is_some_and(|end| end <= block.bytes)
        });
        if is_inside {
            return Ok(());
        }
        let message = format!("no block of {} holds all of what begins at {:#x}", info.name, span.address);
        Err(DeviceError::new(info, operation, DeviceErrorKind::Invalid, message))
    }

    /// Where the device reaches what the host knows by this address, if it lies in a block of this memory.
    pub(super) fn on_device(&self, span: &Span) -> Option<u64> {
        let blocks = self.blocks.read();
        blocks.iter().find_map(|(address, block)| {
            let start = block.pinned.as_ref()?.start().addr().get() as u64;
            let offset = span.address.checked_sub(start)?;
            let end = offset.checked_add(span.rows.extent() as u64)?;
            (end <= block.bytes).then_some(address + offset)
        })
    }

    pub(super) fn lend(&self, address: u64) -> Option<Lent> {
        self.blocks.read().get(&address)?.pinned.as_ref().map(Pinned::lend)
    }

    pub(super) fn write(
        &self,
        info: &DeviceInfo,
        driver: &Driver,
        from: &HostSource<'_>,
        to: &Span,
    ) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        self.check(info, Operation::Upload, to)?;
        let done = self.staging.lock().write(driver, from, (to.address, &to.rows));
        done.map_err(|code| failed(info, Operation::Upload, code))
    }

    pub(super) fn read(
        &self,
        info: &DeviceInfo,
        driver: &Driver,
        from: &Span,
        to: &mut HostTarget<'_>,
    ) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Download, &from.rows, to.rows())?;
        self.check(info, Operation::Download, from)?;
        let done = self.staging.lock().read(driver, (from.address, &from.rows), to);
        done.map_err(|code| failed(info, Operation::Download, code))
    }

    /// Bytes for a kernel's scratch, in the order of the queue.
    pub(super) fn give(&self, driver: &Driver, bytes: &[u8], to: u64) -> Raw<()> {
        let rows = crate::device::Rows::run(bytes.len());
        self.staging.lock().write(driver, &HostSource::from_slice(bytes), (to, &rows))
    }

    pub(super) fn copy(&self, info: &DeviceInfo, driver: &Driver, from: &Span, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        self.check(info, Operation::Copy, from)?;
        self.check(info, Operation::Copy, to)?;
        let done = driver.queue.copy((from.address, &from.rows), (to.address, &to.rows));
        done.map_err(|code| failed(info, Operation::Copy, code))
    }

    /// Gives all back. For whoever is done with the device.
    pub(super) fn close(&self, driver: &Driver) {
        let blocks = std::mem::take(&mut *self.blocks.write());
        for (address, block) in blocks {
            let _ = match (&block.pinned, &self.pool) {
                (Some(_), _) => Ok(()),
                (None, Some(_)) => driver.context.free_later(address, &driver.queue.stream),
                (None, None) => driver.context.free(address),
            };
        }
    }
}

const OUT_OF_MEMORY: u32 = 2;
