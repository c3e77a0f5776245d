//! Ops of the user's that a device has programs for, as long as they live.

use crate::op::UserOp;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Weak;

/// Ops by number.
#[derive(Debug, Default)]
pub(super) struct Living(HashMap<u32, Weak<dyn Any + Send + Sync>>);

impl Living {
    /// A call of this op comes. If it is the first one: the numbers of those that nobody can call any more, whose programs
    /// may go.
    pub(super) fn expect(&mut self, op: &UserOp) -> Vec<u32> {
        if self.0.contains_key(&op.id()) {
            return Vec::new();
        }
        let gone = self.0.extract_if(|_, op| op.strong_count() == 0).map(|(id, _)| id).collect();
        self.0.insert(op.id(), op.life());
        gone
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn ops_that_are_gone_are_said_when_a_new_one_comes() {
        let new = |name| UserOp::builder(name).output::<f32>().on_cpu(|_| Ok(())).build().unwrap();
        let mut living = Living::default();
        let (first, second) = (new("first"), new("second"));
        let (id, call) = (first.id(), second.call());
        assert!(living.expect(&first).is_empty() && living.expect(&second).is_empty());
        drop((first, second));
        assert_eq!(living.expect(&new("third")), [id], "the second one can still be called");
        drop(call);
        assert_eq!(living.expect(&new("fourth")).len(), 2);
    }
}
