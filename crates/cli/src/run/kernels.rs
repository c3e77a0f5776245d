//! Kernels are built before anything is timed.
//!
//! A device with a driver builds what it first launches, and keeps it. Where calls go is for the policy to say, and may be elsewhere
//! in each run; so each such device once does alone all that the application does. That is done in runtimes of their own: what a
//! build takes is no part of a call's cost, and no policy's turn changes.

use rimms::Runtime;

use super::task::Task;
use crate::machine;
use crate::output::Failure;
use crate::progress::Progress;

/// Is there anything to build?
pub(super) fn any(rt: &Runtime) -> bool {
    rt.allowed_pes().any(|pe| machine::is_real(pe.name()))
}

/// Has every device build what the task takes in this runtime's mode.
pub(super) fn build(task: &Task, rt: &Runtime) -> Result<(), Failure> {
    for pe in rt.allowed_pes().filter(|pe| machine::is_real(pe.name())) {
        let _progress = Progress::of(rt, format!("kernels of {}", pe.name()), None);
        // What a device cannot do is done elsewhere; what else fails does so again where it counts, and is said there.
        let _ = task.rehearse(&rt.on(pe.name())?);
    }
    Ok(())
}
