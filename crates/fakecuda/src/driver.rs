//! The driver's calls but for copies. Signatures are those of CUDA's `cuda.h`.

use crate::calls::{
    INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, NOT_INITIALIZED, NOT_READY, OUT_OF_MEMORY,
    PEER_ALREADY_ENABLED, Whose, exports,
};
use crate::emulate::Program;
use crate::foreign::{give, slice, take, text};
use crate::memory::Block;
use crate::state::{self, Function, Handle, State, with};
use crate::stream::{Event, Stream};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::without_provenance_mut;
use std::sync::Arc;

fn is_initialized(state: &State) -> Result<(), u32> {
    if state.is_initialized { Ok(()) } else { Err(NOT_INITIALIZED) }
}

fn number(device: c_int) -> Result<usize, u32> {
    let index = usize::try_from(device).map_err(|_| INVALID_DEVICE)?;
    with(|state| if index < state.devices.len() { Ok(index) } else { Err(INVALID_DEVICE) })
}

exports! { Whose::Driver;
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        with(|state| state.is_initialized = true);
    }
    fn cuDriverGetVersion(version: *mut c_int) {
        give(version, 12_060)?;
    }
    fn cuDeviceGetCount(count: *mut c_int) {
        let found = with(|state| is_initialized(state).map(|()| state.devices.len() as c_int))?;
        give(count, found)?;
    }
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        number(ordinal)?;
        give(device, ordinal)?;
    }
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        let text = format!("Fake GPU {}", number(device)?);
        if len as usize <= text.len() {
            return Err(INVALID_VALUE);
        }
        for (i, byte) in text.bytes().chain([0]).enumerate() {
            give(name.wrapping_add(i), byte as c_char)?;
        }
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        let device = number(device)?;
        give(bytes, with(|state| state.devices[device].memory))?;
    }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) {
        number(device)?;
        let is_set = |name: &str| c_int::from(std::env::var_os(name).is_some());
        give(value, match attribute {
            1 => 1024, // threads of a block
            8 => 48 << 10, // shared memory of a block
            18 => is_set("FAKECUDA_INTEGRATED"),
            19 | 41 => 1, // can map host memory; unified addressing
            75 => 9,
            76 => 0,
            115 => 1 - is_set("FAKECUDA_WITHOUT_POOLS"),
            _ => 0,
        })?;
    }
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        give(can, c_int::from(number(device)? != number(peer)?))?;
    }
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) {
        let device = number(device)?;
        with(|state| state.devices[device].retained += 1);
        give(context, state::context_of(device))?;
    }
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let device = number(device)?;
        with(|state| {
            let device = &mut state.devices[device];
            device.retained = device.retained.checked_sub(1).ok_or(INVALID_HANDLE)?;
            if device.retained == 0 {
                // As a new one.
                (device.broken, device.used) = (None, 0);
                device.peers.clear();
            }
            Ok::<(), u32>(())
        })?;
    }
    fn cuCtxPushCurrent_v2(context: Handle) {
        state::push_context(state::device_of(context)?);
    }
    fn cuCtxSetCurrent(context: Handle) {
        let _ = state::pop_context();
        if !context.is_null() {
            state::push_context(state::device_of(context)?);
        }
    }
    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        let device = state::pop_context()?;
        if !context.is_null() {
            give(context, state::context_of(device))?;
        }
    }
}

/// A text for each code: its number is enough here.
fn about(code: c_uint, to: *mut *const c_char) -> u32 {
    let text = match code {
        1 => c"CUDA_ERROR_INVALID_VALUE",
        2 => c"CUDA_ERROR_OUT_OF_MEMORY",
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        719 => c"CUDA_ERROR_LAUNCH_FAILED",
        _ => c"CUDA_ERROR",
    };
    give(to, text.as_ptr()).err().unwrap_or(0)
}

// Not counted: who asks what an error means has one already.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: c_uint, to: *mut *const c_char) -> u32 {
    about(code, to)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: c_uint, to: *mut *const c_char) -> u32 {
    about(code, to)
}

fn allocate(device: usize, bytes: usize) -> Result<u64, u32> {
    with(|state| {
        let device = state.devices.get_mut(device).ok_or(INVALID_DEVICE)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if device.used.checked_add(bytes).is_none_or(|used| used > device.memory) {
            return Err(OUT_OF_MEMORY);
        }
        let block = Block::new(bytes).ok_or(OUT_OF_MEMORY)?;
        let start = block.start;
        device.used += bytes;
        device.blocks.insert(start, block);
        Ok(start as u64)
    })
}

fn release(address: u64) -> Result<Block, u32> {
    with(|state| {
        let start = address as usize;
        let device = state.devices.iter_mut().find(|device| device.blocks.contains_key(&start));
        let device = device.ok_or(INVALID_VALUE)?;
        let block = device.blocks.remove(&start).ok_or(INVALID_VALUE)?;
        device.used -= block.bytes;
        Ok(block)
    })
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PoolProperties {
    kind: u32,
    handles: u32,
    location: u32,
    device: c_int,
}

exports! { Whose::Context;
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        let (device, peer) = (state::current()?, state::device_of(peer)?);
        if flags != 0 || device == peer {
            return Err(INVALID_VALUE);
        }
        with(|state| {
            let peers = &mut state.devices[device].peers;
            if peers.contains(&peer) {
                return Err(PEER_ALREADY_ENABLED);
            }
            peers.push(peer);
            Ok(())
        })?;
    }
    fn cuMemPoolCreate(pool: *mut Handle, properties: *const PoolProperties) {
        let found = take(properties)?;
        if (found.kind, found.handles, found.location) != (1, 0, 1) {
            return Err(INVALID_VALUE);
        }
        let device = number(found.device)?;
        let handle = with(|state| {
            let handle = state.fresh();
            state.pools.insert(handle, device);
            handle
        });
        give(pool, without_provenance_mut(handle))?;
    }
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_uint, value: *const u64) {
        take(value)?;
        let is_there = with(|state| state.pools.contains_key(&pool.addr()));
        if !is_there || attribute != 4 {
            return Err(INVALID_VALUE);
        }
    }
    fn cuMemPoolSetAccess(pool: Handle, access: *const [u32; 3], count: usize) {
        let is_there = with(|state| state.pools.contains_key(&pool.addr()));
        if !is_there {
            return Err(INVALID_VALUE);
        }
        for [location, device, flags] in slice(access, count) {
            number(*device as c_int)?;
            if (*location, *flags) != (1, 3) {
                return Err(INVALID_VALUE);
            }
        }
    }
    fn cuMemPoolDestroy(pool: Handle) {
        with(|state| state.pools.remove(&pool.addr())).ok_or(INVALID_VALUE)?;
    }
    fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: Handle, stream: Handle) {
        let device = with(|state| state.pools.get(&pool.addr()).copied()).ok_or(INVALID_VALUE)?;
        state::stream(stream)?;
        give(address, allocate(device, bytes)?)?;
    }
    fn cuMemFreeAsync(address: u64, stream: Handle) {
        let stream = state::stream(stream)?;
        let block = release(address)?;
        // What was queued before may still use it.
        stream.queue(move || drop(block));
    }
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        give(address, allocate(state::current()?, bytes)?)?;
    }
    fn cuMemFree_v2(address: u64) {
        let device = state::current()?;
        let block = release(address)?;
        synchronize(device);
        drop(block);
    }
    fn cuMemHostAlloc(start: *mut Handle, bytes: usize, _flags: c_uint) {
        state::current()?;
        let block = Block::new(bytes).ok_or(OUT_OF_MEMORY)?;
        let address = block.start;
        with(|state| state.pinned.insert(address, block));
        give(start, std::ptr::with_exposed_provenance_mut::<c_void>(address))?;
    }
    fn cuMemFreeHost(start: Handle) {
        let block = with(|state| state.pinned.remove(&start.addr())).ok_or(INVALID_VALUE)?;
        synchronize(state::current()?);
        drop(block);
    }
    fn cuMemHostGetDevicePointer_v2(address: *mut u64, start: Handle, _flags: c_uint) {
        let is_there = with(|state| state.is_pinned(start.addr(), 1));
        if !is_there {
            return Err(INVALID_VALUE);
        }
        give(address, start.addr() as u64)?;
    }
    fn cuStreamCreate(stream: *mut Handle, _flags: c_uint) {
        let device = state::current()?;
        let made = Arc::new(Stream::new(device, *state::LAG));
        let handle = with(|state| {
            let handle = state.fresh();
            state.streams.insert(handle, made);
            handle
        });
        give(stream, without_provenance_mut(handle))?;
    }
    fn cuStreamDestroy_v2(stream: Handle) {
        with(|state| state.streams.remove(&stream.addr())).ok_or(INVALID_HANDLE)?;
    }
    fn cuStreamSynchronize(stream: Handle) {
        state::stream(stream)?.synchronize();
        return state::broken().map_or(Ok(()), Err);
    }
    fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        let (stream, event) = (state::stream(stream)?, state::event(event)?);
        let ticket = event.ticket();
        stream.queue(move || event.wait_until(ticket));
    }
    fn cuEventCreate(event: *mut Handle, _flags: c_uint) {
        state::current()?;
        let handle = with(|state| {
            let handle = state.fresh();
            state.events.insert(handle, Event::default());
            handle
        });
        give(event, without_provenance_mut(handle))?;
    }
    fn cuEventDestroy_v2(event: Handle) {
        with(|state| state.events.remove(&event.addr())).ok_or(INVALID_HANDLE)?;
    }
    fn cuEventRecord(event: Handle, stream: Handle) {
        let (event, stream) = (state::event(event)?, state::stream(stream)?);
        event.record(&stream);
    }
    fn cuEventQuery(event: Handle) {
        return if state::event(event)?.is_done() { Ok(()) } else { Err(NOT_READY) };
    }
    fn cuEventSynchronize(event: Handle) {
        state::event(event)?.wait();
    }
    fn cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_char,
        _count: c_uint,
        _options: *mut c_uint,
        _values: *mut Handle,
    ) {
        state::current()?;
        let program = Arc::new(Program::of(&text(image)?)?);
        let handle = with(|state| {
            let handle = state.fresh();
            state.modules.insert(handle, program);
            handle
        });
        give(module, without_provenance_mut(handle))?;
    }
    fn cuModuleUnload(module: Handle) {
        with(|state| state.modules.remove(&module.addr())).ok_or(INVALID_HANDLE)?;
    }
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        let name = text(name)?;
        let program = with(|state| state.modules.get(&module.addr()).cloned()).ok_or(INVALID_HANDLE)?;
        if !program.has(&name) {
            return Err(NOT_FOUND);
        }
        let handle = with(|state| {
            let handle = state.fresh();
            state.functions.insert(handle, Function { program, name });
            handle
        });
        give(function, without_provenance_mut(handle))?;
    }
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: Handle,
        params: *mut *mut c_void,
        _extra: *mut *mut c_void,
    ) {
        let stream = state::stream(stream)?;
        if stream.device != state::current()? {
            return Err(INVALID_HANDLE);
        }
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        let is_range = !grid.contains(&0) && grid_y.max(grid_z) <= 0xffff && (1..=1024).contains(&threads);
        if !is_range || shared > 48 << 10 {
            return Err(INVALID_VALUE);
        }
        let launch = with(|state| {
            let function = state.functions.get(&function.addr()).ok_or(INVALID_HANDLE)?;
            function.program.launch(&function.name, params.cast_const().cast(), grid, block, shared)
        })?;
        stream.queue(launch);
    }
}

/// Waits for all streams of a device.
fn synchronize(device: usize) {
    let streams: Vec<Arc<Stream>> = with(|state| state.streams.values().cloned().collect());
    streams.iter().filter(|stream| stream.device == device).for_each(|stream| stream.synchronize());
}
