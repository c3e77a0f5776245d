//! Echoes of point scatterers, made so that their image is known in closed form.
//!
//! The processor takes a row through FFT, fftshift, the product with FFT(g), IFFT: with h = N div 2, that is the
//! circular convolution of row·exp(2πi·hn/N) with g. A scatterer's row is therefore conj(g(p − n))·exp(−2πi·hn/N) for
//! column p, and comes out as the autocorrelation of g around p, largest there. Along a column it takes FFT, fftshift,
//! the product with H, IFFT, fftshift. A scatterer's column is what has conj(H(k))·exp(−2πi·k(q − h)/M) as its shifted
//! spectrum, for row q, and comes out as a sum of M-th roots of unity over those k for which H is not zero, largest at
//! q. Both are scaled so that a scatterer alone has its amplitude as its magnitude.

use std::f64::consts::{SQRT_2, TAU};
use std::fmt;

use num_complex::{Complex32, Complex64};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rimms_fft::plan_f64;

use super::{Brightest, Echoes, azimuth_reference, check_shape, range_reference};
use crate::reserve::reserve;
use crate::{Error, Result, Shape};

/// A point that sends chirps back.
///
/// ```
/// use rimms_radar::sar::Scatterer;
/// assert_eq!(Scatterer { row: 127, col: 306, amplitude: 1.0 }.to_string(), "127:306:1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatterer {
    /// The row of the image that it is in, from 0.
    pub row: usize,
    /// The column.
    pub col: usize,
    /// Its magnitude in the image.
    pub amplitude: f64,
}

impl fmt::Display for Scatterer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.row, self.col, self.amplitude)
    }
}

/// What synthetic echoes are made from. The same scene always gives the same samples.
///
/// ```
/// use rimms_radar::{Shape, oracle, sar::{Scatterer, Scene}};
///
/// let shape = Shape::new(32, 48)?;
/// let scene = Scene::new(shape)?.with_scatterers(vec![Scatterer { row: 5, col: 40, amplitude: 2.0 }])?;
/// let image = oracle::sar_image(&scene.echoes()?)?;
/// assert!((image[5 * 48 + 40] - 2.0).abs() < 1e-5);
/// assert_eq!(scene.brightest()?.peak_col, 40);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    shape: Shape,
    scatterers: Vec<Scatterer>,
    noise: f64,
    seed: u64,
}

impl Scene {
    /// Three scatterers, the brightest in the middle, and no noise.
    ///
    /// # Errors
    /// [`Error::Argument`] for fewer than 2 rows or columns.
    pub fn new(shape: Shape) -> Result<Self> {
        check_shape(shape)?;
        let at = |row: usize, col: usize, amplitude| Scatterer {
            row: row * shape.rows() / 8,
            col: col * shape.cols() / 8,
            amplitude,
        };
        let scatterers = vec![at(4, 4, 1.0), at(2, 6, 0.5), at(6, 1, 0.25)];
        Ok(Self { shape, scatterers, noise: 0.0, seed: 1 })
    }

    /// With these scatterers instead.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none, one lies outside the image, or an amplitude is not positive.
    pub fn with_scatterers(self, scatterers: Vec<Scatterer>) -> Result<Self> {
        if scatterers.is_empty() {
            return Err(Error::argument("scatterers", "", "at least one wanted"));
        }
        for scatterer in &scatterers {
            if !(scatterer.amplitude.is_finite() && scatterer.amplitude > 0.0) {
                return Err(Error::argument("scatterer", scatterer, "a finite amplitude above 0 wanted"));
            }
            if scatterer.row >= self.shape.rows() || scatterer.col >= self.shape.cols() {
                return Err(Error::argument("scatterer", scatterer, format!("a cell of {} wanted", self.shape)));
            }
        }
        Ok(Self { scatterers, ..self })
    }

    /// With complex Gaussian noise of this root mean square in each sample of the echoes. The known image is that
    /// without noise.
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

    /// Where the image without noise is brightest.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no room for it.
    pub fn brightest(&self) -> Result<Brightest> {
        Ok(Brightest::of(self.shape, &self.image()?))
    }

    /// The echoes, with the image that they should give.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Argument`] if amplitudes or noise are too strong for single precision.
    pub fn echoes(&self) -> Result<Echoes> {
        let mut samples = reserve(self.shape.len(), "the samples of a scene")?;
        let (range, azimuth) = (Range::of(self.shape.cols()), Azimuth::of(self.shape.rows()));
        let parts: Vec<_> =
            self.scatterers.iter().map(|s| (azimuth.echo(s.row, s.amplitude), range.echo(s.col))).collect();
        let mut noise = ChaCha8Rng::seed_from_u64(self.seed);
        let mut gaussian = || -> f64 { StandardNormal.sample(&mut noise) };
        let deviation = self.noise / SQRT_2;
        for row in 0..self.shape.rows() {
            for col in 0..self.shape.cols() {
                let echo: Complex64 = parts.iter().map(|(along, across)| along[row] * across[col]).sum();
                let sample = echo + Complex64::new(gaussian(), gaussian()) * deviation;
                samples.push(Complex32::new(sample.re as f32, sample.im as f32));
            }
        }
        Echoes::new(self.shape, samples)?.with_image(self.image()?)
    }

    /// The image without noise.
    fn image(&self) -> Result<Vec<f32>> {
        let (rows, cols) = (self.shape.rows(), self.shape.cols());
        let mut image = reserve(self.shape.len(), "the image of a scene")?;
        let (across, along) = (Range::of(cols).focused(), Azimuth::of(rows).focused());
        for row in 0..rows {
            for col in 0..cols {
                let parts = self
                    .scatterers
                    .iter()
                    .map(|s| along[(row + rows - s.row) % rows] * across[(col + cols - s.col) % cols] * s.amplitude);
                image.push(parts.sum::<Complex64>().norm() as f32);
            }
        }
        Ok(image)
    }
}

/// Along a row.
struct Range {
    reference: Vec<Complex64>,
    energy: f64,
}

impl Range {
    fn of(cols: usize) -> Self {
        let reference = range_reference(cols);
        let energy = reference.iter().map(Complex64::norm_sqr).sum();
        Self { reference, energy }
    }

    /// What comes back of a scatterer in column `at`.
    fn echo(&self, at: usize) -> Vec<Complex64> {
        let len = self.reference.len();
        let half = len / 2;
        let sample = |n: usize| self.reference[(at + len - n) % len].conj() * root(len, half * n).conj() / self.energy;
        (0..len).map(sample).collect()
    }

    /// What becomes of it, around its column: the autocorrelation of g, by the theorem of Wiener and Khinchin.
    fn focused(&self) -> Vec<Complex64> {
        let mut spectrum = self.reference.clone();
        plan_f64(spectrum.len(), false).process(&mut spectrum);
        let scale = self.energy * spectrum.len() as f64;
        sum_of_roots(spectrum.iter().map(|x| Complex64::from(x.norm_sqr() / scale)).collect())
    }
}

/// Along a column.
struct Azimuth {
    reference: Vec<Complex64>,
    energy: f64,
}

impl Azimuth {
    fn of(rows: usize) -> Self {
        let reference = azimuth_reference(rows);
        let energy = reference.iter().map(Complex64::norm_sqr).sum();
        Self { reference, energy }
    }

    /// What comes back of a scatterer in row `at`.
    fn echo(&self, at: usize, amplitude: f64) -> Vec<Complex64> {
        let len = self.reference.len();
        let half = len / 2;
        let mut spectrum = vec![Complex64::ZERO; len];
        for (k, h) in self.reference.iter().enumerate() {
            // Shifted, it has this at k.
            let turned = root(len, k * ((at + len - half) % len)).conj();
            spectrum[(k + len - half) % len] = h.conj() * turned * amplitude / self.energy;
        }
        sum_of_roots(spectrum)
    }

    /// What becomes of it, around its row.
    fn focused(&self) -> Vec<Complex64> {
        sum_of_roots(self.reference.iter().map(|h| Complex64::from(h.norm_sqr() / self.energy)).collect())
    }
}

/// Σ x(k)·exp(2πi·kn/N), for all n.
fn sum_of_roots(mut x: Vec<Complex64>) -> Vec<Complex64> {
    plan_f64(x.len(), true).process(&mut x);
    x
}

/// exp(2πi·turns/len)
fn root(len: usize, turns: usize) -> Complex64 {
    Complex64::cis(TAU * (turns % len) as f64 / len as f64)
}
