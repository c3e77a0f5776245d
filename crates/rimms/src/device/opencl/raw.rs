//! The driver's objects and calls: the one place of this backend that is unsafe.
//!
//! Owns the handles, each released when it is dropped; a release that fails is
//! let be, since nothing can be done about it. A driver keeps what a queued
//! command uses until the command is over, so handles may go before.
//!
//! Every call here is safe in itself, with three exceptions, which say what
//! they ask for: kernels, which do as they please; buffers over the host's
//! memory; and transfers that are not waited for.
#![allow(unsafe_code)]

use crate::device::{HostSource, HostTarget, Rows};
use cl3::command_queue as queue;
use cl3::types::{CL_NON_BLOCKING, cl_int};
use cl3::{context, device, error_codes, event, kernel, memory, platform, program};
use parking_lot::Mutex;
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
            fn new(made: std::result::Result<*mut c_void, cl_int>) -> Result<Self> {
                let made = made.map_err(Code)?;
                NonNull::new(made).map(Self).ok_or(Code(error_codes::CL_INVALID_VALUE))
            }

            fn raw(&self) -> *mut c_void {
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
    /// A [`Queue`] as the driver has it.
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

    pub(super) fn queue(&self, device: Id) -> Result<Queue> {
        // SAFETY: no properties: commands run in order.
        let handle = unsafe { queue::create_command_queue(self.raw(), device.0.as_ptr(), 0) };
        Ok(Queue { handle: QueueHandle::new(handle)?, turn: Mutex::new(()) })
    }

    /// Memory that holds no particular bytes.
    pub(super) fn buffer(&self, bytes: usize) -> Result<Buffer> {
        // SAFETY: no pointer is passed.
        Buffer::new(unsafe { memory::create_buffer(self.raw(), memory::CL_MEM_READ_WRITE, bytes, ptr::null_mut()) })
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

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg<'a> {
    Buffer(&'a Buffer),
    /// A value.
    Value(&'a [u8]),
    /// The same, its first so many bytes, kept here.
    Small([u8; 32], usize),
    /// Local memory of so many bytes.
    Local(usize),
}

impl Arg<'_> {
    /// A value of up to 32 bytes.
    pub(super) fn of<T: bytemuck::Pod>(value: T) -> Self {
        const { assert!(size_of::<T>() <= 32) };
        let mut bytes = [0; 32];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Self::Small(bytes, size_of::<T>())
    }
}

/// How many work-items, in up to three dimensions, and how many make a group, if that is not for the driver to say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range<'a> {
    pub(super) global: &'a [usize],
    pub(super) local: Option<&'a [usize]>,
}

/// Rows of bytes in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) buffer: &'a Buffer,
    /// Of the first row's first byte.
    pub(super) offset: usize,
    /// Bytes from row to row.
    pub(super) pitch: usize,
}

fn region(rows: &Rows) -> [usize; 3] {
    [rows.row_bytes, rows.rows, 1]
}

/// As a driver wants it: never less than a row.
pub(super) fn pitch(rows: &Rows) -> usize {
    if rows.rows == 1 { rows.row_bytes } else { rows.pitch }
}

/// Commands of one device, run in order.
///
/// One thread at a time hands commands over, though OpenCL allows more: a driver that runs them in that thread
/// (PoCL's `basic`, up to 3.1 at least) waits for itself for ever when another comes in between. Nobody has the turn while he waits for
/// a command.
#[derive(Debug)]
pub(super) struct Queue {
    handle: QueueHandle,
    turn: Mutex<()>,
}

impl Queue {
    fn raw(&self) -> *mut c_void {
        self.handle.raw()
    }

    /// Begins with what is queued, without waiting.
    pub(super) fn flush(&self) -> Result<()> {
        queue::flush(self.raw()).map_err(Code)
    }

    /// Waits until all that is queued is over.
    pub(super) fn finish(&self) -> Result<()> {
        queue::finish(self.raw()).map_err(Code)
    }

    /// Queues a command.
    fn enqueue(&self, command: impl FnOnce(*mut c_void) -> std::result::Result<*mut c_void, cl_int>) -> Result<Event> {
        let _turn = self.turn.lock();
        Event::new(command(self.raw()))
    }

    /// Queues a command, and waits until it is over.
    fn complete(&self, command: impl FnOnce(*mut c_void) -> std::result::Result<*mut c_void, cl_int>) -> Result<()> {
        let event = self.enqueue(command)?;
        // Whatever comes of that, the command must be over.
        self.flush().and(event.wait()).or_else(|code| self.finish().and(Err(code)))
    }

    /// Host → buffer; returns when the bytes are there.
    pub(super) fn write(&self, bytes: &[u8], to: At<'_>) -> Result<()> {
        let (from, size, target) = (bytes.as_ptr().cast(), bytes.len(), to.buffer.raw());
        // SAFETY: the bytes are borrowed until the command, which is waited for, is over; the driver checks the buffer.
        self.complete(|queue| unsafe {
            queue::enqueue_write_buffer(queue, target, CL_NON_BLOCKING, to.offset, size, from, 0, ptr::null())
        })
    }

    /// Host → buffer, without waiting.
    ///
    /// # Safety
    /// The bytes stay as they are until the command is over.
    pub(super) unsafe fn write_later(&self, bytes: &[u8], to: At<'_>) -> Result<Event> {
        let (from, size, target) = (bytes.as_ptr().cast(), bytes.len(), to.buffer.raw());
        // SAFETY: the caller's; the driver checks the buffer.
        self.enqueue(|queue| unsafe {
            queue::enqueue_write_buffer(queue, target, CL_NON_BLOCKING, to.offset, size, from, 0, ptr::null())
        })
    }

    /// Buffer → host; returns when the bytes are there.
    pub(super) fn read(&self, from: At<'_>, bytes: &mut [u8]) -> Result<()> {
        let (to, size, source) = (bytes.as_mut_ptr().cast(), bytes.len(), from.buffer.raw());
        // SAFETY: the bytes are borrowed until the command, which is waited for, is over; the driver checks the buffer.
        self.complete(|queue| unsafe {
            queue::enqueue_read_buffer(queue, source, CL_NON_BLOCKING, from.offset, size, to, 0, ptr::null())
        })
    }

    /// Host → buffer, row by row; returns when the bytes are there.
    pub(super) fn write_rows(&self, from: &HostSource<'_>, to: At<'_>) -> Result<()> {
        let (region, start) = (region(from.rows()), [to.offset, 0, 0]);
        // SAFETY: rows of a source are memory that nobody writes while it lives, and the command is waited for; the driver
        // checks the buffer; positions and sizes are arrays of three.
        self.complete(|queue| unsafe {
            queue::enqueue_write_buffer_rect(
                queue,
                to.buffer.raw(),
                CL_NON_BLOCKING,
                start.as_ptr(),
                [0; 3].as_ptr(),
                region.as_ptr(),
                to.pitch,
                0,
                pitch(from.rows()),
                0,
                from.row(0).as_ptr().cast(),
                0,
                ptr::null(),
            )
        })
    }

    /// Buffer → host, row by row; returns when the bytes are there.
    pub(super) fn read_rows(&self, from: At<'_>, to: &mut HostTarget<'_>) -> Result<()> {
        let (region, host_pitch, start) = (region(to.rows()), pitch(to.rows()), [from.offset, 0, 0]);
        // SAFETY: as above; nobody else touches the rows of a target.
        self.complete(|queue| unsafe {
            queue::enqueue_read_buffer_rect(
                queue,
                from.buffer.raw(),
                CL_NON_BLOCKING,
                start.as_ptr(),
                [0; 3].as_ptr(),
                region.as_ptr(),
                from.pitch,
                0,
                host_pitch,
                0,
                to.row(0).as_mut_ptr().cast(),
                0,
                ptr::null(),
            )
        })
    }

    /// Buffer → buffer of one context, without waiting.
    pub(super) fn copy(&self, from: At<'_>, to: At<'_>, bytes: usize) -> Result<()> {
        let (source, target) = (from.buffer.raw(), to.buffer.raw());
        // SAFETY: the driver checks both buffers.
        let copied = self.enqueue(|queue| unsafe {
            queue::enqueue_copy_buffer(queue, source, target, from.offset, to.offset, bytes, 0, ptr::null())
        });
        copied.map(drop)
    }

    /// The same for rows.
    pub(super) fn copy_rows(&self, from: At<'_>, to: At<'_>, rows: &Rows) -> Result<()> {
        let (starts, region) = ([[from.offset, 0, 0], [to.offset, 0, 0]], region(rows));
        let [source, target] = &starts;
        // SAFETY: the driver checks both buffers; positions and sizes are arrays of three.
        let copied = self.enqueue(|queue| unsafe {
            queue::enqueue_copy_buffer_rect(
                queue,
                from.buffer.raw(),
                to.buffer.raw(),
                source.as_ptr(),
                target.as_ptr(),
                region.as_ptr(),
                from.pitch,
                0,
                to.pitch,
                0,
                0,
                ptr::null(),
            )
        });
        copied.map(drop)
    }

    /// Lets the host see what was written to a buffer [over its memory](Context::buffer_over), and waits for it.
    pub(super) fn show(&self, buffer: &Buffer, bytes: usize) -> Result<()> {
        let mapped = self.map(buffer, memory::CL_MAP_READ, bytes)?.as_ptr().cast();
        // SAFETY: mapped just now.
        let unmapped = self
            .enqueue(|queue| unsafe { queue::enqueue_unmap_mem_object(queue, buffer.raw(), mapped, 0, ptr::null()) });
        unmapped.map(drop)
    }

    fn map(&self, buffer: &Buffer, flags: u64, bytes: usize) -> Result<NonNull<u8>> {
        let (raw, mut mapped) = (buffer.raw(), ptr::null_mut());
        // SAFETY: the driver checks the buffer; what it maps is used within these bytes, once the command is over.
        self.complete(|queue| unsafe {
            queue::enqueue_map_buffer(queue, raw, CL_NON_BLOCKING, flags, 0, bytes, &mut mapped, 0, ptr::null())
        })?;
        NonNull::new(mapped.cast()).ok_or(Code(error_codes::CL_MAP_FAILURE))
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// With these arguments the kernel stays within its buffers, and these hold what it reads.
    pub(super) unsafe fn run(&self, kernel: &mut Kernel, args: &[Arg<'_>], range: Range<'_>) -> Result<Event> {
        for (i, arg) in (0..).zip(args) {
            let set = match arg {
                Arg::Buffer(buffer) => {
                    let raw = buffer.raw();
                    // SAFETY: the size is that of a handle, which is copied.
                    unsafe { kernel::set_kernel_arg(kernel.raw(), i, size_of_val(&raw), (&raw const raw).cast()) }
                }
                // SAFETY: the size is that of the bytes, which are copied.
                Arg::Value(value) => unsafe {
                    kernel::set_kernel_arg(kernel.raw(), i, value.len(), value.as_ptr().cast())
                },
                // SAFETY: the size is at most that of the array, whose bytes are copied.
                Arg::Small(bytes, size) => unsafe {
                    kernel::set_kernel_arg(kernel.raw(), i, (*size).min(bytes.len()), bytes.as_ptr().cast())
                },
                // SAFETY: local memory has no pointer.
                Arg::Local(bytes) => unsafe { kernel::set_kernel_arg(kernel.raw(), i, *bytes, ptr::null()) },
            };
            set.map_err(Code)?;
        }
        let local = range.local.filter(|local| local.len() == range.global.len());
        let (global, dimensions) = (range.global.as_ptr(), range.global.len() as u32);
        let (local, kernel) = (local.map_or(ptr::null(), <[usize]>::as_ptr), kernel.raw());
        // SAFETY: both arrays have as many entries as there are dimensions; the rest is the caller's.
        self.enqueue(|queue| unsafe {
            queue::enqueue_nd_range_kernel(queue, kernel, dimensions, ptr::null(), global, local, 0, ptr::null())
        })
    }
}

impl Event {
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

/// Host memory that a driver has set aside for copies, mapped for as long as it lives.
#[derive(Debug)]
pub(super) struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
    /// Whose memory it is. Releasing it unmaps it.
    _buffer: Buffer,
}

// SAFETY: the sole owner of the memory.
unsafe impl Send for Mapped {}

impl Mapped {
    pub(super) fn new(context: &Context, queue: &Queue, bytes: usize) -> Result<Self> {
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_ALLOC_HOST_PTR;
        // SAFETY: no pointer is passed.
        let buffer = Buffer::new(unsafe { memory::create_buffer(context.raw(), flags, bytes, ptr::null_mut()) })?;
        let start = queue.map(&buffer, memory::CL_MAP_READ | memory::CL_MAP_WRITE, bytes)?;
        // SAFETY: mapped just now, so many bytes, which nobody else has; bytes that are used as such have been written.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Self { start, bytes, _buffer: buffer })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: written in `new`, and ours as long as we live.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
