//! One copy between two places, by the shortest way there is.
#![allow(unsafe_code)]

use super::datum::Datum;
use super::node::Region;
use super::resources::Resources;
use crate::coherence::ResourceId;
use crate::device::{DeviceErrorKind, HostSource, HostTarget, Rows, Span};
use crate::error::Result;
use crate::trace::Cause;
use std::ptr::{self, NonNull};
use std::time::Instant;

/// Somewhere bytes of a datum lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) resource: ResourceId,
    pub(super) span: Span,
}

impl Place {
    /// The place of the run that this one and `next` make up, if they are one.
    fn joined(&self, next: &Self) -> Option<Self> {
        let (a, b) = (&self.span, &next.span);
        let follows = self.resource == next.resource
            && a.rows.rows == 1
            && b.rows.rows == 1
            && a.address + a.rows.row_bytes as u64 == b.address;
        follows.then(|| Self {
            resource: self.resource,
            span: Span { address: a.address, rows: Rows::run(a.rows.row_bytes + b.rows.row_bytes) },
        })
    }
}

/// Bytes to move. Neighbours that lie side by side at both ends become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) from: Place,
    pub(super) to: Place,
    /// The host holds the same bytes: where there is no direct way they are taken from there, and its readers, who may
    /// be looking at them, are not disturbed.
    pub(super) host_is_current: bool,
}

impl Move {
    pub(super) fn joined(&self, next: &Self) -> Option<Self> {
        let host_is_current = self.host_is_current;
        (host_is_current == next.host_is_current).then_some(())?;
        Some(Self { from: self.from.joined(&next.from)?, to: self.to.joined(&next.to)?, host_is_current })
    }
}

/// Did the bytes come to lie on the host too, on their way?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Direct,
    ThroughHost,
}

fn host_start(span: &Span) -> NonNull<u8> {
    // Host spans are made from a datum's storage or memory set aside, whose provenance is exposed; they are never null.
    NonNull::new(ptr::with_exposed_provenance_mut(span.address as usize)).unwrap_or(NonNull::dangling())
}

/// Makes the copy and counts it. `region` is what moves, for a way through the host's storage of `datum`.
///
/// Called by whoever has claimed the target, having found it stale: nobody reads it meanwhile, nor writes it; and
/// nobody writes the source, since accesses that conflict are kept apart by the program's borrows and by the order of
/// its calls. The caller holds the blocks at both ends.
pub(super) fn make(datum: &Datum, region: &Region, step: Move, cause: Cause, beside_calls: bool) -> Result<Way> {
    let Move { from, to, host_is_current } = step;
    let resources: &Resources = &datum.resources;
    let device = |r: ResourceId| resources.device(r);
    let bytes = from.span.rows.bytes();
    let failed = |e| {
        let call = format!("copy of {} bytes ({})", bytes, cause.name());
        resources.failure(e, &call, &device(to.resource).info().name)
    };
    if let Some(lost) = [from.resource, to.resource].into_iter().find(|r| resources.is_lost(*r)) {
        return Err(resources.gone(lost));
    }
    let at = |r: ResourceId| if r.is_host() { None } else { resources.operation(r) };
    let _operations = (at(from.resource), at(to.resource));
    // What is still queued is no part of what the copy takes; the copy itself is. To measure what is copied beside calls would mean
    // to wait for them, or to count them in.
    let is_measured = !beside_calls && resources.links.is_due(from.resource, to.resource, bytes);
    let finish = || {
        let mut ends = [from.resource, to.resource].into_iter().filter(|r| is_measured && !r.is_host());
        ends.try_for_each(|r| device(r).finish().map_err(failed))
    };
    finish()?;
    let start = (is_measured || resources.log.is_some()).then(Instant::now);
    match (from.resource.is_host(), to.resource.is_host()) {
        (true, false) => {
            // SAFETY: the span lies in the datum's storage, which is initialised (frozen at birth), and per the above unwritten.
            let source = unsafe { HostSource::new(host_start(&from.span), from.span.rows) };
            device(to.resource).upload(&source, &to.span).map_err(failed)?;
        }
        (false, true) => {
            // SAFETY: as above; the host's copy is stale, so nobody reads it, or the target is memory set aside (`plan`).
            let mut target = unsafe { HostTarget::new(host_start(&to.span), to.span.rows) };
            device(from.resource).download(&from.span, &mut target).map_err(failed)?;
        }
        (true, true) => return Ok(Way::Direct),
        (false, false) if from.resource == to.resource => {
            device(to.resource).copy_within(&from.span, &to.span).map_err(failed)?;
        }
        (false, false) => match device(to.resource).copy_from(&**device(from.resource), &from.span, &to.span) {
            Ok(()) => {}
            Err(e) if e.kind == DeviceErrorKind::Unsupported => {
                let host = Place { resource: ResourceId::HOST, span: datum.host_span(region) };
                if !host_is_current {
                    make(datum, region, Move { to: host, ..step }, cause, beside_calls)?;
                }
                make(datum, region, Move { from: host, ..step }, cause, beside_calls)?;
                return Ok(if host_is_current { Way::Direct } else { Way::ThroughHost });
            }
            Err(e) => return Err(failed(e)),
        },
    }
    finish()?;
    if let (true, Some(start)) = (is_measured, start) {
        resources.links.record(from.resource, to.resource, bytes, start.elapsed().as_nanos() as f64);
    }
    resources.tally.copied(from.resource, to.resource, cause, bytes);
    if let (Some(log), Some(start)) = (&resources.log, start) {
        log.copied(start, from.resource, to.resource, cause, bytes);
    }
    Ok(Way::Direct)
}
