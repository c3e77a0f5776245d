//! Radar correlator: how late is a known signal in what was received?
//!
//! Both are padded with as many zeros, so that nothing wraps round; the inverse transform of one spectrum times the
//! other's conjugate is their correlation for every lag, and the lag at which it is largest is the answer.
//! [`oracle::correlation`](crate::oracle::correlation) has the same in formulas.
//!
//! | stage | call | styles |
//! | --- | --- | --- |
//! | `pad` | zeros behind the signals | best |
//! | `fft-received` | the spectrum of what was received | both |
//! | `fft-reference` | the reference's spectrum | both |
//! | `zip` | one times the other's conjugate | both |
//! | `ifft` | the correlation | both |
//! | `magnitude` | of every lag | best |
//! | `arg-max` | the largest | best |
//!
//! What paper style has no stage for is done by host code.

mod best;
mod paper;

use rimms::Runtime;

pub use super::Config;
use super::measure::measure;
use super::{Outcome, Style};
use crate::Result;
use crate::reception::Reception;

/// The stages' names in a style.
///
/// ```
/// use rimms_radar::apps::{Style, radar_correlator};
/// assert!(radar_correlator::stages(Style::Best).contains(&"arg-max"));
/// ```
#[must_use]
pub const fn stages(style: Style) -> &'static [&'static str] {
    match style {
        Style::Paper => paper::STAGES,
        Style::Best => best::STAGES,
    }
}

/// Where the correlation is largest.
///
/// The field names are the keys of the command's JSON.
///
/// ```
/// use rimms_radar::apps::radar_correlator::Lag;
///
/// // Of 2 · 64 lags, those from 64 on are negative: the reference comes before what was received begins.
/// assert_eq!(Lag::at(20, 1.0, 64, 1e3).lag_s, 0.02);
/// assert_eq!(Lag::at(127, 1.0, 64, 1e3).lag_samples, -1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Lag {
    /// By how many samples the reference is late.
    pub lag_samples: i64,
    /// The same in seconds.
    pub lag_s: f64,
    /// The magnitude of the correlation there.
    pub magnitude: f64,
}

impl Lag {
    /// The lag that element `index` of a correlation of `samples` samples, padded to twice as many, stands for.
    #[must_use]
    pub fn at(index: usize, magnitude: f64, samples: usize, rate_hz: f64) -> Self {
        let index = index as i64;
        let lag_samples = if index < samples as i64 { index } else { index - 2 * samples as i64 };
        Self { lag_samples, lag_s: lag_samples as f64 / rate_hz, magnitude }
    }
}

/// Runs the radar correlator.
///
/// Where the lag is known, the outcome's `max_error` is the distance from it, in samples.
///
/// ```
/// use rimms::{Runtime, device::sim::Sim};
/// use rimms_radar::apps::{Style, radar_correlator::{self, Config}};
/// use rimms_radar::reception::Echo;
///
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let reception = Echo::new(256)?.with_lag(100)?.reception()?;
/// let config = Config { style: Style::Best, ..Config::default() };
/// let outcome = radar_correlator::run(&rt, &reception, &config)?;
/// assert_eq!((outcome.result.lag_samples, outcome.result.lag_s), (100, 1e-4));
/// // Two signals in, the peak out.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a placement on stages or PEs that are not there;
/// [`Error::Runtime`](crate::Error::Runtime).
pub fn run(rt: &Runtime, reception: &Reception, config: &Config) -> Result<Outcome<Lag>> {
    config.placement.check(stages(config.style))?;
    let mut outcome = match config.style {
        Style::Paper => measure(rt, config.repeat, &paper::RadarCorrelator::new(rt, reception, config)?),
        Style::Best => measure(rt, config.repeat, &best::RadarCorrelator::new(rt, reception, config)?),
    }?;
    outcome.max_error = reception.lag().map(|lag| outcome.result.lag_samples.abs_diff(lag as i64) as f64);
    Ok(outcome)
}
