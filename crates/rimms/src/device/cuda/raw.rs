//! The driver's objects: contexts, streams, events. Memory is [`blocks`](super::blocks)', kernels are [`module`](super::module)'s.
//!
//! Owns the handles, each given back when it is dropped; a release that fails is let be, since nothing can be done
//! about it. What queued commands use is given back in the order of the stream, or after it was waited for.
//!
//! An object belongs to a [`Context`], which every call needs to be the calling thread's: [`Context::enter`]
//! sees to that, and puts back what was there.
#![allow(unsafe_code)]

use super::library::{Attribute, CUcontext, CUdevice, CUevent, CUstream, Code, Driver, Result};
use std::ffi::{CStr, c_int};
use std::ptr;
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

/// A handle of the driver's, in its context.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $release:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name {
            pub(in crate::device::cuda) context: Arc<Context>,
            pub(in crate::device::cuda) raw: $raw,
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

pub(super) use handle;

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
