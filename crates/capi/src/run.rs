//! Running a call: its operands are admitted, given their elements, and handed to the runtime.
#![allow(unsafe_code)]

use crate::admit::{Admitted, Closes, admit};
use crate::boundary::{check, store};
use crate::error::Result;
use crate::event::hete_Event;
use crate::operands::Operands;
use rimms::op::Call;

/// When a call returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// When it is done.
    Blocking,
    /// When it is accepted. Its event is stored there, unless that is NULL.
    Queued(*mut hete_Event),
}

/// Runs the call that `make` makes of the sizes of these operands.
#[inline(always)] // what the operands are is known where the call is
pub(crate) fn run<O: Operands>(operands: O, how: How, make: impl FnOnce(&Admitted<O>) -> Call) -> Result<()> {
    let mut admitted = admit(operands)?;
    admitted.prepare()?;
    let call = make(&admitted);
    match how {
        How::Blocking => {
            // SAFETY: admitted, and not used otherwise.
            unsafe { O::call(&admitted, &admitted.started().routes().blocking, &call) }?;
            admitted.done(Closes::Written);
        }
        How::Queued(to) => {
            if !to.is_null() {
                check("event", to)?;
            }
            // SAFETY: as above.
            let event = unsafe { O::call(&admitted, &admitted.started().routes().queued, &call) }?;
            admitted.done(Closes::All);
            if !to.is_null() {
                // SAFETY: as the caller of the interface's function vouches (`# Safety` there).
                unsafe { store("event", to, event.into()) }?;
            }
        }
    }
    Ok(())
}
