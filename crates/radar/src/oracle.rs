//! The applications once more: float64, on the host, in the simplest way. The measure of their
//! answers, not a fast path.
//!
//! Pulse Doppler: for each pulse, a matched filter by FFTs of length 2N: the pulse with N − 1 zeros before and
//! one after, the reference with N zeros after, IFFT(FFT(pulse) · conj(FFT(reference))) scaled by
//! 1/2N. Then for each of the 2N columns an FFT over the M pulses, the magnitude, and an fftshift.
//! SAR and the radar correlator have files of their own. No code is shared with the runtime.

mod correlation;
mod sar;

use num_complex::Complex64;
use rimms_fft::plan_f64;

pub use correlation::correlation;
pub use sar::sar_image;

use crate::reserve::reserve;
use crate::{Detection, Geometry, Recording, Result};

/// A range–Doppler map: M rows of 2N magnitudes, zero Doppler in row M div 2.
///
/// ```
/// use rimms_radar::{oracle, scene::Scene};
///
/// let map = oracle::range_doppler(&Scene::default().recording()?)?;
/// let peak = map.peak();
/// assert_eq!(map.magnitude(peak.peak_row, peak.peak_col), Some(peak.magnitude));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RangeDoppler {
    geometry: Geometry,
    magnitudes: Vec<f64>,
}

/// The range–Doppler map of a recording. Takes 2·M·N complex numbers of 16 bytes beside it.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) if there is no room for the map.
pub fn range_doppler(recording: &Recording) -> Result<RangeDoppler> {
    let geometry = recording.geometry();
    let (rows, samples, cols) = (geometry.shape().rows(), geometry.shape().cols(), geometry.map_cols());
    let forward = plan_f64(cols, false);
    let inverse = plan_f64(cols, true);
    let along_pulses = plan_f64(rows, false);

    let mut reference = vec![Complex64::ZERO; cols];
    for (padded, sample) in reference.iter_mut().zip(recording.reference()) {
        *padded = Complex64::new(sample.re.into(), sample.im.into());
    }
    forward.process(&mut reference);

    let mut filtered = reserve(rows * cols, "the range–Doppler map")?;
    filtered.resize(rows * cols, Complex64::ZERO);
    for (row, pulse) in filtered.chunks_exact_mut(cols).zip(recording.pulses().chunks(samples)) {
        for (padded, sample) in row[samples - 1..].iter_mut().zip(pulse) {
            *padded = Complex64::new(sample.re.into(), sample.im.into());
        }
        forward.process(row);
        for (value, matched) in row.iter_mut().zip(&reference) {
            *value *= matched.conj() / cols as f64;
        }
        inverse.process(row);
    }

    let mut magnitudes = reserve(rows * cols, "the range–Doppler map")?;
    magnitudes.resize(rows * cols, 0.0);
    let mut column = vec![Complex64::ZERO; rows];
    for col in 0..cols {
        for (row, value) in column.iter_mut().enumerate() {
            *value = filtered[row * cols + col];
        }
        along_pulses.process(&mut column);
        for (bin, value) in column.iter().enumerate() {
            magnitudes[(bin + rows / 2) % rows * cols + col] = value.norm();
        }
    }
    Ok(RangeDoppler { geometry, magnitudes })
}

impl RangeDoppler {
    /// The geometry of the recording.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// All magnitudes, row after row.
    #[must_use]
    pub fn magnitudes(&self) -> &[f64] {
        &self.magnitudes
    }

    /// The magnitude in a cell, counted from 0; `None` outside the map.
    #[must_use]
    pub fn magnitude(&self, row: usize, col: usize) -> Option<f64> {
        let cols = self.geometry.map_cols();
        if col >= cols {
            return None;
        }
        self.magnitudes.get(row.checked_mul(cols)?.checked_add(col)?).copied()
    }

    /// The largest cell; of equal ones the first, row after row.
    #[must_use]
    pub fn peak(&self) -> Detection {
        let (mut index, mut largest) = (0, f64::NEG_INFINITY);
        for (i, &magnitude) in self.magnitudes.iter().enumerate() {
            if magnitude > largest {
                (index, largest) = (i, magnitude);
            }
        }
        let cols = self.geometry.map_cols();
        self.geometry.detection(index / cols, index % cols, largest)
    }
}
