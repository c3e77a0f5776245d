//! Running a call: its operands are admitted, given their elements, and handed to the runtime.
#![allow(unsafe_code)]

use crate::boundary::{check, store};
use crate::error::Result;
use crate::event::hete_Event;
use crate::handles::hete_Data;
use crate::session::{Admitted, Cast, Closes, Wanted, admit};
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
    make: impl FnOnce(&[usize]) -> Result<Call>,
) -> Result<()> {
    let admitted = admit(&operands.map(|(handle, role, _)| (handle.cast_const(), role)))?;
    let sizes: [usize; N] = std::array::from_fn(|i| admitted.size(i));
    let call = make(&sizes)?;
    finish(admitted, operands.iter().map(|(_, _, cast)| *cast), &call, how)
}

/// The same for any number of operands, of bytes.
pub(crate) fn run_on_bytes(operands: &[*mut hete_Data], call: &Call, how: How) -> Result<()> {
    let wanted: SmallVec<[Wanted; 8]> =
        operands.iter().zip(call.roles()).map(|(handle, role)| (handle.cast_const(), *role)).collect();
    finish(admit(&wanted)?, std::iter::repeat(Cast::Bytes), call, how)
}

#[inline]
fn finish(mut admitted: Admitted, casts: impl Iterator<Item = Cast>, call: &Call, how: How) -> Result<()> {
    if let How::Queued(event) = how
        && !event.is_null()
    {
        check("event", event)?;
    }
    admitted.prepare()?;
    let (started, mut args) = admitted.split(casts)?;
    match how {
        How::Blocking => {
            started.blocking.call(call, &mut args)?;
            drop(args);
            admitted.done(Closes::Written);
        }
        How::Queued(to) => {
            let event = started.queued.call(call, &mut args)?;
            drop(args);
            admitted.done(Closes::All);
            if !to.is_null() {
                // SAFETY: as the caller of the interface's function vouches (`# Safety` there).
                unsafe { store("event", to, event.into()) }?;
            }
        }
    }
    Ok(())
}
