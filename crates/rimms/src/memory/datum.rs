//! A datum: header and host storage in one block, the tree of fragments, the blocks on devices.
//!
//! One allocation, aligned by hand: an aligned one costs the system allocator
//! several times a plain one, and two cost twice. NUMA placement and protection
//! are the system's business. Only where a device lends its memory (mode `zero-copy`) the bytes lie there.
//!
//! A datum is freed by its last owner: the program's handle, a call in flight, or
//! whoever evicts one of its blocks just now. The last of them finds datums in
//! [registries](super::registry), without owning them: it may become an owner only
//! while there is one ([`Listed::share`]), and a datum leaves all registries
//! after its last owner is gone and before it is freed.
#![allow(unsafe_code)]

use super::node::{Node, Region};
use super::residency::Residency;
use super::resources::{Block, Resources};
use crate::coherence::{MemoryMode, ResourceId, State};
use crate::device::Span;
use crate::error::{Error, Result};
use crate::op::Element;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::alloc::{Layout, alloc, dealloc};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

/// What host storage is aligned to: a cache line, and enough for every vector unit.
const HOST_ALIGN: usize = 64;

/// What plain allocation guarantees.
const PLAIN: usize = align_of::<u128>();

/// What one `hete_Malloc` makes: the header. The host's bytes follow it.
#[repr(align(16))] // so that its size is a multiple of what plain allocation guarantees
pub(crate) struct Datum {
    root: Node,
    /// The first of the host's bytes.
    host: NonNull<u8>,
    /// Where they lie, if not behind the header.
    lent: Option<Arc<Block>>,
    element: Element,
    /// How its copies are kept coherent.
    pub(super) mode: MemoryMode,
    name: Option<Box<str>>,
    pub(super) resources: Arc<Resources>,
    /// Made when a device first uses the datum, or a write first fails.
    residency: Mutex<Option<Box<Residency>>>,
    /// A claim ended.
    released: Condvar,
    /// Each is a handle or a call in flight, which takes more than a byte: there is no room for too many to count.
    owners: AtomicU32,
    /// Bytes of the whole allocation.
    allocated: usize,
    /// Was it ever listed in a registry? Spares a look into all of them where not.
    was_listed: AtomicBool,
    /// Does any claim stand? Changed under the lock.
    pub(super) is_claimed: AtomicBool,
    /// Has any write ever failed? Spares a look under the lock where none has.
    pub(super) has_failed: AtomicBool,
}

/// One of a datum's owners.
pub(crate) struct Owned(NonNull<Datum>);

/// A datum as a registry lists it, without owning it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed(NonNull<Datum>);

// SAFETY: as `Owned`, which it can become.
unsafe impl Send for Listed {}

// SAFETY: a datum's parts are Send and Sync (its host bytes are reached as the
// rules of `data` and `runtime` say), and this owns them all.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}
// SAFETY: `host` is plain memory of the datum's own block.
unsafe impl Send for Datum {}
// SAFETY: as above.
unsafe impl Sync for Datum {}

impl Owned {
    /// Fresh and uninitialised: `len` elements of the given alignment.
    ///
    /// # Errors
    /// [`Error::HostMemory`] where the system refuses, or the size is absurd.
    #[inline]
    pub(crate) fn new(
        resources: &Arc<Resources>,
        element: Element,
        align: usize,
        len: usize,
        name: Option<&str>,
    ) -> Result<Self> {
        // What plain allocation guarantees need not be made up for.
        let align = align.max(HOST_ALIGN);
        let absurd = || Error::HostMemory { bytes: len.saturating_mul(element.size()) };
        let bytes = len.checked_mul(element.size()).ok_or_else(absurd)?;
        // Blocks of a device begin on cache lines, and no further.
        let (mode, lent) = resources.storage(bytes.checked_add(align - HOST_ALIGN).ok_or_else(absurd)?)?;
        let behind = if lent.is_some() { 0 } else { bytes };
        let layout = behind
            .checked_add(size_of::<Datum>() + align - PLAIN)
            .and_then(|all| Layout::from_size_align(all, PLAIN).ok())
            .ok_or_else(absurd)?;
        // SAFETY: the layout has at least the header's size.
        let datum = NonNull::new(unsafe { alloc(layout) }).ok_or(Error::HostMemory { bytes })?.cast::<Datum>();
        // SAFETY: the block has room for the header, then at most align − PLAIN bytes to the next multiple of
        // `align` (both are multiples of PLAIN), then `bytes`.
        let behind = unsafe {
            let after = datum.add(1).cast::<u8>();
            after.add(after.as_ptr().align_offset(align))
        };
        let (lent, host) = match lent {
            None => (None, behind),
            Some((block, lent)) => {
                let start = lent.start();
                // SAFETY: a block of align − HOST_ALIGN bytes more than wanted, aligned to HOST_ALIGN as its maker vouches.
                (Some(block), unsafe { start.add(start.as_ptr().align_offset(align)) })
            }
        };
        freeze(host);
        // Kernels get addresses as numbers.
        let _ = host.as_ptr().expose_provenance();
        // SAFETY: the block starts at a multiple of PLAIN, which is enough for the header, and is ours alone.
        unsafe {
            datum.write(Datum {
                root: Node::new(datum, Region::run(0, bytes), State::UNINITIALISED),
                host,
                lent,
                element,
                mode,
                name: name.map(Into::into),
                resources: resources.clone(),
                residency: Mutex::new(None),
                released: Condvar::new(),
                owners: AtomicU32::new(1),
                allocated: layout.size(),
                was_listed: AtomicBool::new(false),
                is_claimed: AtomicBool::new(false),
                has_failed: AtomicBool::new(false),
            });
        }
        Ok(Self(datum))
    }
}

// So that the header ends at a multiple of what plain allocation guarantees, and less than `align` is skipped.
const _: () =
    assert!(align_of::<Datum>() <= align_of::<u128>() && size_of::<Datum>().is_multiple_of(align_of::<u128>()));

impl Deref for Owned {
    type Target = Datum;

    #[inline]
    fn deref(&self) -> &Datum {
        // SAFETY: written in `new`, and alive as long as it has an owner, which this is.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Owned {
    #[inline]
    fn drop(&mut self) {
        // Acquire: what former owners did to the datum has happened. Nobody can become an owner without one but through
        // a registry, so the only owner of a datum that was never listed is the last.
        if self.owners.load(Acquire) == 1 && !self.was_listed.load(Relaxed) {
            // SAFETY: the last owner, in no registry.
            return unsafe { free(self.0) };
        }
        self.count_down();
    }
}

impl Owned {
    /// The owner behind a pointer.
    ///
    /// # Safety
    /// It was forgotten, and is taken up once.
    #[inline]
    pub(super) unsafe fn from_pointer(datum: NonNull<Datum>) -> Self {
        Self(datum)
    }

    /// Drops an owner that is hardly ever the last.
    #[inline]
    pub(super) fn give_up(self) {
        ManuallyDrop::new(self).count_down();
    }

    #[inline]
    fn count_down(&mut self) {
        if self.owners.fetch_sub(1, Release) == 1 {
            self.last();
        }
    }

    #[cold]
    fn last(&mut self) {
        // Pairs with the release of all the others.
        self.owners.load(Acquire);
        let mut residency = self.residency.lock().take();
        if let Some(residency) = &mut residency {
            residency.unlist(&self.resources);
        }
        // SAFETY: the last owner, and in no registry any more.
        unsafe { free(self.0) }
    }
}

impl Listed {
    /// A new owner, if the datum still has one.
    ///
    /// # Safety
    /// The datum is listed in a registry whose lock is held.
    pub(super) unsafe fn share(self) -> Option<Owned> {
        // SAFETY: a datum is freed after it has left all registries, which takes their locks.
        let owners = unsafe { &(*self.0.as_ptr()).owners };
        let shared = owners.try_update(Relaxed, Relaxed, |n| if n == 0 { None } else { Some(n + 1) });
        shared.ok().map(|_| Owned(self.0))
    }

    /// Is it this one?
    pub(super) fn is(self, datum: &Datum) -> bool {
        std::ptr::eq(self.0.as_ptr(), datum)
    }
}

/// # Safety
/// Nobody uses the datum, or will.
#[inline]
unsafe fn free(datum: NonNull<Datum>) {
    // SAFETY: made in `Owned::new` with this layout; unused, as the caller vouches.
    unsafe {
        let layout = Layout::from_size_align_unchecked((*datum.as_ptr()).allocated, PLAIN);
        datum.drop_in_place();
        dealloc(datum.as_ptr().cast(), layout);
    }
}

/// A datum's lock, held.
pub(super) struct Locked<'a> {
    datum: &'a Datum,
    guard: MutexGuard<'a, Option<Box<Residency>>>,
}

impl<'a> Locked<'a> {
    pub(super) fn datum(&self) -> &'a Datum {
        self.datum
    }

    /// What the lock guards, unless no device ever used the datum and no write ever failed.
    pub(super) fn if_any(&self) -> Option<&Residency> {
        self.guard.as_deref()
    }

    /// What the lock guards.
    pub(super) fn get(&mut self) -> &mut Residency {
        self.guard.get_or_insert_default()
    }

    /// Lets others have the lock until a claim of theirs has ended.
    pub(super) fn wait(&mut self) {
        self.datum.released.wait(&mut self.guard);
    }

    /// Wakes those who wait so, once the lock is free.
    pub(super) fn released(self) {
        let datum = self.datum;
        drop(self);
        datum.released.notify_all();
    }
}

impl Datum {
    #[inline]
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Do all resources work on it where it lies, so that nothing is copied?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.mode == MemoryMode::ZeroCopy
    }

    /// Does it lie in memory that a device has lent for it?
    pub(super) fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    #[inline]
    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// One more owner.
    #[inline]
    pub(crate) fn share(&self) -> Owned {
        // Whoever can reach the datum has an owner, or is kept alive by one.
        self.owners.fetch_add(1, Relaxed);
        Owned(self.whole())
    }

    /// As a registry lists it. From now on its last owner looks for it there.
    pub(super) fn listed(&self) -> Listed {
        self.was_listed.store(true, Relaxed);
        Listed(self.whole())
    }

    /// This datum by a pointer that may be used for all of its allocation.
    #[inline]
    fn whole(&self) -> NonNull<Datum> {
        self.root.datum_pointer()
    }

    /// The datum's lock.
    pub(super) fn lock(&self) -> Locked<'_> {
        Locked { datum: self, guard: self.residency.lock() }
    }

    /// How messages call it.
    pub(crate) fn describe(&self, node: &Node) -> Box<str> {
        let len = |bytes: usize| bytes / self.element.size().max(1);
        let all = self.root.bytes();
        let name = match &self.name {
            Some(name) => format!("`{name}`"),
            None => format!("a datum of {} x {}", len(all), self.element.name()),
        };
        if node.bytes() == all {
            return name.into();
        }
        format!("{name} (its fragment of {} from {})", len(node.bytes()), len(node.region().offset)).into()
    }

    /// Where a region lies in the host's memory, as an address with exposed provenance.
    #[inline]
    pub(crate) fn host_span(&self, region: &Region) -> Span {
        Span { address: (self.host.as_ptr().addr() + region.offset) as u64, rows: region.rows }
    }

    /// The same as a pointer.
    #[inline]
    pub(crate) fn host_pointer(&self, region: &Region) -> NonNull<u8> {
        debug_assert!(region.end() <= self.root.bytes());
        // SAFETY: every region of a datum's nodes lies inside its storage (its makers divide the root's).
        unsafe { self.host.add(region.offset) }
    }

    /// Where a view lies on a resource, where it lies there in one piece.
    pub(crate) fn address_on(&self, node: &Node, r: ResourceId) -> Option<u64> {
        if r.is_host() {
            return Some(self.host_span(node.region()).address);
        }
        self.residency.lock().as_ref()?.locate(r, node.region()).map(|(span, _)| span.address)
    }
}

/// Makes the bytes behind `start` arbitrary but fixed, where fresh memory is
/// formally undefined: an op's Out operand may then be lent to a kernel as a
/// plain slice. Costs nothing.
#[inline]
fn freeze(start: NonNull<u8>) {
    // SAFETY: the assembly is empty. To the compiler it is opaque and may have
    // written all memory reachable from the pointer, so from here on it must
    // treat every byte as having been given some value.
    unsafe { std::arch::asm!("/* {0} */", in(reg) start.as_ptr(), options(nostack, preserves_flags)) }
}
