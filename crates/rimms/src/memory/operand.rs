//! The operands of a call: views with what the call does with them, and what keeps them while it is in flight.
#![allow(unsafe_code)]

use super::datum::{Datum, Owned};
use super::node::Node;
use crate::op::Role;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;

/// Calls have up to this many operands without an allocation.
pub(crate) const INLINE: usize = 4;

/// A call's operands, in its op's order. A list of its own, as they are collected twice for every call that is queued.
pub(crate) struct Operands<'a> {
    /// The first `n` are there, unless there are more than have a place here.
    few: [MaybeUninit<Usage<'a>>; INLINE],
    n: usize,
    /// All of them then.
    many: Option<Box<[Usage<'a>]>>,
}

impl<'a> Operands<'a> {
    #[inline]
    pub(crate) fn none() -> Self {
        Self { few: [const { MaybeUninit::uninit() }; INLINE], n: 0, many: None }
    }

    /// Makes it those of the iterator, unless one is `None`: then it stays empty. Where it is, as moving it would be felt.
    pub(crate) fn fill(&mut self, operands: impl ExactSizeIterator<Item = Option<Usage<'a>>>) -> Option<()> {
        if operands.len() > INLINE {
            self.many = Some(operands.collect::<Option<_>>()?);
            return Some(());
        }
        self.fill_few(operands)
    }

    /// The same where they are [`INLINE`] at most. (Of more the first few.)
    #[inline(always)]
    pub(crate) fn fill_few(&mut self, operands: impl Iterator<Item = Option<Usage<'a>>>) -> Option<()> {
        let mut n = 0;
        for (place, operand) in self.few.iter_mut().zip(operands) {
            place.write(operand?);
            n += 1;
        }
        self.n = n;
        Some(())
    }
}

impl<'a> Deref for Operands<'a> {
    type Target = [Usage<'a>];

    #[inline]
    fn deref(&self) -> &[Usage<'a>] {
        match &self.many {
            Some(many) => many,
            // SAFETY: so many were written in `fill`, which has counted them.
            None => unsafe { std::slice::from_raw_parts(self.few.as_ptr().cast(), self.n) },
        }
    }
}

/// A view, and what a call does with it.
#[derive(Clone, Copy)]
pub(crate) struct Usage<'a> {
    node: NonNull<Node>,
    /// Not found by way of the node by whoever lets go of it: the node may be gone when a thread does that was given up.
    datum: NonNull<Datum>,
    role: Role,
    view: PhantomData<&'a Node>,
}

// SAFETY: no more than a reference to a node, which is Sync, and a role.
unsafe impl Send for Usage<'_> {}
// SAFETY: as above.
unsafe impl Sync for Usage<'_> {}

impl<'a> Usage<'a> {
    #[inline]
    pub(crate) fn new(node: &'a Node, role: Role) -> Self {
        Self { node: NonNull::from(node), datum: node.datum_pointer(), role, view: PhantomData }
    }

    #[inline]
    pub(crate) fn node(&self) -> &'a Node {
        // SAFETY: made from a reference of this lifetime; in flight, the maker of `Held` vouches for it.
        unsafe { self.node.as_ref() }
    }

    #[inline]
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// View and role.
    #[inline]
    pub(crate) fn parts(&self) -> (&'a Node, Role) {
        (self.node(), self.role)
    }
}

/// The operands of a call in flight. Keeps their data, and so their host bytes and their blocks, for as long as it
/// lives, whatever the program drops meanwhile.
pub(crate) struct Held(Operands<'static>);

impl Held {
    /// Writes it where it stays.
    ///
    /// # Safety
    /// The nodes stay in their trees as long as they are dereferenced: the call is enlisted with them
    /// ([`Node::enlist`]) before the borrow of their views ends, retired after the last use, and whoever changes a tree
    /// waits for it ([`Node::settle`]). Where a thread is given up that may use one later still, the view is impounded
    /// for it before the ticket is retired ([`Node::impound`]), and whoever changes the tree looks for that.
    #[inline(always)]
    pub(crate) unsafe fn write(place: &mut MaybeUninit<Self>, operands: &[Usage<'_>]) {
        let held = operands.iter().map(|&Usage { node, datum, role, .. }| {
            // SAFETY: the view is there, and its datum with it.
            std::mem::forget(unsafe { datum.as_ref() }.share());
            Some(Usage { node, datum, role, view: PhantomData })
        });
        let Self(all) = place.write(Self(Operands::none()));
        let _ = if operands.len() <= INLINE { all.fill_few(held) } else { all.fill(held) };
    }

    #[inline]
    pub(crate) fn operands(&self) -> &[Usage<'_>] {
        &self.0
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        for usage in &*self.0 {
            // SAFETY: the owner that `write` has put aside, taken up here alone, at the end.
            unsafe { Owned::from_pointer(usage.datum) }.give_up();
        }
    }
}
