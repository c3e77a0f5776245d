//! The files by which the loader finds its drivers, so that a driver that is not found has a reason.
//!
//! Each `.icd` file names a library in its first line. What the loader cannot load it passes over in silence.
#![allow(unsafe_code)] // to look whether a library is one

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a driver's library has, by the extension `cl_khr_icd`.
const ENTRY: &[u8] = b"clGetExtensionFunctionAddress\0";

/// Where the loader looks for them.
pub(super) fn folder() -> PathBuf {
    std::env::var_os("OCL_ICD_VENDORS").map_or_else(|| "/etc/OpenCL/vendors".into(), PathBuf::from)
}

/// All there are, in order.
fn files(at: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = match std::fs::read_dir(at) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) if at.is_file() => vec![at.into()],
        Err(_) => Vec::new(),
    };
    files.retain(|file| file.extension().is_some_and(|e| e == "icd"));
    files.sort();
    files
}

/// How a file begins: as many bytes as a path may have, and more.
fn start_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(file)?.take(1 << 13).read_to_end(&mut start)?;
    Ok(start)
}

/// The library that a file names.
fn named(file: &Path) -> Result<String, String> {
    let start = start_of(file).map_err(|e| format!("cannot be read: {e}"))?;
    let line = start.split(|byte| matches!(byte, b'\n' | b'\0')).next().unwrap_or_default();
    let name = std::str::from_utf8(line).map_err(|_| "is no text".to_owned())?.trim();
    if name.is_empty() { Err("names no library".into()) } else { Ok(name.to_owned()) }
}

/// A file on which a loader ends the process, or never ends, and why.
pub(super) fn fatal(at: &Path) -> Option<(PathBuf, &'static str)> {
    files(at).into_iter().find_map(|file| {
        let kind = std::fs::metadata(&file).ok()?;
        let why = if kind.is_dir() {
            return None; // passed over
        } else if !kind.is_file() {
            "is no file"
        } else if start_of(&file).is_ok_and(|start| start.first() == Some(&0)) {
            // Its first line has no end.
            "begins with a NUL byte"
        } else {
            return None;
        };
        Some((file, why))
    })
}

/// Files that lead to no driver, and why. To be asked for once the loader has loaded what it can.
pub(super) fn broken(at: &Path) -> Vec<String> {
    let why = |file: PathBuf| {
        let why = match named(&file) {
            Ok(name) => format!("names {name:?}, {}", refused(&name)?),
            Err(why) => why,
        };
        Some(format!("OpenCL driver file {} {why}", file.display()))
    };
    files(at).into_iter().filter_map(why).collect()
}

/// Why a library is no driver, if it is none.
fn refused(name: &str) -> Option<String> {
    // SAFETY: the loader has just done the same with it, so what it does when it is loaded it has done already.
    let library = match unsafe { libloading::Library::new(name) } {
        Ok(library) => library,
        Err(error) => return Some(format!("which cannot be loaded: {error}")),
    };
    // SAFETY: the symbol is looked for, and not used.
    let has_entry = unsafe { library.get::<*const ()>(ENTRY) }.is_ok();
    // Drivers do not like to be unloaded.
    std::mem::forget(library);
    (!has_entry).then(|| "which is no driver".into())
}

/// What the files name, for a person who wonders why there is no driver.
pub(super) fn summary(at: &Path) -> String {
    let names = |file: &PathBuf| Some(format!("{} names {:?}", file.display(), named(file).ok()?));
    let named: Vec<String> = files(at).iter().filter_map(names).collect();
    match named.is_empty() {
        true => format!("{} names none (a package such as pocl-opencl-icd has one)", at.display()),
        false => named.join(", "),
    }
}
