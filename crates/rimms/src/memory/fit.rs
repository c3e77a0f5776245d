//! What fits into a device's memory, and how it is said that something does not.

use super::node::Node;
use super::operand::INLINE;
use super::residency::contains;
use super::resources::Resources;
use crate::coherence::ResourceId;
use crate::device::{DeviceError, DeviceErrorKind};
use crate::error::Error;
use smallvec::SmallVec;

/// Why `r` can never hold these operands at once, however empty it is: `None` where it can. For calls that are refused
/// before anything is done.
///
/// Exact where the device's [footprints](crate::device::Device::footprint) are: blocks laid side by side take their
/// footprints, the last one its bytes alone. A view that lies in another takes nothing.
pub(crate) fn can_never_hold<'a>(
    resources: &Resources,
    r: ResourceId,
    call: Option<&str>,
    operands: impl Iterator<Item = &'a Node>,
) -> Option<Error> {
    let device = resources.device(r);
    let limits = device.limits()?;
    if r.is_host() {
        return None;
    }
    // What lies in the host's own memory takes no room, but has to be reached as one piece.
    let mut too_long = None;
    let takes_room = |node: &&'a Node| {
        if !node.is_shared() {
            return true;
        }
        let bytes = node.region().rows.extent() as u64;
        if bytes > limits.on_host && !node.datum().is_lent() {
            too_long = Some((bytes, *node));
        }
        false
    };
    let operands = leading(operands.filter(takes_room), |node| node);
    if let Some((bytes, node)) = too_long {
        return Some(never_fits(resources, r, call, (bytes, limits.on_host), std::iter::once(node)));
    }
    let (mut sum, mut most_rounded, mut largest) = (0_u64, 0, 0);
    for node in &operands {
        let bytes = node.bytes() as u64;
        largest = largest.max(bytes);
        let footprint = device.footprint(bytes).max(bytes);
        sum = sum.saturating_add(footprint);
        most_rounded = most_rounded.max(footprint - bytes);
    }
    let all = (sum - most_rounded, limits.total);
    let one = (largest, limits.block);
    let missed = [all, one].into_iter().find(|(wanted, most)| wanted > most)?;
    Some(never_fits(resources, r, call, missed, operands.into_iter()))
}

/// The error that says so.
#[cold]
pub(super) fn never_fits<'a>(
    resources: &Resources,
    r: ResourceId,
    call: Option<&str>,
    (wanted, capacity): (u64, u64),
    operands: impl Iterator<Item = &'a Node>,
) -> Error {
    let (info, usage) = (resources.device(r).info(), resources.device(r).usage());
    Error::NeverFits {
        device: info.name.clone(),
        call: call.map(Into::into),
        operands: operands.map(|node| (node.datum().describe(node), node.bytes() as u64)).collect(),
        wanted,
        capacity,
        free: usage.free,
        largest: usage.largest_free,
    }
}

/// Those whose view lies in no other's.
pub(super) fn leading<'a, T: Copy>(
    all: impl Iterator<Item = T>,
    view: impl Fn(&T) -> &'a Node,
) -> SmallVec<[T; INLINE]> {
    let inside = |outer: &T, inner: &T| {
        let (outer, inner) = (view(outer), view(inner));
        std::ptr::eq(outer.datum(), inner.datum()) && contains(outer.region(), inner.region())
    };
    let mut leading: SmallVec<[T; INLINE]> = SmallVec::new();
    for one in all {
        if !leading.iter().any(|other| inside(other, &one)) {
            leading.retain(|other| !inside(&one, other));
            leading.push(one);
        }
    }
    leading
}

pub(super) fn is_no_room(kind: &DeviceErrorKind) -> bool {
    use DeviceErrorKind::{Fragmented, Full, NeverFits};
    matches!(kind, NeverFits { .. } | Full { .. } | Fragmented { .. })
}

/// How much more room there has to be, at least.
pub(super) fn missing(error: &DeviceError) -> u64 {
    match error.kind {
        DeviceErrorKind::Full { wanted, free, .. } => wanted.saturating_sub(free),
        DeviceErrorKind::Fragmented { wanted, largest, .. } => wanted.saturating_sub(largest),
        _ => 0,
    }
}

/// A device's error as the caller sees it: lack of room has kinds of its own.
pub(super) fn device_error(error: DeviceError, call: &str, pe: &str) -> Error {
    let device = error.device.clone();
    match error.kind {
        DeviceErrorKind::NeverFits { wanted, capacity } => Error::NeverFits {
            device,
            call: Some(call.into()),
            operands: Box::default(),
            wanted,
            capacity,
            free: capacity,
            largest: capacity,
        },
        DeviceErrorKind::Full { wanted, free, capacity } => Error::Full { device, wanted, free, capacity },
        DeviceErrorKind::Fragmented { wanted, free, largest } => Error::Fragmented { device, wanted, free, largest },
        DeviceErrorKind::Kernel => Error::Kernel { call: call.into(), pe: pe.into(), message: error.message },
        DeviceErrorKind::Panicked => Error::Panicked { call: call.into(), pe: pe.into(), message: error.message },
        DeviceErrorKind::Lost => Error::DeviceLost { device, call: Some(call.into()), message: error.message },
        _ => Error::Device { call: call.into(), pe: pe.into(), error },
    }
}
