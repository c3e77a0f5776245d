//! `--trace`: the timeline of the run, for viewers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rimms::trace::Timeline;

use crate::output::Failure;

/// The file that a timeline goes to. Made before the run: nobody is to wait for a result that has no place to go.
pub(super) struct TraceFile {
    path: PathBuf,
    file: File,
}

impl TraceFile {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).with_context(|| format!("--trace: {} cannot be written", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn write(self, timeline: &Timeline) -> Result<(), Failure> {
        let mut out = BufWriter::new(self.file);
        let written = timeline.write_chrome(&mut out).and_then(|()| out.flush());
        Ok(written.with_context(|| format!("--trace: {} cannot be written", self.path.display()))?)
    }
}
