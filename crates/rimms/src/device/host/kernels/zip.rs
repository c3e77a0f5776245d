//! Two operands, element by element; the second may be one row for all rows of the first.

use crate::op::ZipOp;
use bytemuck::Pod;
use num_complex::{Complex32, Complex64};

/// `out = a ∘ b` of real samples.
pub(super) fn real(op: ZipOp, a: &[f32], b: &[f32], out: &mut [f32]) {
    match op {
        ZipOp::Add => each(a, b, out, |a, b| a + b),
        ZipOp::Sub => each(a, b, out, |a, b| a - b),
        ZipOp::Mul | ZipOp::ConjMul => each(a, b, out, |a, b| a * b),
        ZipOp::Div => each(a, b, out, |a, b| a / b),
    }
}

/// `out = a ∘ b` of complex samples.
pub(super) fn complex(op: ZipOp, a: &[Complex32], b: &[Complex32], out: &mut [Complex32]) {
    match op {
        ZipOp::Add => each(a, b, out, |a, b| a + b),
        ZipOp::Sub => each(a, b, out, |a, b| a - b),
        ZipOp::Mul => each(a, b, out, |a, b| a * b),
        ZipOp::ConjMul => each(a, b, out, |a, b| a * b.conj()),
        ZipOp::Div => each(a, b, out, divide),
    }
}

/// `a·conj(b) / |b|²` in double precision, where neither the square of the largest f32 overflows
/// nor that of the smallest vanishes: right for all finite operands whose quotient is an f32.
/// A divisor of 0 gives infinities or NaN.
#[inline]
fn divide(a: Complex32, b: Complex32) -> Complex32 {
    let wide = |x: Complex32| Complex64::new(x.re.into(), x.im.into());
    let (a, b) = (wide(a), wide(b));
    let product = a * b.conj();
    let square = b.norm_sqr();
    Complex32::new((product.re / square) as f32, (product.im / square) as f32)
}

#[inline]
fn each<T: Pod>(a: &[T], b: &[T], out: &mut [T], f: impl Fn(T, T) -> T) {
    match b {
        [] => {}
        // One value for all: no row to loop over.
        [b] => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, *b)),
        _ => {
            for (out, a) in out.chunks_exact_mut(b.len()).zip(a.chunks_exact(b.len())) {
                out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = f(*a, *b));
            }
        }
    }
}
