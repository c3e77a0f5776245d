//! DMA buffers and the accelerators on them, on an imitated system: caches, registers and files that do what the real ones do.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod caches;
mod conformance;
mod dma_heap;
mod faults;
mod files;
mod zero_copy;

use rimms::device::udma::imitation::System;
use tempfile::TempDir;

/// A system in a folder of its own.
fn system(bytes: u64) -> (TempDir, System) {
    let folder = tempfile::tempdir().unwrap();
    let system = System::new(folder.path(), bytes).unwrap();
    (folder, system)
}
