//! SAR: the image of what a radar saw on its way, from its echoes, by the range–Doppler algorithm.
//!
//! Range compression filters each row: FFT, fftshift, the product with the spectrum of the range reference g, IFFT.
//! Then, for each column, azimuth compression: FFT, fftshift, the product with the azimuth reference H, IFFT, fftshift.
//! The magnitudes are the image. [`sar`](crate::sar) has the references, [`oracle::sar_image`](crate::oracle::sar_image)
//! the same in formulas.
//!
//! | stage | call | styles |
//! | --- | --- | --- |
//! | `fft-reference` | the spectrum of g | both |
//! | `fft-range` | the rows' spectra | both |
//! | `shift-range` | frequency 0 to the middle | best |
//! | `zip-range` | times the spectrum of g | both |
//! | `ifft-range` | rows that are focused in range | both |
//! | `transpose` | the corner turn | best |
//! | `fft-azimuth` | the columns' spectra | both |
//! | `shift-azimuth` | frequency 0 to the middle | best |
//! | `zip-azimuth` | times H | both |
//! | `ifft-azimuth` | columns that are focused | both |
//! | `shift-image` | the middle of the way to the middle | best |
//! | `magnitude` | of every cell | best |
//! | `transpose-image` | the corner turn back | best |
//!
//! What paper style has no stage for is done by host code. Best style works on whole matrices, and has no rows to
//! allocate; it needs two complex and two real ones.

mod best;
mod paper;

use num_complex::Complex64;
use rimms::{Complex32, Runtime};

pub use super::Config;
use super::measure::{largest, measure};
use super::{Outcome, Style};
use crate::sar::Echoes;
use crate::{Image, Result};

/// The stages' names in a style.
///
/// ```
/// use rimms_radar::apps::{Style, sar};
/// assert!(sar::stages(Style::Paper).contains(&"zip-azimuth"));
/// ```
#[must_use]
pub const fn stages(style: Style) -> &'static [&'static str] {
    match style {
        Style::Paper => paper::STAGES,
        Style::Best => best::STAGES,
    }
}

/// Makes the image of echoes.
///
/// Where the image is known, the outcome's `max_error` is the largest difference from it.
///
/// ```
/// use rimms::{Runtime, device::sim::Sim};
/// use rimms_radar::apps::{Style, sar::{self, Config}};
/// use rimms_radar::{Shape, sar::{Brightest, Scene}};
///
/// let acc = Sim::acc("acc0", 4 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let scene = Scene::new(Shape::new(32, 64)?)?;
/// let config = Config { style: Style::Best, ..Config::default() };
/// let outcome = sar::run(&rt, &scene.echoes()?, &config)?;
/// assert!(outcome.max_error < Some(1e-5));
/// let found = Brightest::of(outcome.result.shape(), outcome.result.magnitudes());
/// assert_eq!((found.peak_row, found.peak_col), (16, 32));
/// // Echoes and both references in, the image out.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a placement on stages or PEs that are not there;
/// [`Error::Runtime`](crate::Error::Runtime).
pub fn run(rt: &Runtime, echoes: &Echoes, config: &Config) -> Result<Outcome<Image>> {
    config.placement.check(stages(config.style))?;
    let mut outcome = match config.style {
        Style::Paper => measure(rt, config.repeat, &paper::Sar::new(rt, echoes, config)?),
        Style::Best => measure(rt, config.repeat, &best::Sar::new(rt, echoes, config)?),
    }?;
    let error = |(found, known): (&f32, &f32)| f64::from((found - known).abs());
    outcome.max_error = echoes.image().map(|known| largest(outcome.result.magnitudes().iter().zip(known).map(error)));
    Ok(outcome)
}

/// A reference in the precision of the calls.
fn narrow(reference: Vec<Complex64>) -> Vec<Complex32> {
    reference.into_iter().map(|x| Complex32::new(x.re as f32, x.im as f32)).collect()
}
