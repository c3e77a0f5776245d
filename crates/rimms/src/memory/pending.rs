//! Calls in flight that use a view: waiting for them, depending on them, and joining them.

use super::node::Node;
use crate::error::Result;
use crate::op::Role;
use crate::order::{After, Ticket, comes_after};

impl Node {
    /// Returns once all calls are done that an access of this role comes after: writers, and before a write readers too.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::Error::WouldDeadlock) inside a kernel.
    #[inline]
    pub(crate) fn settle(&self, role: Role) -> Result<()> {
        let users = self.users();
        if if role.writes() { users.are_none() } else { users.no_writer() } {
            return Ok(());
        }
        self.settle_slowly(role)
    }

    #[cold]
    fn settle_slowly(&self, role: Role) -> Result<()> {
        // A leaf without users is one of those that are divided no further.
        if !self.is_leaf() && self.children().iter().all(|child| child.users().are_none()) {
            return Ok(());
        }
        let order = &self.datum().resources().order;
        let mut outcome = Ok(());
        self.pending(role, &mut |ticket| {
            if outcome.is_ok() {
                outcome = order.wait(ticket);
            }
        });
        outcome
    }

    /// Calls `f` with every call in flight that an access of this role has to come after.
    #[inline]
    pub(crate) fn pending(&self, role: Role, f: &mut dyn FnMut(Ticket)) {
        if !self.users().are_none() {
            self.each_pending(role, f);
        }
    }

    /// Adds every call in flight that one of queue `at` with this role comes after, those of its own queue apart: what is
    /// before it there the queue sees to.
    #[inline]
    pub(crate) fn comes_after(&self, role: Role, at: usize, after: &mut After) {
        let users = self.users();
        let is_no_matter = |ticket: Option<Ticket>| ticket.is_some_and(|t| t.is_no_matter_to(at));
        if !(is_no_matter(users.writer()) && (!role.writes() || is_no_matter(users.lone_reader()))) {
            self.comes_after_others(role, at, after);
        }
    }

    #[inline(never)]
    fn comes_after_others(&self, role: Role, at: usize, after: &mut After) {
        self.each_pending(role, &mut |ticket| {
            if ticket.queue() != at {
                comes_after(after, ticket);
            }
        });
    }

    #[inline(never)]
    fn each_pending(&self, role: Role, f: &mut dyn FnMut(Ticket)) {
        let lines = &self.datum().resources().order.lines;
        let mut leaf = |leaf: &Node| {
            leaf.users().pending_writer(lines, f);
            if role.writes() {
                leaf.users().pending_readers(lines, f);
            }
        };
        if self.is_leaf() { leaf(self) } else { self.leaves().for_each(leaf) }
    }

    /// Calls `f` with every call in flight that reads the leaf.
    pub(super) fn pending_readers(&self, f: &mut dyn FnMut(Ticket)) {
        self.users().pending_readers(&self.datum().resources().order.lines, f);
    }

    /// From now on conflicting accesses come after this call.
    #[inline]
    pub(crate) fn enlist(&self, role: Role, ticket: Ticket) {
        if self.is_leaf() {
            self.enlist_leaf(role, ticket);
        } else {
            self.enlist_leaves(role, ticket);
        }
    }

    #[inline(never)]
    fn enlist_leaves(&self, role: Role, ticket: Ticket) {
        self.leaves().for_each(|leaf| leaf.enlist_leaf(role, ticket));
    }

    #[inline(always)]
    fn enlist_leaf(&self, role: Role, ticket: Ticket) {
        if role.writes() {
            self.users().set_writer(ticket);
        } else {
            self.users().add_reader(ticket, &self.datum().resources().order.lines);
        }
    }
}
