//! Moves inside and between rows.

use bytemuck::Pod;

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
/// In square tiles as wide as a cache line, so that a line that was brought in for one
/// element is used for all of its elements before it goes.
pub(super) fn transpose<T: Pod>(x: &[T], out: &mut [T], cols: usize, f: impl Fn(T) -> T) {
    let tile = (64 / size_of::<T>()).max(1);
    let rows = x.len() / cols.max(1);
    for c0 in (0..cols).step_by(tile) {
        let columns = c0..(c0 + tile).min(cols);
        for r0 in (0..rows).step_by(tile) {
            let height = tile.min(rows - r0);
            for c in columns.clone() {
                let column = x[r0 * cols + c..].iter().step_by(cols);
                let target = &mut out[c * rows + r0..][..height];
                target.iter_mut().zip(column).for_each(|(out, x)| *out = f(*x));
            }
        }
    }
}
