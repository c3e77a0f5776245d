//! Memory: where the bytes of each datum are, and the copies that bring them where they are needed.
//!
//! Owns the host storage of a datum, its tree of fragments with one state word
//! a leaf ([`node`]), its blocks on devices ([`residency`]), and the transfers
//! between them ([`transfer`]). Coherence decides *which* copies; this module makes them.
//!
//! Invariants (checked by the unit tests and, through whole programs, by `tests/`):
//! * a leaf's state is only ever changed after the transfer it stands for has succeeded;
//! * a resource other than the host is in a leaf's valid set only while a block
//!   of the datum on that resource covers the leaf;
//! * blocks of one datum on one resource never overlap;
//! * a block is freed by the last who uses it: a running call holds the blocks of its operands.
//!
//! Locks: one a datum, around its blocks and the transfers of its bytes, so that two
//! threads that read a stale leaf copy it once. Nothing else is locked while it is
//! held but the device's own heap. A read of valid bytes takes no lock.

mod access;
mod datum;
mod held;
mod links;
mod node;
mod outlook;
mod pending;
mod residency;
mod resources;
mod transfer;

pub(crate) use datum::{Datum, Owned};
pub(crate) use held::Held;
pub(crate) use outlook::Outlook;
pub(crate) use node::{Node, Region, room_for};
pub(crate) use resources::{Block, Resources, device_error};
