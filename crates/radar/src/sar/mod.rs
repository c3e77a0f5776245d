//! What synthetic-aperture radar works on: echoes, the references they are focused with, and known images.
//!
//! The radar flies along a line and sends chirps; row s of the echoes is what came back at place s of its way (slow
//! time), column n what came n samples late (fast time). [`references`] has the two signals that focus them, with the
//! constants of the recording that users know; [`Scene`] makes echoes whose image is known in closed form.
//!
//! Invariant of [`Echoes`]: rows × columns finite samples, at least 2 × 2, and an image of as many finite magnitudes
//! where one is known.

mod references;
mod scene;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use num_complex::Complex32;

pub use references::{azimuth_reference, cell_m, range_reference};
pub use scene::{Scatterer, Scene};

use crate::{Error, Result, Shape};

/// 256 places of 512 samples: what is meant where no shape is given.
#[must_use]
pub fn standard_shape() -> Shape {
    match Shape::new(256, 512) {
        Ok(shape) => shape,
        Err(_) => unreachable!("the standard shape is valid"),
    }
}

/// Echoes, and the image that they should give where it is known.
///
/// ```
/// use num_complex::Complex32;
/// use rimms_radar::{Shape, sar::Echoes};
///
/// let shape = Shape::new(2, 3)?;
/// let echoes = Echoes::new(shape, vec![Complex32::ONE; 6])?;
/// assert!(echoes.image().is_none());
/// assert!(Echoes::new(shape, vec![Complex32::ONE; 5]).is_err());
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Echoes {
    shape: Shape,
    samples: Vec<Complex32>,
    image: Option<Vec<f32>>,
    path: Option<PathBuf>,
}

impl Echoes {
    /// Echoes from memory, row after row.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are fewer than 2 rows or columns, the number of samples is not that of the shape,
    /// or one of them is not finite.
    pub fn new(shape: Shape, samples: Vec<Complex32>) -> Result<Self> {
        check_shape(shape)?;
        if samples.len() != shape.len() {
            let given = format!("{} samples", samples.len());
            return Err(Error::argument("echoes", given, format!("{} wanted for {shape}", shape.len())));
        }
        if let Some(sample) = samples.iter().find(|s| !(s.re.is_finite() && s.im.is_finite())) {
            return Err(Error::argument("echoes", sample, "finite samples wanted"));
        }
        Ok(Self { shape, samples, image: None, path: None })
    }

    /// With the image that they should give: magnitudes, row after row.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are not as many as samples, or one is not finite.
    pub fn with_image(self, image: Vec<f32>) -> Result<Self> {
        if image.len() != self.shape.len() || image.iter().any(|x| !x.is_finite()) {
            let given = format!("{} magnitudes", image.len());
            return Err(Error::argument("image", given, format!("{} finite ones wanted", self.shape.len())));
        }
        Ok(Self { image: Some(image), ..self })
    }

    pub(crate) fn with_path(self, path: PathBuf) -> Self {
        Self { path: Some(path), ..self }
    }

    /// Places × samples.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// All samples, row after row.
    #[must_use]
    pub fn samples(&self) -> &[Complex32] {
        &self.samples
    }

    /// The image that they should give, if it is known.
    #[must_use]
    pub fn image(&self) -> Option<&[f32]> {
        self.image.as_deref()
    }

    /// The file they were read from; `None` for echoes made in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// The axes' formulas divide by one less.
pub(crate) fn check_shape(shape: Shape) -> Result<()> {
    if shape.rows() < 2 || shape.cols() < 2 {
        return Err(Error::argument("shape", shape, "an image needs at least 2 rows and 2 columns"));
    }
    Ok(())
}

/// Where an image is brightest.
///
/// The field names are the keys of the command's JSON.
///
/// ```
/// use rimms_radar::{Shape, sar::Brightest};
///
/// let found = Brightest::of(Shape::new(2, 3)?, &[0.0, 0.1, 0.0, 0.3, 0.0, 0.3]);
/// assert_eq!(found, Brightest { peak: f64::from(0.3_f32), peak_row: 1, peak_col: 0 });
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Brightest {
    /// The magnitude there.
    pub peak: f64,
    /// Row, from 0: place along the way.
    pub peak_row: usize,
    /// Column, from 0: distance.
    pub peak_col: usize,
}

impl Brightest {
    /// The largest magnitude of an image of `shape`; of equal ones the first, row after row.
    #[must_use]
    pub fn of(shape: Shape, magnitudes: &[f32]) -> Self {
        let (mut at, mut peak) = (0, f64::NEG_INFINITY);
        for (i, magnitude) in magnitudes.iter().map(|x| f64::from(*x)).enumerate() {
            if magnitude > peak {
                (at, peak) = (i, magnitude);
            }
        }
        Self { peak, peak_row: at / shape.cols(), peak_col: at % shape.cols() }
    }
}
