//! The correlation of the radar correlator, by its definition.

use num_complex::Complex64;

use crate::Result;
use crate::reception::Reception;
use crate::reserve::reserve;

/// Σ received(n + lag)·conj(reference(n)) for the lags 0 … N − 1 and then −N … −1, where both are zero outside their N
/// samples. Takes N² steps.
///
/// ```
/// use rimms_radar::{oracle, reception::Echo};
///
/// let reception = Echo::new(32)?.with_lag(7)?.with_noise(0.0)?.reception()?;
/// let correlation = oracle::correlation(&reception)?;
/// assert!((correlation[7].norm() - 16.0).abs() < 1e-5); // the chirp's 16 samples
/// # Ok::<(), rimms_radar::Error>(())
/// ```
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory).
pub fn correlation(reception: &Reception) -> Result<Vec<Complex64>> {
    let wide = |samples: &[num_complex::Complex32]| -> Vec<Complex64> {
        samples.iter().map(|x| Complex64::new(x.re.into(), x.im.into())).collect()
    };
    let (received, reference) = (wide(reception.received()), wide(reception.reference()));
    let len = received.len();
    let pairs = |late: &[Complex64], early: &[Complex64]| -> Complex64 {
        late.iter().zip(early).map(|(late, early)| late * early.conj()).sum()
    };
    let mut lags = reserve(2 * len, "the correlation")?;
    lags.extend((0..len).map(|lag| pairs(&received[lag..], &reference)));
    lags.extend((0..len).map(|lag| pairs(&received, &reference[len - lag..])));
    Ok(lags)
}
