//! What the radar correlator works on, from files: what was received, and the reference beside it.
//!
//! Names that are known: `received` and `reference`, each with `.txt`, `.npy` or `.sigmf-meta`; `received_input.txt`
//! with `time_input.txt`, the times of the samples, from which the reference is made.

use std::f64::consts::PI;
use std::path::Path;

use num_complex::{Complex32, Complex64};

use super::locate::{first_of, is_file, name, only};
use super::samples::Samples;
use super::text;
use crate::reception::{Reception, STANDARD_RATE_HZ, STANDARD_SAMPLES};
use crate::{Error, Result};

const RECORDED: &str = "received_input.txt";
const TIMES: &str = "time_input.txt";
const NAMES: &[&str] = &["received.txt", "received.npy", "received.sigmf-meta", RECORDED];
const REFERENCES: &[&str] = &["reference.txt", "reference.npy", "reference.sigmf-meta"];

/// The recorded reference sweeps so many hertz in so many seconds.
const RECORDED_BAND_HZ: f64 = 5e5;
const RECORDED_SWEEP_S: f64 = 5.12e-4;

/// Reads what was received and the reference: `path` is a folder that holds both, or the file of what was received,
/// with the reference beside it. `samples` is how many there are, where the file does not tell; 256 otherwise. The
/// sample rate is a SigMF recording's, that of `time_input.txt`, or 1 MHz.
///
/// ```
/// use rimms_radar::{input, reception::Echo};
/// use rimms_radar::npy;
///
/// let folder = tempfile::tempdir()?;
/// let echo = Echo::new(64)?.reception()?;
/// npy::write(folder.path().join("received.npy"), &[64], echo.received())?;
/// npy::write(folder.path().join("reference.npy"), &[64], echo.reference())?;
/// assert_eq!(input::open_reception(folder.path(), None)?.received(), echo.received());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// One for each thing that can be wrong, see [`Error`]: it names the file, and in a text file the line and column.
pub fn open(path: impl AsRef<Path>, samples: Option<usize>) -> Result<Reception> {
    let path = path.as_ref();
    let file = if is_file(path)? { path.to_owned() } else { only(path, NAMES)? };
    let received = Samples::open(&file)?.one_signal("one signal")?;
    let own_rate_hz = received.rate_hz();
    let rate_hz = own_rate_hz.unwrap_or(STANDARD_RATE_HZ);
    let wanted = match (samples, received.count()) {
        (Some(samples), _) => samples,
        (None, Some(count)) => usize::try_from(count).unwrap_or(usize::MAX),
        (None, None) => STANDARD_SAMPLES,
    };
    let meaning = format!("a signal of {wanted} complex samples");
    let received = received.read(wanted, meaning)?;

    if name(&file) == RECORDED {
        let (reference, rate_hz) = from_times(&file.with_file_name(TIMES), wanted)?;
        return Reception::new(received, reference, rate_hz);
    }
    let Some(beside) = first_of(&file, REFERENCES) else {
        return Err(Error::NoReference { recording: file, looked_for: REFERENCES.join(", ") });
    };
    let reference = Samples::open(&beside)?.one_signal("one signal")?;
    if let (Some(own), Some(other)) = (own_rate_hz, reference.rate_hz())
        && own != other
    {
        let problem = format!("{other} samples a second, but {own} were received: both have to be of one rate");
        return Err(Error::sigmf(beside, problem));
    }
    let meaning = format!("a reference of {wanted} complex samples, as many as were received");
    Reception::new(received, reference.read(wanted, meaning)?, rate_hz)
}

/// The reference sin φ + i·cos φ, φ = π·(band/sweep)·t², at the times that a file says, and their rate.
fn from_times(path: &Path, wanted: usize) -> Result<(Vec<Complex32>, f64)> {
    let times = text::read_real(path, wanted, &format!("the times of {wanted} samples"))?;
    let (first, last) = (times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default());
    let rate_hz = (times.len() - 1) as f64 / (f64::from(last) - f64::from(first));
    let sample = |t: f32| {
        let phase = PI * RECORDED_BAND_HZ / RECORDED_SWEEP_S * f64::from(t) * f64::from(t);
        let Complex64 { re, im } = Complex64::new(phase.sin(), phase.cos());
        Complex32::new(re as f32, im as f32)
    };
    Ok((times.into_iter().map(sample).collect(), rate_hz))
}
