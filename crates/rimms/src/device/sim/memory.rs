//! A simulated device's memory: one checked buffer under a marking system.
//!
//! Owns [`SimMemory`], and [`Port`], through which all transfers go: by a view where somebody watches, so that they are seen,
//! and otherwise straight to the memory, at no cost. What only prepares a block (its poison) is seen by nobody.

use crate::device::{DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Operation, Rows, Span, Usage};
use crate::op::Watch;
use parking_lot::Mutex;
use rimms_devmem::check::{Counters, Findings, Memcheck, Races, Uninitialised};
use rimms_devmem::{Address, AddressLayout, AddressSpace, Device, Fault, Flags, Init, Memory, View};
use rimms_heap::{HeapKind, MarkingSystem};

/// What blocks are aligned to: the largest element a kernel knows.
const ALIGN: u64 = 16;

/// Fresh memory reads as NaN, so that a missing copy shows even where zeros would be right.
const POISON: [u8; 8] = [0xff; 8];

#[derive(Debug)]
pub(super) struct SimMemory {
    device: Device<Watch>,
    /// Where the one buffer begins.
    base: Address,
    heap: Mutex<Box<dyn MarkingSystem>>,
    kind: HeapKind,
}

impl SimMemory {
    pub(super) fn new(bytes: u64, heap: HeapKind) -> Result<Self, String> {
        let memory = Memory::with_capacity_limit(AddressSpace::Global, AddressLayout::GLOBAL, bytes);
        let base = memory.allocate(bytes, Flags::READ_WRITE, Init::Zeroed).map_err(|e| e.to_string())?;
        let marks = heap.build(base.raw(), bytes).map_err(|e| e.to_string())?;
        let device = Device::with_memory(memory, (None, None));
        Ok(Self { device, base, heap: Mutex::new(marks), kind: heap })
    }

    /// The same memory, watched by checkers with this list, by these counters, or by nobody.
    pub(super) fn watched(self, findings: Option<&Findings>, counters: Option<&Counters>) -> Self {
        let checks = |list: &Findings| ((Memcheck::new(list), Uninitialised::with_host_reads(list)), Races::new(list));
        let watch = (findings.map(checks), counters.cloned());
        Self { device: self.device.observed_by(watch), ..self }
    }

    /// The memory as the host uses it.
    pub(super) fn port(&self) -> Port<'_> {
        Port { memory: self.device.memory(), seen: self.is_watched().then(|| self.device.host()) }
    }

    /// The same memory under what `wrap` makes of its marking system.
    pub(super) fn wrapping_heap(self, wrap: impl FnOnce(Box<dyn MarkingSystem>) -> Box<dyn MarkingSystem>) -> Self {
        Self { heap: Mutex::new(wrap(self.heap.into_inner())), ..self }
    }

    pub(super) fn device(&self) -> &Device<Watch> {
        &self.device
    }

    pub(super) fn base(&self) -> Address {
        self.base
    }

    pub(super) fn is_checked(&self) -> bool {
        self.device.observer().0.is_some()
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_checked() || self.device.observer().1.is_some()
    }

    /// Whether what is copied from there is seen here as it is there.
    pub(super) fn is_watched_as(&self, peer: &Self) -> bool {
        (self.is_checked(), self.is_watched()) == (peer.is_checked(), peer.is_watched())
    }

    pub(super) fn footprint(&self, bytes: u64) -> u64 {
        self.kind.footprint(bytes, ALIGN)
    }

    pub(super) fn allocate(&self, info: &DeviceInfo, bytes: u64) -> Result<u64, DeviceError> {
        let address =
            self.heap.lock().allocate(bytes, ALIGN).map_err(|e| DeviceError::of_heap(info, Operation::Allocate, &e))?;
        self.forget(Address::from_raw(address), bytes, None).map_err(|e| fault(info, Operation::Allocate, &e))?;
        Ok(address)
    }

    /// Poisons bytes: nothing that was written before can be read any more. The name is what they are to become.
    pub(super) fn forget(&self, address: Address, bytes: u64, name: Option<&str>) -> Result<(), Fault> {
        self.device.memory().fill(address, &POISON, bytes)?;
        if self.is_checked() { self.device.host().undefine_as(address, bytes, name) } else { Ok(()) }
    }

    pub(super) fn free(&self, info: &DeviceInfo, address: u64) -> Result<(), DeviceError> {
        self.heap.lock().free(address).map(drop).map_err(|e| DeviceError::of_heap(info, Operation::Free, &e))
    }

    pub(super) fn usage(&self) -> Usage {
        let r = self.heap.lock().report();
        Usage { used: r.used, free: r.free, largest_free: r.largest_free, blocks: r.live, metadata: r.metadata_bytes }
    }

    pub(super) fn write(&self, info: &DeviceInfo, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        let port = self.port();
        let done = match from.whole() {
            Some(bytes) => port.store(Address::from_raw(to.address), &to.rows, bytes),
            None => (0..to.rows.rows)
                .try_for_each(|i| port.store(Address::from_raw(to.row(i)), &Rows::run(to.rows.row_bytes), from.row(i))),
        };
        done.map_err(|e| fault(info, Operation::Upload, &e))
    }

    pub(super) fn read(&self, info: &DeviceInfo, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Download, &from.rows, to.rows())?;
        let port = self.port();
        let done = match to.whole() {
            Some(bytes) => port.load(Address::from_raw(from.address), &from.rows, bytes),
            None => (0..from.rows.rows).try_for_each(|i| {
                port.load(Address::from_raw(from.row(i)), &Rows::run(from.rows.row_bytes), to.row(i))
            }),
        };
        done.map_err(|e| fault(info, Operation::Download, &e))
    }

    pub(super) fn copy_from(&self, info: &DeviceInfo, peer: &Self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        let (port, source) = (self.port(), peer.port());
        let row = |a: u64, b: u64, bytes: usize| {
            port.copy_from(Address::from_raw(b), &source, Address::from_raw(a), bytes as u64)
        };
        let done = if from.rows.is_run() && to.rows.is_run() {
            row(from.address, to.address, from.rows.bytes())
        } else {
            (0..from.rows.rows).try_for_each(|i| row(from.row(i), to.row(i), from.rows.row_bytes))
        };
        done.map_err(|e| fault(info, Operation::Copy, &e))
    }
}

/// A simulated memory as somebody uses it.
pub(super) struct Port<'a> {
    memory: &'a Memory,
    /// Where somebody watches: as who uses it.
    seen: Option<View<'a, Watch>>,
}

impl<'a> Port<'a> {
    pub(super) fn seen(view: View<'a, Watch>) -> Self {
        Self { memory: view.memory(), seen: Some(view) }
    }

    /// Loads all rows that begin at `address`, one behind the other.
    pub(super) fn load(&self, address: Address, rows: &Rows, into: &mut [u8]) -> Result<(), Fault> {
        match (&self.seen, rows.is_run()) {
            (None, true) => self.memory.load(address, into),
            (None, false) => self.memory.load_rows(address, of_memory(rows), into),
            (Some(view), true) => view.load(address, into),
            (Some(view), false) => view.load_rows(address, of_memory(rows), into),
        }
    }

    /// Stores bytes to the rows that begin at `address`.
    pub(super) fn store(&self, address: Address, rows: &Rows, from: &[u8]) -> Result<(), Fault> {
        match (&self.seen, rows.is_run()) {
            (None, true) => self.memory.store(address, from),
            (None, false) => self.memory.store_rows(address, of_memory(rows), from),
            (Some(view), true) => view.store(address, from),
            (Some(view), false) => view.store_rows(address, of_memory(rows), from),
        }
    }

    fn copy_from(&self, to: Address, source: &Self, from: Address, size: u64) -> Result<(), Fault> {
        match (&self.seen, &source.seen) {
            (Some(view), Some(source)) => view.copy_from(to, source, from, size),
            _ => self.memory.copy_from(to, source.memory, from, size),
        }
    }
}

/// Rows as the simulated memory counts them.
pub(super) fn of_memory(rows: &Rows) -> rimms_devmem::Rows {
    rimms_devmem::Rows { count: rows.rows as u64, bytes: rows.row_bytes as u64, pitch: rows.pitch as u64 }
}

/// An access that the simulated memory refused: a defect of whoever made the address, found because it is checked.
pub(super) fn fault(info: &DeviceInfo, operation: Operation, fault: &Fault) -> DeviceError {
    DeviceError::new(info, operation, DeviceErrorKind::Invalid, fault.to_string())
}
