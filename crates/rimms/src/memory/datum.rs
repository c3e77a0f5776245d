//! A datum: host storage, the tree of fragments, the blocks on devices.
#![allow(unsafe_code)]

use super::buffer::HostBuffer;
use super::node::{Node, Region};
use super::residency::Residency;
use super::resources::Resources;
use crate::coherence::{ResourceId, State};
use crate::device::Span;
use crate::error::{Error, Result};
use crate::op::Element;
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What one `hete_Malloc` makes.
pub(crate) struct Datum {
    root: Node,
    host: HostBuffer,
    element: Element,
    name: Option<Box<str>>,
    pub(super) resources: Arc<Resources>,
    pub(super) residency: Mutex<Residency>,
    /// Has any write ever failed? Spares a look under the lock where none has.
    pub(super) has_failed: AtomicBool,
}

impl Datum {
    /// Fresh and uninitialised: `len` elements of the given alignment.
    #[inline]
    pub(crate) fn new(
        resources: &Arc<Resources>,
        element: Element,
        align: usize,
        len: usize,
        name: Option<&str>,
    ) -> Result<Arc<Self>> {
        let bytes = len.checked_mul(element.size()).ok_or(Error::HostMemory { bytes: usize::MAX })?;
        let host = HostBuffer::new(bytes, align)?;
        let root = Node::new(NonNull::dangling(), Region::run(0, bytes), State::UNINITIALISED);
        let mut datum = Arc::new(Self {
            root,
            host,
            element,
            name: name.map(Into::into),
            resources: resources.clone(),
            residency: Mutex::new(Residency::default()),
            has_failed: AtomicBool::new(false),
        });
        let place = NonNull::from(&*datum);
        if let Some(datum) = Arc::get_mut(&mut datum) {
            datum.root.set_datum(place);
        }
        Ok(datum)
    }

    #[inline]
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    #[inline]
    pub(crate) fn resources(&self) -> &Arc<Resources> {
        &self.resources
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
        Span { address: (self.host.start().as_ptr().addr() + region.offset) as u64, rows: region.rows }
    }

    /// The same as a pointer.
    #[inline]
    pub(crate) fn host_pointer(&self, region: &Region) -> NonNull<u8> {
        debug_assert!(region.end() <= self.root.bytes());
        // SAFETY: every region of a datum's nodes lies inside its storage (its makers divide the root's).
        unsafe { self.host.start().add(region.offset) }
    }

    /// Where a view lies on a resource, where it lies there in one piece.
    pub(crate) fn address_on(&self, node: &Node, r: ResourceId) -> Option<u64> {
        if r.is_host() {
            return Some(self.host_span(node.region()).address);
        }
        self.residency.lock().locate(r, node.region()).map(|l| l.span.address)
    }
}
