//! What is remembered of one word (or byte): 64 bits that say whether the next use is a race.
//!
//! Two uses of a byte race if they are by different items, one at least changes it, not both by atomic operations, and
//! they are not ordered: by items of one group with no barrier in between, or by items of different groups at all. (Atomic
//! operations of different sizes are not safe to each other either, and told apart.)
//!
//! Owns [`Cell`]. As long as there is no race, what there was can be said in few bits, and nothing that matters is
//! forgotten: either one group alone used the word, then all that counts is *how* it ever did (for other groups) and
//! who did what since its last barrier (for its own items); or several groups did, then all of them only read, or all
//! only used atomic operations of one size. "Who" is one item or, where all did the same harmless thing, the first of
//! several. Once there was a race the word is not looked at any more in this launch.

use crate::kernel::WorkItem;

/// How an item uses a word; the bits are those of a set of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read = 1,
    Write = 2,
    /// Atomically, 32 bits.
    Atomic32 = 4,
    /// Atomically, 64 bits.
    Atomic64 = 8,
}

/// Items and barriers that there are numbers for.
const ITEM_BITS: u32 = 30;
const EPOCH_BITS: u32 = 23;
pub(super) const MOST_ITEMS: u64 = 1 << ITEM_BITS;
pub(super) const MOST_EPOCHS: u64 = 1 << EPOCH_BITS;

/// From bit 0: uses by the group, uses since its last barrier, whether several items (since then) or groups did those,
/// whether other bytes of the word have cells of their own; item; epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell(pub(super) u64);

const SEVERAL_ITEMS: u64 = 1 << 8;
const SEVERAL_GROUPS: u64 = 1 << 9;
const SPLIT: u64 = 1 << 10;
const ITEM_SHIFT: u32 = 11;
const EPOCH_SHIFT: u32 = ITEM_SHIFT + ITEM_BITS;

/// A word that has seen a race: used in every way, but not since the last barrier.
const RACED: u64 = 0x0f;

/// Who uses a word, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub(super) item: u64,
    /// The first item of its group, and how many there are.
    pub(super) group: u64,
    pub(super) group_items: u64,
    /// Barriers that the group has passed.
    pub(super) epoch: u64,
    pub(super) kind: Use,
    /// Whether uses by other groups are of no interest, as in local memory.
    pub(super) alone: bool,
}

impl User {
    #[inline(always)]
    pub(super) fn new(item: WorkItem<'_>, kind: Use, alone: bool) -> Self {
        let group_items = u64::from(item.group().kernel().range().group_items());
        let group = item.group().number() * group_items;
        let number = group + u64::from(item.local_number());
        User { item: number, group, group_items, epoch: item.group().epoch(), kind, alone }
    }
}

/// Who else, and what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Its uses, all that are known.
    pub(super) uses: u64,
    pub(super) who: Known,
    pub(super) same_group: bool,
}

/// What is known of the other party.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Its number.
    Item(u64),
    /// The number of an item of its group.
    GroupOf(u64),
    /// That it is of another group.
    Other,
}

/// Whether uses in such ways by different items are safe.
fn are_safe(uses: u64) -> bool {
    uses == Use::Read as u64 || uses == Use::Atomic32 as u64 || uses == Use::Atomic64 as u64
}

impl Cell {
    fn group_uses(self) -> u64 {
        self.0 & 0x0f
    }

    fn uses(self) -> u64 {
        self.0 >> 4 & 0x0f
    }

    fn item(self) -> u64 {
        self.0 >> ITEM_SHIFT & (MOST_ITEMS - 1)
    }

    fn epoch(self) -> u64 {
        self.0 >> EPOCH_SHIFT
    }

    pub(super) fn is_split(self) -> bool {
        self.0 & SPLIT != 0
    }

    pub(super) fn split(self) -> Self {
        Cell(self.0 | SPLIT)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    #[inline]
    fn of(user: &User, group_uses: u64, split: u64) -> Self {
        let kind = user.kind as u64;
        Cell(group_uses | kind | kind << 4 | split | user.item << ITEM_SHIFT | user.epoch << EPOCH_SHIFT)
    }

    fn raced(self) -> Self {
        Cell(self.0 & SPLIT | RACED)
    }

    /// What the cell is after such a use, if that can be said at a glance: the word was not used before, or by this item
    /// since its group's last barrier, or by its group before that. No race is among these.
    #[inline(always)]
    pub(super) fn after_own(self, user: &User) -> Option<Self> {
        let kind = user.kind as u64;
        if self.0 == 0 {
            return Some(Self::of(user, 0, 0));
        }
        if self.has(SEVERAL_ITEMS | SEVERAL_GROUPS | SPLIT) || self.uses() == 0 {
            return None;
        }
        if self.item() == user.item && self.epoch() == user.epoch {
            return Some(Cell(self.0 | kind | kind << 4));
        }
        let in_order = self.is_of_group(user) && self.epoch() != user.epoch;
        in_order.then(|| Self::of(user, self.group_uses(), 0))
    }

    #[inline(always)]
    fn is_of_group(self, user: &User) -> bool {
        // Unsigned: an item before the group is far behind it.
        self.item().wrapping_sub(user.group) < user.group_items
    }

    /// What the cell is after such a use, and the race if it is one.
    pub(super) fn after(self, user: &User) -> (Self, Option<Conflict>) {
        let kind = user.kind as u64;
        let split = self.0 & SPLIT;
        if self.0 & !SPLIT == 0 {
            return (Self::of(user, 0, split), None);
        }
        let same_group = self.is_of_group(user);
        let is_own = same_group && self.item() == user.item && self.epoch() == user.epoch;
        if is_own && !self.has(SEVERAL_ITEMS | SEVERAL_GROUPS) && self.uses() != 0 {
            return (Cell(self.0 | kind | kind << 4), None);
        }
        self.after_others(user, same_group)
    }

    fn after_others(self, user: &User, same_group: bool) -> (Self, Option<Conflict>) {
        let kind = user.kind as u64;
        let split = self.0 & SPLIT;
        if self.0 & !SPLIT == RACED {
            return (self, None);
        }
        let race = |uses, who, same_group| (self.raced(), Some(Conflict { uses, who, same_group }));
        if self.has(SEVERAL_GROUPS) {
            if self.group_uses() == kind {
                return (self, None);
            }
            return race(self.group_uses(), if same_group { Known::Other } else { Known::Item(self.item()) }, false);
        }
        if !same_group {
            if user.alone {
                return (Self::of(user, 0, split), None);
            }
            if are_safe(self.group_uses() | kind) {
                return (Cell(self.0 | SEVERAL_GROUPS), None);
            }
            // The race may be with an item before the last barrier, whose number is forgotten.
            if are_safe(self.uses() | kind) {
                return race(self.group_uses(), Known::GroupOf(self.item()), false);
            }
            return race(self.uses(), Known::Item(self.item()), false);
        }
        if self.epoch() != user.epoch {
            return (Self::of(user, self.group_uses(), split), None);
        }
        // Of one group since its last barrier: by others, or by several.
        if are_safe(self.uses() | kind) {
            return (Cell(self.0 | SEVERAL_ITEMS | kind), None);
        }
        let who = if self.item() == user.item { Known::GroupOf(user.item) } else { Known::Item(self.item()) };
        race(self.uses(), who, true)
    }
}

#[cfg(test)]
mod tests;
