//! Simulated accelerators: devices that exist in software only, with a memory of their own.
//!
//! Their memory is a [`rimms_devmem::Memory`]: addresses encode buffer and
//! offset, every access is checked, and fresh blocks are poisoned, so what was
//! not copied in is really not there. A marking system manages one large buffer
//! of it, as a driver manages a DMA buffer. Kernels on slices load their operands
//! through that memory, compute on what they loaded, and store the results;
//! kernels written for work-items ([`on_sim_items`](crate::op::UserOpBuilder::on_sim_items)) work in it.
//!
//! What is done to the memory can be watched: [`Sim::checked`] looks for
//! mistakes, [`Sim::counted`] counts. A device that nobody watches pays nothing for it.
//!
//! | constructor | like | does |
//! | --- | --- | --- |
//! | [`Sim::acc`] | a GPU | every op in every size, and user-defined ones |
//! | [`Sim::fft`] | the paper's FFT block | FFT and IFFT, powers of two from 16 to 2,048 |
//! | [`Sim::zip`] | the paper's ZIP block | element-wise ops of up to 4,096 complex samples |

mod launch;
mod memory;
mod parts;

use super::{
    Capability, Device, DeviceError, DeviceInfo, HostSource, HostTarget, Lengths, OpSupport, Operand, Operation, Span,
    UnitInfo, Usage,
};
use crate::error::{Error, Result};
use crate::op::{Call, OpKind, SampleType, Target};
use memory::SimMemory;
/// The simulated memory's own crate: launches and faults of kernels for work-items, findings, counters.
pub use rimms_devmem as devmem;
use rimms_devmem::check::{Counters, Findings};
pub use rimms_heap::{HeapKind, MarkingSystem};
use std::any::Any;

/// Bytes of the paper's DMA buffers: 1 MiB an accelerator type.
pub const DMA_BUFFER: u64 = 1 << 20;

/// Bytes of a GPU-like accelerator, unless told otherwise.
pub const ACC_MEMORY: u64 = 256 << 20;

/// A simulated accelerator.
///
/// ```
/// use rimms::device::sim::Sim;
/// use rimms::{Complex32, Runtime};
/// let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, "next-fit".parse().unwrap())?).build()?;
/// let mut x = rt.alloc::<Complex32>(256)?;
/// x.overwrite()?.fill(Complex32::ONE)?;
/// rt.fft_in_place(&mut x)?;                       // copied in, computed there, and it stays there
/// assert_eq!(x.read()?[0].re, 256.0);             // copied out
/// assert_eq!(rt.counters().copies(), 2);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug)]
pub struct Sim {
    info: DeviceInfo,
    memory: SimMemory,
    findings: Option<Findings>,
    counters: Option<Counters>,
}

impl Sim {
    /// A GPU-like accelerator that does everything, with `memory` bytes managed by `heap`.
    ///
    /// # Errors
    /// [`Error::Config`] where the memory is too large or too small for its address layout or marking system.
    pub fn acc(name: &str, memory: u64, heap: HeapKind) -> Result<Self> {
        Self::new(name, "GPU-like accelerator", Capability::ALL, memory, heap)
    }

    /// The paper's FFT block behind a DMA buffer of `memory` bytes.
    ///
    /// # Errors
    /// As [`acc`](Self::acc).
    pub fn fft(name: &str, memory: u64, heap: HeapKind) -> Result<Self> {
        let lengths = Lengths { min: 16, max: 2048, power_of_two: true };
        let op = OpSupport { kind: OpKind::Fft, sample: Some(SampleType::Complex), lengths };
        Self::new(name, "FFT block", Capability::only([op]), memory, heap)
    }

    /// The paper's ZIP block behind a DMA buffer of `memory` bytes.
    ///
    /// # Errors
    /// As [`acc`](Self::acc).
    pub fn zip(name: &str, memory: u64, heap: HeapKind) -> Result<Self> {
        let lengths = Lengths { min: 1, max: 4096, power_of_two: false };
        let op = OpSupport { kind: OpKind::Zip, sample: Some(SampleType::Complex), lengths };
        Self::new(name, "ZIP block", Capability::only([op]), memory, heap)
    }

    /// An accelerator of your own: one unit, named like the device.
    ///
    /// # Errors
    /// As [`acc`](Self::acc).
    pub fn new(name: &str, what: &str, capability: Capability, memory: u64, heap: HeapKind) -> Result<Self> {
        let refuse = |e: String| Error::Config(format!("simulated device {name}: {e}").into());
        let info = DeviceInfo {
            name: name.into(),
            description: format!("simulated {what}, {memory} bytes of memory under a {heap} heap").into(),
            target: Target::Sim,
            capacity: Some(memory),
            shares_host_memory: false,
            units: vec![UnitInfo { name: name.into(), capability }],
        };
        Ok(Self { memory: SimMemory::new(memory, heap).map_err(refuse)?, info, findings: None, counters: None })
    }

    /// The same accelerator, whose memory is checked from now on, before anything is allocated on it: what is wrong with
    /// how kernels use it goes into this list. Found are accesses that the memory refuses (beyond an operand, to a freed one,
    /// to one of role In), reads of bytes that nobody has written, and data races between work-items. What a kernel leaves
    /// unwritten of an output is found when another kernel reads it, or when it is copied to the host: the finding then names
    /// operand and call that it is of.
    ///
    /// A kernel on slices is seen as one work-item that reads each operand at once, and then writes each at once; what
    /// it does with its slices is Rust's to check. One for work-items
    /// ([`on_sim_items`](crate::op::UserOpBuilder::on_sim_items)) is seen access by access.
    ///
    /// Operands are told apart by bounds that begin at a multiple of 16 bytes, and a tile's reach from its first element to
    /// its last: what an item does by an address that it has computed itself, within these, is not found.
    ///
    /// Between a checked device and one that is not, data goes through the host.
    ///
    /// ```
    /// use rimms::device::sim::Sim;
    /// use rimms::device::sim::devmem::{Launch, NdRange, check::Findings};
    /// use rimms::op::UserOp;
    /// use rimms::{Runtime, arg_mut};
    ///
    /// // Each item adds its left neighbour's value to its own, and does not wait until that has been read.
    /// let ripple = UserOp::builder("ripple")
    ///     .inout::<u32>()
    ///     .named("levels")
    ///     .on_sim_items(
    ///         |len| Ok(Launch::new("ripple", NdRange::linear(len[0] as u64, 8)?)),
    ///         async |item| {
    ///             let me = item.global_id(0);
    ///             let left = if me > 0 { item.load::<u32>(0, me - 1)? } else { 0 };
    ///             item.store(0, me, item.load::<u32>(0, me)? + left)
    ///         },
    ///     )
    ///     .build()?;
    ///
    /// let findings = Findings::default();
    /// let acc = Sim::acc("acc0", 1 << 20, Default::default())?.checked(&findings);
    /// let rt = Runtime::builder().cpus(0).device(acc).build()?;
    /// let mut levels = rt.alloc::<u32>(8)?;
    /// levels.overwrite()?.fill(1)?;
    /// rt.blocking().call(&ripple.call(), &mut [arg_mut(&mut levels)])?;
    /// let found = findings.take();
    /// assert_eq!(found.len(), 7);
    /// assert_eq!(found[0].name.as_deref(), Some("levels"));
    /// println!("{}", found[0]);
    /// // read of 4 bytes at global 0x0002_0000_0000_0000 (buffer 2, offset 0): a race from byte 0 on with a write in the
    /// // same group, by item (0, 0, 0) of ripple, (0, 0, 0) of group (0, 0, 0); buffer "levels"; by item (1, 0, 0) of …
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn checked(mut self, findings: &Findings) -> Self {
        self.findings = Some(findings.clone());
        self.watched()
    }

    /// The same accelerator, whose memory counts operations and bytes from now on, by kernel and address space; the host's copies
    /// count as the host's.
    ///
    /// ```
    /// use rimms::device::sim::Sim;
    /// use rimms::device::sim::devmem::{AddressSpace, check::Counters};
    /// use rimms::{Complex32, Runtime};
    ///
    /// let counters = Counters::new();
    /// let acc = Sim::acc("acc0", 1 << 20, Default::default())?.counted(&counters);
    /// let rt = Runtime::builder().cpus(0).device(acc).build()?;
    /// let mut x = rt.alloc::<Complex32>(256)?;
    /// x.overwrite()?.fill(Complex32::ONE)?;
    /// rt.blocking().fft_in_place(&mut x)?;
    /// let fft = counters.of_kernel("fft", AddressSpace::Global);
    /// assert_eq!((fft.loads.operations, fft.loads.bytes, fft.stores.bytes), (1, 2048, 2048));
    /// assert_eq!(counters.of_host(AddressSpace::Global).stores.bytes, 2048); // copied in
    /// # Ok::<(), rimms::Error>(())
    /// ```
    pub fn counted(mut self, counters: &Counters) -> Self {
        self.counters = Some(counters.clone());
        self.watched()
    }

    /// The same accelerator, whose marking system is what `wrap` makes of the present one: one that is timed, or logged,
    /// say. It must answer as the wrapped one does.
    ///
    /// ```
    /// use rimms::device::{Device, sim::{HeapKind, MarkingSystem, Sim}};
    /// use rimms_heap::{HeapError, HeapReport};
    /// use std::sync::{Arc, atomic::{AtomicU64, Ordering::Relaxed}};
    ///
    /// #[derive(Debug)]
    /// struct Counted(Box<dyn MarkingSystem>, Arc<AtomicU64>);
    ///
    /// impl MarkingSystem for Counted {
    ///     fn allocate(&mut self, bytes: u64, align: u64) -> Result<u64, HeapError> {
    ///         self.1.fetch_add(1, Relaxed);
    ///         self.0.allocate(bytes, align)
    ///     }
    ///     fn name(&self) -> &'static str { self.0.name() }
    ///     fn free(&mut self, address: u64) -> Result<u64, HeapError> { self.0.free(address) }
    ///     fn report(&self) -> HeapReport { self.0.report() }
    ///     fn size_of(&self, address: u64) -> Option<u64> { self.0.size_of(address) }
    /// }
    ///
    /// let made = Arc::new(AtomicU64::new(0));
    /// let acc = Sim::acc("acc0", 1 << 20, HeapKind::NextFit)?;
    /// let acc = acc.wrapping_heap(|heap| Box::new(Counted(heap, made.clone())));
    /// acc.free(acc.allocate(100)?)?;
    /// assert_eq!(made.load(Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wrapping_heap(self, wrap: impl FnOnce(Box<dyn MarkingSystem>) -> Box<dyn MarkingSystem>) -> Self {
        Self { memory: self.memory.wrapping_heap(wrap), ..self }
    }

    fn watched(self) -> Self {
        let memory = self.memory.watched(self.findings.as_ref(), self.counters.as_ref());
        Self { memory, ..self }
    }
}

impl Device for Sim {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.memory.allocate(&self.info, bytes)
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.memory.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.memory.free(&self.info, address)
    }

    fn usage(&self) -> Usage {
        self.memory.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.memory.write(&self.info, from, to)
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.memory.read(&self.info, from, to)
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.memory.copy_from(&self.info, &self.memory, from, to)
    }

    /// Simulated devices reach each other's memory directly, if they are watched alike.
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        match peer.as_any().downcast_ref::<Self>() {
            Some(peer) if self.memory.is_watched_as(&peer.memory) => {
                self.memory.copy_from(&self.info, &peer.memory, from, to)
            }
            _ => Err(DeviceError::unsupported(&self.info, Operation::Copy)),
        }
    }

    fn launch(&self, _unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        launch::run(&self.info, &self.memory, call, operands)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
