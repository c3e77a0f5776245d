//! Simulated accelerators: devices that exist in software only, with a memory of their own.
//!
//! Their memory is a [`rimms_devmem::Memory`]: addresses encode buffer and
//! offset, every access is checked, and fresh blocks are poisoned, so what was
//! not copied in is really not there. A marking system manages one large buffer
//! of it, as a driver manages a DMA buffer. Kernels load their operands through
//! that memory, compute on what they loaded, and store the results.
//!
//! | constructor | like | does |
//! | --- | --- | --- |
//! | [`Sim::acc`] | a GPU | every op in every size, and user-defined ones |
//! | [`Sim::fft`] | the paper's FFT block | FFT and IFFT, powers of two from 16 to 2,048 |
//! | [`Sim::zip`] | the paper's ZIP block | element-wise ops of up to 4,096 complex samples |

mod launch;
mod memory;

use super::{
    Capability, Device, DeviceError, DeviceInfo, HostSource, HostTarget, Lengths, OpSupport, Operand, Operation, Span,
    UnitInfo, Usage,
};
use crate::error::{Error, Result};
use crate::op::{Call, OpKind, SampleType, Target};
use memory::SimMemory;
pub use rimms_heap::HeapKind;
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
        Ok(Self { memory: SimMemory::new(memory, heap).map_err(refuse)?, info })
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

    /// Simulated devices reach each other's memory directly.
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        match peer.as_any().downcast_ref::<Self>() {
            Some(peer) => self.memory.copy_from(&self.info, &peer.memory, from, to),
            None => Err(DeviceError::unsupported(&self.info, Operation::Copy)),
        }
    }

    fn launch(&self, _unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        launch::run(&self.info, &self.memory, call, operands)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
