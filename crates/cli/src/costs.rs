//! Costs in a file: what runtimes begin with, and what becomes of it.
//!
//! A file that is not there is one that nothing was written to yet, unless it alone is to be gone by. What it has on PEs
//! that a run does not use stays in it.

use std::path::{Path, PathBuf};

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
