//! Pulse Doppler: how far away, and how fast, is what sent the pulses back?
//!
//! M received pulses of N samples are matched with the pulse that was sent, by FFTs of length 2N;
//! then, for each of the 2N ranges, an FFT over the M pulses finds the Doppler shift. The largest
//! cell of that map is the answer. [`oracle`](crate::oracle) has the same in formulas.
//!
//! | stage | call | styles |
//! | --- | --- | --- |
//! | `pad` | zeros around the pulses | best |
//! | `fft-pulse` | the pulses' spectra | both |
//! | `fft-reference` | the reference's spectrum | both |
//! | `zip` | one times the other's conjugate | both |
//! | `ifft` | the matched filter's output | both |
//! | `transpose` | the corner turn | best |
//! | `fft-doppler` | the transform over the pulses | both |
//! | `shift` | zero Doppler to the middle | best |
//! | `magnitude` | of every cell | best |
//! | `arg-max` | the largest cell | best |
//!
//! What paper style has no stage for is done by host code. Best style works on whole matrices, and has no rows to
//! allocate.

mod best;
mod paper;

use rimms::Runtime;

pub use super::Config;
use super::measure::measure;
use super::{Outcome, Style};
use crate::reserve::reserve;
use crate::{Detection, Image, Recording, Result, Shape, Truth};

/// The stages' names in a style.
///
/// ```
/// use rimms_radar::apps::{Style, pulse_doppler};
/// assert!(pulse_doppler::stages(Style::Paper).contains(&"fft-doppler"));
/// ```
#[must_use]
pub const fn stages(style: Style) -> &'static [&'static str] {
    match style {
        Style::Paper => paper::STAGES,
        Style::Best => best::STAGES,
    }
}

/// Runs pulse Doppler on a recording.
///
/// Where the truth is known, the outcome's `max_error` is the largest of: rows off, columns off, and
/// the relative difference in magnitude. Below 1, the right cell was found. The whole map comes with it if the config
/// asks for it.
///
/// ```
/// use rimms::{Runtime, device::sim::Sim};
/// use rimms_radar::apps::{Style, pulse_doppler::{self, Config}};
/// use rimms_radar::scene::Scene;
///
/// let acc = Sim::acc("acc0", 4 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let scene = Scene::default();
/// let config = Config { style: Style::Best, ..Config::default() };
/// let outcome = pulse_doppler::run(&rt, &scene.recording()?, &config)?;
/// assert_eq!(outcome.result.doppler_hz, scene.truth().detection.doppler_hz);
/// // Pulses and reference in, the peak out.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a placement on stages or PEs that are not there;
/// [`Error::Runtime`](crate::Error::Runtime).
pub fn run(rt: &Runtime, recording: &Recording, config: &Config) -> Result<Outcome<Detection>> {
    config.placement.check(stages(config.style))?;
    let mut outcome = match config.style {
        Style::Paper => measure(rt, config.repeat, &paper::PulseDoppler::new(rt, recording, config)?),
        Style::Best => measure(rt, config.repeat, &best::PulseDoppler::new(rt, recording, config)?),
    }?;
    outcome.max_error = recording.truth().map(|truth| error(outcome.result, truth));
    Ok(outcome)
}

fn error(found: Detection, truth: &Truth) -> f64 {
    let truth = truth.detection;
    let cells = found.peak_row.abs_diff(truth.peak_row).max(found.peak_col.abs_diff(truth.peak_col));
    let magnitude = (found.magnitude / truth.magnitude - 1.0).abs();
    // NaN is larger than any error.
    if magnitude > cells as f64 || magnitude.is_nan() { magnitude } else { cells as f64 }
}

/// The map from its columns, one behind the other.
fn picture(pulses: usize, ranges: usize, columns: &[f32]) -> Result<Image> {
    let mut magnitudes = reserve(pulses * ranges, "the range–Doppler map")?;
    for row in 0..pulses {
        magnitudes.extend(columns.iter().skip(row).step_by(pulses));
    }
    Image::new(Shape::new(pulses, ranges)?, magnitudes)
}
