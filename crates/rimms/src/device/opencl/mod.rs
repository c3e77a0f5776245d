//! Devices with an OpenCL driver, version 1.2 or later.
//!
//! The loader and its drivers are looked for at run time ([`find`]): to build
//! takes nothing, and a machine without any says why there is none. Each OpenCL device is a
//! [`Device`] with one unit of its name, `opencl0`, `opencl1` …
//!
//! * **Memory** is the driver's, or one large buffer under a marking system
//!   ([`Memory`]). Devices of one platform share a context, so copies between
//!   them are direct, unless they have such a buffer: no two devices may work on one at once.
//! * **Order.** One queue a device, worked off in order. Launches are queued
//!   and not waited for, nor are small copies in, and those between devices; copies out are, and come after what was queued
//!   at their block, beside the rest: for them there is a [second queue](driver::Driver::aside). What fails in between shows at the next
//!   operation, and loses the device.
//! * **Kernels** are OpenCL C, in `kernels/`, built on first use and kept on disk. They take
//!   buffers and offsets, never parts of buffers: drivers differ in which parts they allow, and two in three
//!   do not check. Only kernels of the user's get parts, where these are aligned, and otherwise a copy.
//! * **Host memory** (mode `zero-copy`) is used where it lies. Where the driver has fine-grain shared virtual memory, data
//!   lie in blocks of a device ([`Device::lend`]): launches on them, on all devices of the context, are queued like others, and
//!   nothing is mapped. Other memory of the host, and what a device of another driver lends, gets a buffer over it; such
//!   launches are waited for, and what they wrote is mapped.
//!
//! Who checks what: operands are inside their blocks and fit the call (`memory`, `op`); that
//! they are inside a live buffer, and aligned for their elements, is checked here.

mod blocks;
mod commands;
mod driver;
mod fft;
mod icd;
mod launch;
mod memory;
mod peers;
mod probe;
mod program;
mod queue;
mod raw;
mod scratch;
mod sharing;
mod staging;
mod svm;
#[cfg(test)]
mod tests;
mod user;

pub use memory::Memory;
pub use probe::{Found, find, find_with};
pub use sharing::{Sharing, SharingCost};

use super::{
    Capability, Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lent, Limits, Operand,
    Operation, Span, UnitInfo, Usage, in_words,
};
use crate::op::{Call, Target};
use cl3::error_codes as codes;
use driver::Driver;
use memory::DeviceMemory;
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};
use program::Programs;
use raw::Code;
use scratch::Scratch;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// An OpenCL device. Made by [`find`].
///
/// ```
/// use rimms::device::{Device, opencl};
/// for device in opencl::find().devices {
///     let info = device.info();
///     println!("{}: {}", info.name, info.description); // opencl0: pthread-…, 16 GiB (Portable Computing Language)
/// }
/// ```
#[derive(Debug)]
pub struct OpenCl {
    /// The first to go: it waits for what is queued, which uses the rest.
    driver: Driver,
    info: DeviceInfo,
    memory: DeviceMemory,
    programs: Mutex<Programs>,
    scratch: Mutex<Scratch>,
    /// Who is at it, where the driver is for one thread at a time.
    turn: Option<ReentrantMutex<()>>,
    /// Why it is gone, once it is.
    lost: OnceLock<Box<str>>,
    /// None where host and device share no memory, or it could not be measured.
    sharing: OnceLock<Option<Sharing>>,
}

impl OpenCl {
    fn new(number: usize, driver: Driver, platform: &str, version: &str, memory: Memory) -> Result<Self, String> {
        let facts = &driver.facts;
        let memory = DeviceMemory::new(&driver, memory)?;
        let name: Box<str> = format!("opencl{number}").into();
        let bytes = memory.capacity().unwrap_or(facts.memory);
        let shared = if facts.is_unified { ", shared with the host" } else { "" };
        let info = DeviceInfo {
            description: format!("{}, {}{shared} ({platform}, {version})", facts.name, in_words(bytes)).into(),
            target: Target::OpenCl,
            capacity: memory.capacity(),
            shares_host_memory: facts.is_unified,
            units: vec![UnitInfo { name: name.clone(), capability: Capability::ALL }],
            name,
        };
        let programs = Mutex::new(Programs::new(&driver, &format!("{platform}\n{version}")));
        let turn = facts.is_for_one_thread.then(ReentrantMutex::default);
        Ok(Self {
            turn,
            driver,
            info,
            memory,
            programs,
            scratch: Mutex::default(),
            lost: OnceLock::new(),
            sharing: OnceLock::new(),
        })
    }

    /// What copies cost beside working on the host's memory, measured when first asked for (some milliseconds). `None` where host and
    /// device share no memory, where the device's is [limited](Memory::Slab), and where measuring failed.
    pub fn sharing(&self) -> Option<&Sharing> {
        if !self.info.shares_host_memory || self.memory.is_slab() {
            return None;
        }
        self.sharing.get_or_init(|| Sharing::measure(self).ok()).as_ref()
    }

    /// Is that a device of the same context, or this one?
    fn is_peer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver.context, &other.driver.context)
    }

    /// To be had while the driver is called.
    fn turn(&self) -> Option<ReentrantMutexGuard<'_, ()>> {
        self.turn.as_ref().map(ReentrantMutex::lock)
    }

    /// Refuses if the device is gone, as it is when something failed that nobody has waited for.
    fn check(&self, operation: Operation) -> Result<(), DeviceError> {
        if let Some(code) = self.driver.queue.failure() {
            let _ = self.lost.set(format!("what was queued before failed: {code}").into());
        }
        match self.lost.get() {
            None => Ok(()),
            Some(why) => Err(DeviceError::new(&self.info, operation, DeviceErrorKind::Lost, why.clone())),
        }
    }

    /// If that is how it ended, the device is gone.
    fn seen<T>(&self, done: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(error) = &done
            && error.kind == DeviceErrorKind::Lost
        {
            let _ = self.lost.set(error.message.clone());
        }
        done
    }
}

/// What a driver's refusal means.
fn failed(info: &DeviceInfo, operation: Operation, code: Code) -> DeviceError {
    let kind = match code.0 {
        codes::CL_DEVICE_NOT_AVAILABLE
        | codes::CL_INVALID_CONTEXT
        | codes::CL_INVALID_COMMAND_QUEUE
        | codes::CL_INVALID_DEVICE => DeviceErrorKind::Lost,
        _ => DeviceErrorKind::Failed,
    };
    DeviceError::new(info, operation, kind, format!("the OpenCL driver says {code}"))
}

impl Device for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let _turn = self.turn();
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
        let _turn = self.turn();
        self.memory.free(&self.info, &self.driver, address)
    }

    fn usage(&self) -> Usage {
        self.memory.usage()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        let _turn = self.turn();
        self.check(Operation::Upload)?;
        self.seen(self.memory.write(&self.info, &self.driver, from, to))
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        let _turn = self.turn();
        let done = self.memory.read(&self.info, &self.driver, from, to);
        // What was queued before at its source is over now.
        self.check(Operation::Download)?;
        self.seen(done)
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        let _turn = self.turn();
        self.check(Operation::Copy)?;
        let source = self.memory.copy(&self.info, &self.driver, (&self.memory, &self.driver), from, to);
        self.seen(source).map(|source| source.storage.last_use.note(self.driver.queue.given()))
    }

    /// From a device of the same platform whose blocks are buffers of their own, as this one's are. The two queues wait for
    /// each other, the host for neither, if the driver can do that; so what fails on the one while the other waits for it is
    /// the end of both. Where the host shares both memories, and neither device is at anything, it copies itself.
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        let _turn = self.turn();
        let peer = peer.as_any().downcast_ref::<Self>();
        let Some(peer) = peer.filter(|peer| self.is_peer(peer) && !peer.memory.is_slab() && !self.memory.is_slab())
        else {
            return Err(DeviceError::unsupported(&self.info, Operation::Copy));
        };
        self.check(Operation::Copy)?;
        peer.check(Operation::Copy)?;
        let failed = |code| failed(&self.info, Operation::Copy, code);
        let (queue, others) = (&self.driver.queue, &peer.driver.queue);
        if !(self.driver.facts.waits_for_others && peer.driver.facts.waits_for_others) {
            others.finish().and(queue.finish()).map_err(failed)?;
            let done = self.memory.copy(&self.info, &self.driver, (&peer.memory, &peer.driver), from, to);
            return self.seen(done.and(queue.finish().map_err(failed)));
        }
        queue.comes_after(others).map_err(failed)?;
        let source = self.memory.copy(&self.info, &self.driver, (&peer.memory, &peer.driver), from, to);
        // The peer goes on, and may write what is read here, but not before that is over.
        let after = others.comes_after(queue).map_err(failed);
        self.seen(source.and_then(|source| match after {
            Ok(()) => {
                source.storage.last_use.note(others.given());
                Ok(())
            }
            Err(error) => {
                source.storage.last_use.lose_track();
                Err(error)
            }
        }))
    }

    fn launch(&self, _unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        let _turn = self.turn();
        self.check(Operation::Launch)?;
        self.seen(launch::run(self, call, operands))
    }

    fn finish(&self) -> Result<(), DeviceError> {
        let _turn = self.turn();
        let done = self.driver.queue.finish();
        self.check(Operation::Finish)?;
        self.seen(done.map_err(|code| failed(&self.info, Operation::Finish, code)))
    }

    /// Launches that work on what was lent may still be queued.
    fn invalidate(&self, _span: &Span) -> Result<(), DeviceError> {
        self.finish()
    }

    fn queues_launches(&self) -> bool {
        true
    }

    fn lends_memory(&self) -> bool {
        self.memory.is_shared()
    }

    fn zero_copy_from(&self, lender: Option<&dyn Device>) -> Option<u64> {
        let lender = lender.and_then(|lender| lender.as_any().downcast_ref::<Self>());
        if lender.is_some_and(|lender| lender.memory.is_shared() && self.is_peer(lender)) {
            return Some(0);
        }
        self.sharing()?.mapping_pays_from().map(|bytes| bytes as u64)
    }

    fn lend(&self, address: u64) -> Option<Lent> {
        self.memory.lend(address)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
