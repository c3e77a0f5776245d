//! A row of marks, one bit a block (1: used), and how long the free runs are that begin
//! in each line of it.
//!
//! Owns the bits, searched 64 at a time, and one byte for each whole line of [`LINE`]
//! words: 1/64 of the marks. The byte is a class ([`class_of`]) that no free run
//! beginning in the line exceeds, so a search passes by 512 blocks of full, fragmented
//! or empty space with one comparison. A last line that is not whole has no byte and
//! is always looked into.
//!
//! Invariants: the bits past the last block are set; a line's byte is an upper bound.
//! The bound is loose on purpose: marking does not shorten it; a search that finds no
//! run it promised does. Runs of [`LONG`] blocks and more share one class, so that
//! clearing need look back no further than that for the line whose bound to raise: a
//! run longer than that before the cleared bits has the highest bound already.

use std::ops::Range;

use crate::HeapError;

/// Words of a line: a cache line.
const LINE: usize = 8;
const LINE_BITS: u64 = LINE as u64 * 64;

/// Blocks from which all runs are in one class.
pub(super) const LONG: u64 = 1 << 12;

/// The shortest run that covers a whole word wherever it begins, and that word is the
/// one it begins in or the next.
const COVERING: u64 = 127;

/// The class of runs of [`LONG`] blocks and more.
const LONG_CLASS: u8 = 80;

const FULL: u64 = u64::MAX;

/// The lowest and the highest bit of every byte.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x80 * LOW_BITS;

/// The class of a run: its length below 8, then 8 classes to a power of two.
#[inline]
fn class_of(run: u64) -> u8 {
    if run < 8 {
        return run as u8;
    }
    let log2 = run.min(LONG).ilog2();
    // Below LONG the value is below LONG_CLASS; at LONG the mantissa must not add to it.
    ((log2 - 2) * 8 + (run.min(LONG) >> (log2 - 3)) as u32 - 8) as u8
}

/// The longest run of a class.
#[inline]
fn longest_of(class: u8) -> u64 {
    match class {
        0..8 => u64::from(class),
        8..LONG_CLASS => {
            let shift = class / 8 - 1;
            ((u64::from(class % 8) + 9) << shift) - 1
        }
        _ => u64::MAX,
    }
}

#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    bounds: Vec<u8>,
    len: u64,
}

impl Bits {
    /// `len` clear bits, at least one.
    pub(super) fn new(len: u64) -> Result<Self, HeapError> {
        let no_metadata = || HeapError::NoMetadata { bytes: len.div_ceil(64).saturating_mul(8) };
        let words = usize::try_from(len.div_ceil(64)).map_err(|_| no_metadata())?;
        let mut bits = Self { words: Vec::new(), bounds: Vec::new(), len };
        bits.words.try_reserve_exact(words).map_err(|_| no_metadata())?;
        bits.bounds.try_reserve_exact(words / LINE).map_err(|_| no_metadata())?;
        bits.words.resize(words, 0);
        bits.bounds.resize(words / LINE, 0);
        if let Some(first) = bits.bounds.first_mut() {
            *first = class_of(len);
        }
        if !len.is_multiple_of(64)
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

    /// Bytes of the lines' bounds.
    pub(super) fn summary_bytes(&self) -> usize {
        size_of_val(self.bounds.as_slice())
    }

    #[inline]
    pub(super) fn is_set(&self, bit: u64) -> bool {
        self.words[word_of(bit)] >> (bit % 64) & 1 == 1
    }

    /// Whether a bit is clear; those past the last block are not.
    #[inline]
    fn is_clear(&self, bit: u64) -> bool {
        self.words.get(word_of(bit)).is_some_and(|word| word >> (bit % 64) & 1 == 0)
    }

    /// Sets the bits of a non-empty clear range.
    #[inline]
    pub(super) fn set(&mut self, bits: Range<u64>) {
        let (first, last, head, tail) = edges(&bits);
        if first == last {
            self.words[first] |= head & tail;
        } else {
            self.words[first] |= head;
            self.words[last] |= tail;
            fill(&mut self.words[first + 1..last], FULL);
        }
        // What is left of the run begins after it now, which its line must allow. The
        // bound of the line where the run began will do, where that is known.
        if self.is_clear(bits.end) {
            let begins = bits.start == 0 || self.is_set(bits.start - 1);
            let bound = if begins { self.bound(line_of(bits.start)) } else { LONG_CLASS };
            self.raise(line_of(bits.end), bound);
        }
    }

    /// Clears the bits of a non-empty set range. Returns the run of clear bits around it:
    /// its first bit, and a length that it does not exceed; or `None` where [`LONG`] bits
    /// and more before the range were clear already.
    #[inline]
    pub(super) fn clear(&mut self, bits: Range<u64>) -> Option<(u64, u64)> {
        let (first, last, head, tail) = edges(&bits);
        if first == last {
            self.words[first] &= !(head & tail);
        } else {
            self.words[first] &= !head;
            self.words[last] &= !tail;
            fill(&mut self.words[first + 1..last], 0);
        }
        let start = self.run_before(bits.start)?;
        let end = self.run_end(bits.end);
        self.raise(line_of(start), class_of(end - start));
        Some((start, end - start))
    }

    /// Where the clear bits from `bit` on, that began there until now, end at the latest: at
    /// the next set bit of the word, or as far on as the line's bound allows.
    #[inline]
    fn run_end(&self, bit: u64) -> u64 {
        let at = word_of(bit);
        let set = match self.words.get(at) {
            Some(word) => word & (FULL << (bit % 64)),
            None => return bit,
        };
        if set != 0 {
            return at as u64 * 64 + u64::from(set.trailing_zeros());
        }
        bit.saturating_add(longest_of(self.bound(line_of(bit)))).min(self.len)
    }

    /// The first bit of the clear bits that end before `bit`, unless they are [`LONG`].
    #[inline]
    fn run_before(&self, bit: u64) -> Option<u64> {
        let mut at = word_of(bit);
        // The bits of the word from `bit` on read as clear.
        let mut word = match bit % 64 {
            0 => 0,
            tail => self.words[at] & !(FULL << tail),
        };
        let lowest = at.saturating_sub((LONG / 64) as usize + 1);
        while word == 0 && at > lowest {
            at -= 1;
            word = self.words[at];
        }
        match word.checked_ilog2() {
            Some(set) => Some(at as u64 * 64 + u64::from(set) + 1),
            None => (at == 0).then_some(0),
        }
        .filter(|start| bit - start < LONG)
    }

    #[inline]
    fn bound(&self, line: usize) -> u8 {
        self.bounds.get(line).copied().unwrap_or(LONG_CLASS)
    }

    #[inline]
    fn raise(&mut self, line: usize, class: u8) {
        if let Some(bound) = self.bounds.get_mut(line) {
            *bound = class.max(*bound);
        }
    }

    /// The first line from `line` on whose bound lets a run of the class begin there.
    #[inline]
    fn next_line(&self, mut line: usize, class: u8) -> Option<usize> {
        let bounds = self.bounds.get(line..).unwrap_or(&[]);
        let (eights, rest) = bounds.as_chunks::<8>();
        for &eight in eights {
            // A bound and the class are below 128, so the difference keeps the high bit
            // that is set for it exactly where the bound is not below the class.
            let eight = u64::from_le_bytes(eight) | HIGH_BITS;
            let allowed = (eight - u64::from(class) * LOW_BITS) & HIGH_BITS;
            if allowed != 0 {
                return Some(line + allowed.trailing_zeros() as usize / 8);
            }
            line += 8;
        }
        for &bound in rest {
            if bound >= class {
                return Some(line);
            }
            line += 1;
        }
        (line * LINE < self.words.len()).then_some(line)
    }

    /// The first of the first `run` clear bits in a row that begin at or after `from`;
    /// `from` must not lie inside a run of so many.
    #[inline]
    pub(super) fn first_run(&mut self, run: u64, from: u64) -> Option<u64> {
        if from >= self.len {
            return None;
        }
        let class = class_of(run);
        let mut line = line_of(from);
        loop {
            line = self.next_line(line, class)?;
            let start = line as u64 * LINE_BITS;
            // A run that began in an earlier line is shorter, or had been found there.
            let found = match run {
                1 => self.bit_in_line(line, start.max(from)),
                ..COVERING => self.run_in_line(line, run, start.max(from)),
                _ => self.covering_run_in_line(line, run, start.max(from)),
            };
            if found.is_some() {
                return found;
            }
            if from <= start
                && let Some(bound) = self.bounds.get_mut(line)
            {
                *bound = class_of(run - 1).min(*bound);
            }
            line += 1;
        }
    }

    /// The first of `run` clear bits in a row that begin in a line, at or after `from`.
    #[inline]
    fn run_in_line(&self, line: usize, run: u64, from: u64) -> Option<u64> {
        let end = self.words.len().min((line + 1) * LINE);
        let mut at = word_of(from);
        let mut clear = !self.words[at] & (FULL << (from % 64));
        let fold = Fold::new(run);
        // Clear bits that end at the start of the word.
        let mut before = 0;
        loop {
            let ends = before + u64::from(clear.trailing_ones()) >= run;
            let starts = fold.starts(clear);
            if ends | (starts != 0) {
                let start = at as u64 * 64;
                return Some(if ends { start - before } else { start + u64::from(starts.trailing_zeros()) });
            }
            let leading = u64::from(clear.leading_ones());
            before = leading + std::hint::select_unpredictable(clear == FULL, before, 0);
            at += 1;
            if at >= end {
                break;
            }
            clear = !self.words[at];
        }
        let end = at as u64 * 64;
        let start = end - before;
        (before != 0 && self.first_set(end..start.checked_add(run)?).is_none()).then_some(start)
    }

    /// [`run_in_line`](Self::run_in_line) for a single bit, the commonest run of large blocks.
    #[inline]
    fn bit_in_line(&self, line: usize, from: u64) -> Option<u64> {
        let mut at = word_of(from);
        let end = self.words.len().min((line + 1) * LINE);
        let mut clear = !self.words[at] & (FULL << (from % 64));
        while clear == 0 {
            at += 1;
            clear = !*self.words[..end].get(at)?;
        }
        Some(at as u64 * 64 + u64::from(clear.trailing_zeros()))
    }

    /// [`run_in_line`](Self::run_in_line) for a run that is sure to cover a whole word:
    /// that in which it begins, or the next.
    #[inline]
    fn covering_run_in_line(&self, line: usize, run: u64, from: u64) -> Option<u64> {
        let end = self.words.len().min((line + 1) * LINE);
        let mut at = word_of(from);
        loop {
            // The word after the line's last may be the one covered.
            at += self.words[at..self.words.len().min(end + 1)].iter().position(|&word| word == 0)?;
            let start = match at.checked_sub(1) {
                Some(before) => at as u64 * 64 - u64::from(self.words[before].leading_zeros()),
                None => 0,
            }
            .max(from);
            if start >= end as u64 * 64 {
                return None;
            }
            match self.first_set(at as u64 * 64..start.checked_add(run)?) {
                None => return Some(start),
                Some(set) => at = word_of(set),
            }
            if at >= end {
                return None;
            }
        }
    }

    /// The first of the first `run` clear bits in a row, at or after `from`, that is
    /// `phase` modulo `step`, a power of two; and whether it is that of
    /// [`first_run`](Self::first_run). `from` must not lie inside a run of so many.
    #[inline]
    pub(super) fn first_aligned_run(&mut self, run: u64, from: u64, step: u64, phase: u64) -> Option<(u64, bool)> {
        let first = self.first_run(run, from)?;
        if first & (step - 1) == phase {
            return Some((first, true));
        }
        self.next_aligned_run(run, first, step, phase).map(|aligned| (aligned, false))
    }

    fn next_aligned_run(&mut self, run: u64, mut start: u64, step: u64, phase: u64) -> Option<u64> {
        loop {
            let aligned = start.checked_add(phase.wrapping_sub(start) & (step - 1))?;
            match self.first_set(aligned..aligned.checked_add(run)?) {
                None => return Some(aligned),
                Some(set) => start = self.first_run(run, set + 1)?,
            }
        }
    }

    /// The first set bit of a range; the bits past the last block count as set.
    #[inline]
    fn first_set(&self, bits: Range<u64>) -> Option<u64> {
        if bits.start >= bits.end {
            return None;
        }
        let past = (bits.end > self.len).then_some(bits.start.max(self.len));
        let mut at = word_of(bits.start);
        let Some(word) = self.words.get(at) else {
            return past;
        };
        let mut word = word & (FULL << (bits.start % 64));
        let last = word_of(bits.end - 1).min(self.words.len() - 1);
        while word == 0 && at < last {
            at += 1;
            word = self.words[at];
        }
        if word == 0 {
            return past;
        }
        let set = at as u64 * 64 + u64::from(word.trailing_zeros());
        (set < bits.end).then_some(set)
    }

    /// Every run of clear bits, in order. O(words).
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = self.first_clear(from)?;
            from = self.first_set(start..self.len).unwrap_or(self.len);
            Some(start..from)
        })
    }

    #[inline]
    fn first_clear(&self, from: u64) -> Option<u64> {
        let mut at = word_of(from);
        let mut clear = !self.words.get(at)? & (FULL << (from % 64));
        while clear == 0 {
            at += 1;
            clear = !*self.words.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(clear.trailing_zeros()))
    }
}

#[cfg(test)]
impl Bits {
    /// Checks the invariants: bounds, and the bits past the last block.
    pub(super) fn check(&self) {
        for run in self.runs() {
            let bound = self.bound(line_of(run.start));
            assert!(class_of(run.end - run.start) <= bound, "{run:?} exceeds bound {bound}");
            assert!(run.end <= self.len);
        }
    }
}

/// The word that holds a bit. The bits are in memory, so their words fit a usize; bits
/// beyond them may saturate, and are in no word.
#[inline]
fn word_of(bit: u64) -> usize {
    usize::try_from(bit / 64).unwrap_or(usize::MAX)
}

/// The line that holds a bit, with the same provision.
#[inline]
fn line_of(bit: u64) -> usize {
    usize::try_from(bit / LINE_BITS).unwrap_or(usize::MAX)
}

/// The first and last word of a non-empty range, and its bits in each.
#[inline]
fn edges(bits: &Range<u64>) -> (usize, usize, u64, u64) {
    let last = bits.end - 1;
    (word_of(bits.start), word_of(last), FULL << (bits.start % 64), FULL >> (63 - last % 64))
}

/// Writes a value to every word, four at a time, the last four perhaps twice. Apart, so
/// that the compiler does not know the value and call `memset`, which costs more for the
/// few words there are.
#[inline(never)]
fn fill(words: &mut [u64], value: u64) {
    for four in words.as_chunks_mut::<4>().0 {
        *four = [value; 4];
    }
    match words.last_chunk_mut::<4>() {
        Some(last) => *last = [value; 4],
        None => words.iter_mut().for_each(|word| *word = value),
    }
}

/// Finds runs of ones within a word: `ones & ones >> 1` keeps the bits at which two begin,
/// and so on, doubling, six steps at most. Steps that a length does not need shift by
/// nothing, so that no branch depends on the length.
#[derive(Clone, Copy)]
struct Fold {
    shifts: [u32; 6],
    mask: u64,
}

impl Fold {
    #[inline]
    fn new(run: u64) -> Self {
        let mut have = 1;
        let shifts = std::array::from_fn(|_| {
            let shift = have.min(run - have);
            have += shift;
            shift as u32 & 63
        });
        // No word has more than 64.
        Self { shifts, mask: if run <= 64 { FULL } else { 0 } }
    }

    /// The bits at which a run begins.
    #[inline]
    fn starts(self, ones: u64) -> u64 {
        self.shifts.iter().fold(ones & self.mask, |ones, shift| ones & ones >> shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_order_runs() {
        assert_eq!(class_of(LONG), LONG_CLASS);
        assert_eq!(class_of(u64::MAX), LONG_CLASS);
        for run in 1..=LONG + 1 {
            assert!(class_of(run - 1) <= class_of(run));
            assert!(longest_of(class_of(run)) >= run);
            assert!(class_of(longest_of(class_of(run)).saturating_add(1)) > class_of(run) || run >= LONG);
        }
    }

    #[test]
    fn runs_in_a_word_are_found_at_every_length_and_place() {
        for run in 1..=64 {
            for at in 0..=64 - run {
                let ones = (FULL >> (64 - run)) << at;
                for wanted in 1..=130 {
                    let starts = Fold::new(wanted).starts(ones);
                    assert_eq!(starts != 0, wanted <= run);
                    assert!(starts == 0 || u64::from(starts.trailing_zeros()) == at);
                }
            }
        }
    }
}
