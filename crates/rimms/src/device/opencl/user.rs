//! Ops of the user's own, in OpenCL C.
//!
//! The kernel takes each operand as a pointer to its first element, without gaps. An operand that begins where
//! its block does is that block's buffer; one that begins where a part of a buffer may is such
//! a part; in memory that the host reaches too, both are what they are, an address. Others, and tiles, are copied on the device to a buffer of their own, and back if they are written.

use super::blocks::{self, Storage};
use super::commands::{Arg, Range};
use super::launch::{Args, Job, Place};
use super::raw::Buffer;
use super::svm::Svm;
use crate::device::{DeviceError, DeviceErrorKind, Operand, Rows};
use crate::op::{ClArg, KernelError, UserCall};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// An operand as the kernel takes it.
enum Given<'a> {
    Buffer(Arc<Buffer>),
    /// In memory that the host reaches too.
    Shared(&'a Svm, usize),
    Copy(Arc<Buffer>),
}

impl Given<'_> {
    fn arg(&self) -> Arg<'_> {
        match self {
            Self::Buffer(buffer) | Self::Copy(buffer) => Arg::Buffer(buffer),
            Self::Shared(memory, offset) => Arg::Shared(memory, *offset),
        }
    }
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
    let local = launch.args.iter().map(|arg| if let ClArg::Local(bytes) = arg { *bytes as u64 } else { 0 });
    let (local, most) = (local.fold(0, u64::saturating_add), job.device.driver.facts.local_memory);
    // Drivers do not look.
    if local > most {
        let why = format!("{}: {local} bytes of local memory are wanted, a group has {most} at most", op.name());
        return Err(said(why.into()));
    }
    let given = job.places.iter().zip(operands).map(|(place, operand)| give(job, place, operand));
    let given = given.collect::<Result<SmallVec<[Given<'_>; 4]>, DeviceError>>()?;
    let mut args: Args<'_> = given.iter().map(Given::arg).collect();
    args.extend(launch.args.iter().map(|arg| match arg {
        ClArg::Value(bytes) => Arg::Value(bytes),
        ClArg::Local(bytes) => Arg::Local(*bytes),
    }));
    let range = Range { global: &launch.global, local: launch.local.as_deref() };
    job.submit_user(op, kernel, &args, range)?;
    for ((given, place), operand) in given.iter().zip(&job.places).zip(operands) {
        if let Given::Copy(copy) = given
            && operand.role().writes()
        {
            let Place { first, rows, .. } = place;
            job.copy((copy, 0, &packed(rows)), (first.buffer(), first.offset, rows))?;
        }
    }
    Ok(())
}

/// Rows of as many bytes, without gaps.
fn packed(rows: &Rows) -> Rows {
    Rows { pitch: rows.row_bytes, ..*rows }
}

fn give<'p>(job: &Job<'_>, place: &'p Place, operand: &Operand<'_>) -> Result<Given<'p>, DeviceError> {
    let Place { first: blocks::Place { storage, offset }, rows, .. } = place;
    let Storage { buffer, shared, .. } = &**storage;
    // Kernels may rely on the alignment that parts of buffers have.
    let align = job.device.driver.facts.buffer_align as usize;
    if rows.is_run() && offset.is_multiple_of(align) {
        return match shared {
            Some(shared) => Ok(Given::Shared(shared, *offset)),
            None if *offset == 0 => Ok(Given::Buffer(buffer.clone())),
            None => {
                let part = buffer.part(*offset, rows.bytes()).map_err(|code| job.failed(code))?;
                Ok(Given::Buffer(Arc::new(part)))
            }
        };
    }
    let copy = job.device.driver.context.buffer(rows.bytes().max(1)).map_err(|code| job.failed(code))?;
    if operand.role().reads() {
        job.copy((buffer, *offset, rows), (&copy, 0, &packed(rows)))?;
    }
    Ok(Given::Copy(Arc::new(copy)))
}
