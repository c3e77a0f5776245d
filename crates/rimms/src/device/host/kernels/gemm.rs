//! The matrix product.

use bytemuck::Pod;
use std::ops::{Add, Mul};

/// Rows and columns of `b` that are gone through for all rows of `a` before the next are: 128 KiB of complex samples,
/// which stay in a core's own cache.
const INNER: usize = 64;
const COLS: usize = 256;

/// `c = a · b`, where `a` has rows of `inner` and `b` rows of `cols`. Each row of `c` is a sum of multiples of rows
/// of `b`, so that the innermost loop runs along rows.
pub(super) fn multiply<T>(a: &[T], b: &[T], c: &mut [T], inner: usize, cols: usize)
where
    T: Pod + Add<Output = T> + Mul<Output = T>,
{
    c.fill(T::zeroed());
    let (inner, cols) = (inner.max(1), cols.max(1));
    for c0 in (0..cols).step_by(COLS) {
        let columns = c0..(c0 + COLS).min(cols);
        for i0 in (0..inner).step_by(INNER) {
            let block = i0..(i0 + INNER).min(inner);
            for (a, c) in a.chunks_exact(inner).zip(c.chunks_exact_mut(cols)) {
                let c = &mut c[columns.clone()];
                for (a, b) in a[block.clone()].iter().zip(b[i0 * cols..].chunks_exact(cols)) {
                    add_multiple(c, *a, &b[columns.clone()]);
                }
            }
        }
    }
}

/// `out += factor · x`
#[inline]
pub(super) fn add_multiple<T: Pod + Add<Output = T> + Mul<Output = T>>(out: &mut [T], factor: T, x: &[T]) {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = *out + factor * *x);
}
