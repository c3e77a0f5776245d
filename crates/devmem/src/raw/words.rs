//! Bytes of published storage, reached by relaxed atomic operations on 32-bit words.
//!
//! One word size for all: racing atomic operations of different sizes on the same bytes are undefined in Rust.
//! A store of part of a word replaces just its bytes by compare-and-exchange, so neighbours written by others
//! at the same time are never lost. The order of the bytes in memory is the host's, as in a plain array.
//!
//! The one exception are atomic operations on 64 bits ([`Bytes::double`]): the host's own, on two words at once. Every
//! host with 64-bit atomics keeps them and those of single words apart; the language does not say so.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<u32>();

/// Words moved in one step of a long load or store.
const STEP: usize = 8;

/// Up to this many bytes, a range of whole words is moved in line.
const SHORT: usize = 16;

/// A checked range of bytes of published storage.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    /// The word that holds the first byte.
    first: *const AtomicU32,
    /// Bytes of that word before the range.
    skip: usize,
    len: usize,
    _storage: PhantomData<&'a AtomicU32>,
}

impl<'a> Bytes<'a> {
    /// No bytes.
    pub(crate) const NONE: Self = Bytes { first: std::ptr::null(), skip: 0, len: 0, _storage: PhantomData };

    /// The bytes `offset .. offset + len` of the storage at `data`.
    ///
    /// # Safety
    /// `data` is aligned to a word; all words that hold a byte of the range are alive and initialised for `'a`,
    /// and in that time are touched by atomic operations on words alone.
    #[inline(always)]
    pub(super) unsafe fn new(data: *const u8, offset: usize, len: usize) -> Self {
        let skip = offset % WORD;
        // SAFETY: the word begins inside the storage, at most at the range's first byte.
        let first = unsafe { data.add(offset - skip) }.cast();
        Bytes { first, skip, len, _storage: PhantomData }
    }

    /// The bytes `offset .. offset + len` of the storage at `data`, where that is known to begin with a word.
    ///
    /// # Safety
    /// As [`new`](Self::new), and `offset` is a multiple of a word.
    #[inline(always)]
    pub(super) unsafe fn of_words(data: *const u8, offset: usize, len: usize) -> Self {
        // SAFETY: the first word is inside the storage, says the caller.
        let first = unsafe { data.add(offset) }.cast();
        Bytes { first, skip: 0, len, _storage: PhantomData }
    }

    /// The word `i` after the first.
    ///
    /// # Safety
    /// The word holds a byte of the range.
    #[inline(always)]
    unsafe fn word(&self, i: usize) -> &'a AtomicU32 {
        // SAFETY: such a word is alive and only used atomically for 'a (contract of `new`).
        unsafe { &*self.first.add(i) }
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The part of the range from `from` on, at most `len` bytes of it.
    pub(crate) fn part(self, from: usize, len: usize) -> Self {
        let from = from.min(self.len);
        let at = self.skip + from;
        // SAFETY: a part of the range is held by words of the range (or is empty, right behind it).
        let first = unsafe { self.first.add(at / WORD) };
        Bytes { first, skip: at % WORD, len: len.min(self.len - from), _storage: PhantomData }
    }

    /// The first `N` words of a range that begins with a word and has as many. (Of any other range, words of the
    /// storage; zeros if there are too few.)
    #[inline(always)]
    pub(crate) fn load_words<const N: usize>(self) -> [u32; N] {
        let mut words = [0; N];
        if self.len >= N * WORD {
            for (i, word) in words.iter_mut().enumerate() {
                // SAFETY: the first N words each hold a byte of N·4 bytes, wherever these begin in the first.
                *word = unsafe { self.word(i) }.load(Relaxed);
            }
        }
        words
    }

    /// Stores the first `N` words of a range that begins with a word and has as many. (Of any other range, nothing.)
    #[inline(always)]
    pub(crate) fn store_words<const N: usize>(self, words: [u32; N]) {
        if self.len >= N * WORD && self.skip == 0 {
            for (i, word) in words.into_iter().enumerate() {
                // SAFETY: word i holds bytes i·4 .. i·4 + 4 of the range.
                unsafe { self.word(i) }.store(word, Relaxed);
            }
        }
    }

    /// The word that the range is, if it is one.
    #[inline(always)]
    pub(crate) fn single(self) -> Option<&'a AtomicU32> {
        // SAFETY: the range is not empty, so the first word holds a byte of it.
        (self.skip == 0 && self.len == WORD).then(|| unsafe { self.word(0) })
    }

    /// The aligned two words that the range is, if it is that.
    #[inline(always)]
    pub(crate) fn double(self) -> Option<&'a AtomicU64> {
        let aligned = self.first.addr().is_multiple_of(align_of::<AtomicU64>());
        // SAFETY: aligned, and both words hold bytes of the range.
        (aligned && self.skip == 0 && self.len == 2 * WORD).then(|| unsafe { &*self.first.cast::<AtomicU64>() })
    }

    /// The aligned two words that hold the range, if there are such, and the bytes of them before it.
    pub(crate) fn window(self) -> Option<(&'a AtomicU64, usize)> {
        let below = self.first.addr() % align_of::<AtomicU64>();
        let skip = below + self.skip;
        let fits = self.len > 0 && skip + self.len <= size_of::<AtomicU64>();
        // SAFETY: storage begins aligned and is whole double words long, so the one around a byte of the range is in it.
        fits.then(|| (unsafe { &*self.first.byte_sub(below).cast::<AtomicU64>() }, skip))
    }

    /// Copies the bytes out; as many as both have.
    #[inline(always)]
    pub(crate) fn load(self, into: &mut [u8]) {
        let len = self.len.min(into.len());
        let into = &mut into[..len];
        if self.skip == 0 && len.is_multiple_of(WORD) && len <= SHORT {
            for (i, bytes) in into.chunks_exact_mut(WORD).enumerate() {
                // SAFETY: word i holds bytes i·4 .. i·4 + 4 of at least `len`.
                let word = unsafe { self.word(i) };
                bytes.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
            }
        } else if self.skip + len <= WORD && len > 0 {
            // SAFETY: the range is not empty, so its first word is in it.
            let word = unsafe { self.word(0) }.load(Relaxed).to_ne_bytes();
            into.copy_from_slice(&word[self.skip..self.skip + len]);
        } else {
            self.load_long(into);
        }
    }

    /// Copies `from` in; as many bytes as both have.
    #[inline(always)]
    pub(crate) fn store(self, from: &[u8]) {
        let len = self.len.min(from.len());
        let from = &from[..len];
        if self.skip == 0 && len.is_multiple_of(WORD) && len <= SHORT {
            for (i, bytes) in from.chunks_exact(WORD).enumerate() {
                // SAFETY: word i holds bytes i·4 .. i·4 + 4 of at least `len`.
                let word = unsafe { self.word(i) };
                word.store(word_of(bytes), Relaxed);
            }
        } else {
            self.store_long(from);
        }
    }

    /// How a range of `len` bytes falls on words: bytes in the first, partly covered word, whole words, bytes in
    /// the last, partly covered word.
    fn split(&self, len: usize) -> (usize, usize, usize) {
        let head = if self.skip == 0 { 0 } else { (WORD - self.skip).min(len) };
        let rest = len - head;
        (head, rest / WORD, rest % WORD)
    }

    #[inline(never)]
    fn load_long(self, into: &mut [u8]) {
        let len = self.len.min(into.len());
        let (head, _, tail) = self.split(len);
        let (head_bytes, rest) = into[..len].split_at_mut(head);
        let (whole, tail_bytes) = rest.split_at_mut(rest.len() - tail);
        let mut i = 0;
        if head > 0 {
            // SAFETY: the first word holds `head` bytes of the range.
            let word = unsafe { self.word(0) }.load(Relaxed).to_ne_bytes();
            head_bytes.copy_from_slice(&word[self.skip..self.skip + head]);
            i = 1;
        }
        let mut steps = whole.chunks_exact_mut(STEP * WORD);
        for bytes in &mut steps {
            let mut words = [0; STEP];
            for (k, word) in words.iter_mut().enumerate() {
                // SAFETY: `bytes` stands for the words i .. i + STEP of the range.
                *word = unsafe { self.word(i + k) }.load(Relaxed);
            }
            bytes.copy_from_slice(bytemuck::bytes_of(&words));
            i += STEP;
        }
        for bytes in steps.into_remainder().chunks_exact_mut(WORD) {
            // SAFETY: `bytes` stands for word i of the range.
            let word = unsafe { self.word(i) }.load(Relaxed);
            bytes.copy_from_slice(&word.to_ne_bytes());
            i += 1;
        }
        if tail > 0 {
            // SAFETY: `tail` bytes of the range are left, so word i holds some.
            let word = unsafe { self.word(i) }.load(Relaxed).to_ne_bytes();
            tail_bytes.copy_from_slice(&word[..tail]);
        }
    }

    #[inline(never)]
    fn store_long(self, from: &[u8]) {
        let len = self.len.min(from.len());
        let (head, _, tail) = self.split(len);
        let (head_bytes, rest) = from[..len].split_at(head);
        let (whole, tail_bytes) = rest.split_at(rest.len() - tail);
        let mut i = 0;
        if head > 0 {
            // SAFETY: the first word holds `head` bytes of the range.
            store_part(unsafe { self.word(0) }, self.skip, head_bytes);
            i = 1;
        }
        let mut steps = whole.chunks_exact(STEP * WORD);
        for bytes in &mut steps {
            for (k, bytes) in bytes.chunks_exact(WORD).enumerate() {
                // SAFETY: the step stands for the words i .. i + STEP of the range.
                unsafe { self.word(i + k) }.store(word_of(bytes), Relaxed);
            }
            i += STEP;
        }
        for bytes in steps.remainder().chunks_exact(WORD) {
            // SAFETY: `bytes` stands for word i of the range.
            unsafe { self.word(i) }.store(word_of(bytes), Relaxed);
            i += 1;
        }
        if tail > 0 {
            // SAFETY: `tail` bytes of the range are left, so word i holds some.
            store_part(unsafe { self.word(i) }, 0, tail_bytes);
        }
    }
}

/// The word with these bytes; the bytes are four.
#[inline(always)]
fn word_of(bytes: &[u8]) -> u32 {
    let mut word = [0; WORD];
    word.copy_from_slice(bytes);
    u32::from_ne_bytes(word)
}

/// Replaces the bytes of a word from `skip` on, and no others.
fn store_part(word: &AtomicU32, skip: usize, bytes: &[u8]) {
    let mut before = word.load(Relaxed);
    loop {
        let mut after = before.to_ne_bytes();
        after[skip..skip + bytes.len()].copy_from_slice(bytes);
        match word.compare_exchange_weak(before, u32::from_ne_bytes(after), Relaxed, Relaxed) {
            Ok(_) => return,
            Err(found) => before = found,
        }
    }
}

/// The word as a signed one.
#[inline(always)]
pub(crate) fn signed_single(word: &AtomicU32) -> &AtomicI32 {
    // SAFETY: same size, alignment and bits; both are only used atomically.
    unsafe { AtomicI32::from_ptr(word.as_ptr().cast()) }
}

/// The two words as a signed number.
#[inline(always)]
pub(crate) fn signed_double(words: &AtomicU64) -> &AtomicI64 {
    // SAFETY: as above.
    unsafe { AtomicI64::from_ptr(words.as_ptr().cast()) }
}
