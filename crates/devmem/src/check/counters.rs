//! How much memory is used: operations and bytes, by kernel, space and kind.
//!
//! Owns [`Counters`]. Each thread of a launch counts for itself, with plain loads and stores; the sums are made when the
//! kernel ends. The host counts in shared numbers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::kernel::{Group, Kernel, Who};
use crate::observe::{At, Atomic, Event, Observer, Stored};
use crate::{AddressSpace, Memory, Rows};

/// Operations and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many.
    pub operations: u64,
    /// Of how many bytes in all.
    pub bytes: u64,
}

/// What was done in one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Loads.
    pub loads: Tally,
    /// Stores.
    pub stores: Tally,
    /// Atomic operations.
    pub atomics: Tally,
}

/// What kernels of one name did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelCounts {
    /// The name.
    pub name: Arc<str>,
    /// Launches that have ended.
    pub launches: u64,
    /// Barriers that their groups passed.
    pub barriers: u64,
    /// What was done in each space where something was.
    pub spaces: Vec<(AddressSpace, Counts)>,
}

const SPACES: [AddressSpace; 4] =
    [AddressSpace::Private, AddressSpace::Global, AddressSpace::Constant, AddressSpace::Local];

/// Operations and bytes, by kind and space.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Numbers([[[AtomicU64; 2]; 3]; 4]);

/// What one thread counts for its launch.
#[derive(Debug, Default)]
pub struct OfWorkers {
    workers: Box<[Numbers]>,
    barriers: AtomicU64,
}

/// Counts what was done to memories, and by whom. What was refused does not count. A clone has the same numbers.
///
/// ```
/// use rimms_devmem::check::{Counters, Tally};
/// use rimms_devmem::{AddressSpace, Device, Flags, Init, Launch, NdRange};
///
/// let device = Device::with_observer(Counters::new());
/// let buffer = device.host().allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
/// device.host().store(buffer, &[1; 64])?;
/// device.run(&Launch::new("sum", NdRange::linear(16, 4)?), async |item| {
///     let global = item.global();
///     global.load_value::<u32>(global.element::<u32>(buffer, item.global_id(0))).map(drop)
/// })?;
/// let counters = device.observer();
/// assert_eq!(counters.of_host(AddressSpace::Global).stores, Tally { operations: 1, bytes: 64 });
/// assert_eq!(counters.of_kernel("sum", AddressSpace::Global).loads, Tally { operations: 16, bytes: 64 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Totals>);

#[derive(Debug, Default)]
struct Totals {
    host: Numbers,
    kernels: Mutex<BTreeMap<Arc<str>, OfKernel>>,
}

#[derive(Debug, Default)]
struct OfKernel {
    spaces: [Counts; 4],
    barriers: u64,
    launches: u64,
}

fn number_of(space: AddressSpace) -> usize {
    match space {
        AddressSpace::Private => 0,
        AddressSpace::Global => 1,
        AddressSpace::Constant => 2,
        AddressSpace::Local => 3,
    }
}

impl Numbers {
    fn counts(&self) -> [Counts; 4] {
        let tally = |[operations, bytes]: &[AtomicU64; 2]| Tally {
            operations: operations.load(Relaxed),
            bytes: bytes.load(Relaxed),
        };
        self.0.each_ref().map(|[loads, stores, atomics]| Counts {
            loads: tally(loads),
            stores: tally(stores),
            atomics: tally(atomics),
        })
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let pairs =
            [(&mut self.loads, other.loads), (&mut self.stores, other.stores), (&mut self.atomics, other.atomics)];
        for (sum, more) in pairs {
            sum.operations += more.operations;
            sum.bytes += more.bytes;
        }
    }
}

impl Counters {
    /// All zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the host has done in a space.
    pub fn of_host(&self, space: AddressSpace) -> Counts {
        self.0.host.counts()[number_of(space)]
    }

    /// What the kernels of this name have done in a space, those that have ended.
    pub fn of_kernel(&self, name: &str, space: AddressSpace) -> Counts {
        self.0.kernels.lock().get(name).map_or_else(Counts::default, |kernel| kernel.spaces[number_of(space)])
    }

    /// The kernels that have ended, by name.
    pub fn kernels(&self) -> Vec<KernelCounts> {
        let kernels = self.0.kernels.lock();
        let counts = |(name, kernel): (&Arc<str>, &OfKernel)| KernelCounts {
            name: name.clone(),
            launches: kernel.launches,
            barriers: kernel.barriers,
            spaces: SPACES.into_iter().zip(kernel.spaces).filter(|(_, counts)| *counts != Counts::default()).collect(),
        };
        kernels.iter().map(counts).collect()
    }

    #[inline(always)]
    fn count(&self, at: At<'_, Self>, event: &Event<'_>, kind: usize) {
        if event.outcome.is_err() {
            return;
        }
        let space = number_of(event.space);
        match (event.who, at.launch) {
            (Who::Item(item), Some(launch)) => {
                let Some(numbers) = launch.workers.get(item.group().worker()) else { return };
                let [operations, bytes] = &numbers.0[space][kind];
                // This thread alone changes them.
                operations.store(operations.load(Relaxed) + 1, Relaxed);
                bytes.store(bytes.load(Relaxed) + event.size, Relaxed);
            }
            _ => {
                let [operations, bytes] = &self.0.host.0[space][kind];
                operations.fetch_add(1, Relaxed);
                bytes.fetch_add(event.size, Relaxed);
            }
        }
    }
}

impl Observer for Counters {
    type OfMemory = ();
    type OfLaunch = OfWorkers;

    fn attach(&self, _: &Memory) {}

    fn kernel_begin(&self, kernel: &Kernel) -> OfWorkers {
        let workers = (0..kernel.workers()).map(|_| Numbers::default()).collect();
        OfWorkers { workers, barriers: AtomicU64::new(0) }
    }

    fn kernel_end(&self, kernel: &Kernel, launch: OfWorkers) {
        let mut kernels = self.0.kernels.lock();
        let sums = kernels.entry(kernel.name().clone()).or_default();
        for worker in &launch.workers {
            sums.spaces.iter_mut().zip(worker.counts()).for_each(|(sum, more)| *sum += more);
        }
        sums.barriers += launch.barriers.into_inner();
        sums.launches += 1;
    }

    #[inline(always)]
    fn load(&self, at: At<'_, Self>, event: &Event<'_>) {
        self.count(at, event, 0);
    }

    #[inline(always)]
    fn store(&self, at: At<'_, Self>, event: &Event<'_>, _: Stored<'_>) {
        self.count(at, event, 1);
    }

    fn load_rows(&self, at: At<'_, Self>, event: &Event<'_>, rows: Rows) {
        self.count(at, &Event { size: rows.packed().unwrap_or(0), ..*event }, 0);
    }

    fn store_rows(&self, at: At<'_, Self>, event: &Event<'_>, rows: Rows, _: Stored<'_>) {
        self.count(at, &Event { size: rows.packed().unwrap_or(0), ..*event }, 1);
    }

    #[inline(always)]
    fn atomic(&self, at: At<'_, Self>, event: &Event<'_>, _: Atomic) {
        self.count(at, event, 2);
    }

    fn barrier(&self, launch: &OfWorkers, _: &Group<'_>) {
        launch.barriers.fetch_add(1, Relaxed);
    }
}
