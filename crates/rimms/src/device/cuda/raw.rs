//! The driver's objects: contexts, streams, events, pools, pinned memory, modules.
//!
//! Owns the handles, each given back when it is dropped; a release that fails is let be, since nothing can be done
//! about it. What queued commands use is given back in the order of the stream, or after it was waited for.
//!
//! An object belongs to a [`Context`], which every call needs to be the calling thread's: [`Context::enter`]
//! sees to that, and puts back what was there.
#![allow(unsafe_code)]

use super::library::{
    Attribute, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmemoryPool, CUmodule, CUstream, Code, Driver,
    Result,
};
use crate::device::Lent;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Of the driver: whether a call worked.
pub(super) fn done(code: u32) -> Result<()> {
    Code::of(Code::DRIVER, code)
}

/// A device of this machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id {
    pub(super) driver: &'static Driver,
    pub(super) device: CUdevice,
}

impl Id {
    /// Every device.
    pub(super) fn all(driver: &'static Driver) -> Result<Vec<Result<Self>>> {
        let mut count = 0;
        // SAFETY: initialises the driver, once or again.
        done(unsafe { (driver.cuInit)(0) })?;
        // SAFETY: writes a number.
        done(unsafe { (driver.cuDeviceGetCount)(&mut count) })?;
        let device = |ordinal| {
            let mut device = 0;
            // SAFETY: writes a number.
            done(unsafe { (driver.cuDeviceGet)(&mut device, ordinal) })?;
            Ok(Self { driver, device })
        };
        Ok((0..count).map(device).collect())
    }

    pub(super) fn attribute(self, attribute: Attribute) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: writes a number.
        done(unsafe { (self.driver.cuDeviceGetAttribute)(&mut value, attribute, self.device) })?;
        Ok(value)
    }

    pub(super) fn name(self) -> Result<String> {
        let mut text = [0_u8; 256];
        // SAFETY: writes so many bytes at most.
        done(unsafe { (self.driver.cuDeviceGetName)(text.as_mut_ptr().cast(), text.len() as c_int, self.device) })?;
        let text = CStr::from_bytes_until_nul(&text).map(CStr::to_string_lossy);
        Ok(text.unwrap_or_default().trim().to_owned())
    }

    pub(super) fn memory(self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: writes a number.
        done(unsafe { (self.driver.cuDeviceTotalMem_v2)(&mut bytes, self.device) })?;
        Ok(bytes)
    }

    /// Has it a direct way to this one's memory?
    pub(super) fn reaches(self, peer: Self) -> Result<bool> {
        let mut can = 0;
        // SAFETY: writes a number.
        done(unsafe { (self.driver.cuDeviceCanAccessPeer)(&mut can, self.device, peer.device) })?;
        Ok(can != 0)
    }
}

/// The version of CUDA that the driver is for: 13.0.
pub(super) fn version(driver: &Driver) -> Result<String> {
    let mut version = 0;
    // SAFETY: writes a number.
    done(unsafe { (driver.cuDriverGetVersion)(&mut version) })?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// A device's primary context: the one that other users of the device in this process have.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) id: Id,
    context: CUcontext,
}

// SAFETY: the driver's objects may be used from any thread, from several at once, in whose context they are.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// As long as it lives the context is this thread's.
pub(super) struct Current<'a>(&'a Context);

impl Context {
    pub(super) fn retain(id: Id) -> Result<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: writes a handle, which is released once.
        done(unsafe { (id.driver.cuDevicePrimaryCtxRetain)(&mut context, id.device) })?;
        Ok(Self { id, context })
    }

    pub(super) fn enter(&self) -> Result<Current<'_>> {
        // SAFETY: a live context, popped by the guard.
        done(unsafe { (self.id.driver.cuCtxPushCurrent_v2)(self.context) })?;
        Ok(Current(self))
    }

    pub(super) fn driver(&self) -> &'static Driver {
        self.id.driver
    }

    pub(super) fn raw(&self) -> CUcontext {
        self.context
    }

    /// Lets it reach the other's memory. That it may already is fine.
    pub(super) fn reach(&self, peer: &Self) -> Result<()> {
        const ALREADY: u32 = 704;
        let _here = self.enter()?;
        // SAFETY: both are live.
        match unsafe { (self.driver().cuCtxEnablePeerAccess)(peer.context, 0) } {
            ALREADY => Ok(()),
            code => done(code),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: ours, and released once.
        unsafe { (self.id.driver.cuDevicePrimaryCtxRelease_v2)(self.id.device) };
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: what `enter` pushed.
        unsafe { (self.0.driver().cuCtxPopCurrent_v2)(&mut popped) };
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $release:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name {
            context: Arc<Context>,
            raw: $raw,
        }

        // SAFETY: as the context's.
        unsafe impl Send for $name {}
        // SAFETY: as the context's.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                let _here = self.context.enter();
                // SAFETY: the handle is ours, and released once.
                unsafe { (self.context.driver().$release)(self.raw) };
            }
        }
    };
}

handle!(
    /// Commands, worked off in order.
    Stream,
    CUstream,
    cuStreamDestroy_v2
);
handle!(
    /// A point in a stream.
    Event,
    CUevent,
    cuEventDestroy_v2
);
handle!(
    /// Where blocks of memory come from, in the order of streams.
    Pool,
    CUmemoryPool,
    cuMemPoolDestroy
);
handle!(
    /// Compiled kernels.
    Module,
    CUmodule,
    cuModuleUnload
);

/// A kernel of a module that lives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: as the context's.
unsafe impl Send for Function {}
// SAFETY: as the context's.
unsafe impl Sync for Function {}

impl Stream {
    pub(super) fn raw(&self) -> CUstream {
        self.raw
    }

    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        /// It does not wait for what others have in the default stream, nor these for it.
        const NON_BLOCKING: u32 = 1;
        let _here = context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: writes a handle.
        done(unsafe { (context.driver().cuStreamCreate)(&mut raw, NON_BLOCKING) })?;
        Ok(Self { context: context.clone(), raw })
    }

    /// Returns when all is over that was queued before.
    pub(super) fn finish(&self) -> Result<()> {
        let _here = self.context.enter()?;
        // SAFETY: a live stream.
        done(unsafe { (self.context.driver().cuStreamSynchronize)(self.raw) })
    }

    /// Notes this point.
    pub(super) fn record(&self, event: &Event) -> Result<()> {
        let _here = self.context.enter()?;
        // SAFETY: both are live, and of one context.
        done(unsafe { (self.context.driver().cuEventRecord)(event.raw, self.raw) })
    }

    /// What is queued from now on comes after what the event noted last.
    pub(super) fn wait_for(&self, event: &Event) -> Result<()> {
        let _here = self.context.enter()?;
        // SAFETY: both are live.
        done(unsafe { (self.context.driver().cuStreamWaitEvent)(self.raw, event.raw, 0) })
    }
}

impl Event {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        const WITHOUT_TIME: u32 = 2;
        let _here = context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: writes a handle.
        done(unsafe { (context.driver().cuEventCreate)(&mut raw, WITHOUT_TIME) })?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(super) fn is_over(&self) -> bool {
        let Ok(_here) = self.context.enter() else { return false };
        // SAFETY: a live event.
        unsafe { (self.context.driver().cuEventQuery)(self.raw) == 0 }
    }

    pub(super) fn wait(&self) -> Result<()> {
        let _here = self.context.enter()?;
        // SAFETY: a live event.
        done(unsafe { (self.context.driver().cuEventSynchronize)(self.raw) })
    }
}

/// Where a pool's memory is: `CUmemLocation`, whose second half the bindings call differently from one version to the next.
#[repr(C)]
struct Location {
    kind: u32,
    device: c_int,
}

/// `CUmemPoolProps`; what follows may be 0.
#[repr(C)]
struct Properties {
    kind: u32,
    handles: u32,
    location: Location,
    rest: [u64; 9],
}

/// `CUmemAccessDesc`.
#[repr(C)]
struct Access {
    location: Location,
    flags: u32,
}

const _: () = assert!(size_of::<Properties>() == size_of::<super::library::CUmemPoolProps>());
const _: () = assert!(size_of::<Access>() == size_of::<super::library::CUmemAccessDesc>());

const ON_DEVICE: u32 = 1;

impl Pool {
    /// Keeps what was freed, for what comes later.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        const PINNED: u32 = 1;
        let device = context.id.device;
        let _here = context.enter()?;
        let location = Location { kind: ON_DEVICE, device };
        let properties = Properties { kind: PINNED, handles: 0, location, rest: [0; 9] };
        let mut raw = ptr::null_mut();
        // SAFETY: the properties are laid out as the driver wants them; it writes a handle.
        done(unsafe { (context.driver().cuMemPoolCreate)(&mut raw, ptr::from_ref(&properties).cast()) })?;
        let pool = Self { context: context.clone(), raw };
        let mut kept = u64::MAX;
        let threshold = cudarc::driver::sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute is a number of 64 bits.
        done(unsafe { (context.driver().cuMemPoolSetAttribute)(raw, threshold, ptr::from_mut(&mut kept).cast()) })?;
        Ok(pool)
    }

    /// Lets another device read and write it.
    pub(super) fn open_to(&self, peer: &Context) -> Result<()> {
        const READ_AND_WRITE: u32 = 3;
        let location = Location { kind: ON_DEVICE, device: peer.id.device };
        let access = Access { location, flags: READ_AND_WRITE };
        let _here = self.context.enter()?;
        // SAFETY: one description, laid out as the driver wants it.
        done(unsafe { (self.context.driver().cuMemPoolSetAccess)(self.raw, ptr::from_ref(&access).cast(), 1) })
    }

    /// From its turn in the stream on.
    pub(super) fn allocate(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let _here = self.context.enter()?;
        let mut address = 0;
        // SAFETY: writes an address.
        done(unsafe { (self.context.driver().cuMemAllocFromPoolAsync)(&mut address, bytes, self.raw, stream.raw) })?;
        Ok(address)
    }
}

impl Context {
    pub(super) fn allocate(&self, bytes: usize) -> Result<CUdeviceptr> {
        let _here = self.enter()?;
        let mut address = 0;
        // SAFETY: writes an address.
        done(unsafe { (self.driver().cuMemAlloc_v2)(&mut address, bytes) })?;
        Ok(address)
    }

    /// Waits for what uses it. Addresses are the driver's to check.
    pub(super) fn free(&self, address: CUdeviceptr) -> Result<()> {
        let _here = self.enter()?;
        // SAFETY: memory of the device, which no reference of ours points to.
        done(unsafe { (self.driver().cuMemFree_v2)(address) })
    }

    /// Of a pool's: when its turn in the stream comes.
    pub(super) fn free_later(&self, address: CUdeviceptr, stream: &Stream) -> Result<()> {
        let _here = self.enter()?;
        // SAFETY: as above.
        done(unsafe { (self.driver().cuMemFreeAsync)(address, stream.raw) })
    }
}

/// Host memory that devices reach themselves, initialised.
#[derive(Debug)]
pub(super) struct Pinned {
    context: Arc<Context>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: as a `Vec<u8>`.
unsafe impl Send for Pinned {}
// SAFETY: as a `Vec<u8>`.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self> {
        const PORTABLE_AND_MAPPED: u32 = 1 | 2;
        let _here = context.enter()?;
        let mut start = ptr::null_mut();
        // SAFETY: writes an address.
        done(unsafe { (context.driver().cuMemHostAlloc)(&mut start, bytes, PORTABLE_AND_MAPPED) })?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(Code { library: Code::DRIVER, number: 2 })?;
        // SAFETY: so many bytes are ours.
        unsafe { start.write_bytes(0, bytes) };
        // Whoever is given it by its address may use it so.
        start.as_ptr().expose_provenance();
        Ok(Self { context: context.clone(), start, bytes })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// For the host to work on.
    pub(super) fn lend(&self) -> Lent {
        // SAFETY: initialised in `new`; the driver gives whole pages. It lives as long as its block, and the device touches it where it
        // is asked to.
        unsafe { Lent::new(self.start) }
    }

    /// Its address on the device.
    pub(super) fn on_device(&self) -> Result<CUdeviceptr> {
        let _here = self.context.enter()?;
        let mut address = 0;
        // SAFETY: live pinned memory; writes an address.
        done(unsafe {
            (self.context.driver().cuMemHostGetDevicePointer_v2)(&mut address, self.start.as_ptr().cast(), 0)
        })?;
        Ok(address)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _here = self.context.enter();
        // SAFETY: ours, and given back once; whoever had commands queued on it has waited for them.
        unsafe { (self.context.driver().cuMemFreeHost)(self.start.as_ptr().cast()) };
    }
}

impl Module {
    /// # Errors
    /// What the driver says, and what its own compiler says beside that.
    pub(super) fn load(context: &Arc<Context>, ptx: &CStr) -> Result<Self, (Code, String)> {
        use cudarc::driver::sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        let _here = context.enter().map_err(|code| (code, String::new()))?;
        let mut log = vec![0_u8; 16 << 10];
        let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len() - 1)];
        let mut raw = ptr::null_mut();
        // SAFETY: a text that ends, and room for so many bytes of a log; both are read and written in the call alone.
        let code = unsafe {
            (context.driver().cuModuleLoadDataEx)(
                &mut raw,
                ptx.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let text = || CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |t| t.to_string_lossy().into());
        done(code).map_err(|code| (code, text()))?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(super) fn function(&self, name: &str) -> Result<Option<Function>> {
        const NOT_FOUND: u32 = 500;
        let Ok(name) = CString::new(name) else { return Ok(None) };
        let _here = self.context.enter()?;
        let mut function = ptr::null_mut();
        let name: *const c_char = name.as_ptr();
        // SAFETY: a live module and a text; writes a handle, which is the module's.
        match unsafe { (self.context.driver().cuModuleGetFunction)(&mut function, self.raw, name) } {
            NOT_FOUND => Ok(None),
            code => done(code).map(|()| Some(Function(function))),
        }
    }
}
