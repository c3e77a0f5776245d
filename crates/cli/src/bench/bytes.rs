//! Bytes of bookkeeping a datum and a leaf take, by the allocator's own count, rounding included.
#![allow(unsafe_code)]

use super::subject::leaves;
use anyhow::Result;
use rimms::{HeteData, Runtime};

/// What is measured at once, so that the allocator's own noise does not count.
const MANY: usize = 1000;
/// Bytes of a datum's own contents, which are not bookkeeping.
const CONTENTS: usize = 4096;

/// Bytes in use; `None` where the allocator does not tell.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn in_use() -> Option<usize> {
    // SAFETY: takes no arguments and reads the allocator's counters under its own lock.
    let info = unsafe { libc::mallinfo2() };
    Some(info.uordblks + info.hblkhd)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn in_use() -> Option<usize> {
    None
}

/// Bytes of a datum above its contents.
pub(super) fn per_datum() -> Result<Option<f64>> {
    let rt = Runtime::builder().cpus(1).build()?;
    let mut kept: Vec<HeteData<u8>> = Vec::with_capacity(MANY);
    let before = in_use();
    for _ in 0..MANY {
        kept.push(rt.alloc(CONTENTS)?);
    }
    let each = |b: usize, a: usize| (a - b) as f64 / MANY as f64 - CONTENTS as f64;
    Ok(before.zip(in_use()).map(|(b, a)| each(b, a)))
}

/// Bytes of a leaf in a divided datum.
pub(super) fn per_leaf() -> Result<Option<f64>> {
    let rt = Runtime::builder().cpus(1).build()?;
    let mut whole = leaves(&rt, MANY)?;
    let divided = in_use();
    whole.join()?;
    Ok(divided.zip(in_use()).map(|(d, j)| (d - j) as f64 / MANY as f64))
}
