//! Where small kernels with planted mistakes are run, and how what is found is compared.

use std::num::NonZeroUsize;

use rimms_devmem::check::{Actor, AllCheckers, Check, Checkers, Finding, Findings, Other, Problem};
use rimms_devmem::{Access, Address, AddressSpace, BadFree, Device, Fault, Flags, Init, Item, Launch, NdRange, View};

/// What is wrong, but for what belongs to the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Null,
    Never,
    /// Freed on a line of the test.
    Freed,
    Beyond(u64),
    Overflow,
    ReadOnly,
    WriteOnly,
    Misaligned(u64),
    FreedTwice,
    FreedInside,
    FreedHeld,
    MisalignedAtomic,
    /// Offset and size of the region.
    Mapped(u64, u64),
    /// First byte and how many.
    Undefined(u64, u64),
    /// What the other did, which item, of the same group or another.
    Race(Access2, [u64; 3], Group),
    /// What an item of this group did before its last barrier.
    RaceWithGroup(Access2, [u64; 3]),
    Mixed([u64; 3]),
    /// How many wait, where, and how many ended.
    Diverged(usize, usize, usize),
}

/// Access, in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access2 {
    Read,
    Write,
    Atomic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    Same,
    Other,
}

/// A finding, briefly: what; space, name, offset, size and kind of the use; by which item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) what: What,
    pub(crate) at: Option<(AddressSpace, String, u64, u64, Access2)>,
    pub(crate) by: Option<[u64; 3]>,
}

fn access(access: Access) -> Access2 {
    match access {
        Access::Read => Access2::Read,
        Access::Atomic => Access2::Atomic,
        _ => Access2::Write,
    }
}

fn brief(finding: &Finding) -> Seen {
    let what = match &finding.problem {
        Problem::Fault(fault) => match *fault {
            Fault::Null { .. } => What::Null,
            Fault::NeverAllocated { .. } => What::Never,
            Fault::Freed { freed: Some(freed), .. } if freed.location.file().contains("planted") => What::Freed,
            Fault::OutOfBounds { beyond, .. } => What::Beyond(beyond),
            Fault::Overflow { .. } => What::Overflow,
            Fault::ReadOnly { .. } => What::ReadOnly,
            Fault::WriteOnly { .. } => What::WriteOnly,
            Fault::Misaligned { alignment, .. } => What::Misaligned(alignment),
            Fault::BadFree { reason: BadFree::Twice(Some(_)), .. } => What::FreedTwice,
            Fault::BadFree { reason: BadFree::Inside, .. } => What::FreedInside,
            Fault::BadFree { reason: BadFree::Held(_), .. } => What::FreedHeld,
            fault => panic!("{fault}"),
        },
        Problem::MisalignedAtomic(_) => What::MisalignedAtomic,
        Problem::Mapped(mapping) => What::Mapped(mapping.offset(), mapping.size()),
        Problem::Uninitialised { first, bytes } => What::Undefined(*first, *bytes),
        Problem::Race { access: other, other: Other::Item(item), same_group, first: _ } => {
            What::Race(access(*other), item.global, if *same_group { Group::Same } else { Group::Other })
        }
        Problem::Race { access: other, other: Other::OfGroup(group), same_group: false, .. } => {
            What::RaceWithGroup(access(*other), *group)
        }
        Problem::MixedAtomics { other: Other::Item(item), .. } => What::Mixed(item.global),
        Problem::Divergence(divergence) => {
            let waiting = divergence.waiting.iter().map(|arrival| arrival.items.len()).sum();
            What::Diverged(waiting, divergence.waiting.len(), divergence.ended.len())
        }
        problem => panic!("{problem:?}"),
    };
    let name = finding.name.as_deref().unwrap_or_default().to_owned();
    let at = finding.place.map(|place| (place.space, name, place.offset, place.size, access(place.access)));
    let by = match &finding.who {
        Actor::Host => None,
        Actor::Item(item) => {
            assert_eq!(&*item.kernel, "planted");
            Some(item.global)
        }
    };
    Seen { what, at, by }
}

/// A device with every checker.
pub(crate) struct Lab {
    pub(crate) device: Device<AllCheckers>,
    findings: Findings,
}

pub(crate) type Kernel<'a> = Item<'a, AllCheckers>;

impl Lab {
    pub(crate) fn new(workers: usize) -> Self {
        let checkers = Checkers::new();
        let device = Device::with_observer(checkers.observer()).workers(NonZeroUsize::new(workers).unwrap());
        Lab { device, findings: checkers.findings() }
    }

    pub(crate) fn host(&self) -> View<'_, AllCheckers> {
        self.device.host()
    }

    /// A defined buffer.
    pub(crate) fn zeros(&self, name: &str, size: u64) -> Address {
        self.host().allocate_named(name, size, Flags::READ_WRITE, Init::Zeroed).unwrap()
    }

    /// An undefined buffer.
    pub(crate) fn undefined(&self, name: &str, size: u64) -> Address {
        self.host().allocate_named(name, size, Flags::READ_WRITE, Init::Poison(0xee)).unwrap()
    }

    pub(crate) fn run<K>(&self, range: NdRange, kernel: K)
    where
        K: AsyncFn(Kernel<'_>) -> Result<(), Fault> + Sync,
    {
        let launch = Launch::new("planted", range).local("local", 256);
        let _ = self.device.run(&launch, kernel).unwrap();
    }

    /// One group of so many items.
    pub(crate) fn group<K>(&self, items: u32, kernel: K)
    where
        K: AsyncFn(Kernel<'_>) -> Result<(), Fault> + Sync,
    {
        self.run(NdRange::linear(items.into(), items).unwrap(), kernel);
    }

    pub(crate) fn found(&self) -> Vec<Seen> {
        let found = self.findings.take();
        // Whatever is found can be said, and says where.
        for finding in &found {
            let text = finding.to_string();
            assert!(
                text.contains("global 0x") || finding.place.is_none_or(|place| place.space != AddressSpace::Global)
            );
            assert!(text.contains("planted") || finding.who == Actor::Host, "{text}");
        }
        found.iter().map(brief).collect()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.findings.take().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<Check> {
        self.findings.take().iter().map(|finding| finding.problem.check()).collect()
    }
}

/// A finding at a use of global memory.
pub(crate) fn seen(what: What, name: &str, (offset, size, access): (u64, u64, Access2), by: u64) -> Seen {
    seen_in(AddressSpace::Global, what, name, (offset, size, access), by)
}

pub(crate) fn seen_in(
    space: AddressSpace,
    what: What,
    name: &str,
    (offset, size, access): (u64, u64, Access2),
    by: u64,
) -> Seen {
    Seen { what, at: Some((space, name.to_owned(), offset, size, access)), by: Some([by, 0, 0]) }
}

/// A small program and what is to be found in it.
pub(crate) type Case = (&'static str, fn(&Lab) -> Vec<Seen>);
