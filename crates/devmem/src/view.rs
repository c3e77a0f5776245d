//! A memory as somebody uses it: the operations of [`Memory`], each told to the observer.
//!
//! Owns [`View`]. Each operation is done by the memory, which judges it once, and then told of once with its outcome.
//! Without an observer (`()`) a view does what the memory does and no more. Loads, stores and atomic operations are
//! here, [`rows`] in a file of their own, and [`buffers`] has what makes, frees and maps buffers.

mod buffers;
mod rows;

use bytemuck::Pod;

use crate::kernel::Who;
use crate::memory::{Change, as_constant};
use crate::observe::{At, Atomic, Data, Event, Observer, Stored};
use crate::raw::near::Near;
use crate::{Access, Address, AddressLayout, AddressSpace, AtomicInteger, AtomicOp, AtomicValue, Fault, Memory, Place};

/// A memory of a [`Device`](crate::Device), as the host or a work-item uses it.
///
/// Its methods are those of [`Memory`], and so are their errors and costs; the device's observer is told of each. A view as
/// constant memory refuses stores.
///
/// ```
/// use rimms_devmem::{Device, Fault, Flags, Init};
///
/// let device = Device::new();
/// let host = device.host();
/// let buffer = host.allocate_named("samples", 64, Flags::READ_WRITE, Init::Zeroed)?;
/// host.store_value(buffer, 1.5f32)?;
/// assert_eq!(host.load_value::<f32>(buffer)?, 1.5);
/// # Ok::<(), Fault>(())
/// ```
pub struct View<'a, O: Observer> {
    pub(crate) memory: &'a Memory,
    pub(crate) kept: &'a O::OfMemory,
    pub(crate) launch: Option<&'a O::OfLaunch>,
    pub(crate) observer: &'a O,
    pub(crate) who: Who<'a>,
    pub(crate) is_constant: bool,
    /// Buffers of the memory that are held for the one who uses it.
    pub(crate) near: Option<&'a Near<'a>>,
}

impl<O: Observer> Clone for View<'_, O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: Observer> Copy for View<'_, O> {}

impl<'a, O: Observer> View<'a, O> {
    #[inline(always)]
    fn at(&self) -> At<'a, O> {
        At { memory: self.kept, launch: self.launch }
    }

    #[inline(always)]
    fn event<'e>(&'e self, address: Address, size: usize, outcome: Result<Address, &'e Fault>) -> Event<'e> {
        let Self { who, memory, .. } = *self;
        Event { who, memory, space: self.space(), address, size: size as u64, outcome }
    }

    #[inline(always)]
    fn compares_stores(&self) -> bool {
        O::COMPARES_STORES && self.observer.compares_stores()
    }

    /// The fault that a view as constant memory has for what changes bytes.
    #[inline(always)]
    fn refuse_change(&self, address: Address, size: usize) -> Result<(), Fault> {
        if self.is_constant { Err(self.constant_fault(address, size)) } else { Ok(()) }
    }

    #[cold]
    fn constant_fault(&self, address: Address, size: usize) -> Fault {
        let judged = self.memory.constant().check(address, size as u64, Access::Write);
        judged.err().unwrap_or(Fault::ReadOnly { place: self.place(address, size, Access::Write) })
    }

    fn place(&self, address: Address, size: usize, access: Access) -> Place {
        let place = self.memory.place_of(address, size as u64, access);
        Place { space: self.space(), ..place }
    }

    /// The fault as this view's space has it.
    #[inline(always)]
    fn named(&self, fault: Fault) -> Fault {
        if self.is_constant { as_constant(fault) } else { fault }
    }

    /// The memory itself. What is done to it directly is not observed.
    pub fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// As which space it is used.
    #[inline(always)]
    pub fn space(&self) -> AddressSpace {
        if self.is_constant { AddressSpace::Constant } else { self.memory.space() }
    }

    /// How addresses are made.
    #[inline(always)]
    pub fn layout(&self) -> AddressLayout {
        self.memory.layout()
    }

    /// The address of element `index` of an array of `T` that begins at `array`. An element that no address of the buffer
    /// reaches is null, whose use is a fault.
    #[inline(always)]
    pub fn element<T>(&self, array: Address, index: u64) -> Address {
        let bytes = index.checked_mul(size_of::<T>() as u64);
        bytes.and_then(|bytes| self.memory.layout().add(array, bytes)).unwrap_or(Address::NULL)
    }

    /// Copies the bytes at `address` into `into`, as [`Memory::load`].
    ///
    /// # Errors
    /// As [`Memory::load`].
    #[inline]
    pub fn load(&self, address: Address, into: &mut [u8]) -> Result<(), Fault> {
        match self.memory.load_at(address, into) {
            Ok(root) => {
                self.observer.load(self.at(), &self.event(address, into.len(), Ok(root)));
                Ok(())
            }
            Err(fault) => Err(self.tell_refused_load(address, into.len(), fault)),
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_refused_load(self, address: Address, size: usize, fault: Fault) -> Fault {
        let fault = self.named(fault);
        self.observer.load(self.at(), &self.event(address, size, Err(&fault)));
        fault
    }

    /// The value at `address`, as [`Memory::load_value`].
    ///
    /// # Errors
    /// As [`Memory::load_value`].
    #[inline(always)]
    pub fn load_value<T: Pod>(&self, address: Address) -> Result<T, Fault> {
        if let Some(near) = self.near
            && let Some((value, root)) = self.memory.try_load_value::<T>(Some(near), address)
        {
            self.observer.load(self.at(), &self.event(address, size_of::<T>(), Ok(root)));
            return Ok(value);
        }
        self.load_far_value(address)
    }

    /// Loads from any buffer. Not in line, as for all of these: kernels use near ones. What is called seldom takes views by
    /// value: one that is pointed at would be put into memory for each use of it.
    #[inline(never)]
    fn load_far_value<T: Pod>(self, address: Address) -> Result<T, Fault> {
        loop {
            if let Some((value, root)) = self.memory.try_load_value::<T>(None, address) {
                self.observer.load(self.at(), &self.event(address, size_of::<T>(), Ok(root)));
                return Ok(value);
            }
            self.refuse_load(address, size_of::<T>(), align_of::<T>())?;
            if size_of::<T>() == 0 {
                return Ok(T::zeroed());
            }
        }
    }

    /// Judges a load that could not be done, and tells of it if it may not.
    #[cold]
    #[inline(never)]
    fn refuse_load(self, address: Address, size: usize, alignment: usize) -> Result<(), Fault> {
        let judged = self.memory.judge::<0>(address, size as u64, alignment as u64, Access::Read);
        judged.map_err(|fault| self.named(fault)).inspect_err(|fault| {
            self.observer.load(self.at(), &self.event(address, size, Err(fault)));
        })
    }

    /// Copies `from` to the bytes at `address`, as [`Memory::store`].
    ///
    /// # Errors
    /// As [`Memory::store`].
    #[inline]
    pub fn store(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        let stored = match self.compares_stores() {
            _ if self.is_constant => Err(self.constant_fault(address, from.len())),
            true => self.memory.store_at::<true>(address, from),
            false => self.memory.store_at::<false>(address, from),
        };
        match stored {
            Ok((root, changes)) => {
                let event = self.event(address, from.len(), Ok(root));
                self.observer.store(self.at(), &event, Stored { data: Data::Bytes(from), changes });
                Ok(())
            }
            Err(fault) => Err(self.tell_refused_store(address, from, fault)),
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_refused_store(self, address: Address, from: &[u8], fault: Fault) -> Fault {
        let event = self.event(address, from.len(), Err(&fault));
        self.observer.store(self.at(), &event, Stored { data: Data::Bytes(from), changes: true });
        fault
    }

    /// Stores a value at `address`, as [`Memory::store_value`].
    ///
    /// # Errors
    /// As [`Memory::store_value`].
    #[inline(always)]
    pub fn store_value<T: Pod>(&self, address: Address, value: T) -> Result<(), Fault> {
        if let Some(near) = self.near
            && let Some(()) = self.try_store_value(Some(near), address, value)
        {
            return Ok(());
        }
        self.store_far_value(address, value)
    }

    #[inline(never)]
    fn store_far_value<T: Pod>(self, address: Address, value: T) -> Result<(), Fault> {
        while self.try_store_value(None, address, value).is_none() {
            self.refuse_store(address, align_of::<T>(), bytemuck::bytes_of(&value))?;
            if size_of::<T>() == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Stores a value if that may be done, and tells of it.
    #[inline(always)]
    fn try_store_value<T: Pod>(&self, near: Option<&Near<'_>>, address: Address, value: T) -> Option<()> {
        let (root, changes) = match self.compares_stores() {
            _ if self.is_constant => None,
            true => self.memory.try_store_value::<T, true>(near, address, value),
            false => self.memory.try_store_value::<T, false>(near, address, value),
        }?;
        let event = self.event(address, size_of::<T>(), Ok(root));
        self.observer.store(self.at(), &event, Stored { data: Data::Bytes(bytemuck::bytes_of(&value)), changes });
        Some(())
    }

    /// Judges a store that could not be done, and tells of it if it may not.
    #[cold]
    #[inline(never)]
    fn refuse_store(self, address: Address, alignment: usize, bytes: &[u8]) -> Result<(), Fault> {
        let size = bytes.len();
        let judge = || self.memory.judge::<0>(address, size as u64, alignment as u64, Access::Write);
        self.refuse_change(address, size).and_then(|()| judge()).inspect_err(|fault| {
            let event = self.event(address, size, Err(fault));
            self.observer.store(self.at(), &event, Stored { data: Data::Bytes(bytes), changes: true });
        })
    }

    #[inline(always)]
    fn tell_store(&self, address: Address, size: usize, result: &Result<(Address, bool), Fault>, data: Data<'_>) {
        let changes = !matches!(result, Ok((_, false)));
        let event = self.event(address, size, result.as_ref().map(|(root, _)| *root));
        self.observer.store(self.at(), &event, Stored { data, changes });
    }

    /// Does an atomic operation, as [`Memory::atomic`].
    ///
    /// # Errors
    /// As [`Memory::atomic`].
    #[inline(always)]
    pub fn atomic<T: AtomicValue>(&self, address: Address, op: T::Op, operand: T) -> Result<T, Fault> {
        let op: AtomicOp = op.into();
        self.change::<T>(address, op, move |memory, near| memory.try_change_by(near, address, op, operand))
    }

    /// Compares and exchanges, as [`Memory::compare_exchange`].
    ///
    /// # Errors
    /// As [`Memory::compare_exchange`].
    #[inline(always)]
    pub fn compare_exchange<T: AtomicInteger>(&self, address: Address, expected: T, new: T) -> Result<T, Fault> {
        let change = move |memory: &Memory, near: Option<&Near<'_>>| memory.try_change_if(near, address, expected, new);
        self.change::<T>(address, AtomicOp::CompareExchange, change)
    }

    #[inline(always)]
    fn change<T: AtomicValue>(
        &self,
        address: Address,
        op: AtomicOp,
        change: impl Fn(&Memory, Option<&Near<'_>>) -> Option<Change<T>>,
    ) -> Result<T, Fault> {
        if let Some(near) = self.near
            && let Some(before) = self.try_change(Some(near), address, op, &change)
        {
            return Ok(before);
        }
        self.change_far(address, op, change)
    }

    #[inline(never)]
    fn change_far<T: AtomicValue>(
        self,
        address: Address,
        op: AtomicOp,
        change: impl Fn(&Memory, Option<&Near<'_>>) -> Option<Change<T>>,
    ) -> Result<T, Fault> {
        loop {
            if let Some(before) = self.try_change(None, address, op, &change) {
                return Ok(before);
            }
            self.refuse_atomic(address, size_of::<T>(), op)?;
        }
    }

    /// Does an atomic operation if that may be done, and tells of it.
    #[inline(always)]
    fn try_change<T: AtomicValue>(
        &self,
        near: Option<&Near<'_>>,
        address: Address,
        op: AtomicOp,
        change: impl Fn(&Memory, Option<&Near<'_>>) -> Option<Change<T>>,
    ) -> Option<T> {
        let changed = if self.is_constant { None } else { change(self.memory, near) };
        let Change { before, stored, aligned, root } = changed?;
        let event = self.event(address, size_of::<T>(), Ok(root));
        self.observer.atomic(self.at(), &event, Atomic { op, stored, aligned });
        Some(before)
    }

    /// Judges an atomic operation that could not be done, and tells of it if it may not.
    #[cold]
    #[inline(never)]
    fn refuse_atomic(self, address: Address, size: usize, op: AtomicOp) -> Result<(), Fault> {
        let judge = || self.memory.judge::<0>(address, size as u64, 1, Access::Atomic);
        self.refuse_change(address, size).and_then(|()| judge()).inspect_err(|fault| {
            let event = self.event(address, size, Err(fault));
            self.observer.atomic(self.at(), &event, Atomic { op, stored: false, aligned: true });
        })
    }

    /// Copies within this memory, as [`Memory::copy`].
    ///
    /// # Errors
    /// As [`Memory::copy`].
    pub fn copy(&self, to: Address, from: Address, size: u64) -> Result<(), Fault> {
        self.copy_from(to, self, from, size)
    }

    /// Copies from another memory of the same device, as [`Memory::copy_from`].
    ///
    /// # Errors
    /// As [`Memory::copy_from`].
    pub fn copy_from(&self, to: Address, source: &View<'_, O>, from: Address, size: u64) -> Result<(), Fault> {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let result = self.refuse_change(to, length);
        let result = result.and_then(|()| self.memory.copy_from_at(to, source.memory, from, size));
        let result = result.map_err(|fault| match fault.place() {
            Some(place) if place.access == Access::Read => source.named(fault),
            _ => fault,
        });
        let (loaded, stored) = match &result {
            Ok((from, to)) => (Ok(*from), Ok(*to)),
            Err(fault) if fault.place().is_some_and(|place| place.access == Access::Read) => (Err(fault), Err(fault)),
            // The load was judged well, and not done.
            Err(fault) => (Ok(Address::NULL), Err(fault)),
        };
        let (load, store) = (source.event(from, length, loaded), self.event(to, length, stored));
        self.observer.copied(source.at(), &load, self.at(), &store);
        result.map(drop)
    }

    /// Fills a range with a pattern, as [`Memory::fill`].
    ///
    /// # Errors
    /// As [`Memory::fill`].
    pub fn fill(&self, address: Address, pattern: &[u8], size: u64) -> Result<(), Fault> {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let result = self.refuse_change(address, length);
        let result = result.and_then(|()| self.memory.fill_at(address, pattern, size)).map(|root| (root, true));
        self.tell_store(address, length, &result, Data::Pattern(pattern));
        result.map(drop)
    }

    /// Says that bytes hold nothing of use until they are stored to, as those of a buffer allocated with
    /// [`Init::Poison`](crate::Init::Poison). Nothing is changed; a checker will report who reads them.
    ///
    /// # Errors
    /// The [`Fault`] of a store.
    pub fn undefine(&self, address: Address, size: u64) -> Result<(), Fault> {
        self.undefine_as(address, size, None)
    }

    /// As [`undefine`](Self::undefine). With a name, such as that of the output that a kernel is to store there, findings
    /// that have no name of a buffer will give this one.
    ///
    /// ```
    /// use rimms_devmem::check::{Findings, Uninitialised};
    /// use rimms_devmem::{Device, Fault, Flags, Init};
    ///
    /// let findings = Findings::default();
    /// let device = Device::with_observer(Uninitialised::with_host_reads(&findings));
    /// let host = device.host();
    /// let buffer = host.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
    /// host.undefine_as(buffer, 8, Some("the sums"))?;
    /// host.load_value::<u64>(buffer)?;
    /// assert!(findings.take()[0].to_string().contains("\"the sums\""));
    /// # Ok::<(), Fault>(())
    /// ```
    ///
    /// # Errors
    /// The [`Fault`] of a store.
    pub fn undefine_as(&self, address: Address, size: u64, name: Option<&str>) -> Result<(), Fault> {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let result = self.refuse_change(address, length);
        let result = result.and_then(|()| self.memory.locate(address, size, Access::Write));
        self.observer.undefined(self.at(), &self.event(address, length, result.as_ref().copied()), name);
        result.map(drop)
    }
}
