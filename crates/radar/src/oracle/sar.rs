//! The image of SAR: range and azimuth compression as [`apps::sar`](crate::apps::sar) describes them, row after row and
//! column after column.

use num_complex::Complex64;
use rimms_fft::plan_f64;

use crate::Result;
use crate::reserve::reserve;
use crate::sar::{Echoes, azimuth_reference, range_reference};

/// The image of echoes: magnitudes, row after row. Takes rows × columns complex numbers of 16 bytes beside it.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) if there is no room for the image.
pub fn sar_image(echoes: &Echoes) -> Result<Vec<f64>> {
    let (rows, cols) = (echoes.shape().rows(), echoes.shape().cols());
    let mut g = range_reference(cols);
    plan_f64(cols, false).process(&mut g);

    let mut compressed = reserve(rows * cols, "the image")?;
    for line in echoes.samples().chunks(cols) {
        let mut line: Vec<Complex64> = line.iter().map(|x| Complex64::new(x.re.into(), x.im.into())).collect();
        filter(&mut line, &g);
        compressed.extend(line);
    }

    let h = azimuth_reference(rows);
    let mut image = reserve(rows * cols, "the image")?;
    image.resize(rows * cols, 0.0);
    for col in 0..cols {
        let mut column: Vec<Complex64> = (0..rows).map(|row| compressed[row * cols + col]).collect();
        filter(&mut column, &h);
        for (row, value) in column.iter().enumerate() {
            image[(row + rows / 2) % rows * cols + col] = value.norm();
        }
    }
    Ok(image)
}

/// FFT, fftshift, the product with `spectrum`, IFFT.
fn filter(line: &mut [Complex64], spectrum: &[Complex64]) {
    let len = line.len();
    plan_f64(len, false).process(line);
    line.rotate_right(len / 2);
    for (value, factor) in line.iter_mut().zip(spectrum) {
        *value *= factor / len as f64;
    }
    plan_f64(len, true).process(line);
}
