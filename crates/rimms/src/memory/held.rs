//! A view held by a call in flight.
#![allow(unsafe_code)]

use super::datum::Owned;
use super::node::Node;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// Keeps a view's datum, and so its host bytes and its blocks, for as long as a call in flight uses it, whatever the
/// program drops meanwhile.
pub(crate) struct Held {
    node: NonNull<Node>,
    /// Not by way of the node, which may be gone when a thread lets go that was given up.
    datum: ManuallyDrop<Owned>,
}

// SAFETY: a node is Sync, and its datum is owned.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    /// # Safety
    /// The node stays in its tree as long as it is dereferenced: the call is enlisted with it
    /// ([`Node::enlist`]) before the borrow of its view ends, retired after the last use, and whoever changes the tree
    /// waits for it ([`Node::settle`]). Where a thread is given up that may use it later still, the view is impounded
    /// for it before the ticket is retired ([`Node::impound`]), and whoever changes the tree looks for that.
    #[inline]
    pub(crate) unsafe fn new(node: &Node) -> Self {
        Self { node: NonNull::from(node), datum: ManuallyDrop::new(node.datum().share()) }
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: given up here alone, at the end.
        unsafe { ManuallyDrop::take(&mut self.datum) }.give_up();
    }
}

impl Deref for Held {
    type Target = Node;

    #[inline]
    fn deref(&self) -> &Node {
        // SAFETY: the datum is alive, and the node in its tree, as the maker vouches.
        unsafe { self.node.as_ref() }
    }
}
