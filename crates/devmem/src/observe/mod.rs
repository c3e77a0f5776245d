//! What can be watched: every use of a memory by the host and by kernels, as one event with its outcome.
//!
//! Owns [`Observer`] and the events. Who uses memories through [`View`](crate::View)s of a
//! [`Device`](crate::Device) tells the device's observer of each use after it was judged and done, exactly once. The
//! observer is a type parameter: `()` watches nothing, and costs nothing.

mod compose;
mod rows;

use crate::kernel::{Divergence, Group, Kernel, Who, WorkItem};
use crate::{Address, AddressSpace, AtomicOp, Fault, Flags, HostBytes, Init, Mapping, Memory, Rows};

/// Watches the uses of a device's memories.
///
/// An observer keeps something with each memory and with each launch of a kernel, of types of its own; it gets both
/// with each event ([`At`]). Work-groups run on several threads at once, so all hooks take `&self`. Observers can be
/// put together: a pair of them is one, and so is an `Option`.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use rimms_devmem::observe::{At, Event, Observer};
/// use rimms_devmem::{Device, Fault, Flags, Init, Kernel, Memory};
///
/// /// Counts loads that were refused.
/// #[derive(Default)]
/// struct Refused(AtomicU64);
///
/// impl Observer for Refused {
///     type OfMemory = ();
///     type OfLaunch = ();
///     fn attach(&self, _: &Memory) {}
///     fn kernel_begin(&self, _: &Kernel) {}
///     fn load(&self, _: At<'_, Self>, event: &Event<'_>) {
///         self.0.fetch_add(event.outcome.is_err().into(), Relaxed);
///     }
/// }
///
/// let device = Device::with_observer(Refused::default());
/// let host = device.host();
/// let buffer = host.allocate(4, Flags::READ_WRITE, Init::Zeroed)?;
/// host.load_value::<u32>(buffer)?;
/// host.load_value::<u64>(buffer).unwrap_err();
/// assert_eq!(device.observer().0.load(Relaxed), 1);
/// # Ok::<(), Fault>(())
/// ```
#[allow(unused_variables)]
pub trait Observer: Sync {
    /// What it keeps with each memory.
    type OfMemory: Send + Sync;
    /// What it keeps with each launch of a kernel, from [`kernel_begin`](Self::kernel_begin) to
    /// [`kernel_end`](Self::kernel_end).
    type OfLaunch: Send + Sync;

    /// Whether stores may have to be compared with what they overwrite ([`Stored::changes`]).
    const COMPARES_STORES: bool = false;

    /// Whether they have to be, where it may be so: an observer that is not there wants nothing compared.
    #[inline(always)]
    fn compares_stores(&self) -> bool {
        Self::COMPARES_STORES
    }

    /// A memory is to be watched from now on; it has no buffers yet.
    fn attach(&self, memory: &Memory) -> Self::OfMemory;

    /// A kernel begins.
    fn kernel_begin(&self, kernel: &Kernel) -> Self::OfLaunch;

    /// A kernel has ended.
    fn kernel_end(&self, kernel: &Kernel, launch: Self::OfLaunch) {}

    /// A buffer was allocated.
    fn allocated(&self, at: At<'_, Self>, buffer: &Allocated<'_>) {}

    /// A buffer was freed.
    fn deallocated(&self, at: At<'_, Self>, who: Who<'_>, memory: &Memory, address: Address) {}

    /// An allocation, a free, or a mapping was refused.
    fn refused(&self, at: At<'_, Self>, who: Who<'_>, memory: &Memory, fault: &Fault) {}

    /// Bytes are to count as never written, or that was refused; the name is what they were said to be.
    fn undefined(&self, at: At<'_, Self>, event: &Event<'_>, name: Option<&str>) {}

    /// Bytes were loaded, or the load was refused.
    fn load(&self, at: At<'_, Self>, event: &Event<'_>) {}

    /// Bytes were stored, or the store was refused.
    fn store(&self, at: At<'_, Self>, event: &Event<'_>, stored: Stored<'_>) {}

    /// Rows were loaded in one operation, or that was refused; the event is of all from the first row's start to the last
    /// one's end. By default each row is told as a load of its own.
    fn load_rows(&self, at: At<'_, Self>, event: &Event<'_>, rows: Rows) {
        event.each_row(rows, |row| self.load(at, row));
    }

    /// Rows were stored in one operation, or that was refused; the event is as for
    /// [`load_rows`](Self::load_rows), the bytes are those of the rows alone. By default each row is told as a store of its
    /// own.
    fn store_rows(&self, at: At<'_, Self>, event: &Event<'_>, rows: Rows, stored: Stored<'_>) {
        event.each_row_stored(rows, stored, |row, stored| self.store(at, row, stored));
    }

    /// Bytes were copied: loaded from one place and stored to another. If one was refused, neither was done.
    fn copied(&self, from: At<'_, Self>, load: &Event<'_>, to: At<'_, Self>, store: &Event<'_>) {
        self.load(from, load);
        if load.outcome.is_ok() {
            self.store(to, store, Stored { data: Data::Copy, changes: true });
        }
    }

    /// An atomic operation was done or refused.
    fn atomic(&self, at: At<'_, Self>, event: &Event<'_>, atomic: Atomic) {}

    /// A region was given to the host.
    fn mapped(&self, at: At<'_, Self>, who: Who<'_>, memory: &Memory, mapping: &Mapping) {}

    /// A region was taken back from the host.
    fn unmapped(&self, at: At<'_, Self>, who: Who<'_>, memory: &Memory, mapping: &Mapping) {}

    /// A work-group begins.
    fn group_begin(&self, launch: &Self::OfLaunch, group: &Group<'_>) {}

    /// A work-group has ended.
    fn group_end(&self, launch: &Self::OfLaunch, group: &Group<'_>) {}

    /// A work-item begins.
    fn item_begin(&self, launch: &Self::OfLaunch, item: WorkItem<'_>) {}

    /// A work-item has ended, by itself or by a fault.
    fn item_end(&self, launch: &Self::OfLaunch, item: WorkItem<'_>) {}

    /// All items of a group have reached a barrier.
    fn barrier(&self, launch: &Self::OfLaunch, group: &Group<'_>) {}

    /// Not all items of a group have reached the same barrier; the group ends.
    fn diverged(&self, launch: &Self::OfLaunch, group: &Group<'_>, divergence: &Divergence) {}
}

/// What an observer keeps with the memory and with the launch that an event is of.
pub struct At<'a, O: Observer + ?Sized> {
    /// Of the memory.
    pub memory: &'a O::OfMemory,
    /// Of the launch, unless the host does it.
    pub launch: Option<&'a O::OfLaunch>,
}

impl<O: Observer + ?Sized> Clone for At<'_, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Observer + ?Sized> Copy for At<'_, O> {}

/// One use of an address.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Who used it.
    pub who: Who<'a>,
    /// In which memory.
    pub memory: &'a Memory,
    /// As which space: that of the memory, or constant.
    pub space: AddressSpace,
    /// The address of the first byte.
    pub address: Address,
    /// How many bytes.
    pub size: u64,
    /// Whether it was done: the address that the first byte has in the buffer that it belongs to (another than `address` for
    /// a sub-buffer, null for no bytes), or the fault.
    pub outcome: Result<Address, &'a Fault>,
}

/// What was stored.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// The bytes.
    pub data: Data<'a>,
    /// Whether any byte is now another than before; true where nobody compared
    /// ([`Observer::COMPARES_STORES`]).
    pub changes: bool,
}

/// The bytes of a store.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// These.
    Bytes(&'a [u8]),
    /// These over and over.
    Pattern(&'a [u8]),
    /// Those of a load that was told of in the same breath.
    Copy,
}

/// What an atomic operation was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// Which operation.
    pub op: AtomicOp,
    /// Whether it stored: a compare-and-exchange only when it found what was expected.
    pub stored: bool,
    /// Whether its offset is a multiple of its size.
    pub aligned: bool,
}

/// A new buffer.
#[derive(Debug, Clone, Copy)]
pub struct Allocated<'a> {
    /// Who allocated it.
    pub who: Who<'a>,
    /// In which memory.
    pub memory: &'a Memory,
    /// Where it begins.
    pub address: Address,
    /// Its bytes.
    pub size: u64,
    /// What may be done with it.
    pub flags: Flags,
    /// What its bytes are.
    pub contents: Contents<'a>,
}

/// What the bytes of a new buffer are.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'a> {
    /// Its own.
    Own(Init<'a>),
    /// The host's.
    Host(&'a HostBytes),
    /// Those of another buffer, from this address on.
    Part(Address),
}
