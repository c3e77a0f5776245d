//! A DMA buffer as a device's memory: blocks under a marking system, copies by the CPU, caches maintained.
//!
//! Addresses are physical ones. Blocks begin on cache lines and are as many whole lines, so no two share one.

use super::UdmaError;
use super::buffer::DmaBuffer;
use super::maintenance::{Direction, Side};
use crate::device::{
    DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Operation, Rows, Span, Usage,
};
use parking_lot::Mutex;
use rimms_heap::{HeapKind, MarkingSystem};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a cache line, or more: of the processors that come with programmable logic none has longer ones.
pub(super) const LINE: usize = 64;

#[derive(Debug)]
pub(super) struct DmaMemory {
    pub(super) buffer: DmaBuffer,
    kind: HeapKind,
    heap: Mutex<Heap>,
}

#[derive(Debug)]
struct Heap {
    marks: Box<dyn MarkingSystem>,
    /// Where the bytes end that each block was asked for; the rest of its last line is nobody's.
    ends: BTreeMap<u64, u64>,
}

impl DmaMemory {
    pub(super) fn new(buffer: DmaBuffer, kind: HeapKind) -> Result<Self, UdmaError> {
        let odd = |why: String| UdmaError::Odd { what: buffer.name().into(), why: why.into() };
        if !buffer.physical().is_multiple_of(LINE as u64) {
            return Err(odd(format!("it begins at {:#x}, inside a cache line", buffer.physical())));
        }
        let marks = kind.build(buffer.physical(), buffer.bytes()).map_err(|e| odd(e.to_string()))?;
        Ok(Self { buffer, kind, heap: Mutex::new(Heap { marks, ends: BTreeMap::new() }) })
    }

    pub(super) fn footprint(&self, bytes: u64) -> u64 {
        self.kind.footprint(whole_lines(bytes), LINE as u64)
    }

    pub(super) fn allocate(&self, info: &DeviceInfo, bytes: u64) -> Result<u64, DeviceError> {
        let mut heap = self.heap.lock();
        let address = heap.marks.allocate(whole_lines(bytes), LINE as u64);
        let address = address.map_err(|e| DeviceError::of_heap(info, Operation::Allocate, &e))?;
        heap.ends.insert(address, address + bytes);
        Ok(address)
    }

    pub(super) fn free(&self, info: &DeviceInfo, address: u64) -> Result<(), DeviceError> {
        let mut heap = self.heap.lock();
        heap.marks.free(address).map_err(|e| DeviceError::of_heap(info, Operation::Free, &e))?;
        heap.ends.remove(&address);
        Ok(())
    }

    /// Do the bytes of a block end there?
    pub(super) fn ends_block(&self, address: u64) -> bool {
        self.heap.lock().ends.range(..address).next_back().is_some_and(|(_, end)| *end == address)
    }

    pub(super) fn usage(&self) -> Usage {
        let r = self.heap.lock().marks.report();
        Usage { used: r.used, free: r.free, largest_free: r.largest_free, blocks: r.live, metadata: r.metadata_bytes }
    }

    pub(super) fn write(&self, info: &DeviceInfo, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        for i in 0..to.rows.rows {
            let range = self.range(info, Operation::Upload, to.row(i), to.rows.row_bytes)?;
            self.inside(info, Operation::Upload, self.buffer.mapping.store(range.start, from.row(i)))?;
        }
        self.maintain(info, to, Side::Device, Direction::ToDevice)
    }

    pub(super) fn read(&self, info: &DeviceInfo, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Download, &from.rows, to.rows())?;
        self.maintain(info, from, Side::Cpu, Direction::FromDevice)?;
        for i in 0..from.rows.rows {
            let range = self.range(info, Operation::Download, from.row(i), from.rows.row_bytes)?;
            self.inside(info, Operation::Download, self.buffer.mapping.load(range.start, to.row(i)))?;
        }
        Ok(())
    }

    pub(super) fn copy(&self, info: &DeviceInfo, from: &Span, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        self.maintain(info, from, Side::Cpu, Direction::FromDevice)?;
        for i in 0..from.rows.rows {
            let bytes = from.rows.row_bytes;
            let source = self.range(info, Operation::Copy, from.row(i), bytes)?;
            let target = self.range(info, Operation::Copy, to.row(i), bytes)?;
            self.inside(info, Operation::Copy, self.buffer.mapping.copy(source.start, target.start, bytes))?;
        }
        self.maintain(info, to, Side::Device, Direction::ToDevice)
    }

    /// Maintains the caches of these bytes, before the other side uses them.
    pub(super) fn maintain(
        &self,
        info: &DeviceInfo,
        span: &Span,
        next: Side,
        direction: Direction,
    ) -> Result<(), DeviceError> {
        let rows = &span.rows;
        let runs = if rows.is_run() { Rows::run(rows.bytes()) } else { *rows };
        for i in 0..runs.rows {
            let range =
                self.range(info, Operation::Maintain, span.address + (i * runs.pitch) as u64, runs.row_bytes)?;
            self.buffer.maintain(next, direction, range).map_err(|e| {
                let message = format!("the system does not maintain caches: {e}");
                DeviceError::new(info, Operation::Maintain, DeviceErrorKind::Failed, message)
            })?;
        }
        Ok(())
    }

    /// The same for bytes that the CPU's addresses name. What lies elsewhere in the host's memory is none of this device's.
    pub(super) fn maintain_lent(
        &self,
        info: &DeviceInfo,
        span: &Span,
        next: Side,
        direction: Direction,
    ) -> Result<(), DeviceError> {
        match self.physical(span) {
            Some(span) => self.maintain(info, &span, next, direction),
            None => Ok(()),
        }
    }

    /// A span that the CPU's addresses name, by physical ones, if it lies in the buffer.
    pub(super) fn physical(&self, span: &Span) -> Option<Span> {
        let offset = self.buffer.offset_of_mapped(span.address, span.rows.extent())?;
        Some(Span { address: self.buffer.physical() + offset as u64, ..*span })
    }

    pub(super) fn lend(&self, address: u64) -> Option<Lent> {
        self.buffer.mapping.lend(self.buffer.offset_of(address, 0)?)
    }

    /// Where in the buffer a range of physical memory is.
    pub(super) fn range(
        &self,
        info: &DeviceInfo,
        operation: Operation,
        address: u64,
        bytes: usize,
    ) -> Result<Range<usize>, DeviceError> {
        let start = self.buffer.offset_of(address, bytes);
        start.map(|start| start..start + bytes).ok_or_else(|| {
            let message = format!("{bytes} bytes at {address:#x} are not all in {:?}", self.buffer);
            DeviceError::new(info, operation, DeviceErrorKind::Invalid, message)
        })
    }

    pub(super) fn inside(&self, info: &DeviceInfo, operation: Operation, is: bool) -> Result<(), DeviceError> {
        if is {
            return Ok(());
        }
        Err(DeviceError::new(info, operation, DeviceErrorKind::Invalid, "an access beyond the mapped buffer"))
    }
}

fn whole_lines(bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(LINE as u64).unwrap_or(u64::MAX)
}
