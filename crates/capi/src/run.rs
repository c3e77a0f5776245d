//! Running a call: its operands are admitted, given their elements, and handed to the runtime.
#![allow(unsafe_code)]

use crate::boundary::{check, store};
use crate::error::Result;
use crate::event::hete_Event;
use crate::handles::hete_Data;
use crate::session::{Admitted, Cast, Closes, Operand, admit};
use rimms::Arg;
use rimms::op::{Call, Role};
use smallvec::SmallVec;

/// When a call returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// When it is done.
    Blocking,
    /// When it is accepted. Its event is stored there, unless that is NULL.
    Queued(*mut hete_Event),
}

/// Runs the call that `make` makes of the sizes of these operands.
#[inline]
pub(crate) fn run<const N: usize>(
    operands: [(*mut hete_Data, Role, Cast); N],
    how: How,
    make: impl FnOnce(&[usize]) -> Call,
) -> Result<()> {
    // In place: what is copied right after it was written is waited for.
    let mut slots = [Operand::NONE; N];
    for (slot, (handle, role, _)) in slots.iter_mut().zip(&operands) {
        slot.want(*handle, *role);
    }
    let mut admitted = admit(&mut slots)?;
    let sizes: [usize; N] = std::array::from_fn(|i| admitted.size(i));
    let call = make(&sizes);
    admitted.prepare()?;
    let mut args: SmallVec<[Arg<'_>; 3]> = SmallVec::new();
    for (i, (_, _, cast)) in operands.iter().enumerate() {
        // SAFETY: each once, and for `finish` alone, which ends before the call is no longer admitted.
        unsafe { admitted.lend(i, *cast, &mut args) }?;
    }
    finish(admitted, &mut args, &call, how)
}

/// The same for any number of operands, of bytes.
pub(crate) fn run_on_bytes(operands: &[*mut hete_Data], call: &Call, how: How) -> Result<()> {
    let wanted = operands.iter().zip(call.roles());
    let mut operands: SmallVec<[Operand; 8]> = wanted.map(|(handle, role)| Operand::new(*handle, *role)).collect();
    let n = operands.len();
    let mut admitted = admit(&mut operands)?;
    admitted.prepare()?;
    let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
    for i in 0..n {
        // SAFETY: as above.
        unsafe { admitted.lend(i, Cast::Bytes, &mut args) }?;
    }
    finish(admitted, &mut args, call, how)
}

#[inline]
fn finish(admitted: Admitted<'_>, args: &mut [Arg<'_>], call: &Call, how: How) -> Result<()> {
    match how {
        How::Blocking => {
            admitted.started().blocking.call(call, args)?;
            admitted.done(Closes::Written);
        }
        How::Queued(to) => {
            if !to.is_null() {
                check("event", to)?;
            }
            let event = admitted.started().queued.call(call, args)?;
            admitted.done(Closes::All);
            if !to.is_null() {
                // SAFETY: as the caller of the interface's function vouches (`# Safety` there).
                unsafe { store("event", to, event.into()) }?;
            }
        }
    }
    Ok(())
}
