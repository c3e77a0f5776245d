//! Synthetic scenes: a chirp sent M times, echoes from targets, noise, and the answer that
//! pulse Doppler should give, known from how the scene was made.
//!
//! The pulse takes the first quarter of the N samples: s(n) = exp(iπβ(n − c)²/L), L = max(1, N/4),
//! c = (L − 1)/2, β = 0.8 (it sweeps 0.8 of the sampled band). Sample n of pulse m is
//! Σ a·s(n − d)·exp(2πi·k·m/M) + noise over the targets, where d is the delay in samples and k the
//! Doppler shift in cells from the middle row. Both may be fractions: the chirp is evaluated where
//! the fraction falls, so that a target between cells is really between them.
//!
//! Invariant of [`Scene`]: every target's whole echo is inside the N samples that are received and
//! its nearest row is inside the map, so that the truth is a cell of the map.

mod target;
#[cfg(test)]
mod tests;

use std::f64::consts::{PI, SQRT_2, TAU};
use std::fs;
use std::path::Path;

use num_complex::{Complex32, Complex64};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub use target::{Target, targets};

use crate::geometry::STANDARD_PRI_S;
use crate::input::{NPY_PULSES, NPY_REFERENCE, TRUTH};
use crate::reserve::reserve;
use crate::{Detection, Error, Geometry, Recording, Result, Shape, Truth, npy};

/// How much of the sampled band the chirp sweeps.
const SWEEP: f64 = 0.8;

/// What a synthetic recording is made from. The same scene always gives the same samples: noise
/// comes from ChaCha8, whose stream for a seed is the same on every machine.
///
/// ```
/// use rimms_radar::{Geometry, Shape, oracle, scene::{Scene, targets}};
///
/// let geometry = Geometry::new(Shape::new(32, 48)?, 1e-4)?;
/// let scene = Scene::new(geometry)
///     .with_targets(targets("2.1e-5:900:1,5e-6:-2000:0.2")?)?
///     .with_noise(0.2)?
///     .with_seed(7);
/// let (found, truth) = (oracle::range_doppler(&scene.recording()?)?.peak(), scene.truth());
/// assert_eq!(found.doppler_hz, truth.detection.doppler_hz);
/// assert_eq!(found.delay_s, truth.detection.delay_s);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    geometry: Geometry,
    targets: Vec<Target>,
    noise: f64,
    seed: u64,
}

impl Default for Scene {
    /// The standard scene: 128 pulses of 64 samples, 1.27e-4 s apart.
    fn default() -> Scene {
        match Geometry::new(Shape::STANDARD, STANDARD_PRI_S) {
            Ok(geometry) => Scene::new(geometry),
            Err(_) => unreachable!("the standard geometry is valid"),
        }
    }
}

impl Scene {
    /// A scene with one target of amplitude 1 in the middle of a cell (three quarters up the rows,
    /// half-way along the delays), noise of 0.1 and seed 1.
    #[must_use]
    pub fn new(geometry: Geometry) -> Scene {
        let shape = geometry.shape();
        let row = 3 * shape.rows() / 4;
        let col = shape.cols() - 1 + (shape.cols() - pulse_len(geometry)) / 2;
        let Detection { doppler_hz, delay_s, .. } = geometry.detection(row, col, 0.0);
        let targets = vec![Target { delay_s, doppler_hz, amplitude: 1.0 }];
        Scene { geometry, targets, noise: 0.1, seed: 1 }
    }

    /// The scene with these targets instead.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none, an amplitude is not positive, an echo is not
    /// received whole, or a Doppler shift lies outside the map; it says what would fit.
    pub fn with_targets(self, targets: Vec<Target>) -> Result<Scene> {
        if targets.is_empty() {
            return Err(Error::argument("targets", "", "at least one wanted"));
        }
        for target in &targets {
            check(self.geometry, target)?;
        }
        Ok(Scene { targets, ..self })
    }

    /// The scene with complex Gaussian noise of this root mean square; 0 for none.
    ///
    /// # Errors
    /// [`Error::Argument`] if it is negative or not finite.
    pub fn with_noise(self, noise: f64) -> Result<Scene> {
        if !(noise.is_finite() && noise >= 0.0) {
            return Err(Error::argument("noise", noise, "a finite number of at least 0 wanted"));
        }
        Ok(Scene { noise, ..self })
    }

    /// The scene with other noise of the same strength.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Scene {
        Scene { seed, ..self }
    }

    /// Shape and pulse-repetition interval.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The cell nearest to the strongest target, with the magnitude that this target alone has
    /// there. Of equally strong targets the first. Strong noise, or targets in neighbouring cells,
    /// can make another cell of the map larger; a target half-way between cells can fall to either.
    #[must_use]
    pub fn truth(&self) -> Truth {
        let mut strongest = self.geometry.detection(0, 0, f64::NEG_INFINITY);
        for target in &self.targets {
            let expected = self.expected(target);
            if expected.magnitude > strongest.magnitude {
                strongest = expected;
            }
        }
        Truth {
            detection: strongest,
            shape: self.geometry.shape(),
            pri_s: self.geometry.pri_s(),
            targets: self.targets.clone(),
            noise: self.noise,
            seed: self.seed,
        }
    }

    /// The samples, with the truth.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Argument`] if targets or noise are too strong for single
    /// precision.
    pub fn recording(&self) -> Result<Recording> {
        let shape = self.geometry.shape();
        let echoes: Vec<Echo> = self.targets.iter().map(|t| Echo::of(self.geometry, t)).collect();
        let mut noise = ChaCha8Rng::seed_from_u64(self.seed);
        let mut gaussian = || -> f64 { StandardNormal.sample(&mut noise) };
        let deviation = self.noise / SQRT_2;

        let mut pulses = reserve(shape.len(), "the samples of a scene")?;
        for row in 0..shape.rows() {
            for col in 0..shape.cols() {
                let mut sample: Complex64 = echoes.iter().map(|echo| echo.sample(self.geometry, row, col)).sum();
                sample += Complex64::new(gaussian(), gaussian()) * deviation;
                let sample = Complex32::new(sample.re as f32, sample.im as f32);
                if !(sample.re.is_finite() && sample.im.is_finite()) {
                    let given = format!("noise {}, amplitudes as given", self.noise);
                    return Err(Error::argument("scene", given, "too strong for single precision"));
                }
                pulses.push(sample);
            }
        }
        let reference = (0..shape.cols())
            .map(|n| chirp(n as f64, pulse_len(self.geometry)))
            .map(|sample| Complex32::new(sample.re as f32, sample.im as f32))
            .collect();
        Ok(Recording::new(self.geometry, pulses, reference)?.with_truth(self.truth()))
    }

    /// Writes `pulses.npy`, `pulse.npy` and `truth.json` into `folder`, which is made if it is not
    /// there; [`input::open`](crate::input::open) reads them. Files of these names are replaced.
    ///
    /// # Errors
    /// As [`recording`](Self::recording), and [`Error::Io`].
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let recording = self.recording()?;
        let shape = self.geometry.shape();
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        npy::write(folder.join(NPY_PULSES), &[shape.rows(), shape.cols()], recording.pulses())?;
        npy::write(folder.join(NPY_REFERENCE), &[shape.cols()], recording.reference())?;
        let path = folder.join(TRUTH);
        let mut text = serde_json::to_string_pretty(&self.truth())
            .map_err(|error| Error::Truth { path: path.clone(), problem: error.to_string() })?;
        text.push('\n');
        fs::write(&path, text).map_err(Error::io(&path))
    }

    /// The cell nearest to a target, and its magnitude there by summing the definition.
    fn expected(&self, target: &Target) -> Detection {
        let geometry = self.geometry;
        let shape = geometry.shape();
        let (row, col) = nearest_cell(geometry, target);
        let echo = Echo::of(geometry, target);
        let lag = col + 1 - shape.cols();
        let along_range: Complex64 = (0..pulse_len(geometry))
            .map(|n| {
                let sent = chirp(n as f64, pulse_len(geometry));
                chirp((n + lag) as f64 - echo.delay, pulse_len(geometry)) * sent.conj()
            })
            .sum();
        let off_middle = row as f64 - (shape.rows() / 2) as f64 - echo.shift;
        let along_pulses: Complex64 =
            (0..shape.rows()).map(|m| Complex64::cis(-TAU * off_middle * m as f64 / shape.rows() as f64)).sum();
        let magnitude = target.amplitude * along_range.norm() * along_pulses.norm();
        geometry.detection(row, col, magnitude)
    }
}

/// A target in units of samples and cells.
struct Echo {
    /// Delay in samples.
    delay: f64,
    /// Doppler shift in cells from the middle row: turns per M pulses.
    shift: f64,
    amplitude: f64,
}

impl Echo {
    fn of(geometry: Geometry, target: &Target) -> Echo {
        let shape = geometry.shape();
        Echo {
            delay: geometry.col_of(target.delay_s) - (shape.cols() - 1) as f64,
            shift: geometry.row_of(target.doppler_hz) - (shape.rows() / 2) as f64,
            amplitude: target.amplitude,
        }
    }

    fn sample(&self, geometry: Geometry, row: usize, col: usize) -> Complex64 {
        let turns = self.shift * row as f64 / geometry.shape().rows() as f64;
        chirp(col as f64 - self.delay, pulse_len(geometry)) * Complex64::from_polar(self.amplitude, TAU * turns)
    }
}

/// How many of the N samples the pulse takes.
fn pulse_len(geometry: Geometry) -> usize {
    (geometry.shape().cols() / 4).max(1)
}

/// The pulse at a time in samples; nothing before −1/2 and after L − 1/2, so that of each echo,
/// wherever its fraction falls, exactly L samples are received.
fn chirp(time: f64, len: usize) -> Complex64 {
    let len = len as f64;
    if !(-0.5..len - 0.5).contains(&time) {
        return Complex64::ZERO;
    }
    let from_centre = time - (len - 1.0) / 2.0;
    Complex64::cis(PI * SWEEP * from_centre * from_centre / len)
}

fn nearest_cell(geometry: Geometry, target: &Target) -> (usize, usize) {
    // Negative numbers, which `check` keeps out, would become 0.
    let nearest = |cell: f64| cell.round() as usize;
    (nearest(geometry.row_of(target.doppler_hz)), nearest(geometry.col_of(target.delay_s)))
}

fn check(geometry: Geometry, target: &Target) -> Result<()> {
    let shape = geometry.shape();
    let refuse = |problem: String| Err(Error::argument("target", target, problem));
    if !(target.amplitude.is_finite() && target.amplitude > 0.0) {
        return refuse("a finite amplitude above 0 wanted".to_owned());
    }
    let last_row = shape.rows() - 1;
    let row = geometry.row_of(target.doppler_hz).round();
    if !(0.0..=last_row as f64).contains(&row) {
        return refuse(format!(
            "a Doppler shift from {:.6} to {:.6} Hz wanted",
            geometry.doppler_hz(0),
            geometry.doppler_hz(last_row)
        ));
    }
    let first_col = shape.cols() - 1;
    let last_col = first_col + shape.cols() - pulse_len(geometry);
    let col = geometry.col_of(target.delay_s).round();
    if !(first_col as f64..=last_col as f64).contains(&col) {
        return refuse(format!(
            "a delay from 0 to {:e} s wanted, so that the whole echo is received",
            geometry.delay_s(last_col)
        ));
    }
    Ok(())
}
