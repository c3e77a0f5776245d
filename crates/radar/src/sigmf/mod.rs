//! SigMF recordings: a `.sigmf-data` file of samples, and a `.sigmf-meta` file (JSON) that says what they are.
//!
//! Read are complex samples of one channel, `cf32_le` and `ci16_le`. Integers are divided by 32,768, so that full scale
//! is 1. Annotations and hashes are not looked at.
//!
//! Invariants: the data file's size is compared with the sample's size before anything is allocated; samples come out
//! finite, in single precision.
//!
//! Source: *The Signal Metadata Format Specification*, version 1.2.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use num_complex::Complex32;
use serde::Deserialize;

use crate::reserve::reserve;
use crate::{Error, Result};

/// The ending of the file that describes.
pub(crate) const META: &str = "sigmf-meta";
/// The ending of the file with the samples.
pub(crate) const DATA: &str = "sigmf-data";

/// What an integer sample of 1 would be.
const FULL_SCALE: f32 = 32_768.0;

/// A SigMF recording whose metadata was read and agrees with the size of its data.
///
/// ```
/// use rimms_radar::sigmf::SigMf;
///
/// let folder = tempfile::tempdir()?;
/// let meta = folder.path().join("tone.sigmf-meta");
/// std::fs::write(&meta, r#"{"global": {"core:datatype": "ci16_le", "core:version": "1.2.0", "core:sample_rate": 2e6},
///                           "captures": [], "annotations": []}"#)?;
/// std::fs::write(folder.path().join("tone.sigmf-data"), [0, 64, 0, 192])?; // 16384, −16384
/// let recording = SigMf::open(&meta)?; // or the .sigmf-data
/// assert_eq!((recording.len(), recording.sample_rate_hz()), (1, Some(2e6)));
/// assert_eq!(recording.read()?[0].im, -0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SigMf {
    meta: PathBuf,
    data: PathBuf,
    kind: Kind,
    samples: usize,
    sample_rate_hz: Option<f64>,
}

/// How a sample is stored.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Float32,
    Int16,
}

#[derive(Deserialize)]
struct Meta {
    global: Global,
    #[serde(default)]
    captures: Vec<Capture>,
}

#[derive(Deserialize)]
struct Global {
    #[serde(rename = "core:datatype")]
    datatype: String,
    #[serde(rename = "core:num_channels", default = "one")]
    channels: u64,
    #[serde(rename = "core:sample_rate")]
    sample_rate: Option<f64>,
    #[serde(rename = "core:dataset")]
    dataset: Option<String>,
    #[serde(rename = "core:metadata_only", default)]
    metadata_only: bool,
    #[serde(rename = "core:trailing_bytes", default)]
    trailing_bytes: u64,
}

#[derive(Deserialize)]
struct Capture {
    #[serde(rename = "core:header_bytes", default)]
    header_bytes: u64,
}

fn one() -> u64 {
    1
}

impl SigMf {
    /// Reads the metadata of a recording; `path` names either of its files.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SigMf`] if the metadata is no such JSON, or says that the samples are of another kind;
    /// [`Error::Empty`] if there are none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (meta, data) = (path.with_extension(META), path.with_extension(DATA));
        let refuse = |problem: String| Err(Error::sigmf(&meta, problem));
        let text = fs::read(&meta).map_err(Error::io(&meta))?;
        let Meta { global, captures } = match serde_json::from_slice(&text) {
            Ok(read) => read,
            Err(error) => return refuse(error.to_string()),
        };
        let (kind, size) = match global.datatype.as_str() {
            "cf32_le" => (Kind::Float32, 8),
            "ci16_le" => (Kind::Int16, 4),
            other => return refuse(format!("samples of type `{}`; cf32_le or ci16_le wanted", other.escape_debug())),
        };
        if global.channels != 1 {
            return refuse(format!("{} channels; 1 wanted", global.channels));
        }
        let other_bytes = global.trailing_bytes != 0 || captures.iter().any(|capture| capture.header_bytes != 0);
        if global.metadata_only || global.dataset.is_some() || other_bytes {
            return refuse(format!("samples alone, in the .{DATA} file beside it, wanted"));
        }
        if let Some(rate) = global.sample_rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return refuse(format!("a sample rate of {rate}; a positive number wanted"));
        }
        let metadata = fs::metadata(&data).map_err(Error::io(&data))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: data });
        }
        let bytes = metadata.len();
        if bytes == 0 {
            return Err(Error::Empty { path: data, wanted: "complex samples".to_owned() });
        }
        if bytes % size != 0 {
            return Err(Error::sigmf(data, format!("{bytes} bytes are no whole number of samples of {size} bytes")));
        }
        let samples = usize::try_from(bytes / size);
        let samples = samples.map_err(|_| Error::Memory { what: "the samples of a recording", bytes: usize::MAX })?;
        Ok(Self { meta, data, kind, samples, sample_rate_hz: global.sample_rate })
    }

    /// The file that describes the samples.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.meta
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples
    }

    /// Never: a recording without samples is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Samples a second, where the metadata says it.
    #[must_use]
    pub fn sample_rate_hz(&self) -> Option<f64> {
        self.sample_rate_hz
    }

    /// All samples.
    ///
    /// # Errors
    /// [`Error::SigMf`] for a sample that is not finite, [`Error::Io`], [`Error::Memory`].
    pub fn read(self) -> Result<Vec<Complex32>> {
        let mut samples = reserve(self.samples, "the samples of a recording")?;
        let mut data = BufReader::new(File::open(&self.data).map_err(Error::io(&self.data))?);
        for index in 0..self.samples {
            let sample = match self.kind {
                Kind::Float32 => {
                    let [re, im] = self.next_pair(&mut data)?.map(f32::from_le_bytes);
                    Complex32::new(re, im)
                }
                Kind::Int16 => {
                    let [re, im] = self.next_pair(&mut data)?.map(i16::from_le_bytes);
                    Complex32::new(f32::from(re) / FULL_SCALE, f32::from(im) / FULL_SCALE)
                }
            };
            if !(sample.re.is_finite() && sample.im.is_finite()) {
                return Err(Error::sigmf(&self.data, format!("sample {index} is not finite")));
            }
            samples.push(sample);
        }
        Ok(samples)
    }

    fn next_pair<const N: usize>(&self, data: &mut impl Read) -> Result<[[u8; N]; 2]> {
        let mut pair = [[0; N]; 2];
        data.read_exact(pair.as_flattened_mut()).map_err(Error::io(&self.data))?;
        Ok(pair)
    }
}
