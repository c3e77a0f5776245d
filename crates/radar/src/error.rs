//! What can go wrong: arguments, files and memory here, everything else in the runtime's words.
//!
//! Each kind has one remedy. A message names the argument or the file (with line and column in a
//! text file), what was wanted, and what was found; it is one line whatever the file holds.

use std::io;
use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a recording, a scene or an answer could not be had.
///
/// ```
/// use rimms_radar::{Error, Shape};
///
/// let error = "0x64".parse::<Shape>().unwrap_err();
/// assert!(error.is_argument());
/// assert_eq!(error.to_string(), "shape `0x64`: rows and columns must be at least 1");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument makes no sense, whatever the files hold. Give another.
    #[error("{name} `{given}`: {problem}")]
    Argument {
        /// Which argument: `shape`, `PRI`, `target`, `noise` …
        name: &'static str,
        /// Its value as it was given.
        given: String,
        /// What is wrong with it, or what was wanted.
        problem: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file was wanted, and this is something else (a folder, a device, a pipe).
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// What was opened.
        path: PathBuf,
    },
    /// The file holds nothing, or only white space.
    #[error("{}: empty, {wanted} wanted", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        wanted: String,
    },
    /// The folder holds no recording.
    #[error("{}: no recording here, looked for {looked_for}", folder.display())]
    NoRecording {
        /// The folder.
        folder: PathBuf,
        /// The names that would have been taken.
        looked_for: String,
    },
    /// More than one file would do. Name one.
    #[error("{}: which one of {found}? Name the file, or the shape", folder.display())]
    Ambiguous {
        /// The folder.
        folder: PathBuf,
        /// The files that would do.
        found: String,
    },
    /// No reference pulse stands beside the recording.
    #[error("{}: no reference pulse beside it, looked for {looked_for}", recording.display())]
    NoReference {
        /// The recording.
        recording: PathBuf,
        /// The names that would have been taken.
        looked_for: String,
    },
    /// A text file holds something that is not a finite number.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: u64,
        /// What stands there, and what was wanted.
        problem: String,
    },
    /// A NumPy file is damaged, or of a kind that recordings are not kept in.
    #[error("{}: {problem}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A SigMF recording's metadata is damaged, or of a kind that is not read.
    #[error("{}: {problem}", path.display())]
    SigMf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file holds another amount of data than the shape asks for. Give its own shape.
    #[error(
        "{}: {wanted} {unit} wanted ({meaning}), {found} found{}",
        path.display(),
        if *unit == "numbers" && found % 2 == 1 { " (an odd count: the last has no imaginary part)" } else { "" }
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// What is counted: `numbers` (or `real numbers`) in text, `complex samples` in NumPy and SigMF files.
        unit: &'static str,
        /// How many should be there.
        wanted: u64,
        /// How many are there.
        found: u64,
        /// Why that many are wanted.
        meaning: String,
    },
    /// The truth that came with a recording does not describe it.
    #[error("{}: {problem}", path.display())]
    Truth {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The host has no room for this. Take a smaller shape.
    #[error("no memory for {what}: {bytes} bytes wanted")]
    Memory {
        /// What it was for.
        what: &'static str,
        /// How much was asked for; the largest number where it cannot be counted.
        bytes: usize,
    },
    /// An application could not run. Remedy: as the runtime's message says.
    #[error(transparent)]
    Runtime(#[from] rimms::Error),
}

impl Error {
    /// Whether an argument is at fault rather than a file or the machine.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        matches!(self, Error::Argument { .. } | Error::Runtime(rimms::Error::Unknown { .. }))
    }

    pub(crate) fn argument(name: &'static str, given: impl ToString, problem: impl Into<String>) -> Self {
        Error::Argument { name, given: given.to_string(), problem: problem.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Error::Io { path, source }
    }

    pub(crate) fn sigmf(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Error::SigMf { path: path.into(), problem: problem.into() }
    }

    pub(crate) fn npy(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Error::Npy { path: path.into(), problem: problem.into() }
    }
}
