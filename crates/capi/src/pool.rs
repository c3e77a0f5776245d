//! Things that stay where they are as long as the pool does, and are used again and again.
//!
//! Who kept an address finds a thing of that type there, though perhaps another one than before: nothing that somebody may
//! look at without a lock is ever given back to the system.
#![allow(unsafe_code)]

use std::ptr::NonNull;

#[derive(Debug)]
pub(crate) struct Pool<T> {
    blocks: Vec<NonNull<[T]>>,
    free: Vec<NonNull<T>>,
}

// SAFETY: owns what it points to.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Pool<T> {
    /// Room for `n` more things. `None` where the system has none.
    pub(crate) fn reserve(&mut self, n: usize) -> Option<()> {
        let more = n.saturating_sub(self.free.len());
        if more == 0 {
            return Some(());
        }
        // In blocks that grow with what there is.
        let n = more.max(16).max(self.blocks.iter().map(|block| block.len()).sum::<usize>() / 2);
        let mut block = Vec::new();
        block.try_reserve_exact(n).ok()?;
        self.free.try_reserve(n).ok()?;
        self.blocks.try_reserve(1).ok()?;
        block.resize_with(n, T::default);
        let block = NonNull::from(Box::leak(block.into_boxed_slice()));
        // SAFETY: inside the block.
        self.free.extend((0..n).rev().map(|i| unsafe { block.cast::<T>().add(i) }));
        self.blocks.push(block);
        Some(())
    }

    /// One that nobody else has. `None` where the system has no room.
    pub(crate) fn take(&mut self) -> Option<NonNull<T>> {
        self.reserve(1)?;
        self.free.pop()
    }

    /// Nobody has this one any more.
    pub(crate) fn give_back(&mut self, thing: NonNull<T>) {
        self.free.push(thing);
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        for block in self.blocks.drain(..) {
            // SAFETY: leaked in `reserve`, and taken back once.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}
