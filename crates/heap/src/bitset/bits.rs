//! A row of marks, one bit a block (1: used), searched 64 blocks at a time.
//!
//! Owns the bits and one summary bit for every line of [`LINE`] words, set where the
//! whole line is used, so that a search steps over full space 512 blocks at a time.
//! The summary is 1/512 of the marks and absent below [`SUMMARISED`] words, where it
//! would be more than 1/64 of them and a scan costs less. Empty space needs no
//! summary: a long search reads only every k-th word (see [`Bits::leap`]).
//!
//! Invariants: the bits past the last block are set; a summary bit is set exactly
//! where its line's words are all ones, but for a short last line, whose bit may be
//! set or not.

use std::ops::Range;

use crate::HeapError;

/// Words of a line: a cache line.
const LINE: usize = 8;

/// Words from which there is a summary: fewer would make it more than 1/64.
const SUMMARISED: usize = 64;

const FULL: u64 = u64::MAX;

/// The shortest run that is sure to cover a whole word.
const LONG: u64 = 127;

#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    full_lines: Vec<u64>,
    len: u64,
}

impl Bits {
    /// `len` clear bits.
    pub(super) fn new(len: u64) -> Result<Self, HeapError> {
        let no_metadata = || HeapError::NoMetadata { bytes: len.div_ceil(64).saturating_mul(8) };
        let words = usize::try_from(len.div_ceil(64)).map_err(|_| no_metadata())?;
        let summary = if words < SUMMARISED { 0 } else { words.div_ceil(LINE * 64) };
        let mut bits = Self { words: Vec::new(), full_lines: Vec::new(), len };
        bits.words.try_reserve_exact(words).map_err(|_| no_metadata())?;
        bits.full_lines.try_reserve_exact(summary).map_err(|_| no_metadata())?;
        bits.words.resize(words, 0);
        bits.full_lines.resize(summary, 0);
        if len % 64 != 0
            && let Some(last) = bits.words.last_mut()
        {
            *last = FULL << (len % 64);
        }
        Ok(bits)
    }

    /// Bytes of the marks themselves.
    pub(super) fn marking_bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Bytes of the summary.
    pub(super) fn summary_bytes(&self) -> usize {
        size_of_val(self.full_lines.as_slice())
    }

    pub(super) fn is_set(&self, bit: u64) -> bool {
        self.words[word_of(bit)] >> (bit % 64) & 1 == 1
    }

    /// Sets the bits of a non-empty range.
    #[inline]
    pub(super) fn set(&mut self, bits: Range<u64>) {
        let (first, last, head, tail) = edges(&bits);
        if first == last {
            self.words[first] |= head & tail;
        } else {
            self.words[first] |= head;
            self.words[last] |= tail;
            self.words[first + 1..last].fill(FULL);
        }
        if !self.full_lines.is_empty() {
            self.summarise(first, last);
        }
    }

    /// Clears the bits of a non-empty range.
    #[inline]
    pub(super) fn clear(&mut self, bits: Range<u64>) {
        let (first, last, head, tail) = edges(&bits);
        if first == last {
            self.words[first] &= !(head & tail);
        } else {
            self.words[first] &= !head;
            self.words[last] &= !tail;
            self.words[first + 1..last].fill(0);
        }
        if !self.full_lines.is_empty() {
            let (first, last) = (first / LINE, last / LINE);
            let (first, last, head, tail) = edges(&(first as u64..last as u64 + 1));
            if first == last {
                self.full_lines[first] &= !(head & tail);
            } else {
                self.full_lines[first] &= !head;
                self.full_lines[last] &= !tail;
                self.full_lines[first + 1..last].fill(0);
            }
        }
    }

    /// Marks the lines that setting bits in the words `first..=last` has filled.
    #[inline]
    fn summarise(&mut self, first: usize, last: usize) {
        let (first_line, last_line) = (first / LINE, last / LINE);
        if self.words[first] == FULL {
            self.summarise_line(first_line);
        }
        if last_line != first_line {
            for line in first_line + 1..last_line {
                self.full_lines[line / 64] |= 1 << (line % 64);
            }
            if self.words[last] == FULL {
                self.summarise_line(last_line);
            }
        }
    }

    #[inline]
    fn summarise_line(&mut self, line: usize) {
        let words = &self.words[line * LINE..self.words.len().min((line + 1) * LINE)];
        if words.iter().all(|&word| word == FULL) {
            self.full_lines[line / 64] |= 1 << (line % 64);
        }
    }

    /// The first word from `at` on with a clear bit, or the number of words.
    #[inline]
    fn next_open(&self, mut at: usize) -> usize {
        while at < self.words.len() && self.words[at] == FULL {
            at += 1;
            if at % LINE == 0 {
                at = self.next_open_line(at / LINE) * LINE;
            }
        }
        at.min(self.words.len())
    }

    /// The first line from `line` on that is not summarised as full.
    #[inline]
    fn next_open_line(&self, line: usize) -> usize {
        let mut at = line / 64;
        let Some(&summary) = self.full_lines.get(at) else {
            return line;
        };
        let mut open = !summary & (FULL << (line % 64));
        while open == 0 {
            at += 1;
            match self.full_lines.get(at) {
                Some(&summary) => open = !summary,
                None => return at * 64,
            }
        }
        at * 64 + open.trailing_zeros() as usize
    }

    /// The first of the first `run` clear bits in a row at or after `from`.
    #[inline]
    pub(super) fn first_run(&self, run: u64, from: u64) -> Option<u64> {
        if run < LONG { self.scan(run, from) } else { self.leap(run, from) }
    }

    /// [`first_run`](Self::first_run), reading every word that is not in a full line.
    #[inline]
    fn scan(&self, run: u64, from: u64) -> Option<u64> {
        let mut at = word_of(from);
        let mut clear = !*self.words.get(at)? & (FULL << (from % 64));
        // Clear bits that end at the start of this word.
        let mut before = 0;
        loop {
            if clear == 0 {
                before = 0;
                at = self.next_open(at + 1);
                clear = !*self.words.get(at)?;
            }
            if before + u64::from(clear.trailing_ones()) >= run {
                return Some(at as u64 * 64 - before);
            }
            if let Some(bit) = run_in_word(clear, run) {
                return Some(at as u64 * 64 + bit);
            }
            let leading = u64::from(clear.leading_ones());
            before = if leading == 64 { before + 64 } else { leading };
            at += 1;
            clear = !*self.words.get(at)?;
        }
    }

    /// [`first_run`](Self::first_run) for a run that covers at least `step` whole
    /// words: one of any `step` words in a row lies in it, so only those are read
    /// until one is clear, and then its surroundings.
    #[inline]
    fn leap(&self, run: u64, from: u64) -> Option<u64> {
        let step = usize::try_from((run + 1) / 64 - 1).ok()?;
        let lowest = word_of(from.div_ceil(64) * 64);
        let mut at = lowest.checked_add(step - 1)?;
        loop {
            match *self.words.get(at)? {
                0 => {
                    let mut first = at;
                    while first > lowest && self.words[first - 1] == 0 {
                        first -= 1;
                    }
                    let leading = match first.checked_sub(1) {
                        Some(before) => u64::from(self.words[before].leading_zeros()),
                        None => 0,
                    };
                    let start = (first as u64 * 64 - leading).max(from);
                    let end = self.first_set(start..start.checked_add(run)?);
                    match end {
                        None => return Some(start),
                        Some(end) => at = word_of(end).checked_add(step)?,
                    }
                }
                FULL => at = self.next_open(at + 1).checked_add(step - 1)?,
                _ => at = at.checked_add(step)?,
            }
        }
    }

    /// The first set bit of a range; the bits past the last block count as set.
    pub(super) fn first_set(&self, bits: Range<u64>) -> Option<u64> {
        let end = bits.end.min(self.len);
        let past = (bits.end > self.len).then_some(bits.start.max(self.len));
        if bits.start >= end {
            return past;
        }
        let (first, last, head, tail) = edges(&(bits.start..end));
        let bit = |at: usize, word: u64| at as u64 * 64 + u64::from(word.trailing_zeros());
        if first == last {
            let word = self.words[first] & head & tail;
            return if word != 0 { Some(bit(first, word)) } else { past };
        }
        let word = self.words[first] & head;
        if word != 0 {
            return Some(bit(first, word));
        }
        if let Some(step) = self.words[first + 1..last].iter().position(|&word| word != 0) {
            let at = first + 1 + step;
            return Some(bit(at, self.words[at]));
        }
        let word = self.words[last] & tail;
        if word != 0 { Some(bit(last, word)) } else { past }
    }

    /// The first of the first `run` clear bits in a row, at or after `from`, that is
    /// `phase` modulo `step`, a power of two.
    pub(super) fn first_aligned_run(&self, run: u64, mut from: u64, step: u64, phase: u64) -> Option<u64> {
        loop {
            let start = self.first_run(run, from)?;
            let aligned = start.checked_add(phase.wrapping_sub(start) & (step - 1))?;
            match self.first_set(aligned..aligned.checked_add(run)?) {
                None => return Some(aligned),
                Some(set) => from = set + 1,
            }
        }
    }

    /// Every run of clear bits, in order. O(words).
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = self.scan(1, from)?;
            let end = self.first_set(start..self.len).unwrap_or(self.len);
            from = end;
            Some(start..end)
        })
    }
}

/// The word that holds a bit. The bits are in memory, so their words fit a usize;
/// bits beyond them may saturate, and are in no word.
#[inline]
fn word_of(bit: u64) -> usize {
    usize::try_from(bit / 64).unwrap_or(usize::MAX)
}

/// The first and last word of a non-empty range, and its bits in each.
#[inline]
fn edges(bits: &Range<u64>) -> (usize, usize, u64, u64) {
    let last = bits.end - 1;
    (word_of(bits.start), word_of(last), FULL << (bits.start % 64), FULL >> (63 - last % 64))
}

/// The first of `run` ones in a row within a word: `ones & ones >> 1` keeps the starts
/// of runs of two, and so on, doubling.
#[inline]
fn run_in_word(mut ones: u64, run: u64) -> Option<u64> {
    if run > 64 {
        return None;
    }
    let mut have = 1;
    while have < run {
        let step = have.min(run - have);
        ones &= ones >> step;
        if ones == 0 {
            return None;
        }
        have += step;
    }
    (ones != 0).then(|| u64::from(ones.trailing_zeros()))
}
