//! The words in which a thread announces what it accesses.

use crate::sync::{AtomicU64, Ordering, light_barrier};

/// Addresses under access by one thread, 0 for none. The second word is for the second address of a copy. Its thread
/// alone writes them.
pub(crate) struct Words([AtomicU64; 2]);

impl Words {
    pub(crate) fn new() -> Self {
        Words([AtomicU64::new(0), AtomicU64::new(0)])
    }

    /// Announces an access. What is read from a slot after this stays until [`withdraw`](Self::withdraw), if lookers
    /// impose their barrier.
    #[inline(always)]
    pub(crate) fn announce<const WORD: usize>(&self, address: u64) {
        // Release: whoever sees this announcement sees the access before it done.
        self.0[WORD].store(address, Ordering::Release);
        light_barrier();
    }

    /// Says that the access is over.
    #[inline(always)]
    pub(crate) fn withdraw<const WORD: usize>(&self) {
        self.0[WORD].store(0, Ordering::Release);
    }

    /// What is announced, for a looker that has imposed its barrier.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|word| word.load(Ordering::Acquire)).filter(|address| *address != 0)
    }
}
