//! A work-item as its kernel sees it.
//!
//! Owns [`Item`] and [`Barrier`]. An item reaches its memories through views, so all it does is observed.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::run::Worker;
use super::who::{Group, Who, WorkItem};
use crate::observe::Observer;
use crate::{Address, View};

/// A work-item: its ids, its memories, and the barrier of its group.
///
/// ```
/// use rimms_devmem::{Device, Fault, Flags, Init, Item, Launch, NdRange, observe::Observer};
///
/// /// Each group reverses its part of a buffer.
/// async fn reverse<O: Observer>(item: Item<'_, O>, buffer: rimms_devmem::Address) -> Result<(), Fault> {
///     let (global, local) = (item.global(), item.local());
///     let (me, last) = (item.local_id(0), item.local_size(0) - 1);
///     let mine = global.element::<u32>(buffer, item.global_id(0));
///     let stage = item.local_buffer(0);
///     local.store_value(local.element::<u32>(stage, me), global.load_value::<u32>(mine)?)?;
///     item.barrier().await;
///     global.store_value(mine, local.load_value::<u32>(local.element::<u32>(stage, last - me))?)
/// }
///
/// let device = Device::new();
/// let host = device.host();
/// let buffer = host.allocate(32, Flags::READ_WRITE, Init::Zeroed)?;
/// host.store_value(buffer, [0u32, 1, 2, 3, 4, 5, 6, 7])?;
/// let launch = Launch::new("reverse", NdRange::linear(8, 4)?).local("stage", 16);
/// let outcome = device.run(&launch, async |item| reverse(item, buffer).await)?;
/// assert!(outcome.is_clean());
/// assert_eq!(host.load_value::<[u32; 8]>(buffer)?, [3, 2, 1, 0, 7, 6, 5, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Item<'a, O: Observer> {
    worker: &'a Worker<'a, O>,
    local: u32,
}

impl<O: Observer> Clone for Item<'_, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Observer> Copy for Item<'_, O> {}

impl<'a, O: Observer> Item<'a, O> {
    #[inline(always)]
    pub(super) fn new(worker: &'a Worker<'a, O>, local: u32) -> Self {
        Item { worker, local }
    }

    /// Which work-item it is.
    #[inline(always)]
    pub fn id(&self) -> WorkItem<'a> {
        WorkItem::new(&self.worker.group, self.local)
    }

    /// The group it is in.
    #[inline(always)]
    pub fn group(&self) -> &'a Group<'a> {
        &self.worker.group
    }

    /// Its id in one dimension (0, 1 or 2; 0 in any other).
    #[inline(always)]
    pub fn global_id(&self, dimension: usize) -> u64 {
        match dimension {
            0..3 => self.group().global_id_in(dimension, self.local),
            _ => 0,
        }
    }

    /// Its id within its group in one dimension (0 beyond the third).
    #[inline(always)]
    pub fn local_id(&self, dimension: usize) -> u64 {
        match dimension {
            0..3 => u64::from(self.group().kernel().range().local_id_in(dimension, self.local)),
            _ => 0,
        }
    }

    /// The id of its group in one dimension (0 beyond the third).
    #[inline(always)]
    pub fn group_id(&self, dimension: usize) -> u64 {
        self.group().id().get(dimension).copied().unwrap_or(0)
    }

    /// Items of the kernel in one dimension (1 beyond the third).
    #[inline(always)]
    pub fn global_size(&self, dimension: usize) -> u64 {
        self.group().kernel().range().global().get(dimension).copied().unwrap_or(1)
    }

    /// Items of a group in one dimension (1 beyond the third).
    #[inline(always)]
    pub fn local_size(&self, dimension: usize) -> u64 {
        self.group().kernel().range().local().get(dimension).map_or(1, |size| u64::from(*size))
    }

    #[inline(always)]
    fn who(&self) -> Who<'a> {
        Who::Item(self.id())
    }

    /// Global memory.
    #[inline(always)]
    pub fn global(&self) -> View<'a, O> {
        let device = self.worker.device;
        View {
            memory: &device.global,
            kept: &device.kept,
            launch: Some(self.worker.launch),
            observer: &device.observer,
            who: self.who(),
            is_constant: false,
            near: Some(&self.worker.near_global),
        }
    }

    /// Constant memory: global memory that can only be read.
    #[inline(always)]
    pub fn constant(&self) -> View<'a, O> {
        View { is_constant: true, ..self.global() }
    }

    /// The local memory of the group.
    #[inline(always)]
    pub fn local(&self) -> View<'a, O> {
        View {
            memory: &self.worker.local.memory,
            kept: &self.worker.local.kept,
            launch: Some(self.worker.launch),
            observer: &self.worker.device.observer,
            who: self.who(),
            is_constant: false,
            near: Some(&self.worker.near_local),
        }
    }

    /// The address of a buffer in local memory, in the order in which the launch asked for them; null for others.
    #[inline]
    pub fn local_buffer(&self, number: usize) -> Address {
        self.worker.local_buffer(number)
    }

    /// The item's own memory. Its buffers are freed when the group ends.
    #[inline]
    pub fn private(&self) -> View<'a, O> {
        let private = self.worker.private_of(self.local);
        View {
            memory: &private.memory,
            kept: &private.kept,
            launch: Some(self.worker.launch),
            observer: &self.worker.device.observer,
            who: self.who(),
            is_constant: false,
            near: None,
        }
    }

    /// The barrier of the group: `item.barrier().await` goes on when all items of the group are there, but for those that
    /// ended with a fault. What items did in global and local memory before is done for all of them after.
    #[inline(always)]
    #[track_caller]
    pub fn barrier(&self) -> Barrier<'a> {
        Barrier { group: self.group(), site: Location::caller(), arrived: false }
    }
}

/// Waits for the other items of the group; see [`Item::barrier`].
///
/// ```
/// use rimms_devmem::{Barrier, Device, Launch, NdRange};
///
/// let outcome = Device::new().run(&Launch::new("meet", NdRange::linear(8, 4)?), async |item| {
///     let barrier: Barrier<'_> = item.barrier();
///     barrier.await;
///     Ok(())
/// })?;
/// assert_eq!(outcome.barriers, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a barrier that is not awaited is none"]
pub struct Barrier<'a> {
    group: &'a Group<'a>,
    site: &'static Location<'static>,
    arrived: bool,
}

impl Future for Barrier<'_> {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.arrived {
            return Poll::Ready(());
        }
        self.arrived = true;
        self.group.site.set(Some(self.site));
        Poll::Pending
    }
}
