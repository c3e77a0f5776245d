//! The nearest symbols of a constellation.

use crate::op::Constellation;
use num_complex::Complex32;

/// +1 where the real part is above 0, else −1.
pub(super) fn bpsk(x: &[Complex32], out: &mut [f32]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = if x.re > 0.0 { 1.0 } else { -1.0 });
}

/// 4·(level of the real part) + (level of the imaginary part).
pub(super) fn qam16(x: &[Complex32], out: &mut [i32]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = 4 * level(x.re) + level(x.im));
}

/// How many of the limits between the four levels `x` is above. None of a NaN.
#[inline]
fn level(x: f32) -> i32 {
    let limit = Constellation::QAM16_LIMIT;
    i32::from(x > -limit) + i32::from(x > 0.0) + i32::from(x > limit)
}
