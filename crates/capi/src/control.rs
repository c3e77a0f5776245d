//! The runtime as a whole: settings, start and end, what was counted, the trace, version and what there is.
#![allow(unsafe_code, non_camel_case_types, non_snake_case)] // exported names

use crate::admit::admit;
use crate::boundary::{c_text, call, check, store, text, value};
use crate::error::{Fault, Result, hete_Error};
use crate::session::{end, lock};
use rimms::op::OpKind;
use rimms::runtime::Pe;
use rimms::trace::{Cause, Flow, PairFlow};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fs::File;
use std::io::{BufWriter, Write};

/// Version of this header, to be compared with `rimms_Version`.
pub const RIMMS_VERSION_MAJOR: u32 = 0;
/// See `RIMMS_VERSION_MAJOR`.
pub const RIMMS_VERSION_MINOR: u32 = 1;
/// See `RIMMS_VERSION_MAJOR`.
pub const RIMMS_VERSION_PATCH: u32 = 0;

/// Version of the library: 65536·major + 256·minor + patch.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_Version() -> u32 {
    RIMMS_VERSION_MAJOR << 16 | RIMMS_VERSION_MINOR << 8 | RIMMS_VERSION_PATCH
}

/// Sets what the runtime is to be made of, before it starts:
///
/// | name | value |
/// | --- | --- |
/// | `cpus` | how many CPU PEs; by default as many as the machine has |
/// | `devices` | simulated accelerators: `acc0`, `fft0:64KiB`, `zip0:1MiB:next-fit`, with commas between |
/// | `heap` | the marking system of those that name none: `bitset`, `next-fit`, `two-level` |
/// | `memory` | `reference`, `last-resource`, `valid-set` (by default) or `zero-copy` |
/// | `policy` | `round-robin`, `random`, `met`, `eft`, `etf`, `heft-rt`, `locality` (by default) |
/// | `on` | the PEs that calls may go to, by name or kind: `cpu,acc0` |
/// | `costs` | a file with what calls took before |
/// | `fixed-costs` | `true`: goes by that file alone |
/// | `time-limit` | milliseconds that a device may be at one operation |
/// | `watchdog` | when no call was done for so many milliseconds, and some are to be, stderr is told who waits for whom |
/// | `trace` | `true`: keeps a trace for `rimms_WriteTrace` |
///
/// The same can be set in the environment (`RIMMS_TIME_LIMIT=50`), and in a TOML file (`time-limit = 50`) that
/// `rimms_LoadSettings` or `RIMMS_CONFIG` names. A call goes before the environment, that before the file. Unknown names,
/// there too, are errors. `HETE_ERROR_STARTED` once the runtime runs.
///
/// # Safety
/// `name` and `value` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_Set(name: *const c_char, value: *const c_char) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        let mut state = lock();
        not_started(state.started.is_some())?;
        state.settings.set(name, value)
    })
}

/// Takes settings from a TOML file; instead of those of a file that was named before.
///
/// # Safety
/// `file` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_LoadSettings(file: *const c_char) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let file = unsafe { text("file", file) }?;
        let mut state = lock();
        not_started(state.started.is_some())?;
        state.settings.load(file)
    })
}

fn not_started(has_started: bool) -> Result<()> {
    if has_started {
        let why = "the runtime runs already, with the settings from before its first call; rimms_Shutdown ends it";
        return Err(Fault::new(hete_Error::HETE_ERROR_STARTED, why));
    }
    Ok(())
}

/// Starts the runtime now, which the first call does otherwise: to see at once what is wrong with the settings.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_Start() -> hete_Error {
    call(|| admit(()).map(drop))
}

/// Ends the runtime: waits for the calls that were accepted, frees all data that is left, forgets the settings made by
/// call. The next call starts another one. Ops stay. Not needed at the end of a program.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_Shutdown() -> hete_Error {
    call(end)
}

/// Copies, and bytes that they moved.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct rimms_Flow {
    /// Copies.
    pub copies: u64,
    /// Bytes.
    pub bytes: u64,
}

impl From<Flow> for rimms_Flow {
    fn from(Flow { copies, bytes }: Flow) -> Self {
        Self { copies, bytes }
    }
}

/// What was done since the runtime started. Calls that are not done yet are not in it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct rimms_Stats {
    /// All copies.
    pub all: rimms_Flow,
    /// From the host to devices.
    pub host_to_device: rimms_Flow,
    /// From devices to the host.
    pub device_to_host: rimms_Flow,
    /// Between devices, and within one.
    pub device_to_device: rimms_Flow,
    /// Calls that succeeded.
    pub calls: u64,
    /// Operands whose state was looked at before a call.
    pub checks: u64,
    /// Calls that failed on one PE and were tried on another.
    pub retries: u64,
    /// Blocks that made room for others on a device.
    pub evictions: u64,
}

/// Stores what was counted so far. `size` is `sizeof(rimms_Stats)`: a library that counts more stores what fits.
///
/// # Safety
/// `stats` is a place of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_GetStats(stats: *mut rimms_Stats, size: usize) -> hete_Error {
    call(|| {
        check("stats", stats)?;
        let counters = admit(())?.runtime().counters();
        let found = rimms_Stats {
            all: Flow { copies: counters.copies(), bytes: counters.bytes() }.into(),
            host_to_device: counters.host_to_device().into(),
            device_to_host: counters.device_to_host().into(),
            device_to_device: counters.device_to_device().into(),
            calls: counters.calls_by_pe.iter().map(|(_, calls)| calls).sum(),
            checks: counters.checks,
            retries: counters.retries,
            evictions: counters.evictions,
        };
        let bytes = size.min(size_of::<rimms_Stats>());
        // SAFETY: a place of so many bytes, as the caller vouches.
        unsafe { std::ptr::copy_nonoverlapping((&raw const found).cast::<u8>(), stats.cast::<u8>(), bytes) };
        Ok(())
    })
}

/// Stores the copies from one resource to another; within one, where both are the same.
///
/// # Safety
/// `flow` is a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_GetFlow(from: usize, to: usize, flow: *mut rimms_Flow) -> hete_Error {
    call(|| {
        check("flow", flow)?;
        let admitted = admit(())?;
        let resources = admitted.runtime().resources();
        find(&resources, from)?;
        find(&resources, to)?;
        let is_wanted = |pair: &&PairFlow| (pair.from.index(), pair.to.index()) == (from, to);
        let found: Flow = admitted.runtime().counters().flows.iter().filter(is_wanted).map(|pair| pair.flow).sum();
        // SAFETY: as the caller vouches.
        unsafe { store("flow", flow, found.into()) }
    })
}

/// Stores the copies that had a cause: `input` (a call reads it there), `output` (mode `reference`), `host access`, `gather`
/// (parts of what a call reads lay elsewhere), `join`, `eviction`.
///
/// # Safety
/// `cause` is a text, `flow` a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_GetFlowByCause(cause: *const c_char, flow: *mut rimms_Flow) -> hete_Error {
    call(|| {
        check("flow", flow)?;
        // SAFETY: as the caller vouches.
        let name = unsafe { text("cause", cause) }?;
        let cause = Cause::ALL.into_iter().find(|cause| cause.name() == name).ok_or_else(|| {
            let known = Cause::ALL.map(Cause::name).join(", ");
            Fault::new(hete_Error::HETE_ERROR_UNKNOWN, format!("unknown cause `{name}`; known: {known}"))
        })?;
        let found = admit(())?.runtime().counters().by_cause(cause);
        // SAFETY: as the caller vouches.
        unsafe { store("flow", flow, found.into()) }
    })
}

/// Calls that succeeded on the PE of this number; 0 on an error, too.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_PeCalls(pe: usize) -> u64 {
    value(0, || {
        let admitted = admit(())?;
        let name = find(admitted.runtime().pes(), pe)?.name();
        Ok(admitted.runtime().counters().calls(name))
    })
}

/// Writes what was done since the last time, or since the start, to a file that the Perfetto UI opens. Needs the setting
/// `trace`. The file NULL: forgets it.
///
/// # Safety
/// `file` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_WriteTrace(file: *const c_char) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let file = if file.is_null() { None } else { Some(unsafe { text("file", file) }?) };
        let admitted = admit(())?;
        if !admitted.started().keeps_trace {
            let why = "no trace is kept: set `trace` to `true` before the runtime starts";
            return Err(Fault::new(hete_Error::HETE_ERROR_CONFIG, why));
        }
        let Some(name) = file else {
            admitted.runtime().take_timeline();
            return Ok(());
        };
        let failed = |e: std::io::Error| Fault::new(hete_Error::HETE_ERROR_FILE, format!("trace in {name}: {e}"));
        // Before anything is taken.
        let mut out = BufWriter::new(File::create(name).map_err(failed)?);
        admitted.runtime().take_timeline().write_chrome(&mut out).and_then(|()| out.flush()).map_err(failed)
    })
}

/// Writes what calls took to a file, for the setting `costs`.
///
/// # Safety
/// `file` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_SaveCosts(file: *const c_char) -> hete_Error {
    call(|| {
        // SAFETY: as the caller vouches.
        let file = unsafe { text("file", file) }?;
        Ok(admit(())?.runtime().costs().write(file.as_ref())?)
    })
}

thread_local! {
    static NAME: RefCell<CString> = RefCell::default();
}

/// A name that is kept for the thread.
fn keep(name: &str) -> *const c_char {
    NAME.with_borrow_mut(|kept| {
        *kept = c_text(name);
        kept.as_ptr()
    })
}

fn find<T>(all: &[T], i: usize) -> Result<&T> {
    let why = || Fault::new(hete_Error::HETE_ERROR_INDEX, format!("{i} was asked for, but there are {}", all.len()));
    all.get(i).ok_or_else(why)
}

/// How many PEs (processing elements) there are; 0 on an error.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_PeCount() -> usize {
    value(0, || Ok(admit(())?.runtime().pes().len()))
}

/// The name of a PE, such as `cpu0`; NULL where there is none. Valid until this thread asks for another name.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_PeName(pe: usize) -> *const c_char {
    value(std::ptr::null(), || Ok(keep(find(admit(())?.runtime().pes(), pe)?.name())))
}

/// The resource whose memory a PE works on; −1 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_PeResource(pe: usize) -> i32 {
    value(-1, || Ok(find(admit(())?.runtime().pes(), pe)?.resource().index() as i32))
}

/// Can a PE run an op of this name: `fft`, `zip`, `fftshift`, `transpose`, `scale`, `magnitude`, `arg-max`, `gemm`,
/// `convolve`, `decide`, `copy`, `fill`? 1, 0, or −1 where there is no such PE or op. Not in every size: see the message of
/// `HETE_ERROR_NO_PE`.
///
/// # Safety
/// `op` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rimms_PeCan(pe: usize, op: *const c_char) -> i32 {
    value(-1, || {
        // SAFETY: as the caller vouches.
        let name = unsafe { text("op", op) }?;
        let kind = OpKind::BUILT_IN.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = OpKind::BUILT_IN.map(OpKind::name).join(", ");
            Fault::new(hete_Error::HETE_ERROR_UNKNOWN, format!("unknown op `{name}`; known: {known}"))
        })?;
        let can = |pe: &Pe| pe.capability().ops().is_none_or(|ops| ops.iter().any(|op| op.kind == kind));
        Ok(i32::from(can(find(admit(())?.runtime().pes(), pe)?)))
    })
}

/// How many resources (memories) there are, the host's first; 0 on an error.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_ResourceCount() -> usize {
    value(0, || Ok(admit(())?.runtime().resources().len()))
}

/// The name of a resource, such as `host`; NULL where there is none. Valid until this thread asks for another name.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_ResourceName(resource: usize) -> *const c_char {
    value(std::ptr::null(), || Ok(keep(&find(&admit(())?.runtime().resources(), resource)?.name)))
}

/// Bytes of a resource's memory; 0 where that is not known, or on an error.
#[unsafe(no_mangle)]
pub extern "C" fn rimms_ResourceCapacity(resource: usize) -> u64 {
    value(0, || Ok(find(&admit(())?.runtime().resources(), resource)?.capacity.unwrap_or(0)))
}
