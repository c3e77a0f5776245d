//! Memory: where the bytes of each datum are, and the copies that bring them where they are needed.
//!
//! Owns the host storage of a datum, its tree of fragments with one state word
//! a leaf ([`node`]), its blocks on devices ([`residency`]), the transfers
//! between them ([`transfer`]) and the room on each device ([`registry`], [`reserve`], [`evict`], [`ahead`]).
//! Coherence decides *which* copies; this module makes them.
//!
//! Invariants (checked by the unit tests and, through whole programs, by `tests/`):
//! * a leaf's state is only ever changed after the transfer it stands for has succeeded;
//! * a resource other than the host is in a leaf's valid set only while a block
//!   of the datum on that resource covers the leaf;
//! * blocks of one datum on one resource never overlap;
//! * a block is freed by the last who uses it, and evicted only while nobody does: a running call holds the blocks of
//!   its operands;
//! * states are changed in one step where others may change them at the same time ([`Node::change`]); plain stores
//!   are for writers, whom nobody else comes across but those that give up what is no longer valid.
//!
//! Locks, in this order: a datum's, around its blocks, claims and tree; a registry's; neither is held while a device
//! is called. Who makes copies holds a [claim](claims) meanwhile. A read of valid bytes takes no lock.

mod access;
mod ahead;
mod claims;
mod datum;
mod evict;
mod fit;
mod links;
mod loss;
mod node;
mod operand;
mod outlook;
mod pending;
mod plan;
mod pressure;
mod registry;
mod reserve;
mod reshape;
mod residency;
mod resources;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use access::Hold;
pub(crate) use ahead::{Coming, WriteBacks};
pub(crate) use claims::Impound;
pub(crate) use datum::{Datum, Owned};
pub(crate) use fit::can_never_hold;
pub(crate) use node::{Node, Region, room_for};
pub(crate) use operand::{Held, INLINE, Operands, Usage};
pub(crate) use outlook::Outlook;
pub(crate) use registry::{Candidate, Foresight};
pub(crate) use reserve::bring;
pub(crate) use resources::Resources;
