//! The compiler of CUDA C.
//!
//! Owns [`Compiler`]: NVRTC, told for which device it compiles. What it makes is PTX, which the driver turns into the device's own
//! code; or that code, for a driver that is older than the compiler and does not know its PTX.
#![allow(unsafe_code)]

use super::library::{Code, Nvrtc, Result as Raw};
use cudarc::nvrtc::sys::nvrtcProgram;
use std::ffi::{CString, c_char};
use std::ptr;

fn done(code: u32) -> Raw<()> {
    Code::of("NVRTC", code)
}

#[derive(Debug)]
pub(super) struct Compiler {
    library: &'static Nvrtc,
    /// The compute capability that it compiles for.
    best: i32,
    /// What the result depends on beside the source.
    pub(super) about: String,
}

/// What it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Ptx,
    /// The device's own code.
    Code,
}

/// Beside the device.
const OPTIONS: [&str; 2] = [
    "--std=c++17",
    // Functions that say nothing are the device's.
    "--device-as-default-execution-space",
];

/// Source in the compiler's hands.
struct Program(&'static Nvrtc, nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: ours, and given back once.
        unsafe { (self.0.nvrtcDestroyProgram)(&mut self.1) };
    }
}

impl Compiler {
    /// For devices of this compute capability: 90 for 9.0.
    ///
    /// # Errors
    /// Why there is none, for a person.
    pub(super) fn new(capability: i32) -> Result<Self, String> {
        let library = Nvrtc::get().map_err(|why| format!("{why} (NVRTC, of the CUDA toolkit, compiles kernels)"))?;
        let known = architectures(library).map_err(|e| format!("NVRTC does not say what it compiles for: {e}"))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two numbers.
        done(unsafe { (library.nvrtcVersion)(&mut major, &mut minor) }).map_err(|e| e.to_string())?;
        // PTX for an older device runs on a newer one.
        let best = known.iter().filter(|known| **known <= capability).max().ok_or_else(|| {
            let oldest = known.iter().min().copied().unwrap_or_default();
            format!("NVRTC {major}.{minor} compiles for compute capability {oldest} and later, this is {capability}")
        })?;
        let about = format!("NVRTC {major}.{minor} for {best} {}", OPTIONS.join(" "));
        Ok(Self { library, best: *best, about })
    }

    /// A program, which is called `name` where something is said of it.
    ///
    /// # Errors
    /// What the compiler says, with lines.
    pub(super) fn compile(&self, name: &str, source: &str, form: Form) -> Result<Vec<u8>, String> {
        let texts =
            [source, name].map(|text| CString::new(text).map_err(|_| "the source has a byte 0 in it".to_owned()));
        let [source, name] = texts;
        let (source, name) = (source?, name?);
        let none = ptr::null();
        let mut program = Program(self.library, ptr::null_mut());
        // SAFETY: two texts, which are copied; writes a handle.
        let made =
            unsafe { (self.library.nvrtcCreateProgram)(&mut program.1, source.as_ptr(), name.as_ptr(), 0, none, none) };
        if let Err(code) = done(made) {
            // There is nothing to give back.
            std::mem::forget(program);
            return Err(format!("the compiler takes no source: {code}"));
        }
        let kind = if form == Form::Ptx { "compute" } else { "sm" };
        let options =
            OPTIONS.map(str::to_owned).into_iter().chain([format!("--gpu-architecture={kind}_{}", self.best)]);
        let texts: Vec<CString> = options.filter_map(|option| CString::new(option).ok()).collect();
        let options: Vec<*const c_char> = texts.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: a live program, and so many texts.
        let compiled = unsafe { (self.library.nvrtcCompileProgram)(program.1, options.len() as i32, options.as_ptr()) };
        if let Err(code) = done(compiled) {
            let log = self.bytes(&program, self.library.nvrtcGetProgramLogSize, self.library.nvrtcGetProgramLog);
            let log = String::from_utf8_lossy(&log.unwrap_or_default()).trim_end_matches(['\0', '\n']).to_owned();
            let log = if log.is_empty() { "(the compiler says nothing more)" } else { &log };
            return Err(format!("its CUDA C does not compile, {code}:\n{log}"));
        }
        let made = match form {
            Form::Ptx => self.bytes(&program, self.library.nvrtcGetPTXSize, self.library.nvrtcGetPTX),
            Form::Code => self.bytes(&program, self.library.nvrtcGetCUBINSize, self.library.nvrtcGetCUBIN),
        };
        made.map_err(|code| format!("the compiler does not give what it made: {code}"))
    }

    /// What it has of a program, of which it tells the size first.
    fn bytes(
        &self,
        program: &Program,
        size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> u32,
        get: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> u32,
    ) -> Raw<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: a live program; writes a number.
        done(unsafe { size(program.1, &mut bytes) })?;
        let mut room = vec![0_u8; bytes];
        // SAFETY: as above; writes so many bytes.
        done(unsafe { get(program.1, room.as_mut_ptr().cast()) })?;
        Ok(room)
    }
}

/// What it compiles for, by compute capability.
fn architectures(library: &Nvrtc) -> Raw<Vec<i32>> {
    let mut count = 0;
    // SAFETY: writes a number.
    done(unsafe { (library.nvrtcGetNumSupportedArchs)(&mut count) })?;
    let mut known = vec![0; usize::try_from(count).unwrap_or_default()];
    // SAFETY: writes so many numbers.
    done(unsafe { (library.nvrtcGetSupportedArchs)(known.as_mut_ptr()) })?;
    Ok(known)
}
