//! Invalid uses of memory.
//!
//! Owns [`Memcheck`]. What the memory refused comes with the event; what is added here are kernels at work on bytes that
//! the host has mapped, atomic operations at odd offsets, and groups that part at a barrier. Regions are kept as addresses in
//! the buffers that the bytes belong to, so a region of a buffer and a sub-buffer of it meet.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::finding::{Actor, Finding, Findings, Problem};
use crate::kernel::{Divergence, Group, Kernel, Who};
use crate::observe::{At, Atomic, Event, Observer, Stored};
use crate::{Access, Address, Fault, Mapping, Memory, Place};

/// Finds invalid uses: null, foreign and freed addresses, bounds, flags, alignment, bad frees; kernels that interfere with
/// the host's mapped regions; barriers that not all items reach.
///
/// ```
/// use rimms_devmem::check::{Findings, Memcheck, Problem};
/// use rimms_devmem::{Device, Fault, Flags, Init, Launch, NdRange};
///
/// let findings = Findings::default();
/// let device = Device::with_observer(Memcheck::new(&findings));
/// let buffer = device.host().allocate_named("in", 16, Flags::READ_WRITE, Init::Zeroed)?;
/// device.run(&Launch::new("over", NdRange::linear(5, 5)?), async |item| {
///     let global = item.global();
///     global.load_value::<u32>(global.element::<u32>(buffer, item.global_id(0))).map(drop)
/// })?;
/// let found = findings.take();
/// assert!(matches!(found[0].problem, Problem::Fault(Fault::OutOfBounds { beyond: 4, .. })));
/// assert!(found[0].to_string().contains("buffer \"in\"; by item (4, 0, 0) of over"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Memcheck {
    findings: Findings,
}

/// The regions of a memory that are mapped.
#[derive(Debug, Default)]
pub struct Mapped {
    count: AtomicUsize,
    /// Where they begin, in the buffer that the bytes belong to.
    regions: Mutex<Vec<(Address, Mapping)>>,
}

impl Memcheck {
    /// A checker that writes into this list.
    pub fn new(findings: &Findings) -> Self {
        Memcheck { findings: findings.clone() }
    }

    #[inline(always)]
    fn check(&self, at: At<'_, Self>, event: &Event<'_>, access: Access) {
        match event.outcome {
            Err(fault) => self.tell_fault(event.who, event.memory, fault),
            Ok(root) if at.memory.count.load(Relaxed) > 0 => self.check_mapped(at.memory, *event, root, access),
            Ok(_) => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_misaligned(&self, event: Event<'_>, atomic: Atomic) {
        let place = event_place(&event, Access::Atomic);
        self.findings.add(Finding::of_use(Problem::MisalignedAtomic(atomic.op), event.who, event.memory, Some(place)));
    }

    #[cold]
    #[inline(never)]
    fn tell_fault(&self, who: Who<'_>, memory: &Memory, fault: &Fault) {
        self.findings.add(Finding::of_use(Problem::Fault(*fault), who, memory, fault.place().copied()));
    }

    /// Takes the event by value, as all do that are called seldom: one that is pointed at would be put into memory for each
    /// use.
    #[cold]
    #[inline(never)]
    fn check_mapped(&self, mapped: &Mapped, event: Event<'_>, root: Address, access: Access) {
        let Who::Item(_) = event.who else { return };
        let (from, to) = (root.raw(), root.raw().saturating_add(event.size));
        let meets = |(start, mapping): &&(Address, Mapping)| {
            let (start, end) = (start.raw(), start.raw().saturating_add(mapping.size()));
            from < end && start < to && (mapping.flags().writable() || access != Access::Read)
        };
        let found = mapped.regions.lock().iter().find(meets).map(|(_, mapping)| *mapping);
        if let Some(mapping) = found {
            let place = event_place(&event, access);
            self.findings.add(Finding::of_use(Problem::Mapped(mapping), event.who, event.memory, Some(place)));
        }
    }
}

/// The place of a use.
pub(super) fn event_place(event: &Event<'_>, access: Access) -> Place {
    let place = event.memory.place_of(event.address, event.size, access);
    Place { space: event.space, ..place }
}

impl Observer for Memcheck {
    type OfMemory = Mapped;
    type OfLaunch = ();

    fn attach(&self, _: &Memory) -> Mapped {
        Mapped::default()
    }

    fn kernel_begin(&self, _: &Kernel) {}

    fn refused(&self, _: At<'_, Self>, who: Who<'_>, memory: &Memory, fault: &Fault) {
        // A memory that is full is no mistake of the program's.
        if fault.place().is_some() {
            self.tell_fault(who, memory, fault);
        }
    }

    #[inline(always)]
    fn load(&self, at: At<'_, Self>, event: &Event<'_>) {
        self.check(at, event, Access::Read);
    }

    #[inline(always)]
    fn store(&self, at: At<'_, Self>, event: &Event<'_>, _: Stored<'_>) {
        self.check(at, event, Access::Write);
    }

    #[inline(always)]
    fn atomic(&self, at: At<'_, Self>, event: &Event<'_>, atomic: Atomic) {
        self.check(at, event, Access::Atomic);
        if !atomic.aligned {
            self.tell_misaligned(*event, atomic);
        }
    }

    fn mapped(&self, at: At<'_, Self>, _: Who<'_>, memory: &Memory, mapping: &Mapping) {
        let start = memory.layout().add(mapping.buffer(), mapping.offset()).unwrap_or(mapping.buffer());
        let root = memory.root_of(start).unwrap_or(start);
        at.memory.regions.lock().push((root, *mapping));
        at.memory.count.fetch_add(1, Relaxed);
    }

    fn unmapped(&self, at: At<'_, Self>, _: Who<'_>, _: &Memory, mapping: &Mapping) {
        let mut regions = at.memory.regions.lock();
        if let Some(which) = regions.iter().position(|(_, of)| of.id() == mapping.id()) {
            regions.swap_remove(which);
            at.memory.count.fetch_sub(1, Relaxed);
        }
    }

    fn diverged(&self, (): &(), group: &Group<'_>, divergence: &Divergence) {
        let first = divergence.waiting.first().and_then(|arrival| arrival.items.first()).cloned();
        let who = Actor::Item(first.unwrap_or_else(|| group.kernel().party(group.number())));
        self.findings.add(Finding { problem: Problem::Divergence(divergence.clone()), who, place: None, name: None });
    }
}
