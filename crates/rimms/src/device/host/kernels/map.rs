//! One operand, element by element.

use bytemuck::Pod;
use num_complex::Complex32;
use std::ops::Mul;

/// `out = factor · x`.
pub(super) fn scale<T: Pod + Mul<Output = T>>(x: &[T], out: &mut [T], factor: T) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = factor * *x);
}

/// `x = factor · x`.
pub(super) fn scale_in_place<T: Pod + Mul<Output = T>>(x: &mut [T], factor: T) {
    x.iter_mut().for_each(|x| *x = factor * *x);
}

/// `out = |x|`. In double precision, where the squares of no f32 overflow or vanish: as sound as `hypot`,
/// and vector instructions all the way.
pub(super) fn magnitude(x: &[Complex32], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        let (re, im) = (f64::from(x.re), f64::from(x.im));
        *out = (re * re + im * im).sqrt() as f32;
    }
}
