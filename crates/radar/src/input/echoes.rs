//! Echoes for SAR: which file they are in, and the known image beside them.
//!
//! Names that are known: `rawdata_rda.txt`, with the image in `correct_SAR_output.txt` or `correct_SAR_output.txt.gz`;
//! `echoes.npy`; `echoes.sigmf-meta`.

use std::path::{Path, PathBuf};

use super::locate::{first_of, is_file, only};
use super::samples::Samples;
use super::text;
use crate::sar::{self, Echoes};
use crate::{Result, Shape};

const RECORDED: &str = "rawdata_rda.txt";
const NAMES: &[&str] = &[RECORDED, "echoes.npy", "echoes.sigmf-meta"];
const IMAGES: &[&str] = &["correct_SAR_output.txt", "correct_SAR_output.txt.gz"];

/// Reads echoes: `path` is a folder that holds some (`rawdata_rda.txt`, `echoes.npy` or `echoes.sigmf-meta`), or their
/// file. `shape` is needed where a two-dimensional array does not tell; 256x512 otherwise. Beside `rawdata_rda.txt`, the
/// image that is known is read from `correct_SAR_output.txt` or its `.gz`.
///
/// ```no_run
/// use rimms_radar::{input, sar::Brightest};
///
/// let echoes = input::open_echoes("cedr/sar", None)?;
/// let known = echoes.image().map(|image| Brightest::of(echoes.shape(), image));
/// assert_eq!(known.map(|peak| (peak.peak_row, peak.peak_col)), Some((127, 306)));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
///
/// # Errors
/// One for each thing that can be wrong, see [`Error`](crate::Error): it names the file, and in a text file the line
/// and column.
pub fn open(path: impl AsRef<Path>, shape: Option<Shape>) -> Result<Echoes> {
    let path = path.as_ref();
    let file = if is_file(path)? { path.to_owned() } else { only(path, NAMES)? };
    let samples = Samples::open(&file)?;
    let shape = match shape {
        Some(shape) => shape,
        None => samples.shape()?.unwrap_or_else(sar::standard_shape),
    };
    sar::check_shape(shape)?;
    let echoes = Echoes::new(shape, samples.read_shape(shape)?)?;
    let echoes = match known_image(&file) {
        Some(image) => echoes.with_image(text::read_real(&image, shape.len(), &format!("an image of {shape}"))?)?,
        None => echoes,
    };
    Ok(echoes.with_path(file))
}

fn known_image(echoes: &Path) -> Option<PathBuf> {
    if echoes.file_name() != Some(RECORDED.as_ref()) {
        return None;
    }
    first_of(echoes, IMAGES)
}
