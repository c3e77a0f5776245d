//! The counters and their snapshot.

use crate::coherence::ResourceId;
use crate::sync::Padded;
use std::iter::Sum;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why bytes were copied.
///
/// ```
/// # use rimms::{Cause, Runtime, device::sim::Sim};
/// # let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// x.overwrite()?.fill(1.0)?;
/// rt.scale_in_place(2.0, &mut x)?; // the accelerator needs the elements
/// let _ = x.read()?[0]; // and the host wants them back
/// let copies = |cause| rt.counters().by_cause(cause).copies;
/// assert_eq!(Cause::ALL.map(copies), [1, 0, 1, 0, 0, 0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Cause {
    /// A call needed them where it ran.
    Input,
    /// Mode `reference` brings every result back to the host.
    Output,
    /// A guard of the host needed them.
    HostAccess,
    /// Leaves that lay apart on a device were brought together for a call on their parent.
    Gather,
    /// Fragments that lay on different resources were joined.
    Join,
    /// A block that only a device held made room for others there.
    Eviction,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 6] = [Self::Input, Self::Output, Self::HostAccess, Self::Gather, Self::Join, Self::Eviction];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::HostAccess => "host access",
            Self::Gather => "gather",
            Self::Join => "join",
            Self::Eviction => "eviction",
        }
    }
}

/// A number of copies and the bytes they moved.
///
/// ```
/// use rimms::trace::Flow;
/// let (before, after) = (Flow { copies: 2, bytes: 512 }, Flow { copies: 3, bytes: 768 });
/// assert_eq!(after - before, Flow { copies: 1, bytes: 256 });
/// assert_eq!([before, after].into_iter().sum::<Flow>(), Flow { copies: 5, bytes: 1280 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// Copies.
    pub copies: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Add for Flow {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { copies: self.copies + other.copies, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Flow {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { copies: self.copies.saturating_sub(other.copies), bytes: self.bytes.saturating_sub(other.bytes) }
    }
}

impl Sum for Flow {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// The copies from one resource to another for one cause.
///
/// ```
/// # use rimms::{Cause, ResourceId, Runtime, device::sim::Sim, trace::{Flow, PairFlow}};
/// # let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// x.overwrite()?.fill(1.0)?;
/// rt.scale_in_place(2.0, &mut x)?;
/// rt.finish()?;
/// let to = rt.pes()[0].resource();
/// let flow = Flow { copies: 1, bytes: 256 };
/// assert_eq!(rt.counters().flows, [PairFlow { from: ResourceId::HOST, to, cause: Cause::Input, flow }]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairFlow {
    /// Source.
    pub from: ResourceId,
    /// Target.
    pub to: ResourceId,
    /// Why.
    pub cause: Cause,
    /// How much.
    pub flow: Flow,
}

/// A snapshot of a runtime's counters.
///
/// ```
/// use rimms::{Complex32, Runtime};
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<Complex32>(64)?;
/// x.overwrite()?.fill(Complex32::ONE)?;
/// let before = rt.counters();
/// rt.fft_in_place(&mut x)?;
/// rt.finish()?;
/// let made = rt.counters().since(&before);
/// assert_eq!((made.copies(), made.calls("cpu0")), (0, 1));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Copies by pair of resources and cause; only those that happened.
    pub flows: Vec<PairFlow>,
    /// Calls that succeeded, by PE, in the runtime's order of PEs.
    pub calls_by_pe: Vec<(Box<str>, u64)>,
    /// Operands whose state was looked at before a call.
    pub checks: u64,
    /// Calls that failed on one PE and were tried again on another.
    pub retries: u64,
    /// Blocks that made room for others on a device. Those that only the device held were copied to the host first
    /// ([`Cause::Eviction`]).
    pub evictions: u64,
}

impl Counters {
    fn sum(&self, wanted: impl Fn(&PairFlow) -> bool) -> Flow {
        self.flows.iter().filter(|f| wanted(f)).map(|f| f.flow).sum()
    }

    /// From the host to devices.
    pub fn host_to_device(&self) -> Flow {
        self.sum(|f| f.from.is_host())
    }

    /// From devices to the host.
    pub fn device_to_host(&self) -> Flow {
        self.sum(|f| f.to.is_host())
    }

    /// Between devices, and within one.
    pub fn device_to_device(&self) -> Flow {
        self.sum(|f| !f.from.is_host() && !f.to.is_host())
    }

    /// For one cause.
    pub fn by_cause(&self, cause: Cause) -> Flow {
        self.sum(|f| f.cause == cause)
    }

    /// All copies.
    pub fn copies(&self) -> u64 {
        self.sum(|_| true).copies
    }

    /// All bytes copied.
    pub fn bytes(&self) -> u64 {
        self.sum(|_| true).bytes
    }

    /// Calls that succeeded on the PE of this name.
    pub fn calls(&self, pe: &str) -> u64 {
        self.calls_by_pe.iter().filter(|(name, _)| &**name == pe).map(|(_, n)| n).sum()
    }

    /// What happened after `earlier`, a snapshot of the same runtime.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |f: &PairFlow| earlier.sum(|e| (e.from, e.to, e.cause) == (f.from, f.to, f.cause));
        Self {
            flows: (self.flows.iter().map(|f| PairFlow { flow: f.flow - before(f), ..*f }))
                .filter(|f| f.flow != Flow::default())
                .collect(),
            calls_by_pe: (self.calls_by_pe.iter().enumerate())
                .map(|(i, (name, n))| {
                    (name.clone(), n.saturating_sub(earlier.calls_by_pe.get(i).map_or(0, |(_, n)| *n)))
                })
                .collect(),
            checks: self.checks.saturating_sub(earlier.checks),
            retries: self.retries.saturating_sub(earlier.retries),
            evictions: self.evictions.saturating_sub(earlier.evictions),
        }
    }
}

#[derive(Default)]
struct AtomicFlow {
    copies: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Default)]
struct Calls {
    calls: AtomicU64,
    checks: AtomicU64,
}

/// The living counters of one runtime.
pub(crate) struct Tally {
    resources: usize,
    /// Indexed by (from, to, cause).
    flows: Box<[AtomicFlow]>,
    /// By PE.
    calls: Box<[Padded<Calls>]>,
    retries: AtomicU64,
    evictions: AtomicU64,
}

impl Tally {
    pub(crate) fn new(resources: usize, pes: usize) -> Self {
        let flows = resources * resources * Cause::ALL.len();
        Self {
            resources,
            flows: (0..flows).map(|_| AtomicFlow::default()).collect(),
            calls: (0..pes).map(|_| Padded::default()).collect(),
            retries: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    pub(crate) fn copied(&self, from: ResourceId, to: ResourceId, cause: Cause, bytes: usize) {
        let at = (from.index() * self.resources + to.index()) * Cause::ALL.len() + cause as usize;
        if let Some(flow) = self.flows.get(at) {
            flow.copies.fetch_add(1, Relaxed);
            flow.bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// A call with this many operands succeeded.
    #[inline]
    pub(crate) fn called(&self, pe: usize, checks: usize) {
        if let Some(of_pe) = self.calls.get(pe) {
            of_pe.calls.fetch_add(1, Relaxed);
            of_pe.checks.fetch_add(checks as u64, Relaxed);
        }
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// A block made room for another.
    pub(crate) fn evicted(&self) {
        self.evictions.fetch_add(1, Relaxed);
    }

    pub(crate) fn snapshot<'a>(&self, pes: impl Iterator<Item = &'a str>) -> Counters {
        let mut flows = Vec::new();
        for (at, flow) in self.flows.iter().enumerate() {
            let pair = at / Cause::ALL.len();
            let ends = (ResourceId::new(pair / self.resources), ResourceId::new(pair % self.resources));
            let (copies, bytes) = (flow.copies.load(Relaxed), flow.bytes.load(Relaxed));
            if let ((Some(from), Some(to)), 1..) = (ends, copies) {
                let cause = Cause::ALL[at % Cause::ALL.len()];
                flows.push(PairFlow { from, to, cause, flow: Flow { copies, bytes } });
            }
        }
        Counters {
            flows,
            calls_by_pe: pes.zip(&self.calls).map(|(name, n)| (name.into(), n.calls.load(Relaxed))).collect(),
            checks: self.calls.iter().map(|n| n.checks.load(Relaxed)).sum(),
            retries: self.retries.load(Relaxed),
            evictions: self.evictions.load(Relaxed),
        }
    }
}
