//! Execution on the calling thread.

use super::{kernels, raw};
use crate::device::staging::Staged;
use crate::device::{DeviceError, DeviceErrorKind, DeviceInfo, Operand, Operation};
use crate::op::{Call, KernelArgs, KernelError, Target};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the call on operands in the host's memory.
#[inline]
pub(super) fn run(info: &DeviceInfo, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let (mut are_here, mut are_runs) = (true, true);
    for operand in operands {
        are_here &= operand.is_host_memory();
        are_runs &= operand.span().rows.is_run();
    }
    if !are_here {
        return Err(not_here(info));
    }
    if !are_runs {
        return run_packed(info, call, operands);
    }
    let mut args = KernelArgs::new();
    for operand in operands {
        if operand.role().writes() {
            args.push(operand.role(), raw::extent_mut(operand));
        } else {
            args.push_input(raw::extent(operand));
        }
    }
    contained(info, || kernels::run(call, Target::Cpu, &mut args))
}

#[cold]
fn not_here(info: &DeviceInfo) -> DeviceError {
    DeviceError::new(info, Operation::Launch, DeviceErrorKind::Invalid, "an operand is not in host memory")
}

/// With tiles among the operands: kernels see plain slices, so those are packed before and unpacked after.
#[cold]
fn run_packed(info: &DeviceInfo, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let mut staged = Staged::new(info, operands)?;
    for (operand, bytes) in staged.iter_mut().filter(|(o, _)| o.role().reads()) {
        for (i, to) in bytes.chunks_exact_mut(operand.span().rows.row_bytes).enumerate() {
            to.copy_from_slice(raw::row(operand, i));
        }
    }
    let mut args = staged.args();
    contained(info, || kernels::run(call, Target::Cpu, &mut args))?;
    drop(args);
    for (operand, bytes) in staged.iter_mut().filter(|(o, _)| o.role().writes()) {
        for (i, from) in bytes.chunks_exact(operand.span().rows.row_bytes).enumerate() {
            raw::row_mut(operand, i).copy_from_slice(from);
        }
    }
    Ok(())
}

/// Runs a kernel; its error, or its panic, becomes the device's error.
#[inline]
pub(crate) fn contained(
    info: &DeviceInfo,
    kernel: impl FnOnce() -> Result<(), KernelError>,
) -> Result<(), DeviceError> {
    match catch_unwind(AssertUnwindSafe(kernel)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(KernelError(message))) => {
            Err(DeviceError::new(info, Operation::Launch, DeviceErrorKind::Kernel, message))
        }
        Err(payload) => {
            Err(DeviceError::new(info, Operation::Launch, DeviceErrorKind::Panicked, panic_message(&*payload)))
        }
    }
}

#[cold]
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> Box<str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message").into()
}
