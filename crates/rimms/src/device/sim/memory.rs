//! A simulated device's memory: one checked buffer under a marking system.

use crate::device::{DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Operation, Span, Usage};
use parking_lot::Mutex;
use rimms_devmem::{Address, AddressLayout, AddressSpace, Fault, Flags, Init, Memory};
use rimms_heap::{HeapError, HeapKind, MarkingSystem};

/// What blocks are aligned to: the largest element a kernel knows.
const ALIGN: u64 = 16;

/// Fresh memory reads as NaN, so that a missing copy shows even where zeros would be right.
const POISON: [u8; 8] = [0xff; 8];

#[derive(Debug)]
pub(super) struct SimMemory {
    memory: Memory,
    heap: Mutex<Box<dyn MarkingSystem>>,
    kind: HeapKind,
}

impl SimMemory {
    pub(super) fn new(bytes: u64, heap: HeapKind) -> Result<Self, String> {
        let memory = Memory::with_capacity_limit(AddressSpace::Global, AddressLayout::GLOBAL, bytes);
        let base = memory.allocate(bytes, Flags::READ_WRITE, Init::Zeroed).map_err(|e| e.to_string())?;
        let marks = heap.build(base.raw(), bytes).map_err(|e| e.to_string())?;
        Ok(Self { memory, heap: Mutex::new(marks), kind: heap })
    }

    pub(super) fn footprint(&self, bytes: u64) -> u64 {
        self.kind.footprint(bytes, ALIGN)
    }

    pub(super) fn allocate(&self, info: &DeviceInfo, bytes: u64) -> Result<u64, DeviceError> {
        let address = self.heap.lock().allocate(bytes, ALIGN).map_err(|e| refused(info, Operation::Allocate, &e))?;
        self.memory
            .fill(Address::from_raw(address), &POISON, bytes)
            .map_err(|e| fault(info, Operation::Allocate, &e))?;
        Ok(address)
    }

    pub(super) fn free(&self, info: &DeviceInfo, address: u64) -> Result<(), DeviceError> {
        self.heap.lock().free(address).map(drop).map_err(|e| refused(info, Operation::Free, &e))
    }

    pub(super) fn usage(&self) -> Usage {
        let r = self.heap.lock().report();
        Usage { used: r.used, free: r.free, largest_free: r.largest_free, blocks: r.live, metadata: r.metadata_bytes }
    }

    pub(super) fn write(&self, info: &DeviceInfo, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        let done = match from.whole() {
            Some(bytes) => self.store(to, bytes),
            None => (0..to.rows.rows).try_for_each(|i| self.memory.store(Address::from_raw(to.row(i)), from.row(i))),
        };
        done.map_err(|e| fault(info, Operation::Upload, &e))
    }

    pub(super) fn read(&self, info: &DeviceInfo, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Download, &from.rows, to.rows())?;
        let done = match to.whole() {
            Some(bytes) => self.load(from, bytes),
            None => (0..from.rows.rows).try_for_each(|i| self.memory.load(Address::from_raw(from.row(i)), to.row(i))),
        };
        done.map_err(|e| fault(info, Operation::Download, &e))
    }

    pub(super) fn copy_from(&self, info: &DeviceInfo, peer: &Self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        let row = |a: u64, b: u64, bytes: usize| {
            self.memory.copy_from(Address::from_raw(b), &peer.memory, Address::from_raw(a), bytes as u64)
        };
        let done = if from.rows.is_run() && to.rows.is_run() {
            row(from.address, to.address, from.rows.bytes())
        } else {
            (0..from.rows.rows).try_for_each(|i| row(from.row(i), to.row(i), from.rows.row_bytes))
        };
        done.map_err(|e| fault(info, Operation::Copy, &e))
    }

    /// Loads all rows of `span`, one behind the other.
    pub(super) fn load(&self, span: &Span, into: &mut [u8]) -> Result<(), Fault> {
        let (address, r) = (Address::from_raw(span.address), span.rows);
        if r.is_run() {
            return self.memory.load(address, into);
        }
        self.memory.load_rows(address, r.rows as u64, r.row_bytes as u64, r.pitch as u64, into)
    }

    /// Stores bytes to the rows of `span`.
    pub(super) fn store(&self, span: &Span, from: &[u8]) -> Result<(), Fault> {
        let (address, r) = (Address::from_raw(span.address), span.rows);
        if r.is_run() {
            return self.memory.store(address, from);
        }
        self.memory.store_rows(address, r.rows as u64, r.row_bytes as u64, r.pitch as u64, from)
    }
}

/// An access that the simulated memory refused: a defect of whoever made the address, found because it is checked.
pub(super) fn fault(info: &DeviceInfo, operation: Operation, fault: &Fault) -> DeviceError {
    DeviceError::new(info, operation, DeviceErrorKind::Invalid, fault.to_string())
}

fn refused(info: &DeviceInfo, operation: Operation, e: &HeapError) -> DeviceError {
    let kind = match *e {
        HeapError::NeverFits { wanted, capacity, .. } => DeviceErrorKind::NeverFits { wanted, capacity },
        HeapError::Full { wanted, free, capacity, .. } => DeviceErrorKind::Full { wanted, free, capacity },
        HeapError::Fragmented { wanted, free, largest_free, .. } => {
            DeviceErrorKind::Fragmented { wanted, free, largest: largest_free }
        }
        _ => DeviceErrorKind::Invalid,
    };
    DeviceError::new(info, operation, kind, e.to_string())
}
