//! Checkers: observers that find what programs for the device do wrong.
//!
//! Owns [`Checkers`], all of them together. Each is an [`Observer`](crate::observe::Observer) of its own: [`Memcheck`], [`Uninitialised`], [`Races`]
//! write what they find into [`Findings`]; [`Counters`] only counts.

mod counters;
mod finding;
mod memcheck;
mod races;
mod ranges;
mod uninitialised;

pub use counters::{Counters, Counts, KernelCounts, Tally};
pub use finding::{Actor, Check, Finding, Findings, Other, Problem, Suppression};
pub use memcheck::Memcheck;
pub use races::Races;
pub use uninitialised::Uninitialised;

/// Every checker, with one list of findings. Any tuple of checkers will do as well.
///
/// ```
/// use rimms_devmem::check::{Checkers, Problem};
/// use rimms_devmem::{Device, Flags, Init, Launch, NdRange};
///
/// let checkers = Checkers::new();
/// let findings = checkers.findings();
/// let device = Device::with_observer(checkers.observer());
/// let buffer = device.host().allocate_named("sum", 4, Flags::READ_WRITE, Init::Zeroed)?;
/// let launch = Launch::new("add", NdRange::linear(8, 4)?).uses(&[buffer]);
/// device.run(&launch, async |item| {
///     let sum = item.global().load_value::<u32>(buffer)?;
///     item.global().store_value(buffer, sum + 1)
/// })?;
/// let found = findings.take();
/// assert!(matches!(found[0].problem, Problem::Race { .. }));
/// assert_eq!(found[0].name.as_deref(), Some("sum"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Checkers {
    findings: Findings,
    counters: Counters,
}

/// All checkers as one observer.
pub type AllCheckers = ((Memcheck, Uninitialised), (Races, Counters));

impl Checkers {
    /// Every checker, with an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list.
    pub fn findings(&self) -> Findings {
        self.findings.clone()
    }

    /// The numbers.
    pub fn counters(&self) -> Counters {
        self.counters.clone()
    }

    /// The checkers, for a [`Device`](crate::Device).
    pub fn observer(&self) -> AllCheckers {
        let findings = &self.findings;
        ((Memcheck::new(findings), Uninitialised::new(findings)), (Races::new(findings), self.counters.clone()))
    }
}
