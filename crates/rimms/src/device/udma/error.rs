//! What can go wrong while a DMA buffer or an accelerator is made ready.

use std::io;
use std::path::Path;

/// A buffer, or a block of registers, that cannot be used.
///
/// ```
/// use rimms::device::udma::{Caching, UdmaRoot};
/// let error = UdmaRoot::at("/nowhere").open("udmabuf0", Caching::Cached).unwrap_err();
/// assert!(error.to_string().contains("there is no DMA buffer `udmabuf0`"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UdmaError {
    /// No such buffer. Remedy: load the driver (`u-dma-buf`), or use a name that is there.
    #[error("there is no DMA buffer `{name}`{}", if known.is_empty() { ", nor any other: is the driver u-dma-buf loaded?".into() } else { format!("; there are: {known}") })]
    NoSuchBuffer {
        /// The name asked for.
        name: Box<str>,
        /// Those there are.
        known: Box<str>,
    },
    /// No such heap. Remedy: a kernel with `CONFIG_DMABUF_HEAPS`, or a name that is there.
    #[error("there is no dma-heap `{name}`{}", if known.is_empty() { ", nor any other: has the kernel CONFIG_DMABUF_HEAPS?".into() } else { format!("; there are: {known}") })]
    NoSuchHeap {
        /// The name asked for.
        name: Box<str>,
        /// Those there are.
        known: Box<str>,
    },
    /// The system refuses. Remedy: mostly rights: who may use the file says its owner and mode, or a rule of udev.
    #[error("cannot {what} {path}: {error}")]
    Io {
        /// What was to be done.
        what: &'static str,
        /// With which file.
        path: Box<str>,
        /// In the system's words.
        error: io::Error,
    },
    /// Something that cannot be.
    #[error("{what}: {why}")]
    Odd {
        /// The file, or the buffer.
        what: Box<str>,
        /// What is wrong with it.
        why: Box<str>,
    },
}

impl UdmaError {
    pub(super) fn io(what: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { what, path: path.display().to_string().into(), error }
    }

    pub(super) fn odd(path: &Path, why: impl Into<Box<str>>) -> Self {
        Self::Odd { what: path.display().to_string().into(), why: why.into() }
    }
}
