//! The AXI DMA and the block for FFTs, at the level of registers.

use super::caches::Caches;
use crate::device::udma::Registers;
use crate::device::udma::axi::{config, control, offset, status};
use num_complex::Complex32;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// What goes wrong at one access of a register.
///
/// ```
/// use rimms::device::udma::imitation::Fault;
/// assert_ne!(Fault::Lost, Fault::Hangs);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A write does not arrive; a read gives all ones, as where nobody answers.
    Lost,
    /// The engine stops with an internal error.
    Stops,
    /// Nothing that was started ever ends, until the engine is reset.
    Hangs,
    /// The next transfer brings back half of its bytes.
    CutsShort,
}

/// How often a status is asked for before a transfer is done.
const LOOKS: u32 = 2;

#[derive(Debug, Default)]
struct Channel {
    control: u32,
    status: u32,
    address: u64,
    length: u32,
    /// It was told a length, and is at it.
    is_busy: bool,
}

#[derive(Debug, Default)]
struct State {
    reader: Channel,
    writer: Channel,
    config: u32,
    /// Looks left until what was started is done.
    looks: u32,
    hangs: bool,
    cuts_short: bool,
    accesses: u64,
    /// At which accesses what goes wrong.
    fault: Option<(Range<u64>, Fault)>,
}

/// The DMA engine; its registers are those of the product guide.
///
/// ```
/// use rimms::device::udma::{Registers, imitation::System};
/// # let folder = tempfile::tempdir().unwrap();
/// let system = System::new(folder.path(), 1 << 16)?;
/// let engine = system.dma_registers();
/// assert_eq!(engine.read(0x04) & 1, 1); // halted, as after power-on
/// engine.write(0x00, 1);
/// assert_eq!((engine.read(0x04) & 1, engine.accesses()), (0, 3));
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    caches: Arc<Caches>,
    physical: u64,
    state: Mutex<State>,
}

impl Engine {
    pub(super) fn new(caches: Arc<Caches>, physical: u64) -> Self {
        let engine = Self { caches, physical, state: Mutex::default() };
        engine.state.lock().reset();
        engine
    }

    /// Accesses of registers until now, the block's included.
    pub fn accesses(&self) -> u64 {
        self.state.lock().accesses
    }

    /// From now on this goes wrong at these accesses, counted as [`accesses`](Self::accesses) does, and nothing else.
    pub fn fail(&self, at: Range<u64>, fault: Fault) {
        self.state.lock().fault = Some((at, fault));
    }

    /// One access: is it lost?
    fn access(&self, state: &mut State) -> bool {
        let n = state.accesses;
        state.accesses += 1;
        match state.fault.as_ref().filter(|(at, _)| at.contains(&n)).map(|(_, fault)| *fault) {
            None => {}
            Some(Fault::Lost) => return true,
            Some(Fault::Stops) => {
                for channel in [&mut state.reader, &mut state.writer] {
                    channel.stop(status::INTERNAL);
                }
            }
            Some(Fault::Hangs) => state.hangs = true,
            Some(Fault::CutsShort) => state.cuts_short = true,
        }
        false
    }

    fn config(&self, value: Option<u32>) -> u32 {
        let state = &mut *self.state.lock();
        if self.access(state) {
            return u32::MAX;
        }
        if let Some(value) = value {
            state.config = value;
        }
        state.config
    }

    /// The transform of what both channels were told.
    fn transfer(&self, state: &mut State) {
        let State { reader, writer, .. } = state;
        let at = |channel: &Channel| usize::try_from(channel.address.wrapping_sub(self.physical)).ok();
        let bytes = at(reader).and_then(|at| self.caches.device_reads(at..at.checked_add(reader.length as usize)?));
        let Some(bytes) = bytes else { return reader.stop(status::DECODE) };
        let n = 1_usize << (state.config & config::POINTS);
        // A packet of another length is not what the block was told to expect: it says nothing, for ever.
        if bytes.len() != n * size_of::<Complex32>() {
            return state.hangs = true;
        }
        let samples = bytes.chunks_exact(size_of::<Complex32>()).map(bytemuck::pod_read_unaligned);
        let mut samples: Vec<Complex32> = samples.collect();
        rimms_fft::plan_f32(n, state.config & config::FORWARD == 0).process(&mut samples);
        let mut result = bytemuck::cast_slice::<_, u8>(&samples);
        if std::mem::take(&mut state.cuts_short) {
            result = &result[..result.len() / 2];
        }
        result = &result[..result.len().min(writer.length as usize)];
        if !at(writer).is_some_and(|at| self.caches.device_writes(at, result)) {
            return writer.stop(status::DECODE);
        }
        writer.length = result.len() as u32;
        reader.end();
        writer.end();
    }
}

impl Channel {
    fn stop(&mut self, error: u32) {
        (self.status, self.control, self.is_busy) = (status::HALTED | error, 0, false);
    }

    fn end(&mut self) {
        self.status |= status::IDLE | status::COMPLETE;
        self.is_busy = false;
    }
}

impl State {
    fn reset(&mut self) {
        for channel in [&mut self.reader, &mut self.writer] {
            *channel = Channel { status: status::HALTED, ..Channel::default() };
        }
        (self.looks, self.hangs, self.cuts_short) = (0, false, false);
    }

    fn channel(&mut self, offset: usize) -> (&mut Channel, usize) {
        match offset.checked_sub(offset::WRITER) {
            Some(rest) => (&mut self.writer, rest),
            None => (&mut self.reader, offset - offset::READER),
        }
    }
}

impl Registers for Engine {
    fn read(&self, offset: usize) -> u32 {
        let state = &mut *self.state.lock();
        if self.access(state) {
            return u32::MAX;
        }
        if state.reader.is_busy && state.writer.is_busy && !state.hangs {
            state.looks = state.looks.saturating_sub(1);
            if state.looks == 0 {
                self.transfer(state);
            }
        }
        let (channel, register) = state.channel(offset);
        match register {
            offset::CONTROL => channel.control,
            offset::STATUS => channel.status,
            offset::ADDRESS => channel.address as u32,
            offset::ADDRESS_HIGH => (channel.address >> 32) as u32,
            offset::LENGTH => channel.length,
            _ => 0,
        }
    }

    fn write(&self, offset: usize, value: u32) {
        let state = &mut *self.state.lock();
        if self.access(state) {
            return;
        }
        let (channel, register) = state.channel(offset);
        match register {
            offset::CONTROL if value & control::RESET != 0 => state.reset(),
            offset::CONTROL => {
                channel.control = value;
                let halted = if value & control::RUN == 0 { status::HALTED } else { 0 };
                channel.status = channel.status & !status::HALTED | halted;
            }
            // Bits for interrupts are cleared by writing them.
            offset::STATUS => channel.status &= !(value & status::COMPLETE),
            offset::ADDRESS => channel.address = channel.address & !0xffff_ffff | u64::from(value),
            offset::ADDRESS_HIGH => channel.address = channel.address & 0xffff_ffff | u64::from(value) << 32,
            offset::LENGTH if channel.control & control::RUN != 0 && value != 0 => {
                channel.length = value;
                channel.status &= !status::IDLE;
                channel.is_busy = true;
                state.looks = LOOKS;
            }
            _ => {}
        }
    }
}

/// The block's own register.
#[derive(Debug, Clone)]
pub struct FftControl(pub(super) Arc<Engine>);

impl Registers for FftControl {
    fn read(&self, _: usize) -> u32 {
        self.0.config(None)
    }

    fn write(&self, offset: usize, value: u32) {
        if offset == config::OFFSET {
            self.0.config(Some(value));
        }
    }
}
