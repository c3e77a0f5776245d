//! Copies and patterns, whatever the bytes mean.

/// The pattern is written out this far, then copied as a block that stays in the cache.
const BLOCK: usize = 4096;

/// `out = x`, of the same length.
pub(super) fn copy(x: &[u8], out: &mut [u8]) {
    out.copy_from_slice(x);
}

/// The pattern over and over.
pub(super) fn fill(out: &mut [u8], pattern: &[u8]) {
    let Some(first) = pattern.first() else { return };
    if pattern.iter().all(|b| b == first) {
        return out.fill(*first);
    }
    let repeats = (BLOCK / pattern.len()).max(1);
    let block_len = (repeats * pattern.len()).min(out.len());
    let (block, rest) = out.split_at_mut(block_len);
    for chunk in block.chunks_mut(pattern.len()) {
        chunk.copy_from_slice(&pattern[..chunk.len()]);
    }
    for chunk in rest.chunks_mut(block.len().max(1)) {
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
}
