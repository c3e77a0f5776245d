//! Kernels of one item that are no `async` function: a function that is done when it returns.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Device;
use super::item::Item;
use super::range::NdRange;
use super::run::{Watched, Worker};
use super::who::{Group, Kernel, WorkItem};
use crate::observe::Observer;

impl<O: Observer> Device<O> {
    /// Runs a function as a kernel of one work-item, on the thread that calls, and returns what it returns. What it
    /// does through the item's views is observed as any kernel's; a barrier has nobody else to wait for, and
    /// cannot be awaited.
    ///
    /// ```
    /// use rimms_devmem::check::{Checkers, Problem};
    /// use rimms_devmem::{Device, Fault, Flags, Init};
    ///
    /// let checkers = Checkers::new();
    /// let device = Device::with_observer(checkers.observer());
    /// let x = device.host().allocate_named("x", 8, Flags::READ_WRITE, Init::Poison(0))?;
    /// let read: Result<u64, Fault> = device.task("sum", |item| item.global().load_value(x));
    /// assert!(read.is_ok());
    /// assert!(matches!(checkers.findings().take()[0].problem, Problem::Uninitialised { first: 0, bytes: 8 }));
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// Cost: some microseconds.
    pub fn task<R>(&self, name: &str, body: impl FnOnce(Item<'_, O>) -> R) -> R {
        let identity = Kernel {
            name: Arc::from(name),
            range: NdRange::ONE,
            launch: self.launches.fetch_add(1, Relaxed),
            workers: 1,
            global_layout: self.global.layout(),
        };
        let kept = self.observer.kernel_begin(&identity);
        let local = Watched::local(self);
        let worker = Worker::new(self, &kept, Group::new(&identity, 0), &local, Box::new([OnceCell::new()]));
        worker.group.begin(0);
        self.observer.group_begin(&kept, &worker.group);
        self.observer.item_begin(&kept, WorkItem::new(&worker.group, 0));
        let result = body(Item::new(&worker, 0));
        self.observer.item_end(&kept, WorkItem::new(&worker.group, 0));
        self.observer.group_end(&kept, &worker.group);
        worker.end_memories();
        drop(worker);
        self.observer.kernel_end(&identity, kept);
        result
    }
}
