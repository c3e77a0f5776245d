//! Events: calls that were accepted, and waiting for them.
#![allow(unsafe_code, non_camel_case_types, non_snake_case)] // exported names

use crate::admit::{Admitted, admit};
use crate::boundary::{array, call, check, store, value};
use crate::error::{Fault, Result, hete_Error};
use rimms::Event;

/// A call that was accepted: a plain value, to be copied, kept or thrown away. Set by the calls whose names end in `_nb`.
/// All zeros is none.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct hete_Event {
    /// Of the library's own.
    pub runtime: u64,
    /// Of the library's own.
    pub call: u64,
}

impl From<Event> for hete_Event {
    fn from(event: Event) -> Self {
        let [runtime, call] = event.to_bits();
        Self { runtime, call }
    }
}

/// The events, if all are such of this runtime.
fn events(admitted: &Admitted, events: &[hete_Event]) -> Result<Vec<Event>> {
    let known = |(i, event): (usize, &hete_Event)| {
        // The runtime's own number is above 0.
        let known = admitted.runtime().event([event.runtime, event.call]).filter(|_| event.runtime != 0);
        known.ok_or_else(|| {
            let what =
                if *event == hete_Event::default() { "was never set" } else { "is of no call that was accepted" };
            let why = format!("event {i} {what} since the runtime started: calls whose names end in _nb set them");
            Fault::new(hete_Error::HETE_ERROR_EVENT, why)
        })
    };
    events.iter().enumerate().map(known).collect()
}

/// Returns when the call is done, with what became of it. May be asked again.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Wait(event: hete_Event) -> hete_Error {
    call(|| wait_all(&[event]))
}

/// Returns when all `n` calls are done; where some have failed, with the error of the first of them.
///
/// # Safety
/// `events` is an array of `n`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_WaitAll(events: *const hete_Event, n: usize) -> hete_Error {
    // SAFETY: as the caller vouches.
    call(|| wait_all(unsafe { array("events", events, n) }?))
}

fn wait_all(given: &[hete_Event]) -> Result<()> {
    let admitted = admit(())?;
    Ok(admitted.runtime().wait_all(&events(&admitted, given)?)?)
}

/// Returns when one of `n` calls is done, and stores which. What became of it says `hete_Wait`.
///
/// `HETE_ERROR_INDEX` where there are none.
///
/// # Safety
/// `given` is an array of `n`, `first` a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_WaitAny(given: *const hete_Event, n: usize, first: *mut usize) -> hete_Error {
    call(|| {
        check("first", first)?;
        // SAFETY: as the caller vouches.
        let given = unsafe { array("events", given, n) }?;
        if given.is_empty() {
            return Err(Fault::new(
                hete_Error::HETE_ERROR_INDEX,
                "there are no events, so that none will ever be done",
            ));
        }
        let admitted = admit(())?;
        let which = admitted.runtime().wait_any(&events(&admitted, given)?)?;
        // SAFETY: as the caller vouches.
        unsafe { store("first", first, which) }
    })
}

/// 1 where the call is done, 0 where it is not, −1 where there is no such event. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn hete_IsDone(event: hete_Event) -> i32 {
    value(-1, || {
        let admitted = admit(())?;
        let known = events(&admitted, &[event])?;
        Ok(i32::from(known.iter().all(|event| admitted.runtime().is_done(*event))))
    })
}

/// Returns when every call that was accepted before is done. What became of them is told by their events and data.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Finish() -> hete_Error {
    call(|| Ok(admit(())?.runtime().finish()?))
}
