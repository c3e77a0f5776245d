//! Where a call will find its operands once the calls in flight before it are done: for those who place it.
//!
//! An estimate: a call in flight may yet go to another PE, or fail.

use super::node::Node;
use super::resources::Resources;
use crate::coherence::{MemoryMode, ResourceId, ResourceSet};
use crate::op::Role;
use crate::order::{After, comes_after};
use smallvec::SmallVec;

/// Bytes that will be valid on the same resources.
struct Part {
    on: ResourceSet,
    from: ResourceId,
    bytes: usize,
}

/// What is known of a call's operands before it is placed.
#[derive(Default)]
pub(crate) struct Outlook {
    parts: SmallVec<[Part; 4]>,
    /// The last call of each queue that has to be done first.
    pub(crate) after: After,
}

impl Outlook {
    /// Takes an operand in.
    pub(crate) fn add(&mut self, node: &Node, role: Role) {
        node.pending(role, &mut |ticket| comes_after(&mut self.after, ticket));
        if role.reads() {
            if node.is_leaf() { self.add_leaf(node) } else { node.leaves().for_each(|leaf| self.add_leaf(leaf)) }
        }
    }

    fn add_leaf(&mut self, leaf: &Node) {
        if leaf.is_shared() {
            return; // nothing is copied
        }
        let resources = leaf.datum().resources();
        let state = leaf.state();
        let (mut on, mut from) = (state.valid(), state.last());
        leaf.pending(Role::In, &mut |writer| {
            if let Some(r) = resources.of_queue(writer.queue()) {
                (on, from) = (ResourceSet::only(r), Some(r));
            }
        });
        if resources.mode == MemoryMode::ValidSet {
            leaf.pending_readers(&mut |reader| {
                on = resources.of_queue(reader.queue()).map_or(on, |r| on.with(r));
            });
        }
        let Some(from) = from else { return };
        match self.parts.iter_mut().find(|part| part.on == on && part.from == from) {
            Some(part) => part.bytes += leaf.bytes(),
            None => self.parts.push(Part { on, from, bytes: leaf.bytes() }),
        }
    }

    /// What bringing the operands to `r` is expected to take, in nanoseconds.
    pub(crate) fn transfer_ns(&self, resources: &Resources, r: ResourceId) -> f64 {
        let stale = self.parts.iter().filter(|part| !part.on.contains(r));
        stale.map(|part| resources.links.estimate(part.from, r, part.bytes)).sum()
    }
}
