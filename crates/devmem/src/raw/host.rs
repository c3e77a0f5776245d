//! Bytes of the host that a buffer can be made of.
//!
//! Owns [`HostBytes`]. Its bytes are touched as those of any buffer: by relaxed atomic operations on words, through
//! [`Bytes`] alone. Invariant: `data` is aligned to 8 and leads to `len` bytes, rounded up to a multiple of 8.

use std::alloc::{self, Layout};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::words::Bytes;

/// What the bytes are aligned to, and what their number is rounded up to.
const ALIGN: usize = 8;

/// Storage of the caller's that buffers can be made of
/// ([`Memory::allocate_host`](crate::Memory::allocate_host)): the device and the host then work on the same bytes.
///
/// A clone is another handle of the same bytes; they stay as long as a handle or a buffer needs them. Host and device
/// may use them at once: every 32-bit word is loaded and stored as a whole.
///
/// ```
/// use rimms_devmem::{AddressLayout, AddressSpace, Fault, Flags, HostBytes, Memory};
///
/// let bytes = HostBytes::zeroed(100).unwrap();
/// let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
/// let buffer = memory.allocate_host(&bytes, Flags::READ_WRITE)?;
/// bytes.store(96, b"host").unwrap();
/// assert_eq!(memory.load_value::<[u8; 4]>(memory.layout().add(buffer, 96).unwrap())?, *b"host");
/// memory.store(buffer, b"device")?;
/// let mut found = [0; 6];
/// bytes.load(0, &mut found).unwrap();
/// assert_eq!(&found, b"device");
/// assert!(bytes.store(97, b"host").is_none()); // beyond the end
/// # Ok::<(), Fault>(())
/// ```
#[derive(Clone)]
pub struct HostBytes(Arc<Inner>);

struct Inner {
    data: NonNull<u8>,
    len: u64,
    /// How the bytes were allocated; not at all where they are the caller's.
    layout: Option<Layout>,
}

// SAFETY: the bytes are only touched by atomic operations.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl HostBytes {
    /// New bytes, all 0; `None` when the host has no memory for them.
    pub fn zeroed(len: u64) -> Option<Self> {
        let size = usize::try_from(len).ok()?.checked_next_multiple_of(ALIGN)?.max(ALIGN);
        let layout = Layout::from_size_align(size, ALIGN).ok()?;
        // SAFETY: the size is not 0.
        let data = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        Some(HostBytes(Arc::new(Inner { data, len, layout: Some(layout) })))
    }

    /// The `len` bytes at `data`; `None` when `data` is not aligned to 8 bytes.
    ///
    /// # Safety
    /// Until the last handle is dropped and every memory with a buffer of these bytes as well: the bytes at `data`, their
    /// number rounded up to a multiple of 8, stay valid for reads and writes, and are touched by nobody but through
    /// handles, buffers and atomic operations on 32-bit words.
    pub unsafe fn from_raw(data: NonNull<u8>, len: u64) -> Option<Self> {
        let aligned = data.as_ptr().align_offset(ALIGN) == 0 && usize::try_from(len).is_ok();
        aligned.then(|| HostBytes(Arc::new(Inner { data, len, layout: None })))
    }

    /// How many bytes.
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Copies the bytes from `at` on into `into`; `None`, and nothing is done, when there are not as many.
    pub fn load(&self, at: u64, into: &mut [u8]) -> Option<()> {
        self.part(at, into.len())?.load(into);
        Some(())
    }

    /// Copies `from` to the bytes from `at` on; `None`, and nothing is done, when there are not as many.
    pub fn store(&self, at: u64, from: &[u8]) -> Option<()> {
        self.part(at, from.len())?.store(from);
        Some(())
    }

    fn part(&self, at: u64, len: usize) -> Option<Bytes<'_>> {
        if at.checked_add(len as u64)? > self.0.len {
            return None;
        }
        // SAFETY: aligned, alive as long as the handle, and the range ends inside.
        Some(if len == 0 { Bytes::NONE } else { unsafe { Bytes::new(self.data(), at as usize, len) } })
    }

    pub(super) fn data(&self) -> *mut u8 {
        self.0.data.as_ptr()
    }
}

impl fmt::Debug for HostBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBytes({})", self.0.len)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: `zeroed` got it with this layout, and this is the only drop.
            unsafe { alloc::dealloc(self.data.as_ptr(), layout) };
        }
    }
}
