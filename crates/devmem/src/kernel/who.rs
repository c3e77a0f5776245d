//! Who does something: the host, or a work-item of a kernel.
//!
//! Owns the ids of kernels, groups and items while they run, and [`Party`], by which a finding names an item when it is
//! long gone.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::range::NdRange;
use crate::AddressLayout;

/// One run of a kernel.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) name: Arc<str>,
    pub(crate) range: NdRange,
    pub(crate) launch: u64,
    pub(crate) workers: usize,
    pub(crate) global_layout: AddressLayout,
}

impl Kernel {
    /// The name it was launched by.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its work-items.
    pub fn range(&self) -> &NdRange {
        &self.range
    }

    /// How many launches the device had before.
    pub fn launch(&self) -> u64 {
        self.launch
    }

    /// How many threads work on its groups.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How addresses of the device's global memory are made.
    pub fn global_layout(&self) -> AddressLayout {
        self.global_layout
    }

    /// The work-item with this number.
    pub fn party(&self, number: u64) -> Party {
        let size = u64::from(self.range.group_items());
        let (group, within) = (self.range.group_id(number / size), (number % size) as u32);
        let (local, global) = (self.range.local_id(within), self.range.global_id(group, within));
        Party { kernel: self.name.clone(), launch: self.launch, global, local, group }
    }
}

/// The group that a thread works on.
#[derive(Debug)]
pub struct Group<'a> {
    kernel: &'a Kernel,
    worker: usize,
    number: Cell<u64>,
    id: Cell<[u64; 3]>,
    /// The global id of its first item.
    first: Cell<[u64; 3]>,
    epoch: Cell<u64>,
    /// Where the item that is being polled has arrived.
    pub(super) site: Cell<Option<&'static Location<'static>>>,
}

impl<'a> Group<'a> {
    pub(super) fn new(kernel: &'a Kernel, worker: usize) -> Self {
        let (number, id, first, epoch, site) = Default::default();
        Group { kernel, worker, number, id, first, epoch, site }
    }

    pub(super) fn begin(&self, number: u64) {
        self.number.set(number);
        let id = self.kernel.range.group_id(number);
        self.id.set(id);
        self.first.set(self.kernel.range.global_id(id, 0));
        self.epoch.set(0);
        self.site.set(None);
    }

    pub(super) fn pass_barrier(&self) {
        self.epoch.set(self.epoch.get() + 1);
    }

    /// The kernel it is a group of.
    #[inline]
    pub fn kernel(&self) -> &'a Kernel {
        self.kernel
    }

    /// Which of the kernel's threads works on it.
    #[inline]
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Its number in the kernel.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// Its id.
    #[inline]
    pub fn id(&self) -> [u64; 3] {
        self.id.get()
    }

    /// The global id in one dimension of the item with this number in the group.
    #[inline(always)]
    pub(super) fn global_id_in(&self, dimension: usize, local: u32) -> u64 {
        // No larger than the items and the offset, which were checked.
        self.first.get()[dimension].wrapping_add(u64::from(self.kernel.range.local_id_in(dimension, local)))
    }

    /// How many barriers it has passed.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }
}

/// A work-item while it runs.
#[derive(Debug, Clone, Copy)]
pub struct WorkItem<'a> {
    group: &'a Group<'a>,
    local: u32,
}

impl<'a> WorkItem<'a> {
    #[inline(always)]
    pub(super) fn new(group: &'a Group<'a>, local: u32) -> Self {
        WorkItem { group, local }
    }

    /// Its group.
    #[inline]
    pub fn group(&self) -> &'a Group<'a> {
        self.group
    }

    /// Its number within the group.
    #[inline]
    pub fn local_number(&self) -> u32 {
        self.local
    }

    /// Its number in the kernel.
    #[inline]
    pub fn number(&self) -> u64 {
        self.group.number() * u64::from(self.group.kernel.range.group_items()) + u64::from(self.local)
    }

    /// Its id within the group.
    #[inline]
    pub fn local_id(&self) -> [u32; 3] {
        self.group.kernel.range.local_id(self.local)
    }

    /// Its global id.
    #[inline]
    pub fn global_id(&self) -> [u64; 3] {
        self.group.kernel.range.global_id(self.group.id(), self.local)
    }

    /// Its name for findings.
    pub fn party(&self) -> Party {
        self.group.kernel.party(self.number())
    }
}

/// Who does something with a memory.
#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    /// The host.
    Host,
    /// A work-item of a kernel.
    Item(WorkItem<'a>),
}

/// A work-item by all its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Party {
    /// The kernel's name.
    pub kernel: Arc<str>,
    /// How many launches the device had before.
    pub launch: u64,
    /// Its global id.
    pub global: [u64; 3],
    /// Its id within its group.
    pub local: [u32; 3],
    /// The id of its group.
    pub group: [u64; 3],
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Party { kernel, global: [gx, gy, gz], local: [lx, ly, lz], group: [x, y, z], .. } = self;
        write!(f, "item ({gx}, {gy}, {gz}) of {kernel}, ({lx}, {ly}, {lz}) of group ({x}, {y}, {z})")
    }
}
