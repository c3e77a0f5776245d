//! Data: what a program holds.
//!
//! [`HeteData`] owns a datum (what the paper's `hete_Malloc` gives), [`View`] is
//! all of it or a fragment, guards lend its bytes to the host. `&View` means
//! "read", `&mut View` "write", so the borrow checker keeps a program's accesses apart.
//!
//! Invariants, and who keeps them:
//! * two live `&mut View` never overlap: views are unsized and neither `Clone` nor
//!   swappable, [`FragmentsMut`] hands each fragment out once (the borrow checker);
//! * a view's bytes are changed by the host only through a guard ([`guards`](self));
//! * state changes when a guard is *acquired*. Dropping or forgetting one changes nothing.
//!
//! Guards call `memory`, never the runtime: data may outlive the runtime's handles.

mod divide;
mod fragments;
mod guards;
mod hete_data;
mod view;

pub use fragments::{Fragments, FragmentsMut};
pub use guards::{Overwrite, ReadGuard, ReadRows, UpdateGuard, UpdateRows};
pub use hete_data::HeteData;
pub use view::View;
