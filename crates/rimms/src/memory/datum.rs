//! A datum: header and host storage in one block, the tree of fragments, the blocks on devices.
//!
//! One allocation, aligned by hand: an aligned one costs the system allocator
//! several times a plain one, and two cost twice. NUMA placement and protection
//! are the system's business.
#![allow(unsafe_code)]

use super::node::{Node, Region};
use super::residency::Residency;
use super::resources::Resources;
use crate::coherence::{ResourceId, State};
use crate::device::Span;
use crate::error::{Error, Result};
use crate::op::Element;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::alloc::{Layout, alloc, dealloc};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What host storage is aligned to: a cache line, and enough for every vector unit.
const HOST_ALIGN: usize = 64;

/// What one `hete_Malloc` makes: the header. The host's bytes follow it.
pub(crate) struct Datum {
    root: Node,
    /// The first of the host's bytes.
    host: NonNull<u8>,
    element: Element,
    name: Option<Box<str>>,
    pub(super) resources: Arc<Resources>,
    /// Made when a device first uses the datum, or a write first fails.
    residency: Mutex<Option<Box<Residency>>>,
    /// Has any write ever failed? Spares a look under the lock where none has.
    pub(super) has_failed: AtomicBool,
}

/// The one owner of a datum.
pub(crate) struct Owned {
    datum: NonNull<Datum>,
    layout: Layout,
}

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
        const PLAIN: usize = align_of::<u128>();
        let align = align.max(HOST_ALIGN);
        let (layout, bytes) = len
            .checked_mul(element.size())
            .and_then(|bytes| Some((bytes.checked_add(size_of::<Datum>() + align - PLAIN)?, bytes)))
            .and_then(|(all, bytes)| Some((Layout::from_size_align(all, PLAIN).ok()?, bytes)))
            .ok_or(Error::HostMemory { bytes: len.saturating_mul(element.size()) })?;
        // SAFETY: the layout has at least the header's size.
        let datum = NonNull::new(unsafe { alloc(layout) }).ok_or(Error::HostMemory { bytes })?.cast::<Datum>();
        // SAFETY: the block has room for the header, then at most align − PLAIN bytes to the next multiple of
        // `align` (both are multiples of PLAIN), then `bytes`.
        let host = unsafe {
            let after = datum.add(1).cast::<u8>();
            after.add(after.as_ptr().align_offset(align))
        };
        freeze(host);
        // Kernels get addresses as numbers.
        let _ = host.as_ptr().expose_provenance();
        // SAFETY: the block starts at a multiple of PLAIN, which is enough for the header, and is ours alone.
        unsafe {
            datum.write(Datum {
                root: Node::new(datum, Region::run(0, bytes), State::UNINITIALISED),
                host,
                element,
                name: name.map(Into::into),
                resources: resources.clone(),
                residency: Mutex::new(None),
                has_failed: AtomicBool::new(false),
            });
        }
        Ok(Self { datum, layout })
    }
}

// So that the header ends at a multiple of what plain allocation guarantees, and less than `align` is skipped.
const _: () =
    assert!(align_of::<Datum>() <= align_of::<u128>() && size_of::<Datum>().is_multiple_of(align_of::<u128>()));

impl Deref for Owned {
    type Target = Datum;

    #[inline]
    fn deref(&self) -> &Datum {
        // SAFETY: written in `new`, dropped only in `drop`.
        unsafe { self.datum.as_ref() }
    }
}

impl Drop for Owned {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: whoever uses the datum borrows it from this owner, so nobody does now; allocated with this layout.
        unsafe {
            self.datum.drop_in_place();
            dealloc(self.datum.as_ptr().cast(), self.layout);
        }
    }
}

impl Datum {
    #[inline]
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    #[inline]
    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// The blocks on devices, locked.
    pub(super) fn residency(&self) -> MappedMutexGuard<'_, Residency> {
        MutexGuard::map(self.residency.lock(), |r| &mut **r.get_or_insert_default())
    }

    /// The same, unless no device ever used the datum and no write ever failed.
    pub(super) fn residency_if_any(&self) -> Option<MappedMutexGuard<'_, Residency>> {
        MutexGuard::try_map(self.residency.lock(), |r| r.as_deref_mut()).ok()
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
        self.residency_if_any()?.locate(r, node.region()).map(|l| l.span.address)
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
