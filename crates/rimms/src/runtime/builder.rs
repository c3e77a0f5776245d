//! Putting a runtime together.

use super::monitor::{Monitor, Watch};
use super::pe::{Pe, PeSet};
use super::{Core, Runtime, Shared};
use crate::coherence::{MAX_RESOURCES, MemoryMode, ResourceId};
use crate::device::Device;
use crate::device::host::Host;
use crate::error::{Error, Result};
use crate::memory::Resources;
use crate::order::MAX_QUEUES;
use crate::sched::{CostTable, Costs, Locality, Policy};
use crate::trace::Log;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of what nobody has asked to share, at least: to allocate memory that is shared costs more than plain memory.
const SMALL: usize = 4096;

/// To hand copies that take less to another thread, and bytes to another core, costs about what is gained.
const WORTHWHILE: Duration = Duration::from_micros(200);

/// Chooses PEs, devices, memory mode and policy. Made by [`Runtime::builder`].
///
/// ```
/// use rimms::device::sim::Sim;
/// use rimms::{MemoryMode, Runtime, sched};
/// let rt = Runtime::builder()
///     .cpus(1)
///     .device(Sim::fft("fft0", 1 << 20, Default::default())?)
///     .memory_mode(MemoryMode::LastResource)
///     .policy(sched::by_name("round-robin")?)
///     .build()?;
/// assert_eq!(rt.pes().len(), 2);
/// # Ok::<(), rimms::Error>(())
/// ```
#[must_use]
pub struct RuntimeBuilder {
    cpus: Option<usize>,
    devices: Vec<Arc<dyn Device>>,
    /// By default what costs less.
    mode: Option<MemoryMode>,
    policy: Arc<dyn Policy>,
    costs: Option<Given>,
    time_limit: Option<Duration>,
    watch: Option<Watch>,
    keeps_timeline: bool,
    ahead_from: Duration,
}

/// Costs that are known before the first call.
struct Given {
    table: CostTable,
    /// Nothing is added to them.
    fixed: bool,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self {
            cpus: None,
            devices: Vec::new(),
            mode: None,
            policy: Arc::new(Locality),
            costs: None,
            time_limit: None,
            watch: None,
            keeps_timeline: false,
            ahead_from: WORTHWHILE,
        }
    }
}

impl RuntimeBuilder {
    /// How many CPU PEs; by default as many as the machine lets this process use.
    pub fn cpus(mut self, n: usize) -> Self {
        self.cpus = Some(n);
        self
    }

    /// Adds a device. Its resource is numbered after those added before; the host is 0.
    pub fn device(self, device: impl Device + 'static) -> Self {
        self.shared_device(Arc::new(device))
    }

    /// Adds a device that the program keeps a hand on.
    pub fn shared_device(mut self, device: Arc<dyn Device>) -> Self {
        self.devices.push(device);
        self
    }

    /// How copies are kept coherent. By default in mode `valid-set`, but where all devices share the host's memory, data that
    /// are so large that copies of them cost more than doing without are in mode `zero-copy`
    /// ([`Device::zero_copy_from`], measured when the runtime is built; [`Runtime::zero_copy_from`] says the result).
    pub fn memory_mode(mut self, mode: MemoryMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// How PEs are chosen; by default [`Locality`].
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// Begins with these costs instead of none, and measures calls under any policy: [`Runtime::costs`] then has both.
    pub fn costs(mut self, table: &CostTable) -> Self {
        self.costs = Some(Given { table: table.clone(), fixed: false });
        self
    }

    /// Schedules by these costs alone and measures nothing, so that what a policy is told of costs is the same in each
    /// run. (How full the queues are, which `eft` and `locality` look at too, is not, unless calls are
    /// [`blocking`](Runtime::blocking); nor are the speeds of links, of which some copies are measured in any case.)
    ///
    /// ```
    /// use rimms::{Runtime, sched};
    /// let table = r#"{ "version": 1, "costs": [
    ///     { "op": "fill", "pe": "cpu0", "size": 256, "ns": 90, "measured": 1 },
    ///     { "op": "fill", "pe": "cpu1", "size": 256, "ns": 30, "measured": 1 }
    /// ] }"#.parse()?;
    /// let rt = Runtime::builder().cpus(2).policy(sched::by_name("eft")?).fixed_costs(&table).build()?.blocking();
    /// for _ in 0..10 {
    ///     rt.fill(0_u32, &mut rt.alloc(256)?)?;
    /// }
    /// assert_eq!(rt.counters().calls("cpu1"), 10);
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn fixed_costs(mut self, table: &CostTable) -> Self {
        self.costs = Some(Given { table: table.clone(), fixed: true });
        self
    }

    /// How long a device may be at one operation (a copy, a launch) of a queued call; by default as long as it likes.
    /// One that has been at something for longer, and has ended nothing meanwhile, is taken to be lost: the call is
    /// tried elsewhere, and what only that device held is gone ([`Error::DeviceLost`]). What the thread that is stuck in
    /// the device may still be at can be read, but neither joined nor divided, nor, if it is in a copy, written by the
    /// host, until it comes back. Kernels on the host have no limit: a thread cannot be taken away from them.
    ///
    /// Not to be had in mode `zero-copy`, where a device that is stuck may still write the host's memory.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Watches for calls that wait and never get on: when some are pending and none was done for `after`, `report` is
    /// told, once each time, who waits for whom. By default nobody watches.
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # use std::time::Duration;
    /// let rt = Runtime::builder().cpus(1).watchdog(Duration::from_secs(10), |report| eprintln!("{report}")).build()?;
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn watchdog(mut self, after: Duration, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.watch = Some(Watch { after, report: Box::new(report) });
        self
    }

    /// How long copies have to take to be made ahead of need; by default 200 µs, [`Duration::MAX`] for never.
    ///
    /// While a device is at a queued call, and the next one in the queue has less room there than it needs, what
    /// will have to go and is nowhere else is written back from another thread: the next call has to drive it out only. In mode
    /// `valid-set`, and without a [time limit](Self::time_limit); a device that [queues](Device::queues_launches)
    /// launches needs no other thread for that. What copies take is known from those before. Where the guess is wrong (calls that are
    /// queued later need something else), a block was copied for nothing.
    ///
    /// ```
    /// # use rimms::Runtime;
    /// # use std::time::Duration;
    /// let rt = Runtime::builder().cpus(1).write_back_ahead_from(Duration::from_millis(1)).build()?;
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn write_back_ahead_from(mut self, copies: Duration) -> Self {
        self.ahead_from = copies;
        self
    }

    /// Keeps a [`Timeline`](crate::trace::Timeline) of all calls, copies, waits, allocations and evictions. It grows until
    /// it is [taken](Runtime::take_timeline); an entry takes about a hundred bytes and as many nanoseconds.
    pub fn timeline(mut self) -> Self {
        self.keeps_timeline = true;
        self
    }

    /// The runtime.
    ///
    /// # Errors
    /// [`Error::Config`] where there is no PE, more than tickets can name, two of one name, or mode `zero-copy` meets a device with a memory of its
    /// own; [`Error::TooManyResources`].
    pub fn build(mut self) -> Result<Runtime> {
        let cpus = self.cpus.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        if cpus > MAX_QUEUES {
            return Err(Error::Config(format!("{cpus} CPU PEs, but one runtime can have {MAX_QUEUES} PEs").into()));
        }
        let mut devices: Vec<Arc<dyn Device>> = vec![Arc::new(Host::new(cpus))];
        devices.extend(std::mem::take(&mut self.devices));
        if devices.len() > MAX_RESOURCES {
            return Err(Error::TooManyResources { found: devices.len(), most: MAX_RESOURCES });
        }
        if self.mode == Some(MemoryMode::ZeroCopy) && self.time_limit.is_some() {
            let why = "memory mode zero-copy: a device that takes too long may still write the host's memory, so there \
                       is no time limit";
            return Err(Error::Config(why.into()));
        }
        let mut pes: Vec<Pe> = Vec::new();
        for (id, device) in (0..).map_while(ResourceId::new).zip(&devices) {
            let info = device.info();
            if self.mode == Some(MemoryMode::ZeroCopy) && !info.shares_host_memory {
                let why = format!("memory mode zero-copy: {} does not share the host's memory", info.name);
                return Err(Error::Config(why.into()));
            }
            for (unit, unit_info) in info.units.iter().enumerate() {
                if pes.iter().any(|pe| pe.name() == &*unit_info.name) {
                    return Err(Error::Config(format!("two PEs are named {}", unit_info.name).into()));
                }
                pes.push(Pe::new(id, device, unit, unit_info.clone(), &pes));
            }
        }
        for (i, device) in devices.iter().enumerate() {
            let name = &device.info().name;
            if devices.iter().skip(i + 1).any(|other| other.info().name == *name) {
                return Err(Error::Config(format!("two devices are named {name}").into()));
            }
        }
        if pes.is_empty() {
            return Err(Error::Config("a runtime needs at least one PE: add CPUs or a device".into()));
        }
        if pes.len() > MAX_QUEUES {
            return Err(Error::Config(format!("{} PEs, but one runtime can have {MAX_QUEUES}", pes.len()).into()));
        }
        let costs = Costs::new(pes.len());
        if let Some(Given { table, .. }) = &self.costs {
            costs.load(table, &pes.iter().map(Pe::name).collect::<Vec<_>>());
        }
        let measures = self.costs.as_ref().map_or(self.policy.needs_costs(), |given| !given.fixed);
        static RUNTIMES: AtomicU64 = AtomicU64::new(1);
        let (resources, shared_from) = (devices.len(), self.shared_from(&devices));
        let shared = Arc::new(Shared {
            id: RUNTIMES.fetch_add(1, Relaxed),
            resources: Arc::new(Resources::new(
                (self.mode.unwrap_or_default(), shared_from),
                devices,
                pes.iter().map(Pe::resource).collect(),
                self.time_limit.is_some(),
                self.keeps_timeline.then(|| Arc::new(Log::new(resources))),
            )),
            needs_costs: measures || self.policy.needs_costs(),
            measures,
            costs,
            pes,
            policy: self.policy,
            turn: AtomicUsize::new(0),
            time_limit: self.time_limit,
            ahead_from: self.ahead_from,
            is_watched: self.time_limit.is_some() || self.watch.is_some(),
        });
        let monitor = Monitor::start(&shared, self.watch)?;
        let allowed = PeSet::all(&shared.pes);
        Ok(Runtime { core: Arc::new(Core { shared, monitor }), allowed, blocking: false })
    }

    /// From how many bytes on data are in mode `zero-copy`, if any are. `devices[0]` is the host.
    fn shared_from(&self, devices: &[Arc<dyn Device>]) -> usize {
        let others = devices.get(1..).unwrap_or_default();
        let lender = others.iter().find(|device| device.lends_memory()).map(Arc::as_ref);
        let pays = || {
            // Where one of them has to copy, all do: a datum is in one mode.
            let from = others.iter().map(|device| device.zero_copy_from(lender));
            let from = from.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
            usize::try_from(from).ok().map(|from| from.max(SMALL))
        };
        match self.mode {
            Some(MemoryMode::ZeroCopy) => 0,
            None if self.time_limit.is_none() => pays().unwrap_or(usize::MAX),
            _ => usize::MAX,
        }
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("cpus", &self.cpus)
            .field("devices", &self.devices.iter().map(|d| d.info().name.clone()).collect::<Vec<_>>())
            .field("memory", &self.mode)
            .field("policy", &self.policy)
            .finish()
    }
}
