//! Many samples to one answer.

use crate::op::Peak;

/// Accumulators side by side: enough for two vector registers of any width in use.
const LANES: usize = 32;
/// Samples looked through at once; only the block with the largest is looked through again for its place.
const BLOCK: usize = 1024;

/// The first of the largest values; a NaN is none, unless there is nothing else (index 0, NaN).
pub(super) fn arg_max(x: &[f32]) -> Peak {
    let mut best = f32::NEG_INFINITY;
    let mut start = 0;
    for (i, block) in x.chunks(BLOCK).enumerate() {
        let largest = max(block);
        if largest > best {
            (best, start) = (largest, i * BLOCK);
        }
    }
    // Where all are −∞ or NaN, `best` was never beaten and the search starts at the front.
    match x[start..].iter().position(|v| *v == best) {
        Some(i) => Peak { index: (start + i) as u64, value: x[start + i].into() },
        None => Peak { index: 0, value: f64::NAN },
    }
}

/// The largest value; −∞ where all are NaN.
fn max(block: &[f32]) -> f32 {
    // This comparison is false for a NaN, which `f32::max` would have to ask for separately.
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = block.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, larger);
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, x)| *lane = larger(*lane, *x));
    }
    lanes.into_iter().fold(rest, larger)
}
