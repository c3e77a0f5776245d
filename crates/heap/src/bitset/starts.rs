//! Where a first-fit search starts: for each power of two, a block before which no free
//! run of that many blocks begins.
//!
//! Class `k` serves requests of 2^k to 2^(k+1) - 1 blocks, the highest all beyond.
//! Invariants: no free run of at least 2^k blocks begins before block `starts[k]`;
//! `starts` does not decrease with the class, so that updates stop at the first class
//! that needs no change. Constant size, as next-fit's search position is: no summary of
//! the marks.

use super::bits::LONG;

/// Up to the class of [`LONG`] runs, whose first bits are not looked for when
/// something after them is freed.
const CLASSES: usize = LONG.trailing_zeros() as usize + 1;

#[derive(Debug, Default)]
pub(super) struct Starts {
    starts: [u64; CLASSES],
}

impl Starts {
    /// The block from which to search for a run of `count` blocks, at least 1.
    #[inline]
    pub(super) fn from(&self, count: u64) -> u64 {
        self.starts[class_of(count)]
    }

    /// The first run of `count` blocks began at `first`, and those blocks are taken.
    #[inline]
    pub(super) fn taken(&mut self, first: u64, count: u64) {
        self.raise(count, first + count);
    }

    /// There is no run of `count` blocks.
    #[cold]
    pub(super) fn none(&mut self, count: u64) {
        self.raise(count, u64::MAX);
    }

    #[inline]
    fn raise(&mut self, count: u64, to: u64) {
        // The lowest class all of whose runs have at least `count` blocks.
        let lowest = (u64::BITS - (count - 1).leading_zeros()) as usize;
        for start in self.starts.get_mut(lowest..).unwrap_or_default() {
            if *start >= to {
                break;
            }
            *start = to;
        }
    }

    /// The free run of at most `len` blocks at `first` has grown to that.
    #[inline]
    pub(super) fn freed(&mut self, first: u64, len: u64) {
        for start in self.starts[..=class_of(len)].iter_mut().rev() {
            if *start <= first {
                break;
            }
            *start = first;
        }
    }
}

#[inline]
fn class_of(count: u64) -> usize {
    (count.ilog2() as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_go_on_where_the_last_one_ended() {
        let mut starts = Starts::default();
        assert_eq!(starts.from(8), 0);
        starts.taken(100, 5);
        assert_eq!(starts.from(5), 0, "the class of 5 has runs of 4, which may begin earlier");
        assert_eq!(starts.from(8), 105);
        starts.taken(200, 4);
        assert_eq!(starts.from(5), 204);
        assert_eq!(starts.from(3), 0);
        assert_eq!(starts.from(1 << 20), 204, "a long run is a run of 8 too");
        starts.none(2);
        assert_eq!(starts.from(2), u64::MAX);
        assert_eq!(starts.from(1), 0);
    }

    #[test]
    fn freeing_lowers_the_classes_that_the_run_serves() {
        let mut starts = Starts::default();
        for count in [1, 2, 4] {
            starts.taken(1000, count);
        }
        starts.freed(500, 3);
        assert_eq!([1, 2, 4].map(|count| starts.from(count)), [500, 500, 1004]);
        starts.freed(600, 100);
        assert_eq!([1, 2, 4].map(|count| starts.from(count)), [500, 500, 600]);
    }

    #[test]
    fn counts_of_any_size_have_a_class() {
        let mut starts = Starts::default();
        starts.none(u64::MAX);
        assert_eq!(starts.from(u64::MAX), 0, "runs of the highest class may be shorter");
        starts.none(LONG);
        assert_eq!(starts.from(u64::MAX), u64::MAX);
        starts.freed(7, u64::MAX);
        assert_eq!(starts.from(u64::MAX), 7);
    }
}
