//! Moves inside and between rows.

use bytemuck::Pod;

/// Rows and columns of a transpose's tile: 8 KiB of complex samples. Larger ones are no faster, smaller ones spend
/// their time between tiles.
const TILE: usize = 32;

/// Each row of `n` elements of `size` bytes, rotated by `n/2` to the right: `out[(i + n/2) % n] = x[i]`.
pub(super) fn shift(x: &[u8], out: &mut [u8], n: usize, size: usize) {
    let row = (n * size).max(1);
    for (x, out) in x.chunks_exact(row).zip(out.chunks_exact_mut(row)) {
        let (low, high) = x.split_at((n - n / 2) * size);
        let (first, last) = out.split_at_mut(high.len());
        first.copy_from_slice(high);
        last.copy_from_slice(low);
    }
}

/// `out[c][r] = f(x[r][c])`, where `x` has rows of `cols`.
///
/// In square tiles that stay in the innermost cache, so that a line that was brought in for one element is used
/// for all of its elements before it goes.
pub(super) fn transpose<T: Pod>(x: &[T], out: &mut [T], cols: usize, f: impl Fn(T) -> T) {
    let rows = x.len() / cols.max(1);
    for c0 in (0..cols).step_by(TILE) {
        let columns = c0..(c0 + TILE).min(cols);
        for r0 in (0..rows).step_by(TILE) {
            let height = TILE.min(rows - r0);
            for c in columns.clone() {
                let column = x[r0 * cols + c..].iter().step_by(cols);
                let target = &mut out[c * rows + r0..][..height];
                target.iter_mut().zip(column).for_each(|(out, x)| *out = f(*x));
            }
        }
    }
}
