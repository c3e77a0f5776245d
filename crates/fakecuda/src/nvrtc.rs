//! NVRTC's calls: CUDA C is compiled for the CPU, by the C++ compiler of this machine.
//!
//! A program is preprocessed first, so that its kernels can be named: a function of each's own is
//! appended that calls it for every thread, by the types of its arguments. What comes of it is kept in a folder by the
//! text that it was made from, and named in what is given as PTX.

use crate::calls::{Whose, exports};
use crate::emulate::{MARK, OWN_CODE};
use crate::foreign::{give, slice, text};
use crate::state::Handle;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::without_provenance_mut;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const OUT_OF_ORDER: u32 = 4;
const COMPILATION: u32 = 6;
const INVALID_PROGRAM: u32 = 4;
const INVALID_OPTION: u32 = 5;
/// What it says that it compiles for.
const ARCHITECTURES: [c_int; 3] = [75, 80, 90];

#[derive(Default)]
struct Source {
    text: String,
    name: String,
    log: String,
    ptx: Option<String>,
}

static SOURCES: LazyLock<Mutex<HashMap<usize, Source>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(0x10);

fn with<T>(program: Handle, look: impl FnOnce(&mut Source) -> Result<T, u32>) -> Result<T, u32> {
    look(SOURCES.lock().get_mut(&program.addr()).ok_or(INVALID_PROGRAM)?)
}

/// Programs that were not given back.
pub(crate) fn live() -> usize {
    SOURCES.lock().len()
}

/// A text and the 0 behind it.
fn give_text(to: *mut c_char, text: &str) -> Result<(), u32> {
    text.bytes().chain([0]).enumerate().try_for_each(|(i, byte)| give(to.wrapping_add(i), byte as c_char))
}

/// As new.
pub(crate) fn reset() {
    SOURCES.lock().clear();
}

exports! { Whose::Library;
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) {
        give(major, 12)?;
        give(minor, 6)?;
    }
    fn nvrtcGetNumSupportedArchs(count: *mut c_int) {
        give(count, ARCHITECTURES.len() as c_int)?;
    }
    fn nvrtcGetSupportedArchs(to: *mut c_int) {
        ARCHITECTURES.iter().enumerate().try_for_each(|(i, it)| give(to.wrapping_add(i), *it))?;
    }
    fn nvrtcCreateProgram(
        program: *mut Handle,
        source: *const c_char,
        name: *const c_char,
        _headers: c_int,
        _texts: *const *const c_char,
        _names: *const *const c_char,
    ) {
        let handle = NEXT.fetch_add(1, Relaxed);
        let source = Source { text: text(source)?, name: text(name)?, ..Source::default() };
        SOURCES.lock().insert(handle, source);
        give(program, without_provenance_mut(handle))?;
    }
    fn nvrtcDestroyProgram(program: *mut Handle) {
        SOURCES.lock().remove(&crate::foreign::take(program)?.addr()).ok_or(INVALID_PROGRAM)?;
    }
    fn nvrtcCompileProgram(program: Handle, count: c_int, options: *const *const c_char) {
        for option in slice(options, count as usize) {
            let option = text(*option)?;
            let architecture = option.strip_prefix("--gpu-architecture=").and_then(|it| it.split_once('_')?.1.parse().ok());
            if option.starts_with("--gpu") && architecture.is_none_or(|it: c_int| !ARCHITECTURES.contains(&it)) {
                return Err(INVALID_OPTION);
            }
        }
        with(program, |source| {
            match compile(&source.text, &source.name) {
                Ok(library) => source.ptx = Some(format!("{MARK}{}\n", library.display())),
                Err(log) => {
                    source.log = log;
                    return Err(COMPILATION);
                }
            }
            Ok(())
        })?;
    }
    fn nvrtcGetPTXSize(program: Handle, bytes: *mut usize) {
        let length = with(program, |source| Ok(source.ptx.as_ref().ok_or(OUT_OF_ORDER)?.len()))?;
        give(bytes, length + 1)?;
    }
    fn nvrtcGetPTX(program: Handle, to: *mut c_char) {
        give_text(to, &with(program, |source| source.ptx.clone().ok_or(OUT_OF_ORDER))?)?;
    }
    fn nvrtcGetCUBINSize(program: Handle, bytes: *mut usize) {
        let length = with(program, |source| Ok(source.ptx.as_ref().ok_or(OUT_OF_ORDER)?.len()))?;
        give(bytes, OWN_CODE.len() + length + 1)?;
    }
    fn nvrtcGetCUBIN(program: Handle, to: *mut c_char) {
        let ptx = with(program, |source| source.ptx.clone().ok_or(OUT_OF_ORDER))?;
        give_text(to, &format!("{OWN_CODE}{ptx}"))?;
    }
    fn nvrtcGetProgramLogSize(program: Handle, bytes: *mut usize) {
        give(bytes, with(program, |source| Ok(source.log.len()))? + 1)?;
    }
    fn nvrtcGetProgramLog(program: Handle, to: *mut c_char) {
        give_text(to, &with(program, |source| Ok(source.log.clone()))?)?;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvrtcGetErrorString(code: u32) -> *const c_char {
    match code {
        COMPILATION => c"NVRTC_ERROR_COMPILATION",
        INVALID_OPTION => c"NVRTC_ERROR_INVALID_OPTION",
        _ => c"NVRTC_ERROR",
    }
    .as_ptr()
}

/// The library that a program becomes, or what is wrong with it.
fn compile(source: &str, name: &str) -> Result<PathBuf, String> {
    let folder = std::env::var_os("FAKECUDA_CACHE").map_or_else(std::env::temp_dir, PathBuf::from);
    let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
    std::fs::create_dir_all(&folder).map_err(|e| failed("no folder for what is compiled", e))?;
    let mut hasher = DefaultHasher::new();
    (source, name, include_str!("emulate.h")).hash(&mut hasher);
    let key = hasher.finish();
    let library = folder.join(format!("{key:016x}.so"));
    if library.exists() {
        return Ok(library);
    }
    let own = format!("{key:016x}.{}.{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
    let work = folder.join(own);
    std::fs::create_dir_all(&work).map_err(|e| failed("no folder to compile in", e))?;
    let outcome = compile_in(&work, source, name)
        .and_then(|made| std::fs::rename(made, &library).map_err(|e| failed("what was compiled cannot be kept", e)));
    let _ = std::fs::remove_dir_all(&work);
    outcome.map(|()| library)
}

fn compile_in(work: &std::path::Path, source: &str, name: &str) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("no C++ compiler, which stands in for a GPU's: {error}");
    std::fs::write(work.join(name), source).map_err(failed)?;
    let run = |args: &[&str]| {
        let done = Command::new("g++").current_dir(work).args(args).output().map_err(failed)?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok(done.stdout) } else { Err(said) }
    };
    let text = String::from_utf8_lossy(&run(&["-E", "-x", "c++", name])?).into_owned();
    let waits = with_barriers(&text);
    let kernel = |name: &&str| format!("FAKE_KERNEL({name}, {})\n", waits.contains(name));
    let kernels: String = kernels(&text).iter().map(kernel).collect();
    let whole = format!("{}\n{}\n{kernels}", include_str!("emulate.h"), with_dynamic_shared(&text));
    std::fs::write(work.join("whole.cpp"), whole).map_err(failed)?;
    // A product and a sum may be one operation, as on a GPU.
    let options = ["-std=c++17", "-O2", "-ffp-contract=off", "-w", "-shared", "-fPIC", "whole.cpp", "-o", "whole.so"];
    run(&options)?;
    Ok(work.join("whole.so"))
}

/// The names of all kernels: what follows `__global__ void`.
fn kernels(text: &str) -> Vec<&str> {
    text.split("__global__")
        .skip(1)
        .filter_map(|rest| {
            let rest = rest.trim_start().strip_prefix("void")?.trim_start();
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
        })
        .collect()
}

/// Functions in which threads wait for each other, themselves or in what they call.
fn with_barriers(text: &str) -> Vec<&str> {
    // A function's name is what is before the parentheses before its body, which ends where its braces do.
    let mut functions = Vec::new();
    let (mut depth, mut start, mut head) = (0_usize, 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' if depth == 0 => (depth, start) = (1, at),
            '{' => depth += 1,
            '}' if depth == 1 => {
                let name = text[head..start].split('(').next().unwrap_or_default();
                let name = name.trim_end().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
                functions.push((name.unwrap_or_default(), &text[start..at]));
                (depth, head) = (0, at + 1);
            }
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => head = at + 1,
            _ => {}
        }
    }
    let mut waits = vec!["__syncthreads"];
    while let Some((name, _)) = functions
        .iter()
        .find(|(name, body)| !waits.contains(name) && waits.iter().any(|wait| body.contains(&format!("{wait}("))))
    {
        waits.push(name);
    }
    waits
}

/// `extern __shared__ T name[];` becomes a pointer to the block's room.
fn with_dynamic_shared(text: &str) -> String {
    let mut made = String::new();
    let mut parts = text.split("extern __shared__");
    made += parts.next().unwrap_or_default();
    for part in parts {
        let (declaration, rest) = part.split_once(';').unwrap_or((part, ""));
        let declaration = declaration.trim().trim_end_matches("[]");
        let (kind, name) = declaration.rsplit_once(' ').unwrap_or(("char", declaration));
        made += &format!("{kind} *{name} = ({kind} *)fake_dynamic_shared;{rest}");
    }
    made
}
