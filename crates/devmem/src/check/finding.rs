//! What checkers find, as values.
//!
//! Owns [`Finding`] and [`Findings`], the list that checkers share. A finding says what, where, who, and the other
//! party where there is one.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::kernel::{Divergence, Party, Who};
use crate::{Access, AtomicOp, Fault, Mapping, Memory, Place};

/// Who did something, for good.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// The host.
    Host,
    /// A work-item.
    Item(Party),
}

impl Actor {
    /// The kernel, if it was not the host.
    pub fn kernel(&self) -> Option<&Arc<str>> {
        match self {
            Actor::Host => None,
            Actor::Item(item) => Some(&item.kernel),
        }
    }
}

impl From<Who<'_>> for Actor {
    fn from(who: Who<'_>) -> Self {
        match who {
            Who::Host => Actor::Host,
            Who::Item(item) => Actor::Item(item.party()),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Host => f.write_str("the host"),
            Actor::Item(item) => write!(f, "{item}"),
        }
    }
}

/// Kinds of problems, by which they can be suppressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Uses that the memory refused.
    Fault,
    /// Atomic operations at odd offsets.
    MisalignedAtomic,
    /// Kernels that interfere with regions the host has mapped.
    Mapped,
    /// Reads of bytes that nobody wrote.
    Uninitialised,
    /// Data races.
    Race,
    /// Atomic operations of different sizes on the same bytes.
    MixedAtomics,
    /// Barriers that not all items of a group reach.
    Divergence,
    /// Launches that are too large to be checked.
    Unchecked,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The memory refused the use. What was freed says where, as the other party.
    Fault(Fault),
    /// An atomic operation at an offset that is no multiple of its size.
    MisalignedAtomic(AtomicOp),
    /// A kernel used bytes that the host has mapped (or wrote such that the host has mapped for reading).
    Mapped(Mapping),
    /// Bytes were read that nobody had written.
    Uninitialised {
        /// Bytes from the start of the read to the first of them.
        first: u64,
        /// How many of them are among those that were read.
        bytes: u64,
    },
    /// Two items use the same bytes, at least one changes them, not both by atomic operations, and no barrier is in between.
    Race {
        /// Bytes from the start of the use to the first such byte.
        first: u64,
        /// What the other item did: `Write` if it wrote, else `Atomic` if it changed atomically, else `Read`.
        access: Access,
        /// The other item.
        other: Other,
        /// Whether both are of one group.
        same_group: bool,
    },
    /// Two items use atomic operations of different sizes on the same bytes with no barrier in between.
    MixedAtomics {
        /// Bytes from the start of the use to the first such byte.
        first: u64,
        /// The other item.
        other: Other,
    },
    /// Not all items of a group reached the same barrier.
    Divergence(Divergence),
    /// A launch of more than 2^30 items, or more than 2^23 barriers of a group: races are not checked from here on.
    Unchecked,
}

impl Problem {
    /// Its kind.
    pub fn check(&self) -> Check {
        match self {
            Problem::Fault(_) => Check::Fault,
            Problem::MisalignedAtomic(_) => Check::MisalignedAtomic,
            Problem::Mapped(_) => Check::Mapped,
            Problem::Uninitialised { .. } => Check::Uninitialised,
            Problem::Race { .. } => Check::Race,
            Problem::MixedAtomics { .. } => Check::MixedAtomics,
            Problem::Divergence(_) => Check::Divergence,
            Problem::Unchecked => Check::Unchecked,
        }
    }
}

/// What is known of the other party to a race.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Other {
    /// It is this item.
    Item(Party),
    /// It is of the group with this id, and was there before the group's last barrier, or is one of several.
    OfGroup([u64; 3]),
    /// It is one of several, of other groups.
    OfOtherGroups,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Other::Item(item) => write!(f, "{item}"),
            Other::OfGroup([x, y, z]) => write!(f, "an item of group ({x}, {y}, {z})"),
            Other::OfOtherGroups => f.write_str("one of several items of other groups"),
        }
    }
}

/// Something that is wrong: what, where and who.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub problem: Problem,
    /// Who.
    pub who: Actor,
    /// Where: space, buffer, offset, size and kind of the use. None for a divergence.
    pub place: Option<Place>,
    /// The name that the buffer was given.
    pub name: Option<Arc<str>>,
}

impl Finding {
    pub(super) fn of_use(problem: Problem, who: Who<'_>, memory: &Memory, place: Option<Place>) -> Self {
        let name = place.and_then(|place| memory.name_of(place.address));
        Finding { problem, who: who.into(), place, name }
    }

    /// By what findings are sorted: launch, kernel, kind, place, who.
    fn order(&self) -> impl Ord + use<> {
        let launch = match &self.who {
            Actor::Host => None,
            Actor::Item(item) => Some(item.launch),
        };
        let place = self.place.map(|place| (place.space, place.index, place.generation, place.offset));
        (launch, self.problem.check(), place, self.who.clone())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { problem, who, place, name } = self;
        match problem {
            Problem::Fault(fault) => write!(f, "{fault}")?,
            Problem::Divergence(divergence) => return write!(f, "{divergence}"),
            Problem::Unchecked => {
                return write!(f, "races are not checked any more: too many items or barriers; by {who}");
            }
            _ => {
                if let Some(place) = place {
                    write!(f, "{place}: ")?;
                }
            }
        }
        match problem {
            Problem::MisalignedAtomic(op) => write!(f, "atomic {op} at an offset that is no multiple of its size")?,
            Problem::Mapped(mapping) => {
                let (from, size) = (mapping.offset(), mapping.size());
                write!(f, "the host has mapped {size} bytes from {from} on")?;
            }
            Problem::Uninitialised { first, bytes } => {
                write!(f, "{bytes} of these bytes were never written, the first at {first}")?;
            }
            Problem::Race { first, access, other, same_group } => {
                let place = if *same_group { "in the same group" } else { "in another group" };
                write!(f, "a race from byte {first} on with a {access} {place}, by {other}")?;
            }
            Problem::MixedAtomics { first, other } => {
                write!(f, "atomic operations of different sizes meet from byte {first} on; the other is by {other}")?;
            }
            _ => {}
        }
        if let Some(name) = name {
            write!(f, "; buffer {name:?}")?;
        }
        write!(f, "; by {who}")
    }
}

/// What is not to be reported.
///
/// ```
/// use rimms_devmem::check::{Check, Findings, Suppression};
///
/// let findings = Findings::default();
/// findings.suppress(Suppression { kernel: Some("histogram".into()), check: Some(Check::Race) });
/// assert_eq!(findings.suppressed(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suppression {
    /// In this kernel; `None` for all, and for the host.
    pub kernel: Option<Arc<str>>,
    /// Of this kind; `None` for all.
    pub check: Option<Check>,
}

impl Suppression {
    fn covers(&self, finding: &Finding) -> bool {
        let kernel = match (&self.kernel, finding.who.kernel()) {
            (None, _) => true,
            (Some(wanted), Some(found)) => wanted == found,
            (Some(_), None) => false,
        };
        kernel && self.check.is_none_or(|check| check == finding.problem.check())
    }
}

/// The list of what is found; a clone is the same list.
///
/// ```
/// use rimms_devmem::check::{Findings, Memcheck};
/// use rimms_devmem::{Address, Device};
///
/// let findings = Findings::default();
/// let device = Device::with_observer(Memcheck::new(&findings));
/// device.host().load_value::<u32>(Address::NULL).unwrap_err();
/// assert_eq!(findings.count(), 1);
/// println!("{}", findings.take()[0]);
/// // read of 4 bytes at global 0x0000_0000_0000_0000 (buffer 0, offset 0): null address; by the host
/// ```
#[derive(Debug, Clone, Default)]
pub struct Findings(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    found: Vec<Finding>,
    count: u64,
    suppressed: u64,
    suppressions: Vec<Suppression>,
}

impl Findings {
    /// The most findings that are kept; all are counted.
    pub const MOST: usize = 10_000;

    /// From now on, such findings are only counted, in [`suppressed`](Self::suppressed).
    pub fn suppress(&self, what: Suppression) {
        self.0.lock().suppressions.push(what);
    }

    /// How many there were, whether or not they are kept or taken.
    pub fn count(&self) -> u64 {
        self.0.lock().count
    }

    /// How many were suppressed.
    pub fn suppressed(&self) -> u64 {
        self.0.lock().suppressed
    }

    /// Takes what is kept, sorted by launch, kind, place and who.
    pub fn take(&self) -> Vec<Finding> {
        let mut found = std::mem::take(&mut self.0.lock().found);
        found.sort_by_cached_key(Finding::order);
        found
    }

    #[cold]
    pub(super) fn add(&self, finding: Finding) {
        let mut list = self.0.lock();
        if list.suppressions.iter().any(|suppression| suppression.covers(&finding)) {
            list.suppressed += 1;
            return;
        }
        list.count += 1;
        if list.found.len() < Self::MOST {
            list.found.push(finding);
        }
    }
}
