//! Recordings: for pulse Doppler, the pulses that were received, the pulse that was sent, and what is known of them
//! ([`open`]); for SAR [`open_echoes`], for the radar correlator [`open_reception`].
//!
//! Invariant of [`Recording`]: rows × columns samples and a reference pulse of as many samples as
//! there are columns, all finite. Readers take nothing on trust: sizes are compared before memory
//! is taken, and data is never cut off nor filled up to make it fit.

mod echoes;
mod locate;
mod reception;
mod samples;
#[cfg(test)]
mod tests;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use num_complex::Complex32;

pub use echoes::open as open_echoes;
pub(crate) use locate::{NPY_PULSES, NPY_REFERENCE};
pub use reception::open as open_reception;
use samples::Samples;

use crate::geometry::STANDARD_PRI_S;
use crate::{Detection, Error, Geometry, Result, Shape, Truth};

/// The name under which a scene's truth stands beside its `pulses.npy`.
pub(crate) const TRUTH: &str = "truth.json";

/// M received pulses of N samples and the pulse that was sent.
///
/// ```
/// use num_complex::Complex32;
/// use rimms_radar::{Geometry, Recording, Shape};
///
/// let geometry = Geometry::new(Shape::new(2, 3)?, 1e-3)?;
/// let recording = Recording::new(geometry, vec![Complex32::ONE; 6], vec![Complex32::ONE; 3])?;
/// assert_eq!(recording.pulses().len(), 6);
/// assert!(Recording::new(geometry, vec![], vec![]).is_err());
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    geometry: Geometry,
    pulses: Vec<Complex32>,
    reference: Vec<Complex32>,
    truth: Option<Truth>,
    path: Option<PathBuf>,
}

impl Recording {
    /// A recording from samples in memory, the pulses row after row.
    ///
    /// # Errors
    /// [`Error::Argument`] if the numbers of samples are not those of the shape, or one of them is
    /// not finite.
    pub fn new(geometry: Geometry, pulses: Vec<Complex32>, reference: Vec<Complex32>) -> Result<Recording> {
        let shape = geometry.shape();
        for (name, samples, wanted) in [("pulses", &pulses, shape.len()), ("reference pulse", &reference, shape.cols())]
        {
            if samples.len() != wanted {
                return Err(Error::argument(
                    name,
                    format_args!("{} samples", samples.len()),
                    format!("{wanted} wanted for {shape}"),
                ));
            }
            if let Some(sample) = samples.iter().find(|s| !(s.re.is_finite() && s.im.is_finite())) {
                return Err(Error::argument(name, sample, "finite samples wanted"));
            }
        }
        Ok(Recording { geometry, pulses, reference, truth: None, path: None })
    }

    pub(crate) fn with_truth(self, truth: Truth) -> Recording {
        Recording { truth: Some(truth), ..self }
    }

    /// Shape and pulse-repetition interval.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// All pulses, row after row.
    #[must_use]
    pub fn pulses(&self) -> &[Complex32] {
        &self.pulses
    }

    /// The pulse that was sent.
    #[must_use]
    pub fn reference(&self) -> &[Complex32] {
        &self.reference
    }

    /// What the recording is known to hold, if it is a synthetic scene.
    #[must_use]
    pub fn truth(&self) -> Option<&Truth> {
        self.truth.as_ref()
    }

    /// The file the pulses were read from; `None` for a recording made in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Reads a recording: `path` is a folder that holds one, or the file of its pulses, with the
/// reference pulse beside it (`pulse_C.txt`, `pulse_C.npy`, `input_pd_pulse.txt`, `pulse.npy`).
///
/// Files are text of white-space separated numbers, `re im re im …`, NumPy arrays of complex64 or
/// complex128, or [SigMF](crate::sigmf) recordings (`pulses.sigmf-meta` with `pulse.sigmf-meta`). `shape` is needed where neither the file's name (`pulses_128x64.txt`) nor a
/// two-dimensional array tells; 128x64 otherwise. In a folder with several recordings, the one of
/// that `shape` is taken, or without one the one with a shape in its name. `pri_s` is the truth's
/// where a scene brought one along, and otherwise 1.27e-4; a truth is told in terms of the
/// interval that is used.
///
/// ```
/// use rimms_radar::{input, scene::Scene};
///
/// let folder = tempfile::tempdir()?;
/// Scene::default().write(folder.path())?;
/// let recording = input::open(folder.path(), None, None)?;
/// assert_eq!(recording.truth(), Some(&Scene::default().truth()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// One for each thing that can be wrong, see [`Error`]: it names the file, and in a text file the
/// line and column.
pub fn open(path: impl AsRef<Path>, shape: Option<Shape>, pri_s: Option<f64>) -> Result<Recording> {
    let pulses_path = locate::pulses(path.as_ref(), shape)?;
    let named = locate::shape_in_name(&pulses_path)?;
    let (shape, pulses) = read_pulses(&pulses_path, shape.or(named))?;
    let truth = read_truth(&pulses_path, shape)?;
    let pri_s = pri_s.or(truth.as_ref().map(|truth| truth.pri_s)).unwrap_or(STANDARD_PRI_S);
    let geometry = Geometry::new(shape, pri_s)?;

    let reference_path = locate::reference(&pulses_path, shape.cols())?;
    let reference = read_reference(&reference_path, shape.cols())?;
    let mut recording = Recording::new(geometry, pulses, reference)?;
    recording.truth = truth.map(|truth| retold(truth, geometry));
    recording.path = Some(pulses_path);
    Ok(recording)
}

fn read_pulses(path: &Path, shape: Option<Shape>) -> Result<(Shape, Vec<Complex32>)> {
    let samples = Samples::open(path)?;
    let shape = shape.map_or_else(|| Ok(samples.shape()?.unwrap_or(Shape::STANDARD)), Ok::<_, Error>)?;
    Ok((shape, samples.read_shape(shape)?))
}

fn read_reference(path: &Path, cols: usize) -> Result<Vec<Complex32>> {
    let meaning = format!("a reference pulse of {cols} complex samples, one for each column");
    Samples::open(path)?.one_signal("one pulse")?.read(cols, meaning)
}

/// The truth beside a scene's `pulses.npy`, if there is one.
fn read_truth(pulses: &Path, shape: Shape) -> Result<Option<Truth>> {
    let path = pulses.with_file_name(TRUTH);
    if pulses.file_name() != Some(NPY_PULSES.as_ref()) || !path.exists() {
        return Ok(None);
    }
    let refuse = |problem| Err(Error::Truth { path: path.clone(), problem });
    let text = fs::read(&path).map_err(Error::io(&path))?;
    let truth: Truth = match serde_json::from_slice(&text) {
        Ok(truth) => truth,
        Err(error) => return refuse(error.to_string()),
    };
    if truth.shape != shape {
        return refuse(format!("it is about {}, the recording is {shape}", truth.shape));
    }
    let geometry = match truth.geometry() {
        Ok(geometry) => geometry,
        Err(error) => return refuse(error.to_string()),
    };
    let peak = truth.detection;
    if peak.peak_row >= shape.rows() || peak.peak_col >= geometry.map_cols() {
        return refuse(format!(
            "its peak ({}, {}) lies outside the map of {}x{}",
            peak.peak_row,
            peak.peak_col,
            shape.rows(),
            geometry.map_cols()
        ));
    }
    Ok(Some(truth))
}

/// The same truth told for another interval: cells stay, Hz and seconds follow.
fn retold(mut truth: Truth, geometry: Geometry) -> Truth {
    let Detection { magnitude, peak_row, peak_col, .. } = truth.detection;
    truth.detection = geometry.detection(peak_row, peak_col, magnitude);
    let longer = geometry.pri_s() / truth.pri_s;
    for target in &mut truth.targets {
        target.delay_s *= longer;
        target.doppler_hz /= longer;
    }
    truth.pri_s = geometry.pri_s();
    truth
}
