use proptest::prelude::*;

use super::*;

const GROUP: u64 = 4;

fn kinds() -> impl Strategy<Value = Use> {
    prop_oneof![4 => Just(Use::Read), 2 => Just(Use::Write), 3 => Just(Use::Atomic32), 1 => Just(Use::Atomic64)]
}

fn conflict(a: Use, b: Use) -> bool {
    !are_safe(a as u64 | b as u64)
}

/// Every use there was.
#[derive(Clone, Copy)]
struct Past {
    item: u64,
    epoch: u64,
    kind: Use,
}

fn user(item: u64, epoch: u64, kind: Use, alone: bool) -> User {
    User { item, group: item / GROUP * GROUP, group_items: GROUP, epoch, kind, alone }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// One word, used by items of three groups, in whatever order; groups pass barriers when they like. The cell says
    /// "race" exactly when a list of all uses does, and names an item that the list has as well.
    #[test]
    fn a_cell_knows_what_a_list_of_all_uses_knows(
        steps in prop::collection::vec((0..3 * GROUP, kinds(), any::<bool>()), 1..24),
        alone: bool,
    ) {
        let mut epochs = [0u64; 3];
        let mut past: Vec<Past> = Vec::new();
        let mut cell = Cell(0);
        // In local memory groups come one after the other.
        let mut current = 0;
        for (item, kind, barrier) in steps {
            let item = if alone { item % GROUP + current * GROUP } else { item };
            let group = item / GROUP;
            if barrier {
                epochs[group as usize] += 1;
            }
            let epoch = epochs[group as usize];
            let races = |past: &&Past| {
                let same_group = past.item / GROUP == group;
                let unordered = if same_group { past.epoch == epoch } else { !alone };
                past.item != item && unordered && conflict(past.kind, kind)
            };
            let expected: Vec<Past> = past.iter().filter(races).copied().collect();
            let (next, found) = cell.after(&user(item, epoch, kind, alone));
            // What can be said at a glance is the same.
            let glance = cell.after_own(&user(item, epoch, kind, alone));
            prop_assert!(glance.is_none_or(|glance| (glance, None) == (next, found)));
            prop_assert_eq!(found.is_some(), !expected.is_empty());
            let Some(found) = found else {
                past.push(Past { item, epoch, kind });
                cell = next;
                if alone && barrier && current < 2 {
                    current += 1;
                }
                continue;
            };
            prop_assert!(expected.iter().any(|past| found.uses & past.kind as u64 != 0));
            prop_assert!(expected.iter().any(|past| (past.item / GROUP == group) == found.same_group));
            match found.who {
                Known::Item(other) => prop_assert!(expected.iter().any(|past| past.item == other)),
                Known::GroupOf(other) => prop_assert!(expected.iter().any(|past| past.item / GROUP == other / GROUP)),
                // Not known only when several groups did the same.
                Known::Other => prop_assert!(are_safe(found.uses) && expected.iter().any(|past| past.item / GROUP != group)),
            }
            // After a race the word is left alone.
            prop_assert_eq!(next.after(&user(0, 99, Use::Write, alone)), (next, None));
            break;
        }
    }

    #[test]
    fn halves_of_a_word_start_as_the_word_was(item in 0..MOST_ITEMS, epoch in 0..MOST_EPOCHS, kind in kinds()) {
        let group = item / GROUP * GROUP;
        let (cell, _) = Cell(0).after(&User { item, group, group_items: GROUP, epoch, kind, alone: false });
        prop_assert_eq!((cell.item(), cell.epoch(), cell.uses(), cell.group_uses()), (item, epoch, kind as u64, kind as u64));
        prop_assert!(!cell.is_split() && cell.split().is_split());
        let (split, _) = cell.split().after(&User { item, group, group_items: GROUP, epoch, kind: Use::Write, alone: false });
        prop_assert!(split.is_split());
    }
}

#[test]
fn one_thread_always_knows_the_other_party() {
    // Items of a group in order, groups one after the other: all first uses of two kinds by two items, then a third.
    for kinds in (0..64).map(|code| {
        [code & 3, code >> 2 & 3, code >> 4].map(|i| [Use::Read, Use::Write, Use::Atomic32, Use::Atomic64][i])
    }) {
        for items in [[0, 1, 2], [0, 1, 5], [0, 4, 5], [0, 4, 8], [1, 1, 4], [1, 2, 2], [0, 4, 4]] {
            let mut cell = Cell(0);
            for (item, kind) in items.into_iter().zip(kinds) {
                let (next, found) = cell.after(&user(item, 0, kind, false));
                assert!(found.is_none_or(|found| matches!(found.who, Known::Item(_))), "{items:?} {kinds:?}");
                cell = next;
            }
        }
    }
}
