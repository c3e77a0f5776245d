//! What a program runs on: devices, how tight they are, what goes wrong with them, and everything the builder lets one choose.

use crate::hooked::Hooked;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use rimms::device::Device;
use rimms::device::faulty::{Fault, Faulty, Plan};
#[cfg(feature = "opencl")]
use rimms::device::opencl::{self, Memory};
use rimms::device::sim::Sim;
use rimms::{Error, MemoryMode, Runtime, sched};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Elements of the largest datum.
pub(crate) const LARGEST: usize = 96;
/// The largest call has three operands of this many bytes.
const OPERAND: u64 = 4 * LARGEST as u64;

/// What may go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// Nothing. Operations come late now and then.
    None,
    /// Operations fail, or are cut off.
    Faults,
    /// Devices are lost too.
    Loss,
    /// Operations take longer than devices are given: such a device is taken to be lost, although it comes back.
    Limit,
}

#[derive(Clone, Debug)]
struct Accelerator {
    name: &'static str,
    heap: &'static str,
    bytes: u64,
    is_foreign: bool,
    faults: Plan,
}

/// All that is decided before a program starts. Made from a number, so that the number is enough to repeat it.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) trouble: Trouble,
    pub(crate) mode: MemoryMode,
    pub(crate) threads: usize,
    policy: &'static str,
    cpus: usize,
    accelerators: Vec<Accelerator>,
    is_watched: bool,
    /// Copies here take less than those that are made ahead of need by default.
    ahead_from: Duration,
    /// On OpenCL devices in place of simulated ones.
    #[cfg(feature = "opencl")]
    opencl: Option<Memory>,
    /// What more there is to choose for that.
    #[cfg(feature = "opencl")]
    pick: usize,
}

/// How long a device is given, and how long it takes where it takes too long.
const LIMIT: Duration = Duration::from_millis(5);
const TOO_LONG: Duration = Duration::from_millis(15);

impl Setting {
    /// `operations` is about how many each device will see.
    pub(crate) fn random(seed: u64, trouble: Trouble, operations: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let rng = &mut rng;
        let mode =
            one_of(rng, &[MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet, MemoryMode::ValidSet]);
        let mut accelerators = Vec::new();
        for name in ["acc0", "acc1", "acc2"].into_iter().take(rng.random_range(2..=3)) {
            let heap = one_of(rng, &["next-fit", "two-level", "bitset:64", "bitset:128"]);
            // acc1 has room for the largest call, and for little more.
            let percent = if name == "acc1" { rng.random_range(100..=130) } else { rng.random_range(200..=1500) };
            let bytes = (3 * OPERAND * percent / 100).next_multiple_of(128);
            let is_foreign = rng.random_bool(0.2);
            accelerators.push(Accelerator { name, heap, bytes, is_foreign, faults: plan(rng, trouble, operations) });
        }
        if trouble == Trouble::Loss {
            let lost = rng.random_range(0..accelerators.len());
            let at = rng.random_range(0..operations);
            let faults = &mut accelerators[lost].faults;
            *faults = Plan::from(at, Fault::Lose).and_all(faults, operations);
        }
        Self {
            trouble,
            mode,
            threads: one_of(rng, &[1, 1, 2, 3, 4]),
            policy: one_of(rng, &sched::POLICIES),
            cpus: one_of(rng, &[0, 1, 2, 2]),
            accelerators,
            is_watched: rng.random_bool(0.5),
            ahead_from: one_of(rng, &[Duration::ZERO, Duration::ZERO, Duration::MAX]),
            #[cfg(feature = "opencl")]
            opencl: None,
            #[cfg(feature = "opencl")]
            pick: rng.random_range(0..1 << 16),
        }
    }

    /// On the OpenCL devices of this machine, two at most, with the driver's memory or little of it, where memory is shared
    /// in mode `zero-copy` too.
    #[cfg(feature = "opencl")]
    pub(crate) fn on_opencl(mut self) -> Self {
        let heap = self.accelerators[0].heap.parse().unwrap();
        let slab = Memory::Slab { bytes: (3 * OPERAND * 130 / 100).next_multiple_of(128), heap };
        let modes = [MemoryMode::ZeroCopy, MemoryMode::ZeroCopy, MemoryMode::ValidSet, MemoryMode::ValidSet, self.mode];
        self.mode = modes[self.pick / 2 % modes.len()];
        if self.mode == MemoryMode::ZeroCopy {
            // An update that fails loses what all share.
            self.trouble = Trouble::None;
        }
        self.opencl = Some(if self.pick.is_multiple_of(2) { Memory::Driver } else { slab });
        self.accelerators.truncate(2);
        for (acc, name) in self.accelerators.iter_mut().zip(["opencl0", "opencl1"]) {
            acc.name = name;
            if self.trouble == Trouble::None {
                acc.faults = Plan::none();
            }
        }
        self
    }

    #[cfg(feature = "opencl")]
    fn opencl_devices(&self) -> Vec<Arc<dyn Device>> {
        let Some(memory) = self.opencl else { return Vec::new() };
        let found = opencl::find_with(memory);
        assert!(found.devices.len() >= self.accelerators.len(), "{:?}", found.missing);
        let faulty =
            |(device, acc): (_, &Accelerator)| Arc::new(Faulty::new(device, acc.faults.clone())) as Arc<dyn Device>;
        found.devices.into_iter().zip(&self.accelerators).map(faulty).collect()
    }

    #[cfg(not(feature = "opencl"))]
    fn opencl_devices(&self) -> Vec<Arc<dyn Device>> {
        Vec::new()
    }

    fn simulated_devices(&self) -> Vec<Arc<dyn Device>> {
        let simulated = |Accelerator { name, heap, bytes, is_foreign, faults }: &Accelerator| {
            let sim = Sim::acc(name, *bytes, heap.parse().unwrap()).unwrap();
            Arc::new(Hooked::new(Faulty::new(sim, faults.clone()), *is_foreign, |_| {})) as Arc<dyn Device>
        };
        self.accelerators.iter().map(simulated).collect()
    }

    /// Every accelerator has this many percent of what the largest call needs.
    pub(crate) fn tightened(mut self, percent: impl Fn(usize) -> u64) -> Self {
        for (i, acc) in self.accelerators.iter_mut().enumerate() {
            acc.bytes = (3 * OPERAND * percent(i) / 100).next_multiple_of(128);
        }
        self
    }

    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Where it stalls the runtime says who waits for whom.
    pub(crate) fn watched(self) -> Self {
        Self { is_watched: true, ..self }
    }

    /// The runtime; `report` is told where it stalls.
    pub(crate) fn build(&self, report: impl Fn(&str) + Send + Sync + 'static) -> Runtime {
        let mut builder = Runtime::builder().cpus(self.cpus).memory_mode(self.mode);
        builder = builder.policy(sched::by_name(self.policy).unwrap());
        let real = self.opencl_devices();
        let devices = if real.is_empty() { self.simulated_devices() } else { real };
        builder = devices.into_iter().fold(builder, |builder, device| builder.shared_device(device));
        builder = builder.write_back_ahead_from(self.ahead_from);
        if self.is_watched {
            builder = builder.watchdog(Duration::from_secs(20), report);
        }
        if self.trouble == Trouble::Limit {
            builder = builder.time_limit(LIMIT);
        }
        builder.build().unwrap()
    }

    /// Which PEs calls may be limited to.
    pub(crate) fn pe_names(&self) -> Vec<String> {
        let cpus = (0..self.cpus).map(|i| format!("cpu{i}"));
        let accs = self.accelerators.iter().map(|acc| acc.name.to_owned());
        let mut names: Vec<String> = cpus.chain(accs).collect();
        let both: Vec<&str> = self.accelerators.iter().take(2).map(|acc| acc.name).collect();
        names.push(both.join(","));
        names.push(both[0].trim_end_matches('0').into());
        if self.cpus > 0 {
            names.push(format!("cpu,{}", both[1]));
        }
        names
    }

    /// Is this what the plan lets go wrong?
    pub(crate) fn explains(&self, error: &Error) -> bool {
        let text = error.to_string();
        match self.trouble {
            Trouble::None => false,
            Trouble::Faults => text.contains("as planned") && !text.contains("found no device"),
            Trouble::Loss => text.contains("as planned"),
            Trouble::Limit => text.contains("as planned") || text.contains("it did not finish"),
        }
    }

    /// Can what only one device has get lost?
    pub(crate) fn loses(&self) -> bool {
        matches!(self.trouble, Trouble::Loss | Trouble::Limit)
    }

    /// How many operations in a row may fail at most.
    pub(crate) fn patience(&self) -> usize {
        if self.trouble == Trouble::None { 1 } else { 200 }
    }
}

trait AndAll {
    fn and_all(self, other: &Plan, until: u64) -> Self;
}

impl AndAll for Plan {
    /// With the faults of another before operation `until`.
    fn and_all(self, other: &Plan, until: u64) -> Self {
        let faults = (0..until).filter_map(|n| Some((n, other.fault(n)?)));
        faults.fold(self, |plan, (n, fault)| plan.and(n..n + 1, fault))
    }
}

fn one_of<T: Copy>(rng: &mut SmallRng, all: &[T]) -> T {
    all[rng.random_range(0..all.len())]
}

/// Operations are few enough for the plan to be looked through at each.
fn plan(rng: &mut SmallRng, trouble: Trouble, operations: u64) -> Plan {
    let mut plan = Plan::none();
    let mut add = |rng: &mut SmallRng, most: usize, fault: &dyn Fn(&mut SmallRng) -> Fault| {
        for _ in 0..rng.random_range(0..=most) {
            let n = rng.random_range(0..operations);
            // Sometimes a few in a row: retries fail too.
            let row = if rng.random_bool(0.2) { rng.random_range(2..5) } else { 1 };
            plan = std::mem::take(&mut plan).and(n..n + row, fault(rng));
        }
    };
    add(rng, 8, &|rng| Fault::Delay(Duration::from_micros(rng.random_range(1..200))));
    if trouble != Trouble::None {
        add(rng, 40, &|rng| if rng.random_bool(0.5) { Fault::Fail } else { Fault::CutOff });
    }
    if trouble == Trouble::Limit {
        add(rng, 2, &|_| Fault::Delay(TOO_LONG));
    }
    plan
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {}, {} threads, {}, {} CPUs", self.trouble, self.mode, self.threads, self.policy, self.cpus)?;
        write!(f, "{}", if self.is_watched { ", watched" } else { "" })?;
        #[cfg(feature = "opencl")]
        if let Some(memory) = self.opencl {
            write!(f, ", {memory:?}")?;
        }
        for Accelerator { name, heap, bytes, is_foreign, faults } in &self.accelerators {
            let foreign = if *is_foreign { ", foreign" } else { "" };
            write!(f, "\n  {name}: {bytes} bytes, {heap}{foreign}, {faults:?}")?;
        }
        Ok(())
    }
}
