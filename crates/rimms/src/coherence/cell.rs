//! A state word that several threads change.
//!
//! Release and acquire: whoever sees a resource in the valid set sees the bytes there too.

use super::State;
use crate::sync::{AtomicU64, Ordering};

pub(crate) struct StateCell(AtomicU64);

impl StateCell {
    #[inline]
    pub(crate) fn new(state: State) -> Self {
        Self(AtomicU64::new(state.to_bits()))
    }

    #[inline]
    pub(crate) fn get(&self) -> State {
        State::from_word(self.0.load(Ordering::Acquire))
    }

    /// For whoever is alone with the leaf, those apart who give up what is no longer valid.
    #[inline]
    pub(crate) fn set(&self, state: State) {
        self.0.store(state.to_bits(), Ordering::Release);
    }

    /// In one step, whoever else changes it meanwhile: to `f` of what it is, unless that is `None`.
    #[inline]
    pub(crate) fn change(&self, mut f: impl FnMut(State) -> Option<State>) {
        let mut word = self.0.load(Ordering::Acquire);
        while let Some(new) = f(State::from_word(word)) {
            match self.0.compare_exchange(word, new.to_bits(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}
