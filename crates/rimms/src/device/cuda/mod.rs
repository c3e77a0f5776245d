//! Devices with a CUDA driver.
//!
//! NVIDIA's driver, its compiler and its libraries are looked for at run time ([`find`]): to build takes nothing, and a machine
//! without them says why there is no device. Each GPU is a [`Device`] with one unit of its name, `cuda0`, `cuda1` …, in
//! its primary context.
//!
//! * **Memory** ([`Memory`]) comes from the driver in the order of the device's commands, or is one large block under a marking system,
//!   or pinned host memory that the device reaches itself. Copies between GPUs that reach each other are direct.
//! * **Order.** One stream a device, worked off in order. Launches are queued and not waited for, nor are copies in, nor those from
//!   a peer, whose stream goes on behind them; copies out are. What fails in between shows at the next operation,
//!   and loses the device.
//! * **Kernels** are CUDA C: the sources of [`opencl`](super::opencl)'s, with other words, compiled by NVRTC on first use and
//!   kept on disk. Fourier transforms are cuFFT's, matrix products cuBLAS's, or a kernel's where there is none. Without
//!   NVRTC a device can do nothing, without cuFFT no transforms; [`Found::missing`] says so.
//! * **Host memory** (mode `zero-copy`) is used where it lies in blocks of [`Memory::Mapped`]; such launches are waited for.
//!
//! Untested on hardware: all this was seen to work on a driver in software, which runs the kernels on the CPU.
//!
//! Who checks what: operands are inside their blocks and fit the call (`memory`, `op`); that they are inside a live block, and aligned
//! for their elements, is checked here.

mod blocks;
mod cublas;
mod cufft;
mod driver;
mod fft;
mod gemm;
mod launch;
mod library;
mod memory;
mod module;
mod nvrtc;
mod probe;
mod program;
mod queue;
mod raw;
mod scratch;
mod staging;
#[cfg(test)]
mod tests;
mod user;

pub use memory::Memory;
pub use probe::{Found, find, find_with};

use super::{
    Capability, Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lengths, Lent, Limits,
    OpSupport, Operand, Operation, Span, UnitInfo, Usage, in_words,
};
use crate::op::{Call, OpKind, Target};
use cublas::Blas;
use cufft::Plans;
use driver::Driver;
use library::{Code, CuFft};
use memory::DeviceMemory;
use nvrtc::Compiler;
use parking_lot::Mutex;
use program::Programs;
use raw::{Event, Id};
use scratch::Scratch;
use std::any::Any;
use std::sync::OnceLock;

/// A GPU with a CUDA driver. Made by [`find`].
///
/// ```
/// use rimms::device::{Device, cuda};
/// for device in cuda::find().devices {
///     let info = device.info();
///     println!("{}: {}", info.name, info.description); // cuda0: NVIDIA …, 141000 MiB (compute …)
/// }
/// ```
#[derive(Debug)]
pub struct Cuda {
    info: DeviceInfo,
    programs: Mutex<Programs>,
    plans: Mutex<Plans>,
    blas: Mutex<Option<Blas>>,
    scratch: Mutex<Scratch>,
    memory: DeviceMemory,
    /// The driver's numbers of devices whose memory it reaches.
    peers: Vec<i32>,
    /// Where a copy from this device, or to it, is over.
    point: Event,
    without_compiler: Option<String>,
    /// Why it is gone, once it is.
    gone: OnceLock<Box<str>>,
    /// The last to go.
    driver: Driver,
}

impl Cuda {
    fn new(number: usize, id: Id, memory: Memory) -> Result<Self, String> {
        let driver = Driver::new(id).map_err(|code| code.to_string())?;
        let memory = DeviceMemory::new(&driver, memory)?;
        let point = Event::new(&driver.context).map_err(|code| code.to_string())?;
        let facts = &driver.facts;
        let compiler = Compiler::new(facts.capability);
        let name: Box<str> = format!("cuda{number}").into();
        let place = match (memory.is_host_memory(), facts.is_integrated) {
            (true, _) => ", in the host's memory",
            (false, true) => ", integrated",
            (false, false) => "",
        };
        let bytes = memory.capacity().unwrap_or(facts.memory);
        let (major, minor) = (facts.capability / 10, facts.capability % 10);
        let gpu = &facts.name;
        let version = raw::version(id.driver).map_err(|code| code.to_string())?;
        let about = format!("compute capability {major}.{minor}, driver for CUDA {version}");
        let info = DeviceInfo {
            description: format!("{gpu}, {}{place} ({about})", in_words(bytes)).into(),
            target: Target::Cuda,
            capacity: memory.capacity(),
            shares_host_memory: memory.is_host_memory(),
            units: vec![UnitInfo { name: name.clone(), capability: capability(compiler.is_ok()) }],
            name,
        };
        let without_compiler = compiler.as_ref().err().cloned();
        let programs = Mutex::new(Programs::new(compiler.ok()));
        let (plans, blas, scratch) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (peers, gone) = (Vec::new(), OnceLock::new());
        Ok(Self { info, programs, plans, blas, scratch, memory, peers, point, without_compiler, gone, driver })
    }

    /// Refuses if the device is gone.
    fn check(&self, operation: Operation) -> Result<(), DeviceError> {
        match self.gone.get() {
            None => Ok(()),
            Some(why) => Err(DeviceError::new(&self.info, operation, DeviceErrorKind::Lost, why.clone())),
        }
    }

    /// If that is how it ended, the device is gone.
    fn seen<T>(&self, done: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error) = &done
            && error.kind == DeviceErrorKind::Lost
        {
            let _ = self.gone.set(error.message.clone());
        }
        done
    }

    /// What was queued did not end well: nobody can say what it left.
    fn lost(&self, operation: Operation, code: Code) -> DeviceError {
        let message = format!("what was queued failed: {code}");
        DeviceError::new(&self.info, operation, DeviceErrorKind::Lost, message)
    }

    /// Queues a copy from a peer, between what both have queued before and what they are given later.
    fn copy_after(&self, peer: &Self, from: &Span, to: &Span) -> Result<(), Code> {
        let (here, there) = (&self.driver.queue, &peer.driver.queue);
        there.stream.record(&peer.point)?;
        here.stream.wait_for(&peer.point)?;
        here.copy_from(&peer.driver.context, (from.address, &from.rows), (to.address, &to.rows))?;
        let after = here.stream.record(&self.point).and_then(|()| there.stream.wait_for(&self.point));
        // Whoever cannot wait for it is told when it is over.
        after.or_else(|_| here.finish())
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is still queued uses memory that goes next.
        let _ = self.driver.queue.finish();
        self.memory.close(&self.driver);
    }
}

/// What a device can do, with a compiler or without.
fn capability(has_compiler: bool) -> Capability {
    let ops = |kinds: &[OpKind]| {
        Capability::only(kinds.iter().map(|kind| OpSupport { kind: *kind, sample: None, lengths: Lengths::ANY }))
    };
    match (has_compiler, CuFft::get()) {
        (false, _) => ops(&[]),
        (true, Ok(_)) => Capability::ALL,
        (true, Err(_)) => {
            let others: Vec<OpKind> = OpKind::BUILT_IN.into_iter().filter(|kind| *kind != OpKind::Fft).collect();
            ops(&others).and_user_ops()
        }
    }
}

/// What a refusal of the driver's, or of a library's, means.
fn failed(info: &DeviceInfo, operation: Operation, code: Code) -> DeviceError {
    /// After these nothing works any more in a context, or there is no device any more.
    const FATAL: [u32; 24] = [
        4, 46, 100, 101, 201, 214, 220, 226, 700, 702, 703, 709, 710, 714, 715, 716, 717, 718, 719, 721, 805, 806, 810,
        999,
    ];
    let is_fatal = code.library == Code::DRIVER && FATAL.contains(&code.number);
    let kind = if is_fatal { DeviceErrorKind::Lost } else { DeviceErrorKind::Failed };
    DeviceError::new(info, operation, kind, code.to_string())
}

impl Device for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.check(Operation::Allocate)?;
        self.seen(self.memory.allocate(&self.info, &self.driver, bytes))
    }

    fn limits(&self) -> Option<Limits> {
        Some(self.memory.limits())
    }

    fn footprint(&self, bytes: u64) -> u64 {
        self.memory.footprint(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.seen(self.memory.free(&self.info, &self.driver, address))
    }

    fn usage(&self) -> Usage {
        self.memory.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.check(Operation::Upload)?;
        self.seen(self.memory.write(&self.info, &self.driver, from, to))
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.check(Operation::Download)?;
        self.seen(self.memory.read(&self.info, &self.driver, from, to))
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.check(Operation::Copy)?;
        self.seen(self.memory.copy(&self.info, &self.driver, from, to))
    }

    /// From a GPU that this one reaches.
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        let peer = peer.as_any().downcast_ref::<Self>();
        let Some(peer) = peer.filter(|peer| self.peers.contains(&peer.driver.context.id.device)) else {
            return Err(DeviceError::unsupported(&self.info, Operation::Copy));
        };
        self.check(Operation::Copy)?;
        peer.check(Operation::Copy)?;
        DeviceError::check_shapes(&self.info, Operation::Copy, &from.rows, &to.rows)?;
        peer.memory.check(&peer.info, Operation::Copy, from)?;
        self.memory.check(&self.info, Operation::Copy, to)?;
        let copied = self.copy_after(peer, from, to);
        self.seen(copied.map_err(|code| failed(&self.info, Operation::Copy, code)))
    }

    fn launch(&self, _unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.check(Operation::Launch)?;
        self.seen(launch::run(self, call, operands))
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.check(Operation::Finish)?;
        self.seen(self.driver.queue.finish().map_err(|code| self.lost(Operation::Finish, code)))
    }

    fn queues_launches(&self) -> bool {
        true
    }

    fn lends_memory(&self) -> bool {
        self.memory.is_host_memory()
    }

    fn lend(&self, address: u64) -> Option<Lent> {
        self.memory.lend(address)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
