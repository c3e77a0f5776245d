//! What tests ask of the loaded library, and tell it.

use crate::{calls, cublas, cufft, nvrtc, state};
use libloading::Library;
use std::ffi::{CString, c_char};

/// Ways that bytes are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host.
    ToDevice,
    /// To the host.
    ToHost,
    /// From one place of a device to another.
    Within,
    /// From another device.
    Peer,
}

/// The library that this process has loaded, as `libcuda.so`.
#[derive(Debug)]
pub struct Control(Library);

type Fail = unsafe extern "C" fn(*const c_char, u64, u32);
type Tell = unsafe extern "C" fn() -> u64;
type Of = unsafe extern "C" fn(*const c_char) -> u64;
type Text = unsafe extern "C" fn(*mut u8, usize) -> usize;
type Reset = unsafe extern "C" fn();
type Moved = unsafe extern "C" fn(u32) -> u64;

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_fail(name: *const c_char, after: u64, code: u32) {
    match crate::foreign::text(name) {
        _ if code == 0 => calls::plan_nothing(),
        Ok(name) if !name.is_empty() => calls::plan(Some(name), after, code),
        _ => calls::plan(None, after, code),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_total() -> u64 {
    calls::total()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_count(name: *const c_char) -> u64 {
    crate::foreign::text(name).map_or(0, |name| calls::count(&name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_bytes(direction: u32) -> u64 {
    calls::bytes(direction as usize)
}

/// Writes a text's bytes, and gives how many there are.
fn write(text: &str, to: *mut u8, room: usize) -> usize {
    text.bytes().take(room).enumerate().for_each(|(i, byte)| {
        let _ = crate::foreign::give(to.wrapping_add(i), byte);
    });
    text.len().min(room)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_failed(to: *mut u8, room: usize) -> usize {
    write(calls::failed(), to, room)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_left(to: *mut u8, room: usize) -> usize {
    let programs = nvrtc::live();
    write(&format!("{}, {programs} programs", state::with(|state| state.to_string())), to, room)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_reset() {
    state::with(state::State::reset);
    nvrtc::reset();
    cufft::reset();
    cublas::reset();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fakecuda_live() -> u64 {
    (state::with(|state| state.live()) + nvrtc::live()) as u64
}

impl Control {
    /// The library on this process's path.
    ///
    /// # Errors
    /// Where there is none, or another one.
    pub fn load() -> Result<Self, libloading::Error> {
        // SAFETY: nothing is run when the library is loaded.
        let library = unsafe { Library::new("libcuda.so") }?;
        // SAFETY: only looked for.
        unsafe { library.get::<Tell>(b"fakecuda_live") }?;
        Ok(Self(library))
    }

    fn get<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: these functions, above, have the types that are asked for.
        unsafe { self.0.get::<T>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    /// The call after the next `after` ones, of this name (or of any: ""), fails with this code; 0 undoes what was planned. A
    /// library's call fails as an internal error, whatever the code.
    pub fn fail(&self, name: &str, after: u64, code: u32) {
        if let (Some(fail), Ok(name)) = (self.get::<Fail>("fakecuda_fail"), CString::new(name)) {
            // SAFETY: a text that lives as long as the call.
            unsafe { fail(name.as_ptr(), after, code) };
        }
    }

    /// The name of the call that failed as was planned last; empty before it has.
    pub fn failed(&self) -> String {
        self.text("fakecuda_failed")
    }

    /// What was made and not given back, by kind.
    pub fn left(&self) -> String {
        self.text("fakecuda_left")
    }

    fn text(&self, name: &str) -> String {
        let mut text = [0; 256];
        // SAFETY: writes so many bytes at most.
        let bytes = self.get::<Text>(name).map_or(0, |write| unsafe { write(text.as_mut_ptr(), text.len()) });
        String::from_utf8_lossy(text.get(..bytes).unwrap_or_default()).into_owned()
    }

    /// All devices are as new, and nothing is left of what was made. For when nobody uses them.
    pub fn reset(&self) {
        if let Some(reset) = self.get::<Reset>("fakecuda_reset") {
            // SAFETY: nothing is asked of the caller.
            unsafe { reset() };
        }
    }

    fn tell(&self, name: &str) -> u64 {
        // SAFETY: as above.
        self.get::<Tell>(name).map_or(0, |tell| unsafe { tell() })
    }

    /// Calls so far.
    pub fn total(&self) -> u64 {
        self.tell("fakecuda_total")
    }

    /// Calls of this name so far.
    pub fn calls(&self, name: &str) -> u64 {
        let (Some(count), Ok(name)) = (self.get::<Of>("fakecuda_count"), CString::new(name)) else { return 0 };
        // SAFETY: as above.
        unsafe { count(name.as_ptr()) }
    }

    /// Bytes copied so far.
    pub fn bytes(&self, direction: Direction) -> u64 {
        // SAFETY: as above.
        self.get::<Moved>("fakecuda_bytes").map_or(0, |moved| unsafe { moved(direction as u32) })
    }

    /// Contexts, streams, events, blocks, modules, programs and plans that were made and not given back.
    pub fn live(&self) -> u64 {
        self.tell("fakecuda_live")
    }
}
