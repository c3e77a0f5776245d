//! The runtime: PEs, their queues, and the calls.
//!
//! A [`Runtime`] is a cheap handle to one set of resources and PEs. A call's
//! way: typed call ([`calls`]) → checks, choice of a PE, a place in its queue
//! ([`submit`], [`queue`]) → its worker ([`worker`]) → memory (operands to where
//! the PE is) → device (execution) → counters ([`execute`]).
//!
//! A call of a blocking handle takes the same way but for the queue: the calling
//! thread waits for what the call comes after, and executes it itself.
//!
//! Threads: one a PE, started by the first call that is queued there; a second one for what that has to copy away while the
//! device is busy, where its memory is short ([`hand`]); one that watches, if asked for ([`monitor`]). They own what they work on, never a
//! handle; the last handle that goes lets them finish what was accepted.

mod arg;
mod batch;
mod builder;
mod calls;
mod event;
mod execute;
mod foresight;
mod hand;
mod monitor;
mod pe;
mod queue;
mod submit;
mod worker;

pub use arg::{Arg, arg, arg_mut};
pub use batch::Batch;
pub use builder::RuntimeBuilder;
pub use event::Event;
pub use pe::{Pe, ResourceInfo};

use crate::coherence::{MemoryMode, ResourceId};
use crate::data::HeteData;
use crate::device::Usage;
use crate::error::{Error, Result};
use crate::memory::Resources;
use crate::order::{in_kernel, in_own_thread};
use crate::sched::{CostTable, Costs, Policy};
use crate::trace::{Counters, Log, Timeline};
use bytemuck::Pod;
use pe::PeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Resources, PEs and a policy: where data is allocated and calls are made.
///
/// Calls return as soon as they are accepted, with an [`Event`]; whoever looks at data waits for those that concern
/// it, so that nothing else has to. What goes wrong after acceptance is told by the event, and by the data that could
/// not be made. With [`blocking`](Self::blocking) calls return when they are done, with their error.
///
/// A handle: cloning it is cheap, and [`on`](Self::on) gives one whose calls go to chosen PEs only.
///
/// ```
/// use rimms::{Complex32, Runtime};
/// let rt = Runtime::new()?;
/// let mut x = rt.alloc::<Complex32>(4 * 256)?;
/// let mut y = rt.alloc::<Complex32>(4 * 256)?;
/// x.overwrite()?.fill(Complex32::ONE)?;
/// x.fragment(4)?;
/// y.fragment(4)?;
/// for i in 0..4 {
///     rt.fft(&x[i], &mut y[i])?; // accepted at once
/// }
/// assert_eq!(y.read()?[256], Complex32::new(256.0, 0.0)); // waits for the four
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone)]
pub struct Runtime {
    core: Arc<Core>,
    allowed: PeSet,
    blocking: bool,
}

/// What the handles of a runtime share: the last one that goes ends it.
struct Core {
    shared: Arc<Shared>,
    monitor: Option<monitor::Monitor>,
}

/// What handles and workers share.
struct Shared {
    /// Different for each runtime of the process.
    id: u64,
    resources: Arc<Resources>,
    pes: Vec<Pe>,
    policy: Arc<dyn Policy>,
    /// Is the size of calls looked at, for a policy or to measure them?
    needs_costs: bool,
    /// Are calls measured?
    measures: bool,
    costs: Costs,
    turn: AtomicUsize,
    /// How long a device may be at one operation.
    time_limit: Option<Duration>,
    /// How long copies have to take to be made ahead of need.
    ahead_from: Duration,
    /// Is somebody looking at what the workers do?
    is_watched: bool,
}

impl Deref for Core {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Core {
    /// Lets the workers finish what was accepted, and ends them.
    fn drop(&mut self) {
        self.shared.pes.iter().for_each(|pe| pe.queue.close());
        // A kernel that drops the last handle must not wait for what may wait for it, nor may a worker that drops a call
        // whose kernel had it, nor the watching thread. The workers end by themselves.
        if in_kernel() || in_own_thread() {
            return;
        }
        for (at, pe) in self.shared.pes.iter().enumerate() {
            pe.worker.end(&self.shared, at);
            if !self.shared.resources.is_lost(pe.resource) {
                let _ = pe.device.finish();
            }
        }
        self.monitor.take();
    }
}

impl Runtime {
    /// The CPUs and every real device found, with the default memory mode and policy.
    /// Simulated devices are only used when asked for: [`Runtime::builder`]. A GPU with a CUDA and an OpenCL driver is
    /// there twice, each time with memory of its own: whoever does not want that takes the devices one by one.
    ///
    /// # Errors
    /// Where the machine cannot be looked at.
    pub fn new() -> Result<Self> {
        let builder = Self::builder();
        #[cfg(feature = "cuda")]
        let builder = crate::device::cuda::find().devices.into_iter().fold(builder, RuntimeBuilder::device);
        #[cfg(feature = "opencl")]
        let builder = crate::device::opencl::find().devices.into_iter().fold(builder, RuntimeBuilder::device);
        builder.build()
    }

    /// To choose PEs, devices, memory mode and policy.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Allocates `len` elements: the paper's `hete_Malloc`. On the host now, on devices when first used there.
    ///
    /// # Errors
    /// [`Error::Shape`] for length 0 or elements without size; [`Error::HostMemory`].
    #[inline]
    pub fn alloc<T: Pod + Send + Sync>(&self, len: usize) -> Result<HeteData<T>> {
        HeteData::new(&self.core.resources, len, None)
    }

    /// The same, with a name that messages use.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn alloc_named<T: Pod + Send + Sync>(&self, name: &str, len: usize) -> Result<HeteData<T>> {
        HeteData::new(&self.core.resources, len, Some(name))
    }

    /// A handle whose calls go to these PEs only: names and kinds, separated by commas (`acc0`, `cpu,fft0`).
    /// What the handle was limited to before does not matter: the names are those of all PEs.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a name that is neither a PE nor a kind of PE.
    pub fn on(&self, names: &str) -> Result<Self> {
        Ok(Self { core: self.core.clone(), allowed: PeSet::parse(names, &self.core.pes)?, blocking: self.blocking })
    }

    /// A handle whose calls return when they are done, with their own error where they fail. The calling thread
    /// executes them, so an idle CPU costs no hand-over between threads.
    ///
    /// ```
    /// # use rimms::{Runtime, op::UserOp, arg_mut};
    /// let rt = Runtime::builder().cpus(1).build()?.blocking();
    /// let gives_up = UserOp::builder("f").output::<f32>().on_cpu(|_| Err("no".into())).build()?;
    /// let mut x = rt.alloc::<f32>(4)?;
    /// assert!(rt.call(&gives_up.call(), &mut [arg_mut(&mut x)]).is_err());
    /// # Ok::<(), rimms::Error>(())
    /// ```
    #[must_use]
    pub fn blocking(&self) -> Self {
        Self { blocking: true, ..self.clone() }
    }

    /// The opposite of [`blocking`](Self::blocking): calls return as soon as they are accepted.
    #[must_use]
    pub fn queued(&self) -> Self {
        Self { blocking: false, ..self.clone() }
    }

    /// The PEs, in the order they are numbered.
    pub fn pes(&self) -> &[Pe] {
        &self.core.pes
    }

    /// The PEs this handle's calls may go to.
    pub fn allowed_pes(&self) -> impl Iterator<Item = &Pe> {
        self.core.pes.iter().enumerate().filter(|(i, _)| self.allowed.contains(*i)).map(|(_, pe)| pe)
    }

    /// The resources: the host first.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        let resources = &self.core.resources;
        resources.ids().map(|id| ResourceInfo::new(id, resources.device(id).info())).collect()
    }

    /// How full a resource's memory is.
    ///
    /// # Errors
    /// [`Error::Index`] for a resource this runtime does not have.
    pub fn usage(&self, resource: ResourceId) -> Result<Usage> {
        let resources = &self.core.resources;
        resources.usage(resource).ok_or(Error::Index { index: resource.index(), len: resources.len() })
    }

    /// What was copied and called so far, by all handles. Calls that are not done yet are not in it
    /// ([`finish`](Self::finish) waits for them).
    pub fn counters(&self) -> Counters {
        self.core.resources.tally.snapshot(self.core.pes.iter().map(Pe::name))
    }

    /// What was done since this was last asked, or since the runtime was built: all that is done by now. Calls that are
    /// not done yet are not in it. Empty unless the runtime [keeps one](RuntimeBuilder::timeline).
    pub fn take_timeline(&self) -> Timeline {
        let resources = &self.core.resources;
        let log = resources.log.as_deref();
        let (entries, allocated) = log.map(Log::take).unwrap_or_default();
        Timeline {
            entries,
            allocated,
            pes: self.core.pes.iter().map(|pe| pe.name().into()).collect(),
            resources: resources.ids().map(|r| resources.device(r).info().name.clone()).collect(),
            threads: log.map(Log::threads).unwrap_or_default(),
        }
    }

    /// What calls take, as measured so far or given to the builder: to be kept for the next runtime. Empty where calls
    /// are not measured (by default those policies measure that look at costs).
    ///
    /// ```
    /// use rimms::{Runtime, sched::CostTable};
    /// let rt = Runtime::builder().cpus(1).costs(&CostTable::default()).build()?.blocking();
    /// rt.fill(0_u32, &mut rt.alloc(256)?)?;
    /// let costs = rt.costs();
    /// assert_eq!(costs.iter().map(|cost| (cost.op.name(), &*cost.pe)).collect::<Vec<_>>(), [("fill", "cpu0")]);
    /// let next = Runtime::builder().cpus(1).costs(&costs).build()?;
    /// assert_eq!(next.costs(), costs);
    /// # Ok::<(), rimms::Error>(())
    /// ```
    #[must_use]
    pub fn costs(&self) -> CostTable {
        let names: Vec<&str> = self.core.pes.iter().map(Pe::name).collect();
        self.core.costs.table(&names)
    }

    /// From how many bytes on data are in mode `zero-copy`, whatever [`memory_mode`](Self::memory_mode) says of others: 0
    /// in that mode; as measured where none was asked for; `None` where all data are in the one mode.
    pub fn zero_copy_from(&self) -> Option<usize> {
        Some(self.core.resources.shared_from).filter(|from| *from < usize::MAX)
    }

    /// The memory mode, of [large data](Self::zero_copy_from) apart.
    pub fn memory_mode(&self) -> MemoryMode {
        self.core.resources.mode
    }

    /// The scheduling policy's name.
    pub fn policy(&self) -> &'static str {
        self.core.policy.name()
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("pes", &self.allowed_pes().map(Pe::name).collect::<Vec<_>>())
            .field("memory", &self.memory_mode())
            .field("policy", &self.policy())
            .finish()
    }
}
