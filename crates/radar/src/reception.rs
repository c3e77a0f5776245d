//! What the radar correlator works on: what was sent, what was received, and how late it is where that is known.
//!
//! Invariant of [`Reception`]: as many samples received as there are of the reference, at least one, all finite; the
//! interval between samples is a positive number of seconds.
//!
//! A synthetic one ([`Echo`]) sends a chirp of half the samples, so that every echo up to half the samples late is
//! received whole, and receives it once, late by a known number of samples, in noise.

use std::f64::consts::{PI, SQRT_2};

use num_complex::{Complex32, Complex64};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::reserve::reserve;
use crate::{Error, Result};

/// How many samples there are where nothing else is said.
pub const STANDARD_SAMPLES: usize = 256;

/// Samples a second where nothing else is said.
pub const STANDARD_RATE_HZ: f64 = 1e6;

/// How much of the sampled band the chirp sweeps.
const SWEEP: f64 = 0.8;

/// Samples that were received, and the signal to be looked for in them.
///
/// ```
/// use num_complex::Complex32;
/// use rimms_radar::reception::Reception;
///
/// let one = vec![Complex32::ONE; 4];
/// assert!(Reception::new(one.clone(), one.clone(), 1e6).is_ok());
/// assert!(Reception::new(one.clone(), vec![], 1e6).unwrap_err().is_argument());
/// assert!(Reception::new(one.clone(), one, 0.0).unwrap_err().is_argument());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reception {
    received: Vec<Complex32>,
    reference: Vec<Complex32>,
    rate_hz: f64,
    lag: Option<usize>,
}

impl Reception {
    /// Samples at `rate_hz` a second, as many received as there are of the reference.
    ///
    /// # Errors
    /// [`Error::Argument`] if the numbers of samples differ or are 0, a sample is not finite, or the rate is not a
    /// positive number.
    pub fn new(received: Vec<Complex32>, reference: Vec<Complex32>, rate_hz: f64) -> Result<Self> {
        if received.is_empty() || received.len() != reference.len() {
            let given = format!("{} samples", reference.len());
            let wanted = format!("as many wanted as were received, {}, and at least 1", received.len());
            return Err(Error::argument("reference", given, wanted));
        }
        for (name, samples) in [("received", &received), ("reference", &reference)] {
            if let Some(sample) = samples.iter().find(|s| !(s.re.is_finite() && s.im.is_finite())) {
                return Err(Error::argument(name, sample, "finite samples wanted"));
            }
        }
        // The largest lag has to be a number of seconds, too.
        if !(rate_hz > 0.0 && rate_hz.is_finite() && (received.len() as f64 / rate_hz).is_finite()) {
            return Err(Error::argument("rate", rate_hz, "a positive number of samples a second wanted"));
        }
        Ok(Self { received, reference, rate_hz, lag: None })
    }

    /// What was received.
    #[must_use]
    pub fn received(&self) -> &[Complex32] {
        &self.received
    }

    /// What is looked for.
    #[must_use]
    pub fn reference(&self) -> &[Complex32] {
        &self.reference
    }

    /// Samples a second.
    #[must_use]
    pub fn rate_hz(&self) -> f64 {
        self.rate_hz
    }

    /// How many samples late the reference is in what was received, if that is known.
    #[must_use]
    pub fn lag(&self) -> Option<usize> {
        self.lag
    }
}

/// A synthetic reception. The same one always gives the same samples, on every machine.
///
/// ```
/// use rimms_radar::reception::Echo;
///
/// let reception = Echo::new(64)?.with_lag(20)?.with_noise(0.0)?.reception()?;
/// assert_eq!(reception.lag(), Some(20));
/// assert_eq!(reception.received()[20..52], reception.reference()[..32]);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Echo {
    samples: usize,
    rate_hz: f64,
    lag: usize,
    noise: f64,
    seed: u64,
}

impl Echo {
    /// Of so many samples, a third of a chirp's length late, with noise of 0.1 and seed 1.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0 samples.
    pub fn new(samples: usize) -> Result<Self> {
        if samples == 0 {
            return Err(Error::argument("samples", samples, "at least 1 wanted"));
        }
        Ok(Self { samples, rate_hz: STANDARD_RATE_HZ, lag: samples / 6, noise: 0.1, seed: 1 })
    }

    /// With another delay, in samples.
    ///
    /// # Errors
    /// [`Error::Argument`] if the echo would not be received whole.
    pub fn with_lag(self, lag: usize) -> Result<Self> {
        let largest = self.samples - chirp_len(self.samples);
        if lag > largest {
            return Err(Error::argument(
                "lag",
                lag,
                format!("at most {largest} samples wanted, so that all is received"),
            ));
        }
        Ok(Self { lag, ..self })
    }

    /// With complex Gaussian noise of this root mean square; the chirp's is 1.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is negative or not finite.
    pub fn with_noise(self, noise: f64) -> Result<Self> {
        if !(noise.is_finite() && noise >= 0.0) {
            return Err(Error::argument("noise", noise, "a finite number of at least 0 wanted"));
        }
        Ok(Self { noise, ..self })
    }

    /// With other noise of the same strength.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// With another number of samples a second; it is looked at when the samples are made.
    #[must_use]
    pub fn with_rate(self, rate_hz: f64) -> Self {
        Self { rate_hz, ..self }
    }

    /// The samples, with the truth.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Argument`] if the noise is too strong for single precision, or the rate is none.
    pub fn reception(&self) -> Result<Reception> {
        let len = chirp_len(self.samples);
        let chirp = |n: usize| {
            let from_centre = n as f64 - (len - 1) as f64 / 2.0;
            Complex64::cis(PI * SWEEP * from_centre * from_centre / len as f64)
        };
        let at = |n: usize| if n < len { chirp(n) } else { Complex64::ZERO };
        let mut noise = ChaCha8Rng::seed_from_u64(self.seed);
        let mut gaussian = || -> f64 { StandardNormal.sample(&mut noise) };
        let deviation = self.noise / SQRT_2;
        let narrow = |x: Complex64| Complex32::new(x.re as f32, x.im as f32);

        let mut received = reserve(self.samples, "the samples")?;
        received.extend((0..self.samples).map(|n| {
            let echo = n.checked_sub(self.lag).map_or(Complex64::ZERO, at);
            narrow(echo + Complex64::new(gaussian(), gaussian()) * deviation)
        }));
        let mut reference = reserve(self.samples, "the samples")?;
        reference.extend((0..self.samples).map(|n| narrow(at(n))));
        Ok(Reception { lag: Some(self.lag), ..Reception::new(received, reference, self.rate_hz)? })
    }
}

/// The chirp takes half of the samples.
fn chirp_len(samples: usize) -> usize {
    samples.div_ceil(2)
}
