//! Memory and the CPU's caches, which do not know of each other what they should.
//!
//! What the CPU sees is the mapped file: its caches. What devices see is kept here. A line is dirty where the CPU's bytes differ from what
//! they were when it was last the same in both; such a line may be written back at any time, and here is at the worst: once a
//! device has written.

use crate::device::udma::{Direction, DmaBuffer, Maintenance, Side};
use parking_lot::Mutex;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const LINE: usize = 64;

/// A request for cache maintenance, as it was made.
///
/// ```
/// use rimms::device::udma::{Direction, Side, imitation::Request};
/// let upload = Request { next: Side::Device, direction: Direction::ToDevice, range: 0..512 };
/// assert_eq!(upload.range.end, 512);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who uses the bytes next.
    pub next: Side,
    /// Which way they go.
    pub direction: Direction,
    /// Which bytes of the buffer.
    pub range: Range<u64>,
}

#[derive(Debug)]
pub(super) struct Caches {
    /// The CPU's side.
    buffer: DmaBuffer,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What devices see.
    memory: Vec<u8>,
    /// The CPU's bytes when they were last in step with memory.
    clean: Vec<u8>,
    requests: Vec<Request>,
}

impl Caches {
    pub(super) fn new(buffer: DmaBuffer) -> Self {
        let bytes = buffer.mapping.bytes();
        let state = State { memory: vec![0; bytes], clean: vec![0; bytes], requests: Vec::new() };
        Self { buffer, state: Mutex::new(state) }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// What a device reads there; `None` where there is no memory.
    pub(super) fn device_reads(&self, range: Range<usize>) -> Option<Vec<u8>> {
        self.state.lock().memory.get(range).map(<[u8]>::to_vec)
    }

    /// A device writes there; false where there is no memory.
    pub(super) fn device_writes(&self, start: usize, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        let Some(place) = state.memory.get_mut(start..start.saturating_add(bytes.len())) else { return false };
        place.copy_from_slice(bytes);
        // Dirty lines are written back when it hurts most.
        let all = state.memory.len();
        for line in (start / LINE * LINE..start + bytes.len()).step_by(LINE) {
            state.write_back(&self.buffer, line..(line + LINE).min(all), true);
        }
        true
    }
}

impl State {
    /// The CPU's bytes go to memory: all, or only if any of them was changed since they were last in step.
    fn write_back(&mut self, buffer: &DmaBuffer, range: Range<usize>, if_dirty: bool) {
        let mut bytes = vec![0; range.len()];
        let inside = buffer.mapping.load(range.start, &mut bytes);
        if inside && (!if_dirty || bytes != self.clean[range.clone()]) {
            self.memory[range.clone()].copy_from_slice(&bytes);
            self.clean[range].copy_from_slice(&bytes);
        }
    }

    /// The CPU sees what is in memory.
    fn forget(&mut self, buffer: &DmaBuffer, range: Range<usize>) {
        if buffer.mapping.store(range.start, &self.memory[range.clone()]) {
            let (memory, clean) = (&self.memory, &mut self.clean);
            clean[range.clone()].copy_from_slice(&memory[range]);
        }
    }
}

/// Maintains the imitated caches.
#[derive(Debug)]
pub struct Maintained(pub(super) Arc<Caches>);

impl Maintenance for Maintained {
    fn maintain(&self, next: Side, direction: Direction, range: Range<u64>) -> io::Result<()> {
        let bytes = range.start as usize..range.end as usize;
        let Caches { buffer, state } = &*self.0;
        let mut state = state.lock();
        if bytes.start > bytes.end || bytes.end > state.memory.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{range:?} is not in the buffer")));
        }
        state.requests.push(Request { next, direction, range });
        match (next, direction) {
            (Side::Device, Direction::ToDevice | Direction::Both) => state.write_back(buffer, bytes, false),
            // What lies beside the range in its first and last line is not lost: only these bytes are forgotten.
            (_, Direction::FromDevice) | (Side::Cpu, Direction::Both) => state.forget(buffer, bytes),
            (Side::Cpu, Direction::ToDevice) => {}
        }
        Ok(())
    }
}
