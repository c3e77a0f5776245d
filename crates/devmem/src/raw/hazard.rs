//! Which addresses are being accessed at this moment, by any thread.
//!
//! Owns one [`Reader`] a thread, for all memories of the process (two memories may have equal addresses: that only
//! keeps a block retired for longer). A reader's words are written by its thread alone.

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use parking_lot::Mutex;

use super::announce::Words;

/// The words in which one thread announces what it accesses; on cache lines of their own.
#[repr(align(128))]
pub(crate) struct Reader {
    words: Words,
    number: usize,
}

struct Registry {
    all: Vec<&'static Reader>,
    /// Readers whose thread has ended.
    idle: Vec<&'static Reader>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { all: Vec::new(), idle: Vec::new() });

/// Returns the reader of a thread that ends.
struct Lease(&'static Reader);

impl Drop for Lease {
    fn drop(&mut self) {
        CURRENT.set(None);
        REGISTRY.lock().idle.push(self.0);
    }
}

thread_local! {
    /// This thread's reader, once it has one and announcing takes no fence.
    static CURRENT: Cell<Option<&'static Reader>> = const { Cell::new(None) };
    static LEASE: Lease = Lease(register());
}

/// A reader that no other thread has. Readers are never freed: there are as many as threads at once, at most.
fn register() -> &'static Reader {
    let mut registry = REGISTRY.lock();
    // The lowest number, so that the numbers of the threads there are stay close together.
    let idle = registry.idle.iter().enumerate().min_by_key(|(_, reader)| reader.number);
    if let Some((at, _)) = idle {
        return registry.idle.swap_remove(at);
    }
    let number = registry.all.len();
    let reader = Box::leak(Box::new(Reader { words: Words::new(), number }));
    registry.all.push(reader);
    reader
}

/// This thread's reader, also where the fast way is not open.
#[cold]
fn reader() -> &'static Reader {
    // In the destructors of a thread's other locals the lease may be gone already: such a thread
    // takes one more reader and never returns it.
    let reader = LEASE.try_with(|lease| lease.0).unwrap_or_else(|_| register());
    if barrier::is_asymmetric() {
        CURRENT.set(Some(reader));
    }
    reader
}

/// A small number that no other running thread has.
#[inline]
pub(crate) fn thread_number() -> usize {
    CURRENT.get().unwrap_or_else(reader).number
}

/// An announced access; dropping it says that the access is over.
pub(crate) struct Pin<const WORD: usize>(&'static Reader);

impl<const WORD: usize> Pin<WORD> {
    /// Announces an access to `address`. What is read from a slot after this stays until the drop.
    #[inline(always)]
    pub(crate) fn announce(address: u64) -> Self {
        match CURRENT.get() {
            Some(reader) => {
                reader.words.announce::<WORD>(address);
                Pin(reader)
            }
            None => Self::announce_slowly(address),
        }
    }

    #[cold]
    #[inline(never)]
    fn announce_slowly(address: u64) -> Self {
        let reader = reader();
        reader.words.announce::<WORD>(address);
        fence(Ordering::SeqCst);
        Pin(reader)
    }
}

impl<const WORD: usize> Drop for Pin<WORD> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.words.withdraw::<WORD>();
    }
}

/// What a look at all readers found.
pub(crate) enum Announced {
    /// These addresses are being accessed; no other access began before the look and is still at work.
    Addresses(Vec<u64>),
    /// The host refused the barrier: nothing is known.
    Unknown,
}

/// Looks which accesses, of those that began before, may still be at work.
///
/// Cost: a barrier on all running threads of the process (0.2 µs alone, about 5 µs across cores).
pub(crate) fn look() -> Announced {
    if !barrier::heavy() {
        return Announced::Unknown;
    }
    let registry = REGISTRY.lock();
    Announced::Addresses(registry.all.iter().flat_map(|reader| reader.words.addresses()).collect())
}

/// The barrier that the looker imposes on all threads, so that they need none of their own.
mod barrier {
    use std::sync::atomic::AtomicU8;

    use super::{Ordering, fence};

    /// Whether accesses go without a fence because `heavy` reaches their threads.
    pub(super) fn is_asymmetric() -> bool {
        /// 0 as long as nobody has asked the host, then 1 for no and 2 for yes. Two who ask at once get the same answer.
        static ASYMMETRIC: AtomicU8 = AtomicU8::new(0);
        match ASYMMETRIC.load(Ordering::Acquire) {
            0 => {
                let yes = host::register();
                ASYMMETRIC.store(1 + u8::from(yes), Ordering::Release);
                yes
            }
            answer => answer == 2,
        }
    }

    /// Every running thread passes a full memory barrier between the call and the return. False when the host
    /// refused it.
    pub(super) fn heavy() -> bool {
        fence(Ordering::SeqCst);
        !is_asymmetric() || host::barrier()
    }

    #[cfg(target_os = "linux")]
    mod host {
        fn membarrier(command: libc::c_int) -> bool {
            // SAFETY: membarrier reads and writes no memory of ours; an unknown command is refused with -1.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
        }

        pub(super) fn register() -> bool {
            membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        }

        pub(super) fn barrier() -> bool {
            membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod host {
        pub(super) fn register() -> bool {
            false
        }

        pub(super) fn barrier() -> bool {
            true
        }
    }
}
