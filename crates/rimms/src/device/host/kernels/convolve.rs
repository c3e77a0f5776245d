//! A mask slid over rows and pictures.

use super::gemm::add_multiple;
use bytemuck::Pod;
use std::ops::{Add, Mul};

/// `out[r][c] = Σ mask[i][j]·x[r + i − I/2][c + j − J/2]` for `x` with rows of `cols` and a mask with rows of
/// `mask_cols`, zeros beyond the edges. For each element of the mask, whole rows are added up.
pub(super) fn slide<T>(x: &[T], mask: &[T], out: &mut [T], cols: usize, mask_cols: usize)
where
    T: Pod + Add<Output = T> + Mul<Output = T>,
{
    out.fill(T::zeroed());
    let (cols, mask_cols) = (cols.max(1), mask_cols.max(1));
    let (up, left) = ((mask.len() / mask_cols) / 2, mask_cols / 2);
    for (r, out) in out.chunks_exact_mut(cols).enumerate() {
        for (i, mask) in mask.chunks_exact(mask_cols).enumerate() {
            // Above and below there is nothing.
            let Some(row) = (r + i).checked_sub(up).and_then(|r| x.chunks_exact(cols).nth(r)) else { continue };
            for (j, factor) in mask.iter().enumerate() {
                // out[c] takes x[c + j − left]: the part where both are inside.
                let (behind, ahead) = (j.saturating_sub(left).min(cols), left.saturating_sub(j).min(cols));
                add_multiple(&mut out[ahead..], *factor, &row[behind..]);
            }
        }
    }
}
