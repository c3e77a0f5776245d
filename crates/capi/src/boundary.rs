//! The boundary: every call of the interface goes through [`call`] or [`value`].
//!
//! Panics end here, and an error becomes a code, with the message kept for the thread and told to the program's handler.
//! That is called last, when nothing of the library is held any more, so it may use the interface itself.
#![allow(unsafe_code, non_camel_case_types, non_snake_case)] // exported names

use crate::error::{Fault, Result, hete_Error};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Told of each error, in the thread where it happened, before the call that failed returns. `message` is valid until the
/// handler returns. Not called while it runs already in the same thread.
pub type hete_ErrorHandler = Option<unsafe extern "C" fn(error: hete_Error, message: *const c_char, user: *mut c_void)>;

struct Handler {
    function: hete_ErrorHandler,
    user: *mut c_void,
}

// SAFETY: handed back to the program as it is, which promises with `hete_SetErrorHandler` that any thread may have it.
unsafe impl Send for Handler {}

static HANDLER: Mutex<Handler> = Mutex::new(Handler { function: None, user: std::ptr::null_mut() });

thread_local! {
    static CODE: Cell<hete_Error> = const { Cell::new(hete_Error::HETE_OK) };
    static MESSAGE: RefCell<Option<CString>> = const { RefCell::new(None) };
    static IS_HANDLING: Cell<bool> = const { Cell::new(false) };
}

/// Runs what a call of the interface does, and says what became of it.
#[inline]
pub(crate) fn call(f: impl FnOnce() -> Result<()>) -> hete_Error {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => hete_Error::HETE_OK,
        Ok(Err(fault)) => failed(*fault),
        Err(panic) => failed(*defect(&*panic)),
    }
}

/// The same for one that returns something else: `otherwise` where it failed.
#[inline]
pub(crate) fn value<T>(otherwise: T, f: impl FnOnce() -> Result<T>) -> T {
    let fault = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(value)) => return value,
        Ok(Err(fault)) => fault,
        Err(panic) => defect(&*panic),
    };
    failed(*fault);
    otherwise
}

#[cold]
fn defect(panic: &(dyn std::any::Any + Send)) -> Box<Fault> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Fault::new(hete_Error::HETE_ERROR_INTERNAL, format!("a defect of the library, please report it: {text}"))
}

#[cold]
fn failed(fault: Fault) -> hete_Error {
    let Fault { code, message } = fault;
    let message = c_text(&message);
    remember(code, &message);
    let (function, user) = {
        let handler = HANDLER.lock();
        (handler.function, handler.user)
    };
    if let Some(function) = function
        && IS_HANDLING.try_with(|is| !is.replace(true)).unwrap_or(false)
    {
        // SAFETY: the program vouches for its function (`hete_SetErrorHandler`); the text lives until it returns.
        unsafe { function(code, message.as_ptr(), user) };
        let _ = IS_HANDLING.try_with(|is| is.set(false));
        // What the handler itself did wrong is not what went wrong last.
        remember(code, &message);
    }
    code
}

fn remember(code: hete_Error, message: &CStr) {
    // Threads that are ending have no place for it any more.
    let _ = CODE.try_with(|last| last.set(code));
    let _ = MESSAGE.try_with(|last| last.replace(Some(message.to_owned())));
}

/// A text for C: it ends where the first NUL is, which no message has.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text.as_bytes()[..end]).unwrap_or_default()
}

/// What went wrong last in this thread; `HETE_OK` if nothing has. A call that succeeds leaves it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn hete_LastError() -> hete_Error {
    CODE.try_with(Cell::get).unwrap_or(hete_Error::HETE_OK)
}

/// The same in words: what was wanted, what was found, what to do. Never NULL; valid until the next error in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn hete_LastErrorMessage() -> *const c_char {
    // The string is replaced only by this thread's next error, and stays where it is on the heap until then.
    let kept = MESSAGE.try_with(|text| text.borrow().as_ref().map(|text| text.as_ptr()));
    kept.ok().flatten().unwrap_or(c"".as_ptr())
}

/// The name of an error code, such as `HETE_ERROR_SHAPE`; `"unknown"` for any other number. Never NULL, always valid.
#[unsafe(no_mangle)]
pub extern "C" fn hete_ErrorName(error: c_int) -> *const c_char {
    let known = usize::try_from(error).ok().and_then(|at| hete_Error::ALL.get(at));
    known.map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// From now on `handler` is told of every error, in any thread, with `user`; NULL to tell nobody. What it is must stay
/// valid until another one was set and calls that were under way then are done.
#[unsafe(no_mangle)]
pub extern "C" fn hete_SetErrorHandler(handler: hete_ErrorHandler, user: *mut c_void) -> hete_Error {
    *HANDLER.lock() = Handler { function: handler, user };
    hete_Error::HETE_OK
}

/// A text that a program handed in.
///
/// # Safety
/// NULL, or a text that ends with a NUL and stays as it is for as long as the result is used.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Fault::null(what));
    }
    // SAFETY: not NULL; else as the caller vouches.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Fault::new(hete_Error::HETE_ERROR_ARGUMENT, format!("{what} is not UTF-8")))
}

/// Where a program wants a result.
///
/// # Safety
/// NULL, or a place that may be written and that nobody else uses meanwhile.
pub(crate) unsafe fn store<T>(what: &str, to: *mut T, value: T) -> Result<()> {
    check(what, to)?;
    // SAFETY: neither NULL nor out of line; else as the caller vouches. Nothing is dropped: what is there may be anything.
    unsafe { to.write(value) };
    Ok(())
}

/// An array that a program handed in. `NULL` will do for none.
///
/// # Safety
/// NULL, or an array of `n` that stays as it is for as long as the result is used.
pub(crate) unsafe fn array<'a, T>(what: &str, from: *const T, n: usize) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    check(what, from.cast_mut())?;
    if n.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        let why = format!("{what}: {n} is more than there can be");
        return Err(Fault::new(hete_Error::HETE_ERROR_SHAPE, why));
    }
    // SAFETY: neither NULL nor out of line, of a size that can be; else as the caller vouches.
    Ok(unsafe { std::slice::from_raw_parts(from, n) })
}

/// Neither NULL nor out of line.
pub(crate) fn check<T>(what: &str, pointer: *mut T) -> Result<()> {
    if pointer.is_null() {
        return Err(Fault::null(what));
    }
    if !pointer.is_aligned() {
        let why = format!("{what} is not aligned: no pointer to such a thing");
        return Err(Fault::new(hete_Error::HETE_ERROR_NULL, why));
    }
    Ok(())
}
