//! Devices and objects, by handle. A handle is a number: what was never made, or is gone, is known as such.

use crate::calls::{INVALID_CONTEXT, INVALID_HANDLE};
use crate::emulate::Program;
use crate::memory::Block;
use crate::stream::{Event, Stream};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// What was made: as an opaque pointer.
pub(crate) type Handle = *mut c_void;

pub(crate) struct Device {
    /// How often its context was retained.
    pub(crate) retained: u32,
    pub(crate) broken: Option<u32>,
    pub(crate) memory: usize,
    pub(crate) used: usize,
    pub(crate) blocks: BTreeMap<usize, Block>,
    pub(crate) peers: Vec<usize>,
}

impl Device {
    fn new(memory: usize) -> Self {
        Self { retained: 0, broken: None, memory, used: 0, blocks: BTreeMap::new(), peers: Vec::new() }
    }
}

pub(crate) struct Function {
    pub(crate) program: Arc<Program>,
    pub(crate) name: String,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) is_initialized: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) streams: HashMap<usize, Arc<Stream>>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) pools: HashMap<usize, usize>,
    pub(crate) modules: HashMap<usize, Arc<Program>>,
    pub(crate) functions: HashMap<usize, Function>,
    pub(crate) pinned: BTreeMap<usize, Block>,
    /// Plans of transforms and handles of cuBLAS, kept by their modules.
    pub(crate) others: usize,
    next: usize,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    let number = |name: &str, otherwise: usize| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    };
    let memory = number("FAKECUDA_MEMORY", 64 << 20);
    let device = || Device { retained: 0, broken: None, memory, used: 0, blocks: BTreeMap::new(), peers: Vec::new() };
    let devices = (0..number("FAKECUDA_DEVICES", 1)).map(|_| device()).collect();
    Mutex::new(State { devices, ..State::default() })
});

/// How long each job of a stream waits.
pub(crate) static LAG: LazyLock<Duration> = LazyLock::new(|| {
    let micros = std::env::var("FAKECUDA_LAG_US").ok().and_then(|value| value.parse().ok()).unwrap_or(0);
    Duration::from_micros(micros)
});

thread_local! {
    /// The contexts of this thread, by device; the last is the current one.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn with<T>(look: impl FnOnce(&mut State) -> T) -> T {
    look(&mut STATE.lock())
}

/// A device's context is its number, from 1 on.
pub(crate) fn context_of(device: usize) -> Handle {
    std::ptr::without_provenance_mut(device + 1)
}

pub(crate) fn device_of(context: Handle) -> Result<usize, u32> {
    let device = context.addr().wrapping_sub(1);
    with(|state| match state.devices.get(device) {
        Some(found) if found.retained > 0 => Ok(device),
        _ => Err(INVALID_CONTEXT),
    })
}

pub(crate) fn push_context(device: usize) {
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(device));
}

pub(crate) fn pop_context() -> Result<usize, u32> {
    CONTEXTS.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)
}

/// The device of this thread's context.
pub(crate) fn current() -> Result<usize, u32> {
    CONTEXTS.with_borrow(|contexts| contexts.last().copied()).ok_or(INVALID_CONTEXT)
}

/// Why nothing works in this thread's context, once that is so.
pub(crate) fn broken() -> Option<u32> {
    let device = current().ok()?;
    with(|state| state.devices.get(device)?.broken)
}

pub(crate) fn break_context(code: u32) {
    if let Ok(device) = current() {
        with(|state| {
            if let Some(device) = state.devices.get_mut(device) {
                device.broken = Some(code);
            }
        });
    }
}

impl State {
    /// A number that nothing has.
    pub(crate) fn fresh(&mut self) -> usize {
        self.next += 8;
        0x1000 + self.next
    }

    /// Does it all lie in one block, of a device or pinned?
    pub(crate) fn is_ours(&self, address: usize, bytes: usize) -> bool {
        let inside = |blocks: &BTreeMap<usize, Block>| {
            blocks.range(..=address).next_back().is_some_and(|(_, block)| block.holds(address, bytes))
        };
        self.devices.iter().any(|device| inside(&device.blocks)) || inside(&self.pinned)
    }

    pub(crate) fn is_pinned(&self, address: usize, bytes: usize) -> bool {
        self.pinned.range(..=address).next_back().is_some_and(|(_, block)| block.holds(address, bytes))
    }

    /// As new.
    pub(crate) fn reset(&mut self) {
        for device in &mut self.devices {
            *device = Device::new(device.memory);
        }
        *self = Self { devices: std::mem::take(&mut self.devices), next: self.next, ..Self::default() };
    }

    /// What was made and not given back.
    pub(crate) fn live(&self) -> usize {
        let retained: u32 = self.devices.iter().map(|device| device.retained).sum();
        let blocks: usize = self.devices.iter().map(|device| device.blocks.len()).sum();
        let objects = self.streams.len() + self.events.len() + self.pools.len() + self.modules.len();
        retained as usize + blocks + objects + self.pinned.len() + self.others
    }
}

pub(crate) fn stream(handle: Handle) -> Result<Arc<Stream>, u32> {
    with(|state| state.streams.get(&handle.addr()).cloned()).ok_or(INVALID_HANDLE)
}

pub(crate) fn event(handle: Handle) -> Result<Event, u32> {
    with(|state| state.events.get(&handle.addr()).cloned()).ok_or(INVALID_HANDLE)
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retained: u32 = self.devices.iter().map(|device| device.retained).sum();
        let blocks: usize = self.devices.iter().map(|device| device.blocks.len()).sum();
        let Self { streams, events, pools, modules, pinned, others, .. } = self;
        let [streams, events, pools, modules] = [streams.len(), events.len(), pools.len(), modules.len()];
        write!(f, "{retained} contexts, {streams} streams, {events} events, {pools} pools, {blocks} blocks, ")?;
        write!(f, "{} pinned, {modules} modules, {others} plans and handles", pinned.len())
    }
}
