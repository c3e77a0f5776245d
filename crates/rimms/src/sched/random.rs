//! Random: CEDR's RANDOM, reproducible.

use super::{Candidate, Policy};

/// Any of the PEs that can run the call, each as likely as the others. Which one depends on the seed and on the call's
/// turn alone: programs that make the same calls in the same order are placed alike.
///
/// ```
/// use rimms::sched::{Candidate, Policy, Random};
/// let three = [Candidate::default(); 3];
/// let picks = |seed| (0..100).map(|turn| Random { seed }.choose(turn, &three)).collect::<Vec<_>>();
/// assert_eq!(picks(7), picks(7));
/// assert_ne!(picks(7), picks(8));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Random {
    /// Another one gives another sequence.
    pub seed: u64,
}

impl Policy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn needs_costs(&self) -> bool {
        false
    }

    fn choose(&self, turn: usize, candidates: &[Candidate]) -> usize {
        // The high half of a product with 2⁶⁴ as the unit: as even as 64 bits can be, without a division.
        ((u128::from(mixed(self.seed, turn as u64)) * candidates.len() as u128) >> 64) as usize
    }
}

/// The number `turn` of the sequence SplitMix64 from `seed` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014), whose numbers can be had in any order.
fn mixed(seed: u64, turn: u64) -> u64 {
    let x = seed.wrapping_add(turn.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
