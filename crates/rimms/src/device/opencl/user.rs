//! Ops of the user's own, in OpenCL C.
//!
//! The kernel takes each operand as a pointer to its first element, without gaps. An operand that begins where
//! its block does is that block's buffer; one that begins where a part of a buffer may is such
//! a part. Others, and tiles, are copied on the device to a buffer of their own, and back if they are written.

use super::commands::{Arg, Range};
use super::launch::{Args, Job, Place};
use super::raw::Buffer;
use crate::device::{DeviceError, DeviceErrorKind, Operand, Rows};
use crate::op::{ClArg, KernelError, UserCall};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// An operand as the kernel takes it.
struct Given {
    buffer: Arc<Buffer>,
    /// Is it a copy?
    is_copy: bool,
}

pub(super) fn run(job: &Job<'_>, user: &UserCall, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let op = user.op();
    let said = |KernelError(why)| job.refuse(DeviceErrorKind::Kernel, why.into());
    let kernel = user.opencl();
    let kernel = kernel.ok_or_else(|| said(format!("{} has no kernel for OpenCL", op.name()).into()))?;
    let lens: SmallVec<[usize; 4]> =
        operands.iter().zip(op.element_sizes()).map(|(o, size)| o.span().rows.bytes() / size.max(1)).collect();
    // The rule is the user's code: a panic in it is an answer too.
    let launch = catch_unwind(AssertUnwindSafe(|| (kernel.launch)(&user.cl_call(&lens))));
    let launch = launch.map_err(|payload| {
        let message = crate::device::panic_message(&*payload);
        job.refuse(DeviceErrorKind::Panicked, message.into())
    })?;
    let launch = launch.map_err(said)?;
    if let Some(why) = launch.refused() {
        return Err(said(format!("{}: {why}", op.name()).into()));
    }
    let given = job.places.iter().zip(operands).map(|(place, operand)| give(job, place, operand));
    let given = given.collect::<Result<SmallVec<[Given; 4]>, DeviceError>>()?;
    let mut args: Args<'_> = given.iter().map(|given| Arg::Buffer(&given.buffer)).collect();
    args.extend(launch.args.iter().map(|arg| match arg {
        ClArg::Value(bytes) => Arg::Value(bytes),
        ClArg::Local(bytes) => Arg::Local(*bytes),
    }));
    let range = Range { global: &launch.global, local: launch.local.as_deref() };
    job.submit_user(op.id(), kernel, &args, range)?;
    for ((given, place), operand) in given.iter().zip(&job.places).zip(operands) {
        if given.is_copy && operand.role().writes() {
            job.copy((&given.buffer, 0, &packed(&place.rows)), (&place.buffer, place.offset, &place.rows))?;
        }
    }
    Ok(())
}

/// Rows of as many bytes, without gaps.
fn packed(rows: &Rows) -> Rows {
    Rows { pitch: rows.row_bytes, ..*rows }
}

fn give(job: &Job<'_>, place: &Place, operand: &Operand<'_>) -> Result<Given, DeviceError> {
    let Place { buffer, offset, rows, .. } = place;
    if rows.is_run() && *offset == 0 {
        return Ok(Given { buffer: buffer.clone(), is_copy: false });
    }
    let align = job.device.driver.facts.buffer_align as usize;
    if rows.is_run() && offset.is_multiple_of(align) {
        let part = buffer.part(*offset, rows.bytes()).map_err(|code| job.failed(code))?;
        return Ok(Given { buffer: Arc::new(part), is_copy: false });
    }
    let copy = job.device.driver.context.buffer(rows.bytes().max(1)).map_err(|code| job.failed(code))?;
    if operand.role().reads() {
        job.copy((buffer, *offset, rows), (&copy, 0, &packed(rows)))?;
    }
    Ok(Given { buffer: Arc::new(copy), is_copy: true })
}
