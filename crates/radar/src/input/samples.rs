//! The samples in a file, of whatever format: text, NumPy, SigMF. Which it is is told by the name, or by the first bytes.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use num_complex::Complex32;

use super::text;
use crate::npy::{self, NpyFile};
use crate::sigmf::{self, SigMf};
use crate::{Error, Result, Shape};

/// A file of complex samples, not read yet.
pub(super) enum Samples {
    /// What it holds is known when it is read.
    Text(PathBuf),
    Npy(PathBuf, NpyFile),
    SigMf(SigMf),
}

impl Samples {
    /// # Errors
    /// [`Error::NotAFile`], and those of the formats.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if !fs::metadata(path).map_err(Error::io(path))?.is_file() {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        let ends_in = |wanted: &str| path.extension().is_some_and(|end| end.eq_ignore_ascii_case(wanted));
        if ends_in(sigmf::META) || ends_in(sigmf::DATA) {
            return Ok(Self::SigMf(SigMf::open(path)?));
        }
        if ends_in("npy") || starts_as_npy(path)? {
            return Ok(Self::Npy(path.to_owned(), NpyFile::open(path)?));
        }
        Ok(Self::Text(path.to_owned()))
    }

    /// The shape that a two-dimensional NumPy array has.
    pub(super) fn shape(&self) -> Result<Option<Shape>> {
        let Self::Npy(_, file) = self else { return Ok(None) };
        let &[rows, cols] = file.dims() else { return Ok(None) };
        let number = |dim| usize::try_from(dim).unwrap_or(usize::MAX);
        Shape::new(number(rows), number(cols)).map(Some)
    }

    /// How many samples there are; `None` for text, which has to be read to know.
    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Text(_) => None,
            Self::Npy(_, file) => Some(elements(file)),
            Self::SigMf(recording) => Some(recording.len() as u64),
        }
    }

    /// Samples a second, where the file says it.
    pub(super) fn rate_hz(&self) -> Option<f64> {
        match self {
            Self::SigMf(recording) => recording.sample_rate_hz(),
            Self::Text(_) | Self::Npy(..) => None,
        }
    }

    /// A signal, not a picture.
    ///
    /// # Errors
    /// [`Error::Npy`] for an array with more than one row and more than one column.
    pub(super) fn one_signal(self, what: &str) -> Result<Self> {
        if let Self::Npy(path, file) = &self
            && let &[rows, cols] = file.dims()
            && rows != 1
            && cols != 1
        {
            return Err(Error::npy(path, format!("an array of {rows}x{cols}; {what} wanted")));
        }
        Ok(self)
    }

    /// Exactly `wanted` samples of `shape`; `meaning` says in errors why that many.
    pub(super) fn read_shape(self, wanted: Shape) -> Result<Vec<Complex32>> {
        if let Some(stored) = self.shape()?
            && stored != wanted
            && let Self::Npy(path, _) = &self
        {
            return Err(Error::npy(path, format!("an array of {stored}; {wanted} wanted")));
        }
        self.read(wanted.len(), format!("{wanted} complex samples"))
    }

    /// Exactly `wanted` samples; `meaning` says in errors why that many.
    pub(super) fn read(self, wanted: usize, meaning: String) -> Result<Vec<Complex32>> {
        let check = |path: &Path, found: u64| {
            if found == wanted as u64 {
                return Ok(());
            }
            let (path, wanted) = (path.to_owned(), wanted as u64);
            Err(Error::Count { path, unit: "complex samples", wanted, found, meaning: meaning.clone() })
        };
        match self {
            Self::Text(path) => text::read(&path, wanted, &meaning),
            Self::Npy(path, file) => {
                check(&path, elements(&file))?;
                file.read()
            }
            Self::SigMf(recording) => {
                check(recording.path(), recording.len() as u64)?;
                recording.read()
            }
        }
    }
}

/// Opening the file made sure that the product fits.
fn elements(file: &NpyFile) -> u64 {
    file.dims().iter().product()
}

fn starts_as_npy(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(npy::MAGIC.len() as u64).read_to_end(&mut start))
        .map_err(Error::io(path))?;
    Ok(start == npy::MAGIC)
}
