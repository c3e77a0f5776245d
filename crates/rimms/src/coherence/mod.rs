//! Coherence: the state of one leaf, and how events change it.
//!
//! Pure: (mode, state, event) → (state, transfer to make). No I/O, no locks,
//! no devices. [`State`] is one machine word (the valid set and the last
//! resource), so that asking "is it valid here?" is one load and one bit test.
//!
//! Invariants, checked exhaustively and against a byte-moving oracle in the tests:
//! * the last resource is always in the valid set; an empty valid set means *uninitialised*;
//! * a transfer's source is in the valid set, its target is not (except where
//!   `reference` and `last-resource` copy again by design);
//! * whoever reads after the transfer sees the newest bytes, in every mode.
//!
//! Who acts on it: `memory` makes the transfers, in the order asked, and stores the new state.

mod cell;
mod mode;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use cell::StateCell;
pub use mode::{Event, MemoryMode, Step, Transfer, Uninitialised};
pub use state::{MAX_RESOURCES, ResourceId, ResourceSet, State};
