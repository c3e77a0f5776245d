//! Which files make a recording: the pulses, and the reference pulse beside them.
//!
//! Names that are known: `pulses_RxC` with `pulse_C`, each with `.txt`, `.npy` or `.sigmf-meta`;
//! `pulses.npy` with `pulse.npy`, `pulses.sigmf-meta` with `pulse.sigmf-meta`; `input_pd_ps.txt` with
//! `input_pd_pulse.txt`. Files are looked at by name (and headers) only; what they hold is the
//! readers' affair.

use std::fs;
use std::path::{Path, PathBuf};

use super::samples::Samples;
use crate::{Error, Result, Shape};

const OLDER_PULSES: &str = "input_pd_ps.txt";
const OLDER_REFERENCE: &str = "input_pd_pulse.txt";
pub(crate) const NPY_PULSES: &str = "pulses.npy";
pub(crate) const NPY_REFERENCE: &str = "pulse.npy";
const SIGMF_PULSES: &str = "pulses.sigmf-meta";
const SIGMF_REFERENCE: &str = "pulse.sigmf-meta";

/// What the names of recordings with a shape in them end in. A SigMF recording has two files, and one name in a folder.
const ENDINGS: &[&str] = &[".txt", ".npy", ".sigmf-meta"];
const OTHER_ENDING: &str = ".sigmf-data";

/// The recording that `path` names: itself if it is a file, or the one in that folder which is
/// meant: with a shape given, the one of that shape; otherwise the one with a shape in its name,
/// then `pulses.npy`, then `input_pd_ps.txt`.
pub(crate) fn pulses(path: &Path, shape: Option<Shape>) -> Result<PathBuf> {
    if is_file(path)? {
        return Ok(path.to_owned());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io(path))? {
        let file = entry.map_err(Error::io(path))?.path();
        if let Some(rank) = rank(&file)
            && file.is_file()
        {
            found.push((rank, file));
        }
    }
    found.sort();
    let no_recording = |looked_for| Error::NoRecording { folder: path.to_owned(), looked_for };
    if found.is_empty() {
        let shaped: Vec<String> = ENDINGS.iter().map(|ending| format!("pulses_RxC{ending}")).collect();
        return Err(no_recording(format!("{}, {NPY_PULSES}, {SIGMF_PULSES}, {OLDER_PULSES}", shaped.join(", "))));
    }
    let Some(shape) = shape else { return first_of_best_rank(path, found) };

    let mut of_unknown_shape = None;
    let mut others = Vec::new();
    for (_, file) in found {
        match known_shape(&file)? {
            Some(known) if known == shape => return Ok(file),
            Some(known) => others.push(format!("{} ({known})", name(&file))),
            None => of_unknown_shape = of_unknown_shape.or(Some(file)),
        }
    }
    of_unknown_shape.ok_or_else(|| no_recording(format!("one of {shape}, found {}", others.join(", "))))
}

/// The reference pulse for `pulses`, of `cols` samples, in the same folder.
///
/// A file of a known name has its own partner. Any other takes `pulse_C`, or else whichever of
/// the remaining names stands there alone.
pub(crate) fn reference(pulses: &Path, cols: usize) -> Result<PathBuf> {
    let named: Vec<String> = ENDINGS.iter().map(|ending| format!("pulse_{cols}{ending}")).collect();
    let mut first: Vec<&str> = named.iter().map(String::as_str).collect();
    let mut alone: &[&str] = &[];
    match name(pulses).as_str() {
        OLDER_PULSES => first = vec![OLDER_REFERENCE],
        NPY_PULSES => first = vec![NPY_REFERENCE],
        SIGMF_PULSES | "pulses.sigmf-data" => first = vec![SIGMF_REFERENCE],
        _ if shape_in_name(pulses)?.is_some() => first.extend([NPY_REFERENCE, SIGMF_REFERENCE]),
        _ => alone = &[OLDER_REFERENCE, NPY_REFERENCE, SIGMF_REFERENCE],
    }
    if let Some(found) = first_of(pulses, &first) {
        return Ok(found);
    }
    match &beside(pulses, alone)[..] {
        [only] => Ok(only.clone()),
        [] => {
            let looked_for = [&first, alone].concat().join(", ");
            Err(Error::NoReference { recording: pulses.to_owned(), looked_for })
        }
        several => Err(ambiguous(folder_of(pulses), several)),
    }
}

/// Whether a path names a file rather than a folder.
///
/// # Errors
/// [`Error::Io`]; [`Error::NotAFile`] if it is neither.
pub(super) fn is_file(path: &Path) -> Result<bool> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(metadata.is_file());
    }
    Err(Error::NotAFile { path: path.to_owned() })
}

/// The only one of these names that is in the folder.
pub(super) fn only(folder: &Path, names: &[&str]) -> Result<PathBuf> {
    match &beside(&folder.join("any"), names)[..] {
        [only] => Ok(only.clone()),
        [] => Err(Error::NoRecording { folder: folder.to_owned(), looked_for: names.join(", ") }),
        several => Err(ambiguous(folder, several)),
    }
}

/// The first of these names that is in the folder of `file`.
pub(super) fn first_of(file: &Path, names: &[&str]) -> Option<PathBuf> {
    beside(file, names).into_iter().next()
}

/// All of these names that are in the folder of `file`.
fn beside(file: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder_of(file).join(name)).filter(|file| file.exists()).collect()
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// The shape in a name like `pulses_128x64.txt`; `None` for names of another form.
///
/// # Errors
/// A name of that form whose shape makes no sense.
pub(crate) fn shape_in_name(file: &Path) -> Result<Option<Shape>> {
    let Some(text) = shape_text(file) else { return Ok(None) };
    match text.parse() {
        Ok(shape) => Ok(Some(shape)),
        Err(error) => Err(Error::argument("shape in a file's name", name(file), error.to_string())),
    }
}

fn shape_text(file: &Path) -> Option<String> {
    let name = name(file);
    let stem = ENDINGS.iter().chain([&OTHER_ENDING]).find_map(|ending| name.strip_suffix(ending))?;
    let shape = stem.strip_prefix("pulses_")?;
    let (rows, cols) = shape.split_once('x')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(rows) && digits(cols)).then(|| shape.to_owned())
}

/// The order in which recordings of known names are preferred.
fn rank(file: &Path) -> Option<u8> {
    match name(file).as_str() {
        name if name.ends_with(OTHER_ENDING) => None,
        _ if shape_text(file).is_some() => Some(0),
        NPY_PULSES | SIGMF_PULSES => Some(1),
        OLDER_PULSES => Some(2),
        _ => None,
    }
}

fn first_of_best_rank(folder: &Path, found: Vec<(u8, PathBuf)>) -> Result<PathBuf> {
    let best = found.first().map(|(rank, _)| *rank);
    let files: Vec<PathBuf> = found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, file)| file).collect();
    match &files[..] {
        [only] => Ok(only.clone()),
        several => Err(ambiguous(folder, several)),
    }
}

/// What is known of a recording's shape without reading its samples.
fn known_shape(file: &Path) -> Result<Option<Shape>> {
    if let Some(shape) = shape_in_name(file)? {
        return Ok(Some(shape));
    }
    Samples::open(file)?.shape()
}

fn ambiguous(folder: &Path, several: &[PathBuf]) -> Error {
    let names: Vec<String> = several.iter().map(|file| name(file)).collect();
    Error::Ambiguous { folder: folder.to_owned(), found: names.join(", ") }
}

pub(super) fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
