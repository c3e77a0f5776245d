//! Which Doppler shift and which delay a cell of the range–Doppler map stands for.
//!
//! The map of M pulses of N samples has M rows and 2N columns. A row comes from an FFT over the
//! pulses followed by an fftshift, a column from a matched filter of length 2N over pulses that
//! are padded with N − 1 zeros before and one after. With rows and columns counted from 1:
//!
//! * Doppler = (row − (M + 1) div 2) / (M − 1) / PRI, in Hz
//! * delay = (column − N) / (N − 1) · PRI, in s
//!
//! These are the formulas of the pulse-Doppler application that users know, and every answer here
//! (application, oracle, scene) is on their scale. Two of their habits deserve a word. An echo
//! that lies d samples late peaks in column N + d, so that delay is exact if PRI is the time from
//! the first to the last sample. A shift that turns the phase by k/M of a circle from pulse to
//! pulse (physically k/(M·PRI) Hz) is reported as k/((M − 1)·PRI) for odd M, and as
//! (k + 1)/((M − 1)·PRI) for even M: for even M a target at rest is reported one cell off zero.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Shape};

/// The pulse-repetition interval that is meant where none is given, in seconds.
pub const STANDARD_PRI_S: f64 = 1.27e-4;

/// A shape of at least 2×2 and a pulse-repetition interval: what turns cells into Hz and seconds.
///
/// ```
/// use rimms_radar::{Geometry, Shape};
///
/// let geometry = Geometry::new(Shape::STANDARD, 1.27e-4)?;
/// assert_eq!(format!("{:.6}", geometry.doppler_hz(64)), "62.000124");
/// assert_eq!(format!("{:.6e}", geometry.delay_s(82)), "3.830159e-5");
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    shape: Shape,
    pri_s: f64,
}

/// The largest cell of a range–Doppler map and what it stands for.
///
/// The field names are the keys of the command's JSON.
///
/// ```
/// use rimms_radar::{Geometry, Shape};
///
/// let found = Geometry::new(Shape::STANDARD, 1.27e-4)?.detection(64, 82, 416.8);
/// assert_eq!((found.peak_row, found.peak_col), (64, 82));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Doppler shift in Hz.
    pub doppler_hz: f64,
    /// Delay in seconds.
    pub delay_s: f64,
    /// The cell's value; the inverse FFT of the matched filter is scaled by 1/2N, the FFT over
    /// the pulses is not scaled.
    pub magnitude: f64,
    /// Row, from 0.
    pub peak_row: usize,
    /// Column, from 0.
    pub peak_col: usize,
}

impl Geometry {
    /// The geometry of `shape`, with pulses every `pri_s` seconds.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are fewer than two pulses or samples (the formulas divide by
    /// one less), or if the interval is not a positive number that leads to finite answers.
    pub fn new(shape: Shape, pri_s: f64) -> Result<Geometry> {
        if shape.rows() < 2 || shape.cols() < 2 {
            return Err(Error::argument("shape", shape, "Doppler and delay need at least 2 rows and 2 columns"));
        }
        let geometry = Geometry { shape, pri_s };
        let finite = |value: f64| value.is_finite();
        let extremes = finite(geometry.doppler_hz(0))
            && finite(geometry.doppler_hz(shape.rows() - 1))
            && finite(geometry.delay_s(2 * shape.cols() - 1));
        if !(pri_s > 0.0 && extremes) {
            return Err(Error::argument("PRI", pri_s, "a positive number of seconds wanted"));
        }
        Ok(geometry)
    }

    /// Pulses × samples.
    #[must_use]
    pub fn shape(self) -> Shape {
        self.shape
    }

    /// The pulse-repetition interval in seconds.
    #[must_use]
    pub fn pri_s(self) -> f64 {
        self.pri_s
    }

    /// How many columns the map has: twice the samples of a pulse.
    #[must_use]
    pub fn map_cols(self) -> usize {
        2 * self.shape.cols()
    }

    /// The Doppler shift in Hz that `row` (from 0) stands for.
    #[must_use]
    pub fn doppler_hz(self, row: usize) -> f64 {
        let pulses = self.shape.rows();
        let centre = pulses.div_ceil(2) as f64;
        (row as f64 + 1.0 - centre) / (pulses - 1) as f64 / self.pri_s
    }

    /// The delay in seconds that `col` (from 0) stands for; negative left of column N − 1.
    #[must_use]
    pub fn delay_s(self, col: usize) -> f64 {
        let samples = self.shape.cols() as f64;
        (col as f64 + 1.0 - samples) / (samples - 1.0) * self.pri_s
    }

    /// The row, with its fraction, that a Doppler shift in Hz lies in: undoes
    /// [`doppler_hz`](Self::doppler_hz). It may lie outside the map.
    #[must_use]
    pub fn row_of(self, doppler_hz: f64) -> f64 {
        let pulses = self.shape.rows();
        doppler_hz * self.pri_s * (pulses - 1) as f64 + pulses.div_ceil(2) as f64 - 1.0
    }

    /// The column, with its fraction, that a delay in seconds lies in: undoes
    /// [`delay_s`](Self::delay_s). It may lie outside the map.
    #[must_use]
    pub fn col_of(self, delay_s: f64) -> f64 {
        let samples = self.shape.cols() as f64;
        delay_s / self.pri_s * (samples - 1.0) + samples - 1.0
    }

    /// What the cell (`row`, `col`), counted from 0, with this magnitude stands for.
    #[must_use]
    pub fn detection(self, row: usize, col: usize, magnitude: f64) -> Detection {
        Detection {
            doppler_hz: self.doppler_hz(row),
            delay_s: self.delay_s(col),
            magnitude,
            peak_row: row,
            peak_col: col,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(shape: &str) -> Geometry {
        Geometry::new(shape.parse().unwrap(), STANDARD_PRI_S).unwrap()
    }

    #[test]
    fn known_cells() {
        let older = geometry("20x120");
        assert_eq!(format!("{:.6}", older.doppler_hz(10)), "414.421881");
        assert_eq!(format!("{:.6e}", older.delay_s(122)), "3.201681e-6");
        assert_eq!(geometry("5x4").doppler_hz(2), 0.0);
        assert_eq!(geometry("4x4").delay_s(3), 0.0);
    }

    #[test]
    fn cells_and_back() {
        for shape in ["2x2", "3x5", "128x64", "20x120", "127x63"] {
            let geometry = geometry(shape);
            for row in 0..geometry.shape().rows() {
                assert!((geometry.row_of(geometry.doppler_hz(row)) - row as f64).abs() < 1e-9);
            }
            for col in 0..geometry.map_cols() {
                assert!((geometry.col_of(geometry.delay_s(col)) - col as f64).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn no_answer_that_is_not_finite() {
        for shape in ["1x64", "128x1", "1x1"] {
            assert!(Geometry::new(shape.parse().unwrap(), 1e-4).unwrap_err().is_argument());
        }
        for pri in [0.0, -1e-4, f64::NAN, f64::INFINITY, 1e-310, f64::MAX] {
            assert!(Geometry::new(Shape::STANDARD, pri).unwrap_err().is_argument(), "{pri}");
        }
    }
}
