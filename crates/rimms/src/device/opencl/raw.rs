//! The driver's objects: handles, and what is asked of them but for commands, which are [`queue`](super::queue)'s.
//!
//! Owns the handles, each released when it is dropped; a release that fails is
//! let be, since nothing can be done about it. A driver keeps what a queued
//! command uses until the command is over, so handles may go before.
//!
//! Every call here is safe in itself but one, which says what it asks for: a buffer over the host's memory.
#![allow(unsafe_code)]

use cl3::command_queue as queue;
use cl3::types::cl_int;
use cl3::{context, device, error_codes, event, kernel, memory, platform, program};
use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

/// What a driver says when something fails: OpenCL's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub(super) i32);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", error_codes::error_text(self.0), self.0)
    }
}

pub(super) type Result<T> = std::result::Result<T, Code>;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $release:path) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name(NonNull<c_void>);

        // SAFETY: OpenCL's objects may be used from any thread; what may not be used from two at once is no `Sync`.
        unsafe impl Send for $name {}

        impl $name {
            pub(super) fn new(made: std::result::Result<*mut c_void, cl_int>) -> Result<Self> {
                let made = made.map_err(Code)?;
                NonNull::new(made).map(Self).ok_or(Code(error_codes::CL_INVALID_VALUE))
            }

            pub(super) fn raw(&self) -> *mut c_void {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the handle is ours, and released once.
                let _ = unsafe { $release(self.raw()) };
            }
        }
    };
}

handle!(
    /// What several devices of one platform share.
    Context,
    context::release_context
);
handle!(
    /// A [`Queue`](super::queue::Queue) as the driver has it.
    QueueHandle,
    queue::release_command_queue
);
handle!(
    /// Memory of a context.
    Buffer,
    memory::release_mem_object
);
handle!(
    /// Source with its build.
    Program,
    program::release_program
);
handle!(
    /// A kernel with its arguments: for one thread at a time.
    Kernel,
    kernel::release_kernel
);
handle!(
    /// When a command is over.
    Event,
    event::release_event
);

// SAFETY: all calls on these but the setting of kernel arguments may be made from several threads at once (OpenCL 1.2, A.2).
unsafe impl Sync for Context {}
// SAFETY: as above.
unsafe impl Sync for QueueHandle {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Program {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// A platform or device: lives as long as the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(NonNull<c_void>);

// SAFETY: a name for something that the driver owns.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

fn ids(found: std::result::Result<Vec<*mut c_void>, cl_int>) -> Result<Vec<Id>> {
    Ok(found.map_err(Code)?.into_iter().filter_map(NonNull::new).map(Id).collect())
}

/// Every platform.
pub(super) fn platforms() -> Result<Vec<Id>> {
    ids(platform::get_platform_ids())
}

impl Id {
    /// A platform's devices.
    pub(super) fn devices(self) -> Result<Vec<Id>> {
        ids(device::get_device_ids(self.0.as_ptr(), device::CL_DEVICE_TYPE_ALL))
    }

    /// A text about a platform; empty where there is none.
    pub(super) fn platform_text(self, what: u32) -> String {
        text(platform::get_platform_data(self.0.as_ptr(), what).unwrap_or_default())
    }

    /// A text about a device; empty where there is none.
    pub(super) fn text(self, what: u32) -> String {
        text(device::get_device_data(self.0.as_ptr(), what).unwrap_or_default())
    }

    /// A number about a device, of whatever size; 0 where there is none.
    pub(super) fn number(self, what: u32) -> u64 {
        let bytes = device::get_device_data(self.0.as_ptr(), what).unwrap_or_default();
        match *bytes.as_slice() {
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned()
}

impl Context {
    pub(super) fn of(devices: &[Id]) -> Result<Self> {
        let devices: Vec<*mut c_void> = devices.iter().map(|id| id.0.as_ptr()).collect();
        Self::new(context::create_context(&devices, ptr::null(), None, ptr::null_mut()))
    }

    pub(super) fn queue(&self, device: Id) -> Result<QueueHandle> {
        // SAFETY: no properties: commands run in order.
        QueueHandle::new(unsafe { queue::create_command_queue(self.raw(), device.0.as_ptr(), 0) })
    }

    /// Memory that holds no particular bytes.
    pub(super) fn buffer(&self, bytes: usize) -> Result<Buffer> {
        self.buffer_with(memory::CL_MEM_READ_WRITE, bytes)
    }

    /// The same with flags that want no pointer.
    pub(super) fn buffer_with(&self, flags: u64, bytes: usize) -> Result<Buffer> {
        // SAFETY: no pointer is passed; a driver refuses flags that want one.
        Buffer::new(unsafe { memory::create_buffer(self.raw(), flags, bytes, ptr::null_mut()) })
    }

    /// Memory that holds these bytes.
    pub(super) fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer> {
        let flags = memory::CL_MEM_READ_ONLY | memory::CL_MEM_COPY_HOST_PTR;
        // SAFETY: the bytes are copied before the call returns.
        Buffer::new(unsafe { memory::create_buffer(self.raw(), flags, bytes.len(), bytes.as_ptr().cast_mut().cast()) })
    }

    /// Memory that is the host's own.
    ///
    /// # Safety
    /// The `bytes` bytes at `start` are memory until the buffer is dropped and all commands that use it are over; of
    /// what these write nobody reads before, nor writes; of what they read nobody writes.
    pub(super) unsafe fn buffer_over(&self, start: NonNull<u8>, bytes: usize) -> Result<Buffer> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller's.
        Buffer::new(unsafe { memory::create_buffer(self.raw(), flags, bytes, start.as_ptr().cast()) })
    }

    pub(super) fn program(&self, source: &str) -> Result<Program> {
        // A length of 0 has drivers look for the end themselves.
        let source = if source.is_empty() { "\n" } else { source };
        Program::new(program::create_program_with_source(self.raw(), &[source]))
    }

    pub(super) fn program_of_binary(&self, device: Id, binary: &[u8]) -> Result<Program> {
        // SAFETY: a driver refuses what is no binary of its own.
        Program::new(unsafe { program::create_program_with_binary(self.raw(), &[device.0.as_ptr()], &[binary]) })
    }
}

impl Buffer {
    /// A part of it, as a buffer. `offset` has to be a multiple of the device's alignment.
    pub(super) fn part(&self, offset: usize, bytes: usize) -> Result<Self> {
        let region = cl3::types::cl_buffer_region { origin: offset, size: bytes };
        let kind = memory::CL_BUFFER_CREATE_TYPE_REGION;
        // SAFETY: the description is what this kind of part wants.
        Self::new(unsafe { memory::create_sub_buffer(self.raw(), 0, kind, (&raw const region).cast()) })
    }
}

impl Program {
    /// Builds it. What went wrong is in the [log](Self::log).
    pub(super) fn build(&self, device: Id, options: &CStr) -> Result<()> {
        program::build_program(self.raw(), &[device.0.as_ptr()], options, None, ptr::null_mut()).map_err(Code)
    }

    pub(super) fn log(&self, device: Id) -> String {
        let what = program::CL_PROGRAM_BUILD_LOG;
        text(program::get_program_build_data(self.raw(), device.0.as_ptr(), what).unwrap_or_default())
    }

    /// What the build made, if the program is for one device and the driver gives it away.
    pub(super) fn binary(&self) -> Option<Vec<u8>> {
        match program::get_program_info(self.raw(), program::CL_PROGRAM_BINARIES) {
            Ok(cl3::info_type::InfoType::VecVecUchar(binaries)) => binaries.into_iter().find(|b| !b.is_empty()),
            _ => None,
        }
    }

    pub(super) fn kernel(&self, name: &CStr) -> Result<Kernel> {
        Kernel::new(kernel::create_kernel(self.raw(), name))
    }
}

impl Event {
    /// One more handle to it.
    pub(super) fn share(&self) -> Result<Self> {
        // SAFETY: the handle is ours; the new one is released like others.
        unsafe { event::retain_event(self.raw()) }.map_err(Code)?;
        Ok(Self(self.0))
    }

    /// Waits until its command is over.
    pub(super) fn wait(&self) -> Result<()> {
        event::wait_for_events(&[self.raw()]).map_err(Code)
    }

    /// Is its command over, and how?
    pub(super) fn outcome(&self) -> Option<Result<()>> {
        let status = event::get_event_info(self.raw(), event::CL_EVENT_COMMAND_EXECUTION_STATUS);
        match status {
            Ok(cl3::info_type::InfoType::Int(0)) => Some(Ok(())),
            Ok(cl3::info_type::InfoType::Int(status)) if status > 0 => None,
            Ok(cl3::info_type::InfoType::Int(status)) => Some(Err(Code(status))),
            Ok(_) => None,
            Err(code) => Some(Err(Code(code))),
        }
    }
}
