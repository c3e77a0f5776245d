//! Kernels: `async` functions over a work-item, run by all cores.
//!
//! Owns [`Device`], which is an observer and a global memory, and [`Launch`]. [`range`] says which items there are,
//! [`item`] what one can do, [`run`] how they are run, [`task`] how a plain function is, [`outcome`] what came of it, and [`who`] gives names to all.
//!
//! A kernel knows nothing but its [`Item`], so however it is written (a closure, an `async fn`, an interpreter's loop), it
//! is run the same way.

mod item;
mod outcome;
mod range;
mod run;
mod task;
mod who;

pub use item::{Barrier, Item};
pub use outcome::{Arrival, Divergence, Failure, Outcome};
pub use range::{NdRange, RangeError};
pub use who::{Group, Kernel, Party, Who, WorkItem};

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use crate::observe::Observer;
use crate::{Address, AddressLayout, AddressSpace, Fault, Memory, View};

/// A simulated device: its global memory, and who watches it.
///
/// ```
/// use rimms_devmem::{Device, Fault, Flags, Init, Launch, NdRange};
///
/// let device = Device::new();
/// let host = device.host();
/// let [a, b, c] = [(); 3].map(|()| host.allocate(4096, Flags::READ_WRITE, Init::Zeroed).unwrap());
/// host.fill(a, &1.5f32.to_ne_bytes(), 4096)?;
/// host.fill(b, &2.0f32.to_ne_bytes(), 4096)?;
///
/// let launch = Launch::new("vecadd", NdRange::linear(1024, 64)?).uses(&[a, b, c]);
/// let outcome = device.run(&launch, async |item| {
///     let global = item.global();
///     let at = |buffer| global.element::<f32>(buffer, item.global_id(0));
///     global.store_value(at(c), global.load_value::<f32>(at(a))? + global.load_value::<f32>(at(b))?)
/// })?;
/// assert!(outcome.is_clean());
/// assert_eq!(host.load_value::<[f32; 4]>(c)?, [3.5; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Device<O: Observer = ()> {
    observer: O,
    global: Memory,
    kept: O::OfMemory,
    local: AddressLayout,
    private: AddressLayout,
    workers: usize,
    launches: AtomicU64,
}

impl Device {
    /// A device that nobody watches, with an unlimited global memory.
    pub fn new() -> Self {
        Self::with_observer(())
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Observer> Device<O> {
    /// A device that is watched, with an unlimited global memory.
    pub fn with_observer(observer: O) -> Self {
        Self::with_memory(Memory::new(AddressSpace::Global, AddressLayout::GLOBAL), observer)
    }

    /// A device with this global memory, which should have no buffers yet: the observer is told of no earlier ones.
    pub fn with_memory(global: Memory, observer: O) -> Self {
        Device {
            kept: observer.attach(&global),
            observer,
            global,
            local: AddressLayout::LOCAL,
            private: AddressLayout::PRIVATE,
            workers: thread::available_parallelism().map_or(1, NonZeroUsize::get),
            launches: AtomicU64::new(0),
        }
    }

    /// The same device, its memory and what is in it, watched by another from now on. The new observer is told of no buffers that
    /// there are already.
    ///
    /// ```
    /// use rimms_devmem::check::{Findings, Memcheck};
    /// use rimms_devmem::{Address, Device, Fault, Flags, Init};
    ///
    /// let device = Device::new();
    /// let buffer = device.host().allocate(4, Flags::READ_ONLY, Init::Zeroed)?;
    /// let findings = Findings::default();
    /// let device = device.observed_by(Memcheck::new(&findings));
    /// device.host().store_value(buffer, 1u32).unwrap_err();
    /// assert_eq!(findings.count(), 1);
    /// # Ok::<(), Fault>(())
    /// ```
    pub fn observed_by<P: Observer>(self, observer: P) -> Device<P> {
        let Device { global, local, private, workers, launches, .. } = self;
        Device { kept: observer.attach(&global), observer, global, local, private, workers, launches }
    }

    /// The same device with so many threads for its kernels; at first as many as the host has cores. With one, kernels run
    /// on the thread that launches them, group by group.
    pub fn workers(self, workers: NonZeroUsize) -> Self {
        Device { workers: workers.get(), ..self }
    }

    /// The same device with these layouts of local and private addresses.
    pub fn layouts(self, local: AddressLayout, private: AddressLayout) -> Self {
        Device { local, private, ..self }
    }

    /// Who watches.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// What the observer keeps with the global memory.
    pub fn kept(&self) -> &O::OfMemory {
        &self.kept
    }

    /// The global memory. What is done to it directly is not observed.
    pub fn memory(&self) -> &Memory {
        &self.global
    }

    /// The global memory as the host uses it.
    pub fn host(&self) -> View<'_, O> {
        View {
            memory: &self.global,
            kept: &self.kept,
            launch: None,
            observer: &self.observer,
            who: Who::Host,
            is_constant: false,
            near: None,
        }
    }

    /// Runs a kernel and waits until all its items have ended.
    ///
    /// Items of a group take turns on one thread, from barrier to barrier; groups run on several threads. An item that
    /// returns a fault ends; the others of its group go on, and barriers do not wait for it. The order of the
    /// items of a group is that of their numbers.
    ///
    /// # Errors
    /// The [`Fault`] of a buffer that the launch says it uses and that cannot be held, or of local memory that cannot be
    /// allocated. What went wrong in the kernel itself is in the [`Outcome`].
    ///
    /// Cost: some microseconds; some nanoseconds an item; a thread for each worker.
    pub fn run<K>(&self, launch: &Launch, kernel: K) -> Result<Outcome, Fault>
    where
        K: AsyncFn(Item<'_, O>) -> Result<(), Fault> + Sync,
    {
        let _holds = launch.uses.iter().map(|buffer| self.global.hold(*buffer)).collect::<Result<Vec<_>, _>>()?;
        run::run(self, launch, &kernel)
    }
}

/// What is run: a name, the work-items, the buffers in use, and the local memory of a group.
///
/// ```
/// use rimms_devmem::{Launch, NdRange};
///
/// let launch = Launch::new("sum", NdRange::linear(1024, 64)?).local("partial", 64 * 4);
/// assert_eq!(launch.kernel_name(), "sum");
/// # Ok::<(), rimms_devmem::RangeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Launch {
    name: Arc<str>,
    range: NdRange,
    uses: Vec<Address>,
    locals: Vec<(Arc<str>, u64)>,
}

impl Launch {
    /// A launch that holds no buffers and has no local memory.
    pub fn new(name: &str, range: NdRange) -> Self {
        Launch { name: name.into(), range, uses: Vec::new(), locals: Vec::new() }
    }

    /// The buffers that the kernel uses: none of them can be freed while it runs.
    pub fn uses(mut self, buffers: &[Address]) -> Self {
        self.uses.extend_from_slice(buffers);
        self
    }

    /// One more buffer in the local memory of each group. Its bytes are undefined when the group begins.
    pub fn local(mut self, name: &str, size: u64) -> Self {
        self.locals.push((name.into(), size));
        self
    }

    /// The kernel's name.
    pub fn kernel_name(&self) -> &str {
        &self.name
    }
}
