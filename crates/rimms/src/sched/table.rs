//! Costs in a file that people can read, and that the next run begins with.
//!
//! JSON with one line for each op, PE and class of sizes (a power of two and what lies below the next):
//!
//! ```json
//! {
//!   "version": 1,
//!   "costs": [
//!     { "op": "fft", "pe": "cpu0", "size": 1024, "ns": 812.5, "measured": 17 }
//!   ]
//! }
//! ```
//!
//! `pe` is a PE or a kind of PEs; `size` is the amount of work, counted in elements as the op's documentation says, in
//! the mean of the calls of the class; `ns` is their mean duration in nanoseconds, later ones weighing more, and
//! `measured` how many were measured. A file is written whole or not at all; one that is damaged is refused whole.

use crate::error::{Error, Result};
use crate::op::OpKind;
use crate::trace::bucket;
use serde::Deserialize;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The version of the format.
const VERSION: u32 = 1;

/// What calls of an op and of about one size take on a PE.
///
/// ```
/// use rimms::{op::OpKind, sched::{Cost, CostTable}};
/// let mut table = CostTable::default();
/// table.extend([Cost { op: OpKind::Fft, pe: "acc".into(), size: 1024.0, ns: 900.0, measured: 1 }]);
/// assert_eq!(table.to_string().parse::<CostTable>()?, table);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The op: a built-in one.
    pub op: OpKind,
    /// The PE's name, or a kind of PEs: then for all of that kind that have no costs of their own.
    pub pe: Box<str>,
    /// The amount of work, at least 1.
    pub size: f32,
    /// Nanoseconds.
    pub ns: f32,
    /// How many calls were measured.
    pub measured: u32,
}

impl Cost {
    /// What there is one cost of.
    fn key(&self) -> (OpKind, &str, usize) {
        (self.op, &self.pe, bucket(self.size as usize))
    }
}

/// Costs by op, PE and size: what a runtime begins with, and what it has learnt ([`Runtime::costs`]).
///
/// [`Runtime::costs`]: crate::Runtime::costs
///
/// ```
/// use rimms::{Runtime, sched::CostTable};
/// # let folder = std::env::temp_dir().join(format!("rimms-costs-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("costs.json");
/// let mut known = if file.exists() { CostTable::read(&file)? } else { CostTable::default() };
/// let rt = Runtime::builder().cpus(1).costs(&known).build()?;
/// rt.fill(1.0_f32, &mut rt.alloc(64)?)?;
/// rt.finish()?;
/// known.extend(rt.costs()); // what other PEs took, and is known already, stays
/// known.write(&file)?;
/// assert_eq!(CostTable::read(&file)?, known);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostTable(Vec<Cost>);

impl CostTable {
    /// The costs, in no order that matters.
    pub fn iter(&self) -> impl Iterator<Item = &Cost> {
        self.0.iter()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Costs`] where it cannot be read, or is not what it should be.
    pub fn read(path: &Path) -> Result<Self> {
        let of_file = |problem: String| Error::Costs { of: path.display().to_string().into(), problem: problem.into() };
        let text = fs::read_to_string(path).map_err(|error| of_file(error.to_string()))?;
        parse(&text).map_err(of_file)
    }

    /// Writes a file, in the place of what was there. The old one stays whole where that fails.
    ///
    /// # Errors
    /// [`Error::Costs`] where it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        // A link stays one.
        let real = fs::canonicalize(path);
        let path = real.as_deref().unwrap_or(path);
        let new = PathBuf::from({
            let mut name = path.as_os_str().to_owned();
            name.push(".new");
            name
        });
        let written = fs::write(&new, self.to_string()).and_then(|()| fs::rename(&new, path));
        written.map_err(|error| {
            // Nothing is left of it where there was no room for all.
            let _ = fs::remove_file(&new);
            Error::Costs { of: path.display().to_string().into(), problem: error.to_string().into() }
        })
    }
}

impl Extend<Cost> for CostTable {
    /// Adds costs; of the same op, PE and class of sizes the new one counts.
    fn extend<I: IntoIterator<Item = Cost>>(&mut self, costs: I) {
        for cost in costs {
            match self.0.iter_mut().find(|known| known.key() == cost.key()) {
                Some(known) => *known = cost,
                None => self.0.push(cost),
            }
        }
    }
}

impl IntoIterator for CostTable {
    type Item = Cost;
    type IntoIter = std::vec::IntoIter<Cost>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for CostTable {
    /// The file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\n  \"version\": {VERSION},\n  \"costs\": [")?;
        let mut costs: Vec<&Cost> = self.0.iter().collect();
        costs.sort_by_key(|cost| cost.key());
        for (i, Cost { op, pe, size, ns, measured }) in costs.into_iter().enumerate() {
            let (comma, op, pe) = (if i == 0 { "" } else { "," }, op.name(), serde_json::Value::from(&**pe));
            write!(f, "{comma}\n    {{ \"op\": \"{op}\", \"pe\": {pe}, ")?;
            write!(f, "\"size\": {size}, \"ns\": {ns}, \"measured\": {measured} }}")?;
        }
        f.write_str("\n  ]\n}\n")
    }
}

impl FromStr for CostTable {
    type Err = Error;

    /// What [`Display`](fmt::Display) makes, or a person wrote.
    fn from_str(text: &str) -> Result<Self> {
        parse(text).map_err(|problem| Error::Costs { of: "the text".into(), problem: problem.into() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    costs: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    op: String,
    pe: String,
    size: f32,
    ns: f32,
    measured: u32,
}

fn parse(text: &str) -> Result<CostTable, String> {
    let File { version, costs } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if version != VERSION {
        return Err(format!("version {VERSION} wanted, {version} found: make it anew"));
    }
    let mut table = CostTable(Vec::new());
    for (i, line) in costs.into_iter().enumerate() {
        let cost = line.checked().map_err(|problem| format!("cost {} of the list: {problem}", i + 1))?;
        if table.0.iter().any(|other| other.key() == cost.key()) {
            let Cost { op, pe, size, .. } = cost;
            let twice = format!("{} on {pe} of size {size} is there twice", op.name());
            return Err(format!("cost {} of the list: {twice}: one for each power of two wanted", i + 1));
        }
        table.0.push(cost);
    }
    Ok(table)
}

impl Line {
    fn checked(self) -> Result<Cost, String> {
        let Self { op: name, pe, size, ns, measured } = self;
        let Some(op) = OpKind::BUILT_IN.into_iter().find(|op| op.name() == name) else {
            let known = OpKind::BUILT_IN.map(OpKind::name).join(", ");
            return Err(format!("no op is named `{name}`; known: {known}"));
        };
        if pe.is_empty() {
            return Err("`pe` is empty: the name of a PE, or of a kind, wanted".to_owned());
        }
        // Sizes are numbers of elements, which memory can hold.
        if !(1.0..usize::MAX as f32).contains(&size) {
            return Err(format!("`size` is {size}: at least 1 wanted"));
        }
        if !ns.is_finite() || ns < 0.0 {
            return Err(format!("`ns` is {ns}: nanoseconds, at least 0, wanted"));
        }
        if measured == 0 {
            return Err("`measured` is 0: what was never measured has no place here".to_owned());
        }
        Ok(Cost { op, pe: pe.into(), size, ns, measured })
    }
}
