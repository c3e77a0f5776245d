//! Plans of the CPU's Fourier transforms.
//!
//! The transforms themselves are rustfft's. This crate exists because they are
//! generic: whoever names a plan compiles all of them, for every vector unit,
//! which takes longer than all the rest of the workspace. Here that happens
//! once, and the crates above are compiled in seconds.
//!
//! A plan is made anew at each call; whoever transforms often keeps it.

use std::sync::Arc;

pub use rustfft::Fft;

/// Signs and scaling are those of the unscaled transforms: forward
/// `X[k] = Σ x[j]·exp(−2πi·jk/n)`, inverse with `+`; neither divides by `n`.
///
/// ```
/// use rimms_fft::Fft;
/// let plan = rimms_fft::plan_f32(12, false);
/// assert_eq!(plan.len(), 12);
/// ```
pub fn plan_f32(n: usize, inverse: bool) -> Arc<dyn Fft<f32>> {
    rustfft::FftPlanner::new().plan_fft(n, direction(inverse))
}

/// The same in double precision.
pub fn plan_f64(n: usize, inverse: bool) -> Arc<dyn Fft<f64>> {
    rustfft::FftPlanner::new().plan_fft(n, direction(inverse))
}

fn direction(inverse: bool) -> rustfft::FftDirection {
    if inverse { rustfft::FftDirection::Inverse } else { rustfft::FftDirection::Forward }
}
