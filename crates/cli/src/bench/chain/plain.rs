//! The rival: the chain in plain OpenCL, as somebody writes it by hand who knows where everything is.
//!
//! Buffers live as long as the process's only use of them; what the driver refuses is its error number.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::{Deref, DerefMut, Range};
use std::ptr;

use anyhow::{Result, anyhow};
use cl3::command_queue::{
    create_command_queue, enqueue_nd_range_kernel, enqueue_read_buffer, enqueue_write_buffer, release_command_queue,
};
use cl3::context::{create_context, release_context};
use cl3::device::{CL_DEVICE_NAME, CL_DEVICE_TYPE_ALL, get_device_data, get_device_ids};
use cl3::event::release_event;
use cl3::kernel::{create_kernel, release_kernel, set_kernel_arg};
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::platform::get_platform_ids;
use cl3::program::{build_program, create_program_with_source, release_program};
use cl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_event};

/// The chain with its queue, kernel, and three buffers.
pub(super) struct Plain {
    context: *mut c_void,
    queue: *mut c_void,
    program: *mut c_void,
    kernel: *mut c_void,
    buffers: [*mut c_void; 3],
    input: Lines,
    output: Lines,
}

/// Floats from the beginning of a cache line on, as rimms has them too. Some CPUs take many times as long for a copy
/// from one place to another that is 16 bytes further in its page, and that is where allocators like to put the next array.
struct Lines {
    room: Vec<f32>,
    range: Range<usize>,
}

impl Lines {
    const BYTES: usize = 64;
    const FLOATS: usize = Self::BYTES / size_of::<f32>();

    fn new(len: usize) -> Self {
        let room = vec![0.0; len + Self::FLOATS];
        let start = room.as_ptr().align_offset(Self::BYTES).min(Self::FLOATS);
        Self { room, range: start..start + len }
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.room[self.range.clone()]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.range.clone()]
    }
}

fn failed(code: i32) -> anyhow::Error {
    anyhow!("plain OpenCL: {}", cl3::error_codes::error_text(code))
}

/// The first device whose description begins with its name.
fn device(description: &str) -> Result<*mut c_void> {
    for platform in get_platform_ids().map_err(failed)? {
        for device in get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let name = get_device_data(device, CL_DEVICE_NAME).unwrap_or_default();
            let name = String::from_utf8_lossy(&name);
            if description.starts_with(name.trim_end_matches('\0').trim()) {
                return Ok(device);
            }
        }
    }
    Err(anyhow!("plain OpenCL finds no {description}"))
}

impl Plain {
    /// On the device of this description, with this input.
    pub(super) fn new(description: &str, source: &str, input: &[f32]) -> Result<Self> {
        let device = device(description)?;
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut()).map_err(failed)?;
        // SAFETY: no properties.
        let queue = unsafe { create_command_queue(context, device, 0) }.map_err(failed)?;
        let program = create_program_with_source(context, &[source]).map_err(failed)?;
        build_program(program, &[device], c"-cl-std=CL1.2", None, ptr::null_mut()).map_err(failed)?;
        let kernel = create_kernel(program, c"step_on").map_err(failed)?;
        let mut buffers = [ptr::null_mut(); 3];
        for buffer in &mut buffers {
            // SAFETY: no pointer is passed.
            *buffer = unsafe { create_buffer(context, CL_MEM_READ_WRITE, size_of_val(input), ptr::null_mut()) }
                .map_err(failed)?;
        }
        let [input, output] = [input.len(); 2].map(Lines::new);
        Ok(Self { context, queue, program, kernel, buffers, input, output })
    }

    /// In, twice the kernel, out.
    pub(super) fn lap(&mut self, input: &[f32]) -> Result<()> {
        self.input.copy_from_slice(input);
        let bytes = size_of_val(input);
        let from = self.input.as_ptr().cast();
        // SAFETY: the input stays as it is until the read, which comes after the write in the queue, has been waited for.
        let written = unsafe {
            enqueue_write_buffer(self.queue, self.buffers[0], CL_NON_BLOCKING, 0, bytes, from, 0, ptr::null())
        };
        done(written)?;
        self.step(0, 1)?;
        self.step(1, 2)?;
        let to = self.output.as_mut_ptr().cast();
        // SAFETY: the read is waited for, and the output has as many bytes.
        done(unsafe { enqueue_read_buffer(self.queue, self.buffers[2], CL_BLOCKING, 0, bytes, to, 0, ptr::null()) })
    }

    fn step(&self, from: usize, to: usize) -> Result<()> {
        for (i, at) in (0..).zip([from, to]) {
            let buffer: *const *mut c_void = &self.buffers[at];
            // SAFETY: the argument is a buffer's handle, which is copied.
            unsafe { set_kernel_arg(self.kernel, i, size_of::<*mut c_void>(), buffer.cast()) }.map_err(failed)?;
        }
        let items = [self.input.len()];
        let (kernel, count, local) = (self.kernel, items.as_ptr(), ptr::null());
        // SAFETY: an item for each element of both buffers.
        done(unsafe { enqueue_nd_range_kernel(self.queue, kernel, 1, ptr::null(), count, local, 0, ptr::null()) })
    }

    pub(super) fn output(&self) -> &[f32] {
        &self.output
    }
}

fn done(event: std::result::Result<cl_event, i32>) -> Result<()> {
    // SAFETY: the event was made just now, and nobody else has it.
    unsafe { release_event(event.map_err(failed)?) }.map_err(failed)
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: all are ours, and each is released once; every lap has been waited for.
        unsafe {
            for buffer in self.buffers {
                let _ = release_mem_object(buffer);
            }
            let _ = (release_kernel(self.kernel), release_program(self.program));
            let _ = (release_command_queue(self.queue), release_context(self.context));
        }
    }
}
