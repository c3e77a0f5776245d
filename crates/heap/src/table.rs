//! A hash table from the offset of a live block to what a marking system keeps of it.
//!
//! Open addressing in a window: a key lives in one of the [`WINDOW`] slots from its
//! home on, whichever is empty first. Removing clears one slot and moves nothing;
//! finding reads at most a window. A slot holds its own key or an index to where it
//! stands, so the caller passes `key_of`.
//!
//! Invariants: a key occurs once (live blocks do not overlap, the caller inserts only
//! new ones); an empty slot is `S::default()`, whose key is never looked for; at most
//! half of the homes are taken.
//!
//! Cost: [`find`](Table::find) and [`remove`](Table::remove) O(1), one or two slots as
//! a rule. [`insert`](Table::insert) O(1) but when the table must grow, which touches
//! all of it: amortised O(1), and none at all while no more blocks are live than ever
//! before. A table whose windows overflow while it is nearly empty, which only offsets
//! chosen against its multiplier could do, changes the multiplier instead of growing.

use crate::HeapError;

/// Slots in which a key may stand.
const WINDOW: usize = 32;

/// Homes of a table that never grew.
const LEAST_HOMES_LOG2: u32 = 4;

/// The odd integer nearest to 2^64 / golden ratio: spreads any arithmetic sequence
/// of keys evenly (Knuth, The Art of Computer Programming 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug)]
pub(crate) struct Table<S> {
    slots: Vec<S>,
    multiplier: u64,
    homes_log2: u32,
    len: usize,
}

impl<S: Copy + Default + PartialEq> Table<S> {
    pub(crate) fn new() -> Result<Self, HeapError> {
        let slots = empty_slots(LEAST_HOMES_LOG2)?;
        Ok(Self { slots, multiplier: GOLDEN, homes_log2: LEAST_HOMES_LOG2, len: 0 })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<S>()
    }

    /// The slot whose key is `key`, and its position.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64, key_of: impl Fn(S) -> u64) -> Option<(S, usize)> {
        let home = home(key, self.multiplier, self.homes_log2);
        let window = self.slots.get(home..home + WINDOW)?;
        // Nine in ten stand in the first two slots: which of them is no branch.
        let mut step = usize::from(key_of(window[0]) != key);
        if key_of(window[step]) != key {
            step = find_further(window, key, key_of)?;
        }
        Some((window[step], home + step))
    }

    /// Empties the slot that [`find`](Self::find) gave.
    #[inline(always)]
    pub(crate) fn remove(&mut self, position: usize) {
        self.slots[position] = S::default();
        self.len -= 1;
    }

    /// Adds a slot whose key is `key` and not yet here.
    ///
    /// # Errors
    /// [`HeapError::NoMetadata`] where the table would have to grow and cannot;
    /// nothing has changed then.
    #[inline(always)]
    pub(crate) fn insert(&mut self, key: u64, slot: S, key_of: impl Fn(S) -> u64) -> Result<(), HeapError> {
        while self.len >> (self.homes_log2 - 1) != 0
            || !put(&mut self.slots, home(key, self.multiplier, self.homes_log2), slot)
        {
            self.grow(&key_of)?;
        }
        self.len += 1;
        Ok(())
    }

    /// Rehashes into a table twice as large, or equally large with another multiplier.
    #[cold]
    fn grow(&mut self, key_of: &impl Fn(S) -> u64) -> Result<(), HeapError> {
        let (mut homes_log2, mut multiplier) = (self.homes_log2, self.multiplier);
        loop {
            if self.len >> homes_log2.saturating_sub(4) != 0 || homes_log2 < 8 {
                homes_log2 += 1;
            } else {
                multiplier = another(multiplier);
            }
            let mut slots = empty_slots(homes_log2)?;
            let all_placed = self
                .slots
                .iter()
                .filter(|&&slot| slot != S::default())
                .all(|&slot| put(&mut slots, home(key_of(slot), multiplier, homes_log2), slot));
            if all_placed {
                self.slots = slots;
                (self.homes_log2, self.multiplier) = (homes_log2, multiplier);
                return Ok(());
            }
        }
    }
}

#[inline]
fn home(key: u64, multiplier: u64, homes_log2: u32) -> usize {
    // The table is in memory, so a home fits a usize.
    (key.wrapping_mul(multiplier) >> (64 - homes_log2)) as usize
}

#[inline(always)]
fn put<S: Copy + Default + PartialEq>(slots: &mut [S], home: usize, slot: S) -> bool {
    let window = &mut slots[home..home + WINDOW];
    let mut step = usize::from(window[0] != S::default());
    if window[step] != S::default() {
        match find_further(window, S::default(), |slot| slot) {
            Some(empty) => step = empty,
            None => return false,
        }
    }
    window[step] = slot;
    true
}

/// The slot of a window whose key is `key`, one in ten times not among the first two.
#[inline(never)]
fn find_further<S: Copy, K: PartialEq>(window: &[S], key: K, key_of: impl Fn(S) -> K) -> Option<usize> {
    window.iter().position(|&slot| key_of(slot) == key)
}

fn empty_slots<S: Copy + Default>(homes_log2: u32) -> Result<Vec<S>, HeapError> {
    let len = 1usize.checked_shl(homes_log2).and_then(|homes| homes.checked_add(WINDOW - 1));
    let mut slots = Vec::new();
    match len {
        Some(len) if slots.try_reserve_exact(len).is_ok() => {
            slots.resize(len, S::default());
            Ok(slots)
        }
        _ => Err(HeapError::NoMetadata {
            bytes: (len.unwrap_or(usize::MAX) as u64).saturating_mul(size_of::<S>() as u64),
        }),
    }
}

/// The next of a sequence of odd multipliers (the finaliser of splitmix64).
fn another(multiplier: u64) -> u64 {
    let mut mixed = multiplier.wrapping_add(GOLDEN << 1);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    type Pair = (u64, u64);

    fn key_of(slot: Pair) -> u64 {
        slot.0
    }

    /// Inserts, removes and finds against `HashMap`; keys are never 0, the empty key.
    fn exercise(keys: impl Iterator<Item = u64>) -> Table<Pair> {
        let mut table = Table::new().unwrap();
        let mut model = HashMap::new();
        for (turn, key) in (0..).zip(keys) {
            if model.insert(key, turn).is_none() {
                table.insert(key, (key, turn), key_of).unwrap();
            } else {
                model.remove(&key);
                let (_, position) = table.find(key, key_of).unwrap();
                table.remove(position);
                assert_eq!(table.find(key, key_of), None);
            }
            assert_eq!(table.len(), model.len());
        }
        for (&key, &turn) in &model {
            assert_eq!(table.find(key, key_of).map(|found| found.0), Some((key, turn)));
        }
        table
    }

    #[test]
    fn agrees_with_a_model_at_every_stride() {
        for shift in 0..48 {
            exercise((0..3000).map(|turn: u64| (1 + turn * 7919 % 1009) << shift));
        }
    }

    #[test]
    fn grows_with_what_is_live_only() {
        let table = exercise((0..100_000).map(|turn| 1 + (turn / 2) * 64));
        assert_eq!(table.len(), 0);
        assert_eq!(table.homes_log2, LEAST_HOMES_LOG2);
        let table = exercise((0..100_000).map(|turn| 1 + turn * 64));
        assert_eq!(table.homes_log2, 18, "at most half of the homes are taken");
    }

    #[test]
    fn keys_made_to_collide_do_not_blow_it_up() {
        // Keys with one home for the first multiplier: multiples of its inverse.
        let mut inverse = 1u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(GOLDEN.wrapping_mul(inverse)));
        }
        assert_eq!(inverse.wrapping_mul(GOLDEN), 1);
        let table = exercise((1..=2000).map(|step: u64| step.wrapping_mul(inverse)));
        assert_ne!(table.multiplier, GOLDEN);
        assert!(table.homes_log2 <= 16, "{} homes", 1u64 << table.homes_log2);
    }
}
