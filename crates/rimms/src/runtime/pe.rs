//! Processing elements: what executes calls.

use super::queue::Queue;
use super::worker::Worker;
use crate::coherence::ResourceId;
use crate::device::{Capability, Device, DeviceInfo, UnitInfo};
use crate::error::{Error, Result};
use crate::op::{Call, Target};
use crate::order;
use crate::sched::kind_of;
use crate::sync::Padded;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A processing element, bound to one resource.
///
/// ```
/// let rt = rimms::Runtime::builder().cpus(2).build()?;
/// let names: Vec<_> = rt.pes().iter().map(|pe| pe.name()).collect();
/// assert_eq!(names, ["cpu0", "cpu1"]);
/// assert_eq!(rt.pes()[0].kind(), "cpu");
/// # Ok::<(), rimms::Error>(())
/// ```
pub struct Pe {
    info: UnitInfo,
    /// The same number for all PEs of a kind.
    pub(super) kind_number: usize,
    pub(super) resource: ResourceId,
    pub(super) device: Arc<dyn Device>,
    pub(super) unit: usize,
    target: Target,
    pub(super) queue: Queue,
    /// The thread that works the queue off, from its first call on.
    pub(super) worker: Worker,
    /// Held by whoever launches on it.
    turn: Padded<Mutex<()>>,
    /// Calls that threads of the program execute or wait to execute on it now.
    running: Padded<AtomicUsize>,
}

impl Pe {
    /// The PE beside `others`.
    pub(super) fn new(
        resource: ResourceId,
        device: &Arc<dyn Device>,
        unit: usize,
        info: UnitInfo,
        others: &[Self],
    ) -> Self {
        let alike = others.iter().find(|other| other.kind() == kind_of(&info.name));
        let kind_number = alike.map_or(others.len(), |other| other.kind_number);
        let target = device.info().target;
        let (queue, worker, turn, running) = Default::default();
        Self { info, kind_number, resource, device: device.clone(), unit, target, queue, worker, turn, running }
    }

    /// Its name, such as `fft0`.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Its kind: the name without the number.
    pub fn kind(&self) -> &str {
        kind_of(&self.info.name)
    }

    /// The resource whose memory it works on.
    pub fn resource(&self) -> ResourceId {
        self.resource
    }

    /// What it can do.
    pub fn capability(&self) -> &Capability {
        &self.info.capability
    }

    #[inline]
    pub(super) fn can(&self, call: &Call) -> bool {
        self.info.capability.can(call, self.target)
    }

    pub(super) fn why_not(&self, call: &Call) -> String {
        let why = self.info.capability.allows(call, self.target).err();
        format!("{}: {}", self.name(), why.unwrap_or_else(|| "not among those allowed".into()))
    }

    /// Its turn to launch, which it gives to one at a time. A kernel that makes a call of its own runs that in its own
    /// turn on a CPU.
    ///
    /// # Errors
    /// [`Error::WouldDeadlock`] where a kernel asks for another device's turn, and it is taken.
    #[inline]
    pub(super) fn turn(&self) -> Result<Option<MutexGuard<'_, ()>>> {
        match self.turn.try_lock() {
            Some(turn) => Ok(Some(turn)),
            None => self.wait_for_turn(),
        }
    }

    #[cold]
    fn wait_for_turn(&self) -> Result<Option<MutexGuard<'_, ()>>> {
        match order::in_kernel() {
            true if self.resource.is_host() => Ok(None),
            true => Err(Error::WouldDeadlock),
            false => Ok(Some(self.turn.lock())),
        }
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Relaxed)
    }

    /// Counts a call as running for as long as the result lives.
    #[inline]
    pub(super) fn occupy(&self) -> Busy<'_> {
        self.running.fetch_add(1, Relaxed);
        Busy(&self.running)
    }
}

pub(super) struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Pe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {:?}", self.name(), self.resource)
    }
}

/// A resource as a program sees it.
///
/// ```
/// # use rimms::{ResourceId, Runtime, device::sim::Sim};
/// let rt = Runtime::builder().cpus(4).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let [host, acc] = &rt.resources()[..] else { unreachable!() }; // the four CPUs share one
/// assert_eq!((host.id, &*host.name), (ResourceId::HOST, "host"));
/// assert_eq!((acc.id, &*acc.name), (rt.pes()[4].resource(), "acc0"));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Its id.
    pub id: ResourceId,
    /// Its name: `host`, `acc0`.
    pub name: Box<str>,
    /// One line for people.
    pub description: Box<str>,
    /// Bytes of its memory, where known.
    pub capacity: Option<u64>,
}

impl ResourceInfo {
    pub(super) fn new(id: ResourceId, info: &DeviceInfo) -> Self {
        let DeviceInfo { name, description, capacity, .. } = info;
        Self { id, name: name.clone(), description: description.clone(), capacity: *capacity }
    }
}

/// A set of PEs.
#[derive(Clone)]
pub(super) enum PeSet {
    All,
    /// One, which needs no choice.
    Only(usize),
    Some(Arc<[bool]>),
}

impl PeSet {
    #[inline]
    pub(super) fn contains(&self, pe: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(one) => *one == pe,
            Self::Some(set) => set.get(pe).copied().unwrap_or(false),
        }
    }

    /// All of these.
    pub(super) fn all(pes: &[Pe]) -> Self {
        if pes.len() == 1 { Self::Only(0) } else { Self::All }
    }

    pub(super) fn parse(names: &str, pes: &[Pe]) -> Result<Self> {
        let mut set = vec![false; pes.len()];
        for name in names.split(',').map(str::trim) {
            let mut found = false;
            for (pe, chosen) in pes.iter().zip(&mut set) {
                if pe.name() == name || pe.kind() == name {
                    (found, *chosen) = (true, true);
                }
            }
            if !found {
                let mut known: Vec<&str> = Vec::new();
                for pe in pes {
                    for name in [pe.kind(), pe.name()] {
                        if !known.contains(&name) {
                            known.push(name);
                        }
                    }
                }
                return Err(Error::Unknown { what: "PE", name: name.into(), known: known.join(", ").into() });
            }
        }
        let mut members = set.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(pe, _)| pe);
        match (members.next(), members.next()) {
            (Some(one), None) => Ok(Self::Only(one)),
            _ => Ok(Self::Some(set.into())),
        }
    }
}
