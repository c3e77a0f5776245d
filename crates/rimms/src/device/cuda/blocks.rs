//! The driver's memory: blocks of a device's, in the order of a stream or not, and pinned blocks of the host's.
//!
//! Addresses of device memory are numbers here; that commands touch live blocks only is seen to by [`memory`](super::memory).
#![allow(unsafe_code)]

use super::library::{CUdeviceptr, CUmemAccessDesc, CUmemPoolProps, CUmemoryPool, Code, Result};
use super::raw::{Context, Stream, done, handle};
use crate::device::Lent;
use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::Arc;

handle!(
    /// Where blocks of memory come from, in the order of streams.
    Pool,
    CUmemoryPool,
    cuMemPoolDestroy
);
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

const _: () = assert!(size_of::<Properties>() == size_of::<CUmemPoolProps>());
const _: () = assert!(size_of::<Access>() == size_of::<CUmemAccessDesc>());

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
        done(unsafe { (self.context.driver().cuMemAllocFromPoolAsync)(&mut address, bytes, self.raw, stream.raw()) })?;
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
        done(unsafe { (self.driver().cuMemFreeAsync)(address, stream.raw()) })
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
