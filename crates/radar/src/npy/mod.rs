//! NumPy's file format (`.npy`, versions 1 to 3), for one- and two-dimensional arrays of
//! complex64 or complex128, either byte order, C or Fortran order.
//!
//! Invariants: a file's size is compared with what its header promises before anything of that
//! size is allocated; samples come out row after row, finite, in single precision.
//!
//! Source: NumPy Enhancement Proposal 1 and `numpy.lib.format`.

mod header;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use num_complex::Complex32;

use crate::reserve::reserve;
use crate::{Error, Result};
use header::Header;

/// The first bytes of every NumPy file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read; a plain array's has about 100 bytes.
const LONGEST_HEADER: u64 = 0xFFFF;

/// A NumPy file whose header was read and agrees with the file's size.
///
/// ```
/// use num_complex::Complex32;
/// use rimms_radar::npy::{self, NpyFile};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pulse.npy");
/// npy::write(&path, &[2], &[Complex32::new(1.0, 2.0), Complex32::new(3.0, -4.0)])?;
/// let file = NpyFile::open(&path)?;
/// assert_eq!(file.dims(), &[2]);
/// assert_eq!(file.read()?[1].im, -4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyFile {
    path: PathBuf,
    header: Header,
    samples: usize,
    data: BufReader<File>,
}

impl NpyFile {
    /// Opens the file and reads its header.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Npy`] if the header is damaged or the array is of another kind;
    /// [`Error::Count`] if the file's size is not what the header promises.
    pub fn open(path: impl Into<PathBuf>) -> Result<NpyFile> {
        let path = path.into();
        let file = File::open(&path).map_err(Error::io(&path))?;
        let file_size = file.metadata().map_err(Error::io(&path))?.len();
        let mut data = BufReader::new(file);
        let (header, header_size) = read_header(&path, &mut data, file_size)?;
        let data_size = file_size.saturating_sub(header_size);
        let samples = check_size(&path, &header, data_size)?;
        Ok(NpyFile { path, header, samples, data })
    }

    /// The array's dimensions: one or two.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.header.dims
    }

    /// All samples, row after row.
    ///
    /// # Errors
    /// [`Error::Npy`] for a number that is not finite in single precision, [`Error::Io`],
    /// [`Error::Memory`].
    pub fn read(mut self) -> Result<Vec<Complex32>> {
        let mut stored = reserve(self.samples, "the samples of a NumPy file")?;
        for index in 0..self.samples {
            let sample = self.next_sample()?;
            if !(sample.re.is_finite() && sample.im.is_finite()) {
                return Err(self.not_finite(index));
            }
            stored.push(sample);
        }
        match self.header.dims[..] {
            [rows, cols] if self.header.fortran_order => from_fortran(&stored, rows, cols),
            _ => Ok(stored),
        }
    }

    fn next_sample(&mut self) -> Result<Complex32> {
        let mut bytes = [0_u8; 16];
        let wanted = if self.header.sample.double { 16 } else { 8 };
        self.data.read_exact(&mut bytes[..wanted]).map_err(Error::io(&self.path))?;
        let (a, b) = if self.header.sample.double {
            let real = |part: [u8; 8]| {
                if self.header.sample.big_endian { f64::from_be_bytes(part) } else { f64::from_le_bytes(part) }
            };
            let [a, b] = bytemuck::cast::<[u8; 16], [[u8; 8]; 2]>(bytes).map(real);
            (a as f32, b as f32)
        } else {
            let real = |part: [u8; 4]| {
                if self.header.sample.big_endian { f32::from_be_bytes(part) } else { f32::from_le_bytes(part) }
            };
            let [a, b, ..] = bytemuck::cast::<[u8; 16], [[u8; 4]; 4]>(bytes).map(real);
            (a, b)
        };
        Ok(Complex32::new(a, b))
    }

    /// Names the sample by its NumPy index.
    fn not_finite(&self, stored: usize) -> Error {
        let stored = stored as u64;
        let index = match self.header.dims[..] {
            [rows, _] if self.header.fortran_order => format!("{}, {}", stored % rows, stored / rows),
            [_, cols] => format!("{}, {}", stored / cols, stored % cols),
            _ => stored.to_string(),
        };
        Error::npy(&self.path, format!("sample [{index}] is not finite in single precision"))
    }
}

/// Writes an array of complex64 in C order.
///
/// # Errors
/// [`Error::Io`]; [`Error::Npy`] if `dims` does not describe `samples`.
pub fn write(path: impl AsRef<Path>, dims: &[usize], samples: &[Complex32]) -> Result<()> {
    let path = path.as_ref();
    if dims.iter().try_fold(1, |product: usize, dim| product.checked_mul(*dim)) != Some(samples.len()) {
        return Err(Error::npy(path, format!("{} samples cannot be written as an array of {dims:?}", samples.len())));
    }
    let dims: String = dims.iter().map(|dim| format!("{dim},")).collect();
    let text = format!("{{'descr': '<c8', 'fortran_order': False, 'shape': ({dims}), }}");
    // Magic, version, length and text together take a multiple of 64 bytes and end a line.
    let padding = 63 - (10 + text.len()) % 64;
    let text = format!("{text}{:padding$}\n", "");
    let length = u16::try_from(text.len()).map_err(|_| Error::npy(path, "too many dimensions to be written"))?;

    let mut file = BufWriter::new(File::create(path).map_err(Error::io(path))?);
    let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(Error::io(path));
    put(MAGIC)?;
    put(&[1, 0])?;
    put(&length.to_le_bytes())?;
    put(text.as_bytes())?;
    for sample in samples {
        put(&sample.re.to_le_bytes())?;
        put(&sample.im.to_le_bytes())?;
    }
    file.flush().map_err(Error::io(path))
}

/// The header, and how many bytes of the file it takes.
fn read_header(path: &Path, data: &mut impl Read, file_size: u64) -> Result<(Header, u64)> {
    let truncated = || Error::npy(path, "not a NumPy file: it ends within its header");
    let mut start = [0_u8; 8];
    if file_size < 12 {
        return Err(truncated());
    }
    data.read_exact(&mut start).map_err(Error::io(path))?;
    if !start.starts_with(MAGIC) {
        return Err(Error::npy(path, "not a NumPy file: it does not start with \\x93NUMPY"));
    }
    let mut length = [0_u8; 4];
    let length_size = match (start[6], start[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => {
            return Err(Error::npy(path, format!("NumPy file version {major}.{minor}; 1.0, 2.0 or 3.0 wanted")));
        }
    };
    data.read_exact(&mut length[..length_size]).map_err(Error::io(path))?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST_HEADER {
        return Err(Error::npy(path, format!("a header of {length} bytes is no plain array's")));
    }
    let header_size = 8 + length_size as u64 + length;
    if header_size > file_size {
        return Err(truncated());
    }
    let mut text = vec![0; length as usize];
    data.read_exact(&mut text).map_err(Error::io(path))?;
    let header = header::parse(&text).map_err(|problem| Error::npy(path, problem))?;
    Ok((header, header_size))
}

/// The number of samples, once the dimensions are sensible and the file holds that many.
fn check_size(path: &Path, header: &Header, data_size: u64) -> Result<usize> {
    let dims = &header.dims;
    if !matches!(dims.len(), 1 | 2) {
        return Err(Error::npy(path, format!("{} dimensions; 1 or 2 wanted", dims.len())));
    }
    if dims.contains(&0) {
        return Err(Error::Empty { path: path.to_owned(), wanted: "complex samples".to_owned() });
    }
    let absurd = || Error::npy(path, format!("an array of {dims:?} is more than can be addressed"));
    let size = header.sample.size();
    let wanted = dims.iter().try_fold(1, |product: u64, dim| product.checked_mul(*dim));
    let wanted = wanted.ok_or_else(absurd)?;
    wanted.checked_mul(size).ok_or_else(absurd)?;
    if data_size != wanted * size {
        if data_size / size == wanted {
            return Err(Error::npy(path, "there are bytes after the last sample"));
        }
        return Err(Error::Count {
            path: path.to_owned(),
            unit: "complex samples",
            wanted,
            found: data_size / size,
            meaning: "its own header says so".to_owned(),
        });
    }
    usize::try_from(wanted).map_err(|_| absurd())
}

/// Row order from column order. The caller knows that `stored` has rows × cols samples.
fn from_fortran(stored: &[Complex32], rows: u64, cols: u64) -> Result<Vec<Complex32>> {
    let (rows, cols) = (rows as usize, cols as usize);
    let mut samples = reserve(stored.len(), "the samples of a NumPy file")?;
    for row in 0..rows {
        samples.extend((0..cols).map(|col| stored[col * rows + row]));
    }
    Ok(samples)
}
