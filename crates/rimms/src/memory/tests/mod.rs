//! What the public interface cannot show: victims chosen by calls to come, claims, owners.
#![allow(clippy::unwrap_used)]

mod ahead;
mod owners;
mod victims;

use super::{Owned, Resources, Usage, bring};
use crate::coherence::{MemoryMode, ResourceId, State};
use crate::device::host::Host;
use crate::device::sim::Sim;
use crate::op::{Element, Role};
use std::sync::Arc;

/// The host, and an accelerator with this much memory.
fn resources(memory: u64) -> (Arc<Resources>, ResourceId) {
    let acc = Sim::acc("acc0", memory, Default::default()).unwrap();
    let devices: Vec<Arc<dyn crate::device::Device>> = vec![Arc::new(Host::new(1)), Arc::new(acc)];
    (
        Arc::new(Resources::new((MemoryMode::ValidSet, usize::MAX), devices, vec![ResourceId::HOST; 2], false, None)),
        ResourceId::new(1).unwrap(),
    )
}

/// A datum of this many bytes that the host has written.
fn written(resources: &Arc<Resources>, bytes: usize) -> Owned {
    let datum = Owned::new(resources, Element::of::<u8>(), 1, bytes, None).unwrap();
    datum.root().set_all(State::owned(ResourceId::HOST));
    datum
}

/// Writes a datum on `r`, which alone has it then.
fn dirty(datum: &Owned, r: ResourceId) {
    let places = bring(&[Usage::new(datum.root(), Role::Out)], r, &()).unwrap();
    datum.root().begin(r, Role::Out);
    datum.root().commit(r, Role::Out);
    drop(places);
}
