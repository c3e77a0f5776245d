//! Files that go with a result: `--trace`, the timeline for viewers; `--image`, the picture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rimms::trace::Timeline;

use crate::image::Plot;
use crate::output::Failure;

/// A file that is written after the run. Made before it: nobody is to wait for a result that has no place to go.
pub(super) struct OutFile {
    option: &'static str,
    path: PathBuf,
    file: File,
}

impl OutFile {
    pub(super) fn create(option: &'static str, path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).with_context(|| format!("{option}: {} cannot be written", path.display()))?;
        Ok(Self { option, path: path.to_owned(), file })
    }

    pub(super) fn timeline(self, timeline: &Timeline) -> Result<(), Failure> {
        self.write(|file| {
            let mut out = BufWriter::new(file);
            Ok(timeline.write_chrome(&mut out).and_then(|()| out.flush())?)
        })
    }

    pub(super) fn picture(self, plot: &Plot<'_>) -> Result<(), Failure> {
        self.write(|file| plot.write(file))
    }

    fn write(self, write: impl FnOnce(&File) -> anyhow::Result<()>) -> Result<(), Failure> {
        let written = write(&self.file);
        Ok(written.with_context(|| format!("{}: {} cannot be written", self.option, self.path.display()))?)
    }
}
