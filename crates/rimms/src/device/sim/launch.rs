//! Execution: kernels on slices, whose operands are loaded through the simulated memory, computed on, and stored back; and
//! kernels for work-items, which work in that memory themselves.

use super::memory::{Port, SimMemory, fault};
use super::parts::Parts;
use crate::device::host::{kernels, launch::contained};
use crate::device::staging::Staged;
use crate::device::{DeviceError, DeviceInfo, Operand, Operation};
use crate::op::{Call, ItemCall, ItemKernel, Target, UserCall};
use rimms_devmem::{Address, Failure, Memory, Outcome};

pub(super) fn run(
    info: &DeviceInfo,
    memory: &SimMemory,
    call: &Call,
    operands: &[Operand<'_>],
) -> Result<(), DeviceError> {
    let kernel = if let Call::User(user) = call { user.items().map(|kernel| (user, kernel)) } else { None };
    match kernel {
        Some((user, kernel)) => run_items(info, memory, call, user, kernel, operands),
        None if memory.is_watched() => {
            let parts = Parts::new(info, memory, call, operands)?;
            parts.forget_outputs(call, operands).map_err(|e| fault(info, Operation::Launch, &e))?;
            memory.device().task(call.name(), |item| {
                run_slices(info, call, operands, &Port::seen(item.global()), |i, _| parts[i].address)
            })
        }
        None => {
            run_slices(info, call, operands, &memory.port(), |_, operand| Address::from_raw(operand.span().address))
        }
    }
}

/// A kernel on slices, which are filled and emptied through `port`: each operand is one access.
fn run_slices(
    info: &DeviceInfo,
    call: &Call,
    operands: &[Operand<'_>],
    port: &Port<'_>,
    address: impl Fn(usize, &Operand<'_>) -> Address,
) -> Result<(), DeviceError> {
    let failed = |e| fault(info, Operation::Launch, &e);
    let mut staged = Staged::new(info, operands)?;
    for (i, (operand, bytes)) in staged.iter_mut().enumerate().filter(|(_, (o, _))| o.role().reads()) {
        port.load(address(i, operand), &operand.span().rows, bytes).map_err(failed)?;
    }
    let mut args = staged.args();
    contained(info, || kernels::run(call, Target::Sim, &mut args))?;
    drop(args);
    for (i, (operand, bytes)) in staged.iter_mut().enumerate().filter(|(_, (o, _))| o.role().writes()) {
        port.store(address(i, operand), &operand.span().rows, bytes).map_err(failed)?;
    }
    Ok(())
}

fn run_items(
    info: &DeviceInfo,
    memory: &SimMemory,
    call: &Call,
    user: &UserCall,
    kernel: &ItemKernel,
    operands: &[Operand<'_>],
) -> Result<(), DeviceError> {
    let parts = Parts::new(info, memory, call, operands)?;
    parts.forget_outputs(call, operands).map_err(|e| fault(info, Operation::Launch, &e))?;
    let sizes = user.op().element_sizes();
    let lens: Vec<usize> = operands.iter().zip(sizes).map(|(o, size)| o.span().rows.bytes() / size.max(1)).collect();
    let given = ItemCall { parts: &parts, lens: &lens, params: user.params() };
    contained(info, || {
        let outcome = kernel.run(memory.device(), &given).map_err(|e| e.to_string())?;
        told(&outcome, memory.device().memory()).map_or(Ok(()), |failure| Err(failure.into()))
    })
}

/// What went wrong in a kernel, in words: the first failure, the name of the buffer, and how many more there are.
fn told(outcome: &Outcome, memory: &Memory) -> Option<String> {
    let first = outcome.failures.first()?;
    let mut text = first.to_string();
    if let Failure::Fault { fault, .. } = first
        && let Some(name) = fault.place().and_then(|place| memory.name_of(place.address))
    {
        text += &format!("; buffer {name:?}");
    }
    match outcome.failed {
        0 | 1 => {}
        failed => text += &format!(" (and {} more failures)", failed - 1),
    }
    Some(text)
}
