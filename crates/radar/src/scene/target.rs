//! Targets of a scene, as they are written on a command line: `delay:doppler:amplitude`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Something that sends the pulse back.
///
/// ```
/// use rimms_radar::scene::{Target, targets};
///
/// let target: Target = "3.83e-5:62:0.5".parse()?;
/// assert_eq!((target.delay_s, target.doppler_hz, target.amplitude), (3.83e-5, 62.0, 0.5));
/// assert_eq!(targets("0:0:1,1e-5:-3e3:0.1")?.len(), 2);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Delay of the echo in seconds, as pulse Doppler reports it.
    pub delay_s: f64,
    /// Doppler shift in Hz, as pulse Doppler reports it (see [`geometry`](crate::geometry)).
    pub doppler_hz: f64,
    /// Amplitude of the echo; the pulse's is 1.
    pub amplitude: f64,
}

/// Reads a list of targets, `delay:doppler:amplitude[,…]`.
///
/// # Errors
/// [`Error::Argument`] naming the target that cannot be read.
pub fn targets(list: &str) -> Result<Vec<Target>> {
    list.split(',').map(str::parse).collect()
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.delay_s, self.doppler_hz, self.amplitude)
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Target> {
        let refuse = |problem: &str| Error::argument("target", text, problem);
        let parts: Vec<&str> = text.split(':').collect();
        let [delay, doppler, amplitude] = parts[..] else {
            return Err(refuse("delay:doppler:amplitude wanted, in seconds and Hz"));
        };
        let number = |part: &str, name: &str| {
            part.trim()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
                .ok_or_else(|| refuse(&format!("its {name} `{part}` is not a finite number")))
        };
        Ok(Target {
            delay_s: number(delay, "delay")?,
            doppler_hz: number(doppler, "Doppler shift")?,
            amplitude: number(amplitude, "amplitude")?,
        })
    }
}
