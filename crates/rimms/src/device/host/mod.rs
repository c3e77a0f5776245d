//! The host as a device: its memory is where data lives, its processors are PEs.
//!
//! A launch runs in the calling thread. Operands are the data's own storage, as
//! addresses; a tile is packed for the kernel and unpacked after it.

pub(crate) mod kernels;
pub(crate) mod launch;
mod memory;
mod raw;

use super::{Capability, Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Span, UnitInfo, Usage};
use crate::op::{Call, Target};
use memory::HostMemory;
use std::any::Any;

/// The host: one unit `cpu0`, `cpu1` … for each CPU PE asked for.
///
/// ```
/// use rimms::device::{Device, host::Host};
/// let host = Host::new(2);
/// assert_eq!(&*host.info().units[1].name, "cpu1");
/// ```
#[derive(Debug)]
pub struct Host {
    info: DeviceInfo,
    memory: HostMemory,
}

impl Host {
    /// With this many CPU PEs; 0 for a program that runs on accelerators only.
    pub fn new(cpus: usize) -> Self {
        let unit = |i| UnitInfo { name: format!("cpu{i}").into(), capability: Capability::ALL };
        let info = DeviceInfo {
            name: "host".into(),
            description: format!("the host's memory and {cpus} CPU PEs").into(),
            target: Target::Cpu,
            capacity: None,
            shares_host_memory: true,
            units: (0..cpus).map(unit).collect(),
        };
        Self { info, memory: HostMemory::default() }
    }
}

impl Device for Host {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.memory.allocate(&self.info, bytes)
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
        self.memory.copy(&self.info, from, to)
    }

    #[inline]
    fn launch(&self, _unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        launch::run(&self.info, call, operands)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
