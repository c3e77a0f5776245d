//! Which files make a recording: the pulses, and the reference pulse beside them.
//!
//! Names that are known: `pulses_RxC.txt` or `.npy` with `pulse_C.txt` or `.npy`; `pulses.npy`
//! with `pulse.npy`; `input_pd_ps.txt` with `input_pd_pulse.txt`. Files are looked at by name (and
//! NumPy headers) only; what they hold is the readers' affair.

use std::fs;
use std::path::{Path, PathBuf};

use super::is_npy;
use crate::npy::NpyFile;
use crate::{Error, Result, Shape};

const OLDER_PULSES: &str = "input_pd_ps.txt";
const OLDER_REFERENCE: &str = "input_pd_pulse.txt";
pub(crate) const NPY_PULSES: &str = "pulses.npy";
pub(crate) const NPY_REFERENCE: &str = "pulse.npy";

/// The recording that `path` names: itself if it is a file, or the one in that folder which is
/// meant: with a shape given, the one of that shape; otherwise the one with a shape in its name,
/// then `pulses.npy`, then `input_pd_ps.txt`.
pub(crate) fn pulses(path: &Path, shape: Option<Shape>) -> Result<PathBuf> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    if metadata.is_file() {
        return Ok(path.to_owned());
    }
    if !metadata.is_dir() {
        return Err(Error::NotAFile { path: path.to_owned() });
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
        return Err(no_recording(format!("pulses_RxC.txt, pulses_RxC.npy, {NPY_PULSES}, {OLDER_PULSES}")));
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
    let named = [format!("pulse_{cols}.txt"), format!("pulse_{cols}.npy")];
    let [text, npy] = named.each_ref().map(String::as_str);
    let (first_of, only_of): (&[&str], &[&str]) = match name(pulses).as_str() {
        OLDER_PULSES => (&[OLDER_REFERENCE], &[]),
        NPY_PULSES => (&[NPY_REFERENCE], &[]),
        _ if shape_in_name(pulses)?.is_some() => (&[text, npy, NPY_REFERENCE], &[]),
        _ => (&[text, npy], &[OLDER_REFERENCE, NPY_REFERENCE]),
    };
    let folder = pulses.parent().unwrap_or(Path::new(""));
    let there = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| folder.join(name)).filter(|file| file.exists()).collect()
    };
    if let Some(first) = there(first_of).into_iter().next() {
        return Ok(first);
    }
    match &there(only_of)[..] {
        [only] => Ok(only.clone()),
        [] => Err(Error::NoReference {
            recording: pulses.to_owned(),
            looked_for: [first_of, only_of].concat().join(", "),
        }),
        several => Err(ambiguous(folder, several)),
    }
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
    let stem = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".npy"))?;
    let shape = stem.strip_prefix("pulses_")?;
    let (rows, cols) = shape.split_once('x')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(rows) && digits(cols)).then(|| shape.to_owned())
}

/// The order in which recordings of known names are preferred.
fn rank(file: &Path) -> Option<u8> {
    match name(file).as_str() {
        _ if shape_text(file).is_some() => Some(0),
        NPY_PULSES => Some(1),
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
    if is_npy(file)? { shape_in_header(&NpyFile::open(file)?) } else { Ok(None) }
}

/// The shape that a two-dimensional NumPy array has.
pub(crate) fn shape_in_header(file: &NpyFile) -> Result<Option<Shape>> {
    let &[rows, cols] = file.dims() else { return Ok(None) };
    let number = |dim| usize::try_from(dim).unwrap_or(usize::MAX);
    Shape::new(number(rows), number(cols)).map(Some)
}

fn ambiguous(folder: &Path, several: &[PathBuf]) -> Error {
    let names: Vec<String> = several.iter().map(|file| name(file)).collect();
    Error::Ambiguous { folder: folder.to_owned(), found: names.join(", ") }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
