//! Words that a checker keeps for bytes of a memory, only for pages that are touched.
//!
//! Owns [`Shadow`]. It is reached as a memory's bytes are: index, then page, each by one pointer. Pointers are set once or
//! replaced, and what they led to is only given back with the whole, so readers need no lock and no announcement. Words
//! are atomic: whoever comes too late for a buffer's shadow changes that of the next one, which is wrong about a program
//! that is, and no harm to ours.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use parking_lot::Mutex;

/// Indices in a chunk.
const CHUNK: usize = 256;

type Page<const WORDS: usize> = [AtomicU64; WORDS];

/// The shadow of one buffer index.
pub(crate) struct Buffer<const WORDS: usize> {
    /// Which buffer of the index it is of.
    tag: AtomicU64,
    /// What words of pages hold that are made now.
    fill: AtomicU64,
    pages: Box<[AtomicPtr<Page<WORDS>>]>,
}

type Chunk<const WORDS: usize> = [AtomicPtr<Buffer<WORDS>>; CHUNK];

/// Shadow words, `WORDS` a page, for the buffers of a memory.
pub(crate) struct Shadow<const WORDS: usize> {
    chunks: Box<[AtomicPtr<Chunk<WORDS>>]>,
    /// No chunk from this one on has been made: there may be so many that looking at each is no small thing.
    end: AtomicUsize,
    /// Shadows that were too small for a later buffer of their index.
    outgrown: Mutex<Vec<NonNull<Buffer<WORDS>>>>,
    /// Every page there is, of whatever buffer: most of a large one has none, and its table need not be gone through.
    made: Mutex<Vec<NonNull<Page<WORDS>>>>,
}

// SAFETY: the pointers lead to atomic words that any thread may use, and are freed by the drop alone.
unsafe impl<const WORDS: usize> Send for Shadow<WORDS> {}
// SAFETY: as above.
unsafe impl<const WORDS: usize> Sync for Shadow<WORDS> {}

impl<const WORDS: usize> Shadow<WORDS> {
    /// No shadows, for indices up to this one.
    pub(crate) fn new(greatest_index: u64) -> Self {
        let chunks = Box::new_zeroed_slice(greatest_index as usize / CHUNK + 1);
        // SAFETY: a null AtomicPtr is all zero.
        let chunks = unsafe { chunks.assume_init() };
        Shadow { chunks, end: AtomicUsize::new(0), outgrown: Mutex::default(), made: Mutex::default() }
    }

    /// Host bytes of the words there are.
    pub(crate) fn bytes(&self) -> usize {
        self.made.lock().len() * size_of::<Page<WORDS>>()
    }

    #[inline(always)]
    fn entry(&self, index: u64) -> Option<&AtomicPtr<Buffer<WORDS>>> {
        let chunk = self.chunks.get(index as usize / CHUNK)?.load(Acquire);
        // SAFETY: a chunk was leaked for this pointer and lives as long as `self`.
        let chunk = unsafe { NonNull::new(chunk)?.as_ref() };
        Some(&chunk[index as usize % CHUNK])
    }

    /// The shadow of the index.
    #[inline(always)]
    pub(crate) fn buffer(&self, index: u64) -> Option<&Buffer<WORDS>> {
        let buffer = self.entry(index)?.load(Acquire);
        // SAFETY: a buffer was leaked for this pointer and lives as long as `self`, outgrown or not.
        Some(unsafe { NonNull::new(buffer)?.as_ref() })
    }

    /// Makes the shadow of the index that of another buffer, of so many pages; all words hold `fill`.
    pub(crate) fn begin(&self, index: u64, tag: u64, pages: usize, fill: u64) {
        if let Some(buffer) = self.buffer(index)
            && buffer.pages.len() >= pages
        {
            buffer.fill.store(fill, Relaxed);
            for page in &buffer.pages {
                // SAFETY: a page was leaked for this pointer and lives as long as `self`.
                if let Some(page) = unsafe { page.load(Acquire).as_ref() } {
                    page.iter().for_each(|word| word.store(fill, Relaxed));
                }
            }
            buffer.tag.store(tag, Release);
            return;
        }
        let Some(chunk) = self.chunks.get(index as usize / CHUNK) else { return };
        if chunk.load(Acquire).is_null() {
            let new: Box<Chunk<WORDS>> = Box::new([const { AtomicPtr::new(ptr::null_mut()) }; CHUNK]);
            publish(chunk, new);
            self.end.fetch_max(index as usize / CHUNK + 1, Relaxed);
        }
        let Some(entry) = self.entry(index) else { return };
        // To a power of two, so that all that an index outgrows is no more than what it has in the end.
        let Some(pages) = pages.checked_next_power_of_two() else { return };
        // SAFETY: a null AtomicPtr is all zero; what is not touched is not there.
        let pages = unsafe { Box::new_zeroed_slice(pages).assume_init() };
        let new = Box::new(Buffer { tag: AtomicU64::new(tag), fill: AtomicU64::new(fill), pages });
        let old = entry.swap(Box::into_raw(new), AcqRel);
        self.outgrown.lock().extend(NonNull::new(old));
    }

    /// A page of a shadow, touched now; `None` beyond its end.
    #[inline(always)]
    pub(crate) fn touch<'a>(&'a self, buffer: &'a Buffer<WORDS>, page: usize) -> Option<&'a Page<WORDS>> {
        match buffer.page(page) {
            Some(page) => Some(page),
            None => self.make(buffer, page),
        }
    }

    #[cold]
    #[inline(never)]
    fn make<'a>(&'a self, buffer: &'a Buffer<WORDS>, page: usize) -> Option<&'a Page<WORDS>> {
        let entry = buffer.pages.get(page)?;
        let fill = buffer.fill.load(Relaxed);
        let new = Box::<[AtomicU64]>::from_iter((0..WORDS).map(|_| AtomicU64::new(fill)));
        let new: Box<Page<WORDS>> = new.try_into().ok()?;
        if publish(entry, new) {
            self.made.lock().extend(NonNull::new(entry.load(Acquire)));
        }
        buffer.page(page)
    }
}

impl<const WORDS: usize> Buffer<WORDS> {
    /// Whether it is of this buffer of its index.
    #[inline(always)]
    pub(crate) fn is_of(&self, tag: u64) -> bool {
        self.tag.load(Acquire) == tag
    }

    /// How many pages there may be.
    #[inline(always)]
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// A page, if it was touched.
    #[inline(always)]
    pub(crate) fn page(&self, page: usize) -> Option<&Page<WORDS>> {
        let page = self.pages.get(page)?.load(Acquire);
        // SAFETY: a page was leaked for this pointer and lives as long as the `Shadow` that lent `self`.
        unsafe { page.as_ref() }
    }

    /// What words hold that are not there.
    pub(crate) fn fill(&self) -> u64 {
        self.fill.load(Relaxed)
    }
}

/// Sets a pointer that is null to what is boxed; whether it still was.
fn publish<T>(entry: &AtomicPtr<T>, new: Box<T>) -> bool {
    let new = Box::into_raw(new);
    let published = entry.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire).is_ok();
    if !published {
        // SAFETY: just made, and seen by nobody.
        drop(unsafe { Box::from_raw(new) });
    }
    published
}

impl<const WORDS: usize> Drop for Shadow<WORDS> {
    fn drop(&mut self) {
        let buffers = |chunk: *mut Chunk<WORDS>| {
            // SAFETY: leaked for this pointer, and `&mut self` says that nobody uses it.
            let chunk = unsafe { Box::from_raw(chunk) };
            chunk.iter().map(|entry| entry.load(Relaxed)).filter_map(NonNull::new).collect::<Vec<_>>()
        };
        let made = self.chunks.iter().take(*self.end.get_mut());
        let chunks = made.map(|chunk| chunk.load(Relaxed)).filter(|chunk| !chunk.is_null());
        let buffers: Vec<_> = chunks.flat_map(buffers).collect();
        for buffer in buffers.into_iter().chain(self.outgrown.get_mut().drain(..)) {
            // SAFETY: as above; an outgrown buffer is in no chunk any more.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
        for page in self.made.get_mut().drain(..) {
            // SAFETY: leaked when it was made, which put it here, once; `&mut self` says that nobody uses it.
            drop(unsafe { Box::from_raw(page.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests;
