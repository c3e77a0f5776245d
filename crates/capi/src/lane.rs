//! Lanes: how a thread says what it is at without a lock, in what nobody else uses.
//!
//! Each thread has a [`Lane`], and what is shared has an [`Owner`]: a lane, or nobody. The owner's thread alone enters and
//! leaves by its lane, at the price of one exchange in a cache line of its own. Others take the ownership away first:
//!
//! | the owner's thread | another one, under the session's lock |
//! | --- | --- |
//! | notes what it is going to use | [revokes](Owner::revoke) the ownership |
//! | [enters](Lane::enter) | [looks](Lane::each) at the lane |
//! | is it still the [owner](Owner::is)? else it leaves, and takes the lock | what it sees there is waited for |
//!
//! Both middle steps are sequentially consistent, so at least one of the two sees the other. A lane that is looked at may be
//! leaving, or noting things for a next call; what is seen then may be too much, and is looked at again, but never too little:
//! whoever misses a use sees all that was done by it.

use crate::sync::{AtomicPtr, AtomicUsize, Ordering, in_order};
use Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::ptr::NonNull;

/// Calls that use more take the lock.
pub(crate) const MOST: usize = 8;

/// What one thread is at.
#[repr(align(128))] // changed by each call of the thread: alone in its line, and the one that is fetched with it
pub(crate) struct Lane<T> {
    /// How many uses count, and one more; 0 while the thread is at nothing.
    entered: AtomicUsize,
    /// Their addresses, odd for those that write.
    uses: [AtomicPtr<T>; MOST],
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { entered: AtomicUsize::new(0), uses: std::array::from_fn(|_| AtomicPtr::default()) }
    }
}

impl<T> Lane<T> {
    /// Is the thread at something?
    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        self.entered.load(SeqCst) != 0
    }

    /// By the lane's thread, before it enters: use `i` is going to be this. `None` where there is no place for it.
    #[inline]
    pub(crate) fn note(&self, i: usize, what: NonNull<T>, writes: bool) -> Option<()> {
        const { assert!(align_of::<T>() > 1) };
        // In order after the thread's last call, for who sees this and not that.
        self.uses.get(i)?.store(what.as_ptr().map_addr(|address| address | usize::from(writes)), Release);
        Some(())
    }

    /// By the lane's thread: it is at the first `n` uses.
    #[inline]
    pub(crate) fn enter(&self, n: usize) {
        self.entered.swap(n + 1, SeqCst);
        in_order();
    }

    /// By the lane's thread: and no longer.
    #[inline]
    pub(crate) fn leave(&self) {
        self.entered.store(0, Release);
    }

    /// What the thread is at, and whether it writes it.
    pub(crate) fn each(&self, mut f: impl FnMut(NonNull<T>, bool)) {
        for used in self.uses.iter().take(self.entered.load(SeqCst).saturating_sub(1)) {
            let used = used.load(Acquire);
            let writes = used.addr() & 1 == 1;
            if let Some(what) = NonNull::new(used.map_addr(|address| address & !1)) {
                f(what, writes);
            }
        }
    }
}

/// Whose thread may use something by its lane.
pub(crate) struct Owner<T>(AtomicPtr<Lane<T>>);

impl<T> Default for Owner<T> {
    fn default() -> Self {
        Self(AtomicPtr::default())
    }
}

impl<T> Owner<T> {
    /// By the lane's thread, after it entered.
    #[inline]
    pub(crate) fn is(&self, lane: &Lane<T>) -> bool {
        std::ptr::eq(self.0.load(SeqCst), lane)
    }

    /// Under the lock: from now on nobody is. Returns who was.
    pub(crate) fn revoke(&self) -> Option<NonNull<Lane<T>>> {
        let was = NonNull::new(self.0.load(Relaxed))?;
        self.0.store(std::ptr::null_mut(), SeqCst);
        in_order();
        Some(was)
    }

    /// Under the lock, by the lane's thread, while nobody else uses what is owned.
    pub(crate) fn give(&self, lane: &'static Lane<T>) {
        self.0.store(std::ptr::from_ref(lane).cast_mut(), Release);
    }
}
