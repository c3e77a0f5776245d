//! Costs in a file: what runtimes begin with, and what becomes of it.
//!
//! A file that is not there is one that nothing was written to yet, unless it alone is to be gone by. What it has on PEs
//! that a run does not use stays in it. What is no file may go on without end, and is not read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rimms::sched::CostTable;
use rimms::{Runtime, RuntimeBuilder};

use crate::output::Failure;

/// The costs of a file.
#[derive(Debug)]
pub(crate) struct Costs {
    file: PathBuf,
    known: CostTable,
    /// They are not to be changed.
    fixed: bool,
}

impl Costs {
    pub(crate) fn read(file: &Path, fixed: bool) -> Result<Self, Failure> {
        let is_new = !fixed && file.try_exists().is_ok_and(|there| !there);
        refuse_what_holds_none(file)?;
        let known = if is_new { CostTable::default() } else { CostTable::read(file)? };
        Ok(Self { file: file.to_owned(), known, fixed })
    }

    /// A runtime that begins with them.
    pub(crate) fn give(&self, builder: RuntimeBuilder) -> RuntimeBuilder {
        if self.fixed { builder.fixed_costs(&self.known) } else { builder.costs(&self.known) }
    }

    /// Writes them with what the runtime has measured.
    pub(crate) fn keep(&self, rt: &Runtime) -> Result<(), Failure> {
        if self.fixed {
            return Ok(());
        }
        let mut costs = self.known.clone();
        costs.extend(rt.costs());
        Ok(costs.write(&self.file)?)
    }
}

/// Refuses devices, pipes and empty files. What cannot be looked at is for the reader to say.
fn refuse_what_holds_none(file: &Path) -> Result<(), Failure> {
    let why = match fs::metadata(file) {
        Ok(found) if !found.is_file() && !found.is_dir() => "not a regular file: one that a run has written is wanted",
        Ok(_) if fs::read_to_string(file).is_ok_and(|text| text.trim().is_empty()) => {
            "empty: costs that a run has written are wanted, or no file, which a run then writes"
        }
        _ => return Ok(()),
    };
    Err(anyhow!("costs, {}: {why}", file.display()).into())
}
