//! Execution: an accelerator does a call's pieces, one after the other, where the operands lie.

use super::memory::LINE;
use super::{AcceleratorError, Direction, PhysicalRange, Side, Udma};
use crate::device::{DeviceError, DeviceErrorKind, Operand, Operation, Rows, Span};
use crate::op::{Call, Role};
use bytemuck::cast_slice_mut;
use smallvec::SmallVec;
use std::time::Instant;

const LAUNCH: Operation = Operation::Launch;

pub(super) fn run(device: &Udma, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let no_such = || device.fail(LAUNCH, DeviceErrorKind::Invalid, format!("there is no unit {unit}"));
    let mut accelerator = device.units.get(unit).ok_or_else(no_such)?.lock();
    let pieces = accelerator.pieces(call).max(1);
    let mut places: SmallVec<[Place; 4]> = SmallVec::new();
    for (i, operand) in operands.iter().enumerate() {
        places.push(Place::new(device, i, operand, pieces)?);
    }
    for piece in 0..pieces {
        let ranges: SmallVec<[PhysicalRange; 4]> = places.iter().map(|place| place.piece(piece)).collect();
        let failed = |AcceleratorError { message, has_stopped }| {
            device.fail(LAUNCH, if has_stopped { DeviceErrorKind::Failed } else { DeviceErrorKind::Lost }, message)
        };
        accelerator.start(call, &ranges).map_err(failed)?;
        accelerator.wait(Instant::now() + device.time_limit).map_err(failed)?;
    }
    match accelerator.factor_left(call) {
        Some(factor) => {
            places.iter().filter(|place| place.is_written()).try_for_each(|place| place.scale(device, factor))
        }
        None => Ok(()),
    }
}

/// An operand's place, and how it is divided.
struct Place {
    span: Span,
    role: Role,
    /// Bytes of a piece, and how many of them lie in a row of the operand.
    bytes: usize,
    in_row: usize,
}

impl Place {
    fn new(device: &Udma, i: usize, operand: &Operand<'_>, pieces: usize) -> Result<Self, DeviceError> {
        let refuse = |why: &str| device.fail(LAUNCH, DeviceErrorKind::Unsupported, format!("operand {i}: {why}"));
        let span = match operand.is_host_memory() {
            false => *operand.span(),
            true => {
                let lent = device.memory.physical(operand.span());
                lent.ok_or_else(|| refuse("it lies in memory of the host that no DMA reaches"))?
            }
        };
        device.memory.range(&device.info, LAUNCH, span.address, span.rows.extent())?;
        let (all, row) = (span.rows.bytes(), if span.rows.is_run() { span.rows.bytes() } else { span.rows.row_bytes });
        let bytes = all / pieces;
        if bytes == 0 || !all.is_multiple_of(pieces) || !row.is_multiple_of(bytes) {
            return Err(refuse(&format!("parts of {bytes} bytes do not lie in one piece each in rows of {row}")));
        }
        let place = Self { span, role: operand.role(), bytes, in_row: row / bytes };
        if place.is_written() && device.memory.buffer.is_maintained() {
            place.check_lines(device).map_err(|why| refuse(&why))?;
        }
        if operand.is_host_memory() && operand.role() == Role::Out {
            // What the CPU wrote there before is not to be written back over the result.
            device.memory.maintain(&device.info, &span, Side::Device, Direction::FromDevice)?;
        }
        Ok(place)
    }

    fn is_written(&self) -> bool {
        self.role.writes()
    }

    fn piece(&self, piece: usize) -> PhysicalRange {
        let (row, column) = (piece / self.in_row, piece % self.in_row);
        let pitch = if self.span.rows.is_run() { 0 } else { self.span.rows.pitch };
        let address = self.span.address + (row * pitch + column * self.bytes) as u64;
        PhysicalRange { address, bytes: self.bytes, role: self.role }
    }

    /// What is written shares no cache line with what lies beside it.
    fn check_lines(&self, device: &Udma) -> Result<(), String> {
        let Rows { rows, row_bytes, pitch } = self.span.rows;
        let runs = if self.span.rows.is_run() { Rows::run(rows * row_bytes) } else { self.span.rows };
        let line = LINE as u64;
        let begins = self.span.address.is_multiple_of(line) && (runs.rows == 1 || pitch.is_multiple_of(LINE));
        // Behind a block's last byte nothing of anybody's shares its line.
        let last = self.span.address + self.span.rows.extent() as u64;
        let ends = runs.row_bytes.is_multiple_of(LINE) || runs.rows == 1 && device.memory.ends_block(last);
        if begins && ends {
            return Ok(());
        }
        Err(format!(
            "it is written, and shares cache lines of {LINE} bytes with its neighbours, which the CPU may be writing: let \
             fragments begin and end at multiples of {LINE} bytes"
        ))
    }

    /// What the accelerator leaves undone.
    fn scale(&self, device: &Udma, factor: f32) -> Result<(), DeviceError> {
        let memory = &device.memory;
        memory.maintain(&device.info, &self.span, Side::Cpu, Direction::FromDevice)?;
        let mut values = [0.0_f32; 256];
        for i in 0..self.span.rows.rows {
            let row = memory.range(&device.info, LAUNCH, self.span.row(i), self.span.rows.row_bytes)?;
            for start in row.clone().step_by(size_of_val(&values)) {
                let bytes: &mut [u8] = cast_slice_mut(&mut values[..]);
                let part = (row.end - start).min(bytes.len()) / size_of::<f32>() * size_of::<f32>();
                let bytes = &mut bytes[..part];
                memory.inside(&device.info, LAUNCH, memory.buffer.mapping.load(start, bytes))?;
                cast_slice_mut::<u8, f32>(bytes).iter_mut().for_each(|value| *value *= factor);
                memory.inside(&device.info, LAUNCH, memory.buffer.mapping.store(start, bytes))?;
            }
        }
        memory.maintain(&device.info, &self.span, Side::Device, Direction::ToDevice)
    }
}
