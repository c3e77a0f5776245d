//! How far a first-fit search may skip: for each power of two, a block before which no
//! free run of that many blocks begins.
//!
//! Class `k` is for runs of 2^k to 2^(k+1) - 1 blocks. Invariant: no free run of at
//! least 2^k blocks begins before `reach[k] - 2^(k+1)`. Kept in that form because
//! freeing a block then lowers every `reach` to at most the block's first, whatever the
//! class: a run that the freed blocks complete begins less than 2^(k+1) before them,
//! or was long enough without them.
//!
//! `reach` does not decrease with the class, so freeing can stop at the first class
//! that needs no change. Constant size, like next-fit's position: no summary of the
//! marks.

#[derive(Debug)]
pub(super) struct Reach {
    reach: [u64; 64],
    /// Classes that were ever searched; the others stand for 0.
    classes: usize,
}

impl Default for Reach {
    fn default() -> Self {
        Self { reach: [0; 64], classes: 0 }
    }
}

impl Reach {
    /// The block from which to search for a run of `count` blocks, at least 1.
    #[inline]
    pub(super) fn start(&mut self, count: u64) -> u64 {
        let class = count.ilog2() as usize;
        if class >= self.classes {
            // A run too short for the highest class is too short for those above.
            let highest = self.classes.checked_sub(1).map_or(0, |class| self.reach[class]);
            self.reach[self.classes..=class].fill(highest);
            self.classes = class + 1;
        }
        self.reach[class].saturating_sub(margin(class))
    }

    /// No free run of `count` blocks begins before block `end` any more.
    #[inline]
    pub(super) fn searched(&mut self, count: u64, end: u64) {
        let lowest = (count - 1).checked_ilog2().map_or(0, |log2| log2 as usize + 1);
        for class in lowest..self.classes {
            let reach = end.saturating_add(margin(class));
            if self.reach[class] >= reach {
                break;
            }
            self.reach[class] = reach;
        }
    }

    /// Block `first` and some after it were freed.
    #[inline]
    pub(super) fn freed(&mut self, first: u64) {
        for reach in self.reach[..self.classes].iter_mut().rev() {
            if *reach <= first {
                break;
            }
            *reach = first;
        }
    }
}

#[inline]
fn margin(class: usize) -> u64 {
    2u64.checked_shl(class as u32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_resume_after_what_was_found() {
        let mut reach = Reach::default();
        assert_eq!(reach.start(5), 0);
        reach.searched(5, 100);
        assert_eq!(reach.start(5), 0, "the class of 5 has runs of 4, which may begin earlier");
        assert_eq!(reach.start(8), 0);
        reach.searched(4, 100);
        assert_eq!(reach.start(5), 100);
        assert_eq!(reach.start(9), 100, "a run of 9 is one of 4");
        assert_eq!(reach.start(1), 0);
    }

    #[test]
    fn freeing_lowers_by_less_than_a_run() {
        let mut reach = Reach::default();
        for count in [1, 2, 4] {
            reach.start(count);
            reach.searched(count, 1000);
        }
        reach.freed(500);
        assert_eq!([reach.start(1), reach.start(2), reach.start(4)], [498, 496, 492]);
        reach.freed(600);
        assert_eq!(reach.start(1), 498);
        reach.freed(3);
        assert_eq!([reach.start(1), reach.start(2), reach.start(4)], [1, 0, 0]);
    }

    #[test]
    fn counts_of_any_size_are_classed() {
        let mut reach = Reach::default();
        for log2 in 0..64 {
            reach.start(1 << log2);
            reach.searched(1 << log2, 7);
        }
        reach.searched(u64::MAX, u64::MAX);
        assert_eq!(reach.start(1), 7);
        reach.freed(0);
        assert_eq!(reach.start(u64::MAX), 0);
    }
}
