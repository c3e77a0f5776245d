//! Pictures that applications make: magnitudes by row and column.
//!
//! Invariant of [`Image`]: as many magnitudes as its shape has cells.

use crate::{Error, Result, Shape};

/// Magnitudes, row after row: the image of SAR, or the range–Doppler map.
///
/// ```
/// use rimms_radar::{Image, Shape};
///
/// let image = Image::new(Shape::new(2, 3)?, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
/// assert_eq!(image.rows().nth(1), Some(&[3.0, 4.0, 5.0][..]));
/// assert!(Image::new(image.shape(), vec![0.0; 5]).is_err());
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    shape: Shape,
    magnitudes: Vec<f32>,
}

impl Image {
    /// An image of these magnitudes.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are not as many as the shape has cells.
    pub fn new(shape: Shape, magnitudes: Vec<f32>) -> Result<Self> {
        if magnitudes.len() != shape.len() {
            let given = format!("{} magnitudes", magnitudes.len());
            return Err(Error::argument("image", given, format!("{} wanted for {shape}", shape.len())));
        }
        Ok(Self { shape, magnitudes })
    }

    /// Rows × columns.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// All magnitudes, row after row.
    #[must_use]
    pub fn magnitudes(&self) -> &[f32] {
        &self.magnitudes
    }

    /// The rows, from the first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> + DoubleEndedIterator {
        self.magnitudes.chunks_exact(self.shape.cols())
    }
}
