//! Ops of the user's own, in CUDA C or PTX.
//!
//! The kernel takes each operand as a pointer to its first element, without gaps: tiles are copied on the device to room of their
//! own, and back if they are written.

use super::launch::{Args, Job, Place};
use super::queue::{Range, arg, packed};
use super::scratch::Room;
use crate::device::{DeviceError, DeviceErrorKind, Operand};
use crate::op::{KernelError, UserCall};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) fn run(job: &Job<'_>, user: &UserCall, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let op = user.op();
    let said = |KernelError(why)| job.refuse(DeviceErrorKind::Kernel, why.into());
    let kernel = user.cuda().ok_or_else(|| said(format!("{} has no kernel for CUDA", op.name()).into()))?;
    let lens: SmallVec<[usize; 4]> =
        operands.iter().zip(op.element_sizes()).map(|(o, size)| o.span().rows.bytes() / size.max(1)).collect();
    // The rule is the user's code: a panic in it is an answer too.
    let launch = catch_unwind(AssertUnwindSafe(|| (kernel.launch)(&user.cl_call(&lens))));
    let launch = launch.map_err(|payload| {
        let message = crate::device::panic_message(&*payload);
        job.refuse(DeviceErrorKind::Panicked, message.into())
    })?;
    let launch = launch.map_err(said)?;
    let (grid, block, shared) = launch.range().map_err(|why| said(format!("{}: {why}", op.name()).into()))?;
    let mut args = Args::new();
    let mut copies: SmallVec<[(Room, Place, bool); 4]> = SmallVec::new();
    for (place, operand) in job.places.iter().zip(operands) {
        if place.rows.is_run() {
            args.push(arg(place.address));
            continue;
        }
        let room = Room::new(&job.device.driver.context, place.rows.bytes()).map_err(|code| job.failed(code))?;
        if operand.role().reads() {
            job.copy(*place, Place { address: room.address, rows: packed(&place.rows) })?;
        }
        args.push(arg(room.address));
        copies.push((room, *place, operand.role().writes()));
    }
    args.extend(launch.args.iter().cloned());
    job.submit_user(op, kernel, &args, Range { grid, block, shared })?;
    for (room, place, _) in copies.iter().filter(|(_, _, is_written)| *is_written) {
        job.unpacked(Place { address: room.address, ..*place }, *place)?;
    }
    Ok(())
}
