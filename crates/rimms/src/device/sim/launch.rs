//! Execution: operands are loaded through the simulated memory, computed on, and stored back.

use super::memory::{SimMemory, fault};
use crate::device::host::{kernels, launch::contained};
use crate::device::staging::Staged;
use crate::device::{DeviceError, DeviceInfo, Operand, Operation};
use crate::op::{Call, Target};

pub(super) fn run(
    info: &DeviceInfo,
    memory: &SimMemory,
    call: &Call,
    operands: &[Operand<'_>],
) -> Result<(), DeviceError> {
    let failed = |e| fault(info, Operation::Launch, &e);
    let mut staged = Staged::new(info, operands)?;
    for (operand, bytes) in staged.iter_mut().filter(|(o, _)| o.role().reads()) {
        memory.load(operand.span(), bytes).map_err(failed)?;
    }
    let mut args = staged.args();
    contained(info, || kernels::run(call, Target::Sim, &mut args))?;
    drop(args);
    for (operand, bytes) in staged.iter_mut().filter(|(o, _)| o.role().writes()) {
        memory.store(operand.span(), bytes).map_err(failed)?;
    }
    Ok(())
}
