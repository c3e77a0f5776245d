//! An OpenCL device's memory: blocks at addresses, and the copies between them and the host.
//!
//! OpenCL's memory has no addresses, only buffers. Here a marking system gives
//! addresses out: over the one large buffer of a [`Slab`](Memory::Slab), or over
//! 2⁶⁰ bytes that nobody has, where each block is a buffer of the
//! [driver's](Memory::Driver). Either way a place is found by looking for the
//! [block](super::blocks) that begins last at or before its address; one that is not wholly
//! inside a live block is refused.
//!
//! Where host and device share [memory](super::svm), a block of the driver's is a piece of that, with a buffer
//! over it: the host may be lent it, and copies in and out are made by the host, as are those between two such blocks
//! where no device is at anything. [Its peers](super::peers) find a place in what is lent by the host's address of it.
//!
//! Commands go to the device's one queue, in order. A copy in of what fits
//! into a [staging slot](super::staging) is queued and not waited for; larger ones, and copies out, are. A copy out comes after the
//! last command at its block. Where others are queued behind that, it does not wait for them: once the command is over, the host
//! fetches the bytes, or a [second queue](Driver::aside) does.
#![allow(unsafe_code)] // for what is lent: see `lend`

use super::blocks::{Block, Blocks, Place};
use super::commands::{At, pitch};
use super::driver::Driver;
use super::failed;
use super::queue::Queue;
use super::raw::{Buffer, Code, Result as Raw};
use super::staging::Staging;
use crate::device::{
    DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Limits, Operation, Rows, Span, Usage,
};
use cl3::error_codes::{CL_MEM_COPY_OVERLAP, CL_MEM_OBJECT_ALLOCATION_FAILURE};
use cl3::error_codes::{CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES};
use parking_lot::{Mutex, RwLock};
use rimms_heap::{HeapKind, MarkingSystem};
use std::sync::Arc;

/// How an OpenCL device's memory is managed.
///
/// ```
/// use rimms::device::opencl::{self, Memory};
/// let slab = Memory::Slab { bytes: 16 << 20, heap: "next-fit".parse().unwrap() };
/// for device in opencl::find_with(slab).devices {
///     println!("{device:?}"); // with 16 MiB each, to see what happens when memory is short
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Each block is a buffer that the driver makes: as much as there is, at a call of the driver each.
    #[default]
    Driver,
    /// One large buffer, divided by a marking system: allocation costs no call of the driver.
    Slab {
        /// Its size.
        bytes: u64,
        /// The marking system.
        heap: HeapKind,
    },
}

/// Where addresses begin: nothing near 0 is an address.
const BASE: u64 = 1 << 20;
/// Addresses to give out where each block is a buffer of its own.
const ADDRESSES: u64 = 1 << 60;

#[derive(Debug)]
pub(super) struct DeviceMemory {
    kind: Memory,
    align: u64,
    most: Limits,
    marks: Mutex<Box<dyn MarkingSystem>>,
    /// Are blocks memory that the host reaches too?
    is_shared: bool,
    blocks: RwLock<Blocks>,
    /// What blocks are parts of, if they are.
    slab: Option<Arc<Buffer>>,
    /// In, out, and out aside.
    staging: [Mutex<Staging>; 3],
}

impl DeviceMemory {
    pub(super) fn new(driver: &Driver, kind: Memory) -> Result<Self, String> {
        let Driver { context, peers, facts, .. } = driver;
        let mut slab = None;
        let marks = match kind {
            Memory::Driver => HeapKind::default().build(BASE, ADDRESSES),
            Memory::Slab { bytes, heap } => {
                if bytes > facts.largest_buffer {
                    let most = facts.largest_buffer;
                    return Err(format!("{bytes} bytes in one piece are wanted, the driver gives {most} at most"));
                }
                let size = usize::try_from(bytes).map_err(|e| e.to_string())?;
                let buffer = context.buffer(size.max(1)).map_err(|e| format!("no buffer of {bytes} bytes: {e}"))?;
                slab = Some(Arc::new(buffer));
                heap.build(BASE, bytes)
            }
        };
        let (total, block) = match kind {
            Memory::Driver => (facts.memory, facts.largest_buffer),
            Memory::Slab { bytes, .. } => (bytes, bytes),
        };
        let most = Limits { total, block, on_host: facts.largest_buffer };
        // All devices of the context have to be able to, and the driver to keep its word.
        let can_share = || facts.is_unified && facts.has_fine_svm && Block::shared(context, peers, 64).is_ok();
        Ok(Self {
            kind,
            is_shared: kind == Memory::Driver && can_share(),
            align: facts.buffer_align,
            most,
            marks: Mutex::new(marks.map_err(|e| e.to_string())?),
            blocks: RwLock::default(),
            slab,
            staging: Default::default(),
        })
    }

    /// May the host be lent blocks?
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(super) fn is_slab(&self) -> bool {
        matches!(self.kind, Memory::Slab { .. })
    }

    /// Bytes in all, where that is known.
    pub(super) fn capacity(&self) -> Option<u64> {
        match self.kind {
            Memory::Driver => None,
            Memory::Slab { bytes, .. } => Some(bytes),
        }
    }

    pub(super) fn footprint(&self, bytes: u64) -> u64 {
        match self.kind {
            Memory::Driver => bytes,
            Memory::Slab { heap, .. } => heap.footprint(bytes, self.align),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        self.most
    }

    pub(super) fn allocate(&self, info: &DeviceInfo, driver: &Driver, bytes: u64) -> Result<u64, DeviceError> {
        check_size(info, Operation::Allocate, bytes, self.most.block)?;
        let refuse = |kind, message: String| Err(DeviceError::new(info, Operation::Allocate, kind, message));
        let mut marks = self.marks.lock();
        let free = self.most.total.saturating_sub(marks.report().used);
        let mark = |marks: &mut Box<dyn MarkingSystem>| {
            marks.allocate(bytes, self.align).map_err(|e| DeviceError::of_heap(info, Operation::Allocate, &e))
        };
        if let Some(slab) = &self.slab {
            let address = mark(&mut marks)?;
            let block = Block::part(slab, (address - BASE) as usize, bytes);
            self.blocks.write().0.insert(address, block);
            return Ok(address);
        }
        let full = |why: &str| {
            let message = format!("no room for {bytes} bytes: {free} of {} are free{why}", self.most.total);
            refuse(DeviceErrorKind::Full { wanted: bytes, free, capacity: self.most.total }, message)
        };
        if bytes > free {
            return full("");
        }
        let address = mark(&mut marks)?;
        let Driver { context, peers, .. } = driver;
        match if self.is_shared { Block::shared(context, peers, bytes) } else { Block::new(context, bytes) } {
            Ok(block) => {
                self.blocks.write().0.insert(address, block);
                Ok(address)
            }
            Err(code) => {
                let _ = marks.free(address);
                match code.0 {
                    CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_OUT_OF_HOST_MEMORY => {
                        full(&format!(", but the driver gives none: {code}"))
                    }
                    _ => Err(failed(info, Operation::Allocate, code)),
                }
            }
        }
    }

    pub(super) fn free(&self, info: &DeviceInfo, driver: &Driver, address: u64) -> Result<(), DeviceError> {
        // A driver keeps a buffer until its commands are over, but not memory that the host reaches too.
        if self.is_shared {
            let last = self.blocks.read().0.get(&address).and_then(|block| block.storage.last_use.known());
            let waited = last.map_or_else(|| driver.peers.finish(), |last| driver.queue.reach(last));
            waited.map_err(|code| failed(info, Operation::Free, code))?;
        }
        // The block goes before its address is another's.
        let mut marks = self.marks.lock();
        marks.free(address).map_err(|e| DeviceError::of_heap(info, Operation::Free, &e))?;
        self.blocks.write().0.remove(&address);
        Ok(())
    }

    /// The block at this address as the host reaches it.
    pub(super) fn lend(&self, address: u64) -> Option<Lent> {
        let blocks = self.blocks.read();
        let shared = blocks.0.get(&address)?.storage.lend()?;
        // SAFETY: memory of a driver, which has given each byte some value; aligned to `svm::ALIGN`; `free` waits for what
        // the device is asked to do with it.
        Some(unsafe { Lent::new(shared.start()) })
    }

    pub(super) fn usage(&self) -> Usage {
        let r = self.marks.lock().report();
        let (free, largest_free) = match self.kind {
            Memory::Driver => {
                let free = self.most.total.saturating_sub(r.used);
                (free, free.min(self.most.block))
            }
            Memory::Slab { .. } => (r.free, r.largest_free),
        };
        Usage { used: r.used, free, largest_free, blocks: r.live, metadata: r.metadata_bytes }
    }

    /// Where a span lies.
    pub(super) fn locate(&self, info: &DeviceInfo, operation: Operation, span: &Span) -> Result<Place, DeviceError> {
        let found = self.blocks.read().locate(span.address, span.rows.extent());
        found.ok_or_else(|| {
            let message = format!("no block of {} holds all of what begins at {:#x}", info.name, span.address);
            DeviceError::new(info, operation, DeviceErrorKind::Invalid, message)
        })
    }

    pub(super) fn write(
        &self,
        info: &DeviceInfo,
        driver: &Driver,
        from: &HostSource<'_>,
        to: &Span,
    ) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        let Place { storage, offset } = self.locate(info, Operation::Upload, to)?;
        if let Some(shared) = storage.shared.as_ref().filter(|_| driver.queue.is_idle()) {
            for i in 0..to.rows.rows {
                // SAFETY: all rows are in the block (`locate`), the device is at nothing, and whoever asks for a copy keeps others
                // away from both ends.
                unsafe { shared.store(offset + i * to.rows.pitch, from.row(i)) };
            }
            return Ok(());
        }
        let [staging, ..] = &self.staging;
        let place = at(&storage.buffer, offset, &to.rows);
        let done = match from.whole().filter(|_| to.rows.is_run()) {
            Some(bytes) => staging.lock().write(driver, bytes, place),
            None if to.rows.bytes() == 0 => Ok(()),
            None => driver.queue.write_rows(from, place),
        };
        storage.last_use.note(driver.queue.given());
        // What comes next begins with it.
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
        let Place { storage, offset } = self.locate(info, Operation::Download, from)?;
        let (last, failed) = (storage.last_use.get(), |code| failed(info, Operation::Download, code));
        if let Some(shared) = &storage.shared {
            driver.queue.reach(last).map_err(failed)?;
            for i in 0..from.rows.rows {
                // SAFETY: all rows are in the block (`locate`), the device is through with what was asked for there before, and whoever asks
                // for a copy keeps writers away from its source.
                unsafe { shared.load(offset + i * from.rows.pitch, to.row(i)) };
            }
            return Ok(());
        }
        let place = at(&storage.buffer, offset, &from.rows);
        let (queue, staging) = self.way_out(driver, last).map_err(failed)?;
        let done = match to.whole().filter(|_| from.rows.is_run()) {
            _ if from.rows.bytes() == 0 => Ok(()),
            Some(bytes) => staging.lock().read(driver, queue, place, bytes),
            None => queue.read_rows(place, to),
        };
        done.map_err(failed)
    }

    /// By which queue, and through which slots, copies out come after this command: by the second one, once the command is
    /// over, if more is queued behind it. But not out of a slab, which is one buffer to the driver: what a second queue reads of one
    /// that the first one changes, be it elsewhere, OpenCL leaves open.
    fn way_out<'d>(&'d self, driver: &'d Driver, last: u64) -> Raw<(&'d Queue, &'d Mutex<Staging>)> {
        let (queue, [_, out, aside]) = (&*driver.queue, &self.staging);
        if self.slab.is_some() || queue.is_idle() || last >= queue.given() {
            return Ok((queue, out));
        }
        let Some(second) = driver.aside() else { return Ok((queue, out)) };
        queue.reach(last)?;
        Ok((second, aside))
    }

    /// From a block of this memory, or of a peer's, which is of the same context. Gives the place that it was copied from, for which
    /// somebody has to note what uses it.
    pub(super) fn copy(
        &self,
        info: &DeviceInfo,
        driver: &Driver,
        (source, peer): (&Self, &Driver),
        from: &Span,
        to: &Span,
    ) -> Result<Place, DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        let (start, end) = (source.locate(info, Operation::Copy, from)?, self.locate(info, Operation::Copy, to)?);
        if let (Some(source), Some(target)) = (&start.storage.shared, &end.storage.shared)
            && [driver, peer].iter().all(|driver| driver.queue.is_idle())
        {
            for i in 0..to.rows.rows {
                let (at, row) = (end.offset + i * to.rows.pitch, start.offset + i * from.rows.pitch);
                // SAFETY: all rows are in their blocks (`locate`), neither device is at anything, and whoever asks for a copy
                // keeps others away from both ends.
                unsafe { target.take(at, source, row, to.rows.row_bytes) };
            }
            return Ok(start);
        }
        let done = copy(driver, (start.buffer(), start.offset, &from.rows), (end.buffer(), end.offset, &to.rows));
        end.storage.last_use.note(driver.queue.given());
        if done.is_err() {
            // Some rows may be queued.
            start.storage.last_use.lose_track();
        }
        done.map(|()| start).map_err(|code| failed(info, Operation::Copy, code))
    }
}

/// Can there be a buffer of so many bytes?
///
/// # Errors
/// [`NeverFits`](DeviceErrorKind::NeverFits).
pub(super) fn check_size(info: &DeviceInfo, operation: Operation, bytes: u64, most: u64) -> Result<(), DeviceError> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!("{bytes} bytes in one piece are wanted, there are {most} at most");
    Err(DeviceError::new(info, operation, DeviceErrorKind::NeverFits { wanted: bytes, capacity: most }, message))
}

fn at<'a>(buffer: &'a Buffer, offset: usize, rows: &Rows) -> At<'a> {
    At { buffer, offset, pitch: pitch(rows) }
}

/// Queues a copy between two places of the same shape.
pub(super) fn copy(
    driver: &Driver,
    (from, start, from_rows): (&Buffer, usize, &Rows),
    (to, end, to_rows): (&Buffer, usize, &Rows),
) -> Raw<()> {
    let queue = &driver.queue;
    let (source, target) = (at(from, start, from_rows), at(to, end, to_rows));
    if from_rows.bytes() == 0 {
        return Ok(());
    }
    if from_rows.is_run() && to_rows.is_run() {
        return queue.copy(source, target, from_rows.bytes());
    }
    let row_by_row = || {
        (0..from_rows.rows).try_for_each(|i| {
            let source = At { offset: start + i * source.pitch, ..source };
            queue.copy(source, At { offset: end + i * target.pitch, ..target }, from_rows.row_bytes)
        })
    };
    // Within one buffer OpenCL wants rows at the same distance on both sides.
    if from.raw() == to.raw() && source.pitch != target.pitch {
        return row_by_row();
    }
    match queue.copy_rows(source, target, from_rows) {
        // Rows of two tiles side by side do not overlap, but may look so to a driver.
        Err(Code(CL_MEM_COPY_OVERLAP)) => row_by_row(),
        done => done,
    }
}
