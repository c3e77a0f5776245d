//! Commands of a device: copies and kernels, as a [`Queue`] takes them.
//!
//! Every call is safe in itself, with two exceptions, which say what they ask for:
//! kernels, which do as they please, and copies that are not waited for between a buffer and the host.
#![allow(unsafe_code)]

use super::queue::Queue;
use super::raw::{Buffer, Code, Context, Event, Kernel, Result};
use super::svm::Svm;
use crate::device::{HostSource, HostTarget, Rows};
use cl3::command_queue as queue;
use cl3::types::CL_NON_BLOCKING;
use cl3::{error_codes, kernel, memory};
use std::ptr::{self, NonNull};

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg<'a> {
    Buffer(&'a Buffer),
    /// A place in [memory that the host reaches too](super::svm), from here on: drivers have less to do for that.
    Shared(&'a Svm, usize),
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

/// A kernel, and what it is known to be given already. Buffers are given anew each time: a driver may take
/// another one of the same handle for the one that was.
#[derive(Debug)]
pub(super) struct Prepared {
    kernel: Kernel,
    values: Vec<Option<([u8; 32], usize)>>,
}

impl Prepared {
    pub(super) fn new(kernel: Kernel) -> Self {
        Self { kernel, values: Vec::new() }
    }

    fn set(&mut self, i: u32, arg: &Arg<'_>) -> Result<()> {
        let (kernel, at) = (self.kernel.raw(), i as usize);
        if self.values.len() <= at {
            self.values.resize(at + 1, None);
        }
        let known = self.values.get_mut(at);
        let given = match arg {
            Arg::Small(bytes, size) => Some((*bytes, *size)),
            _ => None,
        };
        if given.is_some() && known.as_deref() == Some(&given) {
            return Ok(());
        }
        let set = match arg {
            Arg::Buffer(buffer) => {
                let raw = buffer.raw();
                // SAFETY: the size is that of a handle, which is copied.
                unsafe { kernel::set_kernel_arg(kernel, i, size_of_val(&raw), (&raw const raw).cast()) }
            }
            // SAFETY: memory of the driver's, for which devices and the host have the same addresses.
            Arg::Shared(memory, offset) => unsafe {
                kernel::set_kernel_arg_svm_pointer(kernel, i, memory.start().as_ptr().wrapping_add(*offset).cast())
            },
            // SAFETY: the size is that of the bytes, which are copied.
            Arg::Value(value) => unsafe { kernel::set_kernel_arg(kernel, i, value.len(), value.as_ptr().cast()) },
            // SAFETY: the size is at most that of the array, whose bytes are copied.
            Arg::Small(bytes, size) => unsafe {
                kernel::set_kernel_arg(kernel, i, (*size).min(bytes.len()), bytes.as_ptr().cast())
            },
            // SAFETY: local memory has no pointer.
            Arg::Local(bytes) => unsafe { kernel::set_kernel_arg(kernel, i, *bytes, ptr::null()) },
        };
        if let Some(known) = known {
            *known = if set.is_ok() { given } else { None };
        }
        set.map_err(Code)
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

impl Queue {
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
    pub(super) unsafe fn write_later(&self, bytes: &[u8], to: At<'_>) -> Result<u64> {
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

    /// The same, without waiting.
    ///
    /// # Safety
    /// Nobody touches the bytes until the command is over.
    pub(super) unsafe fn read_later(&self, from: At<'_>, bytes: &mut [u8]) -> Result<u64> {
        let (to, size, source) = (bytes.as_mut_ptr().cast(), bytes.len(), from.buffer.raw());
        // SAFETY: the caller's; the driver checks the buffer.
        self.enqueue(|queue| unsafe {
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

    /// What is queued from here on begins when a command of another queue, of the same context, is over.
    pub(super) fn barrier(&self, event: &Event) -> Result<u64> {
        let events = [event.raw()];
        // SAFETY: the list is one event's.
        self.enqueue(|queue| unsafe { queue::enqueue_barrier_with_wait_list(queue, 1, events.as_ptr()) })
    }

    /// Lets the host see what was written to a buffer [over its memory](Context::buffer_over), once all that is queued here
    /// is over.
    pub(super) fn show(&self, buffer: &Buffer, bytes: usize) -> Result<()> {
        let (mapped, number) = self.map(buffer, memory::CL_MAP_READ, bytes)?;
        let unmap = || {
            // SAFETY: mapped by the command before.
            self.enqueue(|queue| unsafe {
                let mapped = mapped.as_ptr().cast();
                queue::enqueue_unmap_mem_object(queue, buffer.raw(), mapped, 0, ptr::null())
            })
        };
        let unmapped = match unmap() {
            // Mesa's driver knows what is mapped only when it is.
            Err(Code(error_codes::CL_INVALID_VALUE)) => self.wait(number).and_then(|()| unmap()),
            done => done,
        };
        unmapped.map(drop)
    }

    /// Where a buffer will be once the command is over, and which that is.
    fn map(&self, buffer: &Buffer, flags: u64, bytes: usize) -> Result<(NonNull<u8>, u64)> {
        let (raw, mut mapped) = (buffer.raw(), ptr::null_mut());
        // SAFETY: the driver checks the buffer; what it maps is used within these bytes, once the command is over.
        let number = self.enqueue(|queue| unsafe {
            queue::enqueue_map_buffer(queue, raw, CL_NON_BLOCKING, flags, 0, bytes, &mut mapped, 0, ptr::null())
        })?;
        Ok((NonNull::new(mapped.cast()).ok_or(Code(error_codes::CL_MAP_FAILURE))?, number))
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// With these arguments the kernel stays within its buffers, and these hold what it reads.
    pub(super) unsafe fn run(&self, kernel: &mut Prepared, args: &[Arg<'_>], range: Range<'_>) -> Result<u64> {
        (0..).zip(args).try_for_each(|(i, arg)| kernel.set(i, arg))?;
        let local = range.local.filter(|local| local.len() == range.global.len());
        let (global, dimensions) = (range.global.as_ptr(), range.global.len() as u32);
        let (local, kernel) = (local.map_or(ptr::null(), <[usize]>::as_ptr), kernel.kernel.raw());
        // SAFETY: both arrays have as many entries as there are dimensions; the rest is the caller's.
        self.enqueue(|queue| unsafe {
            queue::enqueue_nd_range_kernel(queue, kernel, dimensions, ptr::null(), global, local, 0, ptr::null())
        })
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
        let buffer = context.buffer_with(flags, bytes)?;
        let (start, mapped) = queue.map(&buffer, memory::CL_MAP_READ | memory::CL_MAP_WRITE, bytes)?;
        queue.wait(mapped)?;
        // SAFETY: mapped just now, so many bytes, which nobody else has; bytes that are used as such have been written.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Self { start, bytes, _buffer: buffer })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: written in `new`, and ours as long as we live.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
