//! What came of a kernel.
//!
//! Owns [`Outcome`]. Failures are sorted, so that what is reported does not depend on which thread ran a group when.

use std::fmt;
use std::panic::Location;

use super::who::Party;
use crate::Fault;

/// What came of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a kernel may have failed"]
pub struct Outcome {
    /// Items that have ended, by themselves or by a fault.
    pub items: u64,
    /// Barriers that all items of a group passed, over all groups.
    pub barriers: u64,
    /// How many failures there were.
    pub failed: u64,
    /// The first failures of each group, at most [`Outcome::MOST`] for each thread, by launch, group and item.
    pub failures: Vec<Failure>,
}

/// Why items of a kernel did not come to their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// An item returned a fault.
    Fault {
        /// The item.
        item: Party,
        /// What it returned.
        fault: Fault,
    },
    /// Items of a group did not all come to the same barrier.
    Divergence(Divergence),
    /// An item waits for something that is no barrier, and that nobody would do.
    NoBarrier {
        /// The item.
        item: Party,
    },
}

/// Items of a group that did not all come to the same barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Where items wait, and which; at several barriers, or at one of them while others have ended.
    pub waiting: Vec<Arrival>,
    /// Items that have ended without coming to the barrier.
    pub ended: Vec<Party>,
}

/// Items of a group that wait at a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The line of the barrier.
    pub site: &'static Location<'static>,
    /// The items.
    pub items: Vec<Party>,
}

impl Outcome {
    /// The most failures that a thread keeps.
    pub const MOST: usize = 1000;

    /// Whether all items came to their end.
    pub fn is_clean(&self) -> bool {
        self.failed == 0
    }

    pub(super) fn fail(&mut self, failure: impl FnOnce() -> Failure) {
        self.failed += 1;
        if self.failures.len() < Self::MOST {
            self.failures.push(failure());
        }
    }

    pub(super) fn add(&mut self, other: Outcome) {
        self.items += other.items;
        self.barriers += other.barriers;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }

    pub(super) fn sorted(mut self) -> Self {
        self.failures.sort_by_cached_key(Failure::order);
        self
    }
}

impl Failure {
    fn order(&self) -> Option<([u64; 3], [u32; 3])> {
        let item = match self {
            Failure::Fault { item, .. } | Failure::NoBarrier { item } => Some(item),
            Failure::Divergence(divergence) => divergence.waiting.first().and_then(|arrival| arrival.items.first()),
        };
        item.map(|item| {
            let reversed = |[x, y, z]: [u64; 3]| [z, y, x];
            let [x, y, z] = item.local;
            (reversed(item.group), [z, y, x])
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Fault { item, fault } => write!(f, "{item}: {fault}"),
            Failure::Divergence(divergence) => write!(f, "{divergence}"),
            Failure::NoBarrier { item } => {
                write!(f, "{item} waits for something that is no barrier; kernels can wait for nothing else")
            }
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a group did not all come to the same barrier:")?;
        for Arrival { site, items } in &self.waiting {
            write!(f, " at {site}")?;
            write_items(f, items)?;
            f.write_str(";")?;
        }
        f.write_str(" ended")?;
        if self.ended.is_empty() { f.write_str(" none") } else { write_items(f, &self.ended) }
    }
}

/// The first of some items, and how many more.
fn write_items(f: &mut fmt::Formatter<'_>, items: &[Party]) -> fmt::Result {
    const SHOWN: usize = 3;
    for (i, item) in items.iter().take(SHOWN).enumerate() {
        write!(f, "{} {item}", if i == 0 { "" } else { "," })?;
    }
    if items.len() > SHOWN { write!(f, " and {} more", items.len() - SHOWN) } else { Ok(()) }
}
