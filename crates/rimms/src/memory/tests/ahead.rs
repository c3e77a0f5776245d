//! What is written back ahead of need is what then has to go.

use super::super::{Coming, Owned, Usage, bring};
use super::victims::Reads;
use super::{dirty, resources, written};
use crate::coherence::ResourceId;
use crate::op::Role;
use std::time::Duration;

const BLOCK: usize = 1024;

/// Four blocks, used in order, of which those in `dirty_ones` lie on the device alone, and two that are not there.
struct Four {
    resources: std::sync::Arc<super::Resources>,
    r: ResourceId,
    data: Vec<Owned>,
}

impl Four {
    fn new(dirty_ones: &[usize]) -> Self {
        let (resources, r) = resources(4 * BLOCK as u64);
        let data: Vec<Owned> = (0..6).map(|_| written(&resources, BLOCK)).collect();
        for (i, datum) in data[..4].iter().enumerate() {
            match dirty_ones.contains(&i) {
                true => dirty(datum, r),
                false => drop(bring(&[Usage::new(datum.root(), Role::In)], r, &()).unwrap()),
            }
        }
        Self { resources, r, data }
    }

    fn operands(&self, next: &[usize]) -> Vec<Usage<'_>> {
        next.iter().map(|i| Usage::new(self.data[*i].root(), Role::In)).collect()
    }

    /// What a call on these makes be written back, when those in `to_come` are read after it; and that is done.
    fn ahead(&self, next: &[usize], to_come: &[usize], worthwhile: Duration) -> Vec<usize> {
        let to_come: Vec<&Owned> = to_come.iter().map(|i| &self.data[*i]).collect();
        let coming = Coming::new(&self.operands(next), self.r);
        let Some(found) = coming.write_backs(&self.resources, &Reads(&to_come), worthwhile) else { return Vec::new() };
        let before = self.on_host();
        found.make();
        self.on_host().into_iter().filter(|i| !before.contains(i)).collect()
    }

    fn on_host(&self) -> Vec<usize> {
        (0..4).filter(|i| self.data[*i].root().state().is_valid_on(ResourceId::HOST)).collect()
    }

    fn gone(&self) -> Vec<usize> {
        (0..4).filter(|i| !self.data[*i].root().state().is_valid_on(self.r)).collect()
    }

    fn write_backs(&self) -> u64 {
        self.resources.tally.snapshot(std::iter::empty()).device_to_host().copies
    }
}

#[test]
fn what_is_written_ahead_is_what_an_eviction_would_have_had_to() {
    let futures: [&[usize]; 5] = [&[], &[0, 1, 2, 3], &[3, 2, 1, 0], &[3, 0, 1], &[1, 3]];
    for dirty_ones in (0..16).map(|set| (0..4).filter(|i| set >> i & 1 == 1).collect::<Vec<usize>>()) {
        for (to_come, next) in futures.iter().flat_map(|future| [(future, &[4][..]), (future, &[4, 5])]) {
            let case = format!("dirty {dirty_ones:?}, next {next:?}, then {to_come:?}");
            let four = Four::new(&dirty_ones);
            let written = four.ahead(next, to_come, Duration::ZERO);
            assert!(four.gone().is_empty(), "{case}: only copied");
            let copies = four.write_backs();
            let to_come: Vec<&Owned> = to_come.iter().map(|i| &four.data[*i]).collect();
            drop(bring(&four.operands(next), four.r, &Reads(&to_come)).unwrap());
            let dirty_and_gone: Vec<usize> = four.gone().into_iter().filter(|i| dirty_ones.contains(i)).collect();
            assert_eq!(written, dirty_and_gone, "{case}");
            assert_eq!(four.write_backs(), copies, "{case}: the eviction had nothing left to copy");
        }
    }
}

#[test]
fn nothing_is_written_ahead_where_copies_take_no_time_or_the_call_is_there() {
    let four = Four::new(&[0, 1, 2, 3]);
    assert!(four.ahead(&[4], &[], Duration::from_secs(1)).is_empty());
    assert!(four.ahead(&[0, 1], &[], Duration::ZERO).is_empty(), "both have a place");
    assert_eq!(four.ahead(&[4, 0], &[], Duration::ZERO), [1], "one's own operand is no victim");
}

#[test]
fn what_is_used_counts_as_a_victim_and_is_not_touched() {
    let four = Four::new(&[0, 1, 2, 3]);
    let used = bring(&four.operands(&[2]), four.r, &()).unwrap();
    // 2 was used last now, so it is the last to go.
    assert_eq!(four.ahead(&[4, 5], &[0, 1], Duration::ZERO), [3], "3, and then 2, which are needed by nobody");
    drop(used);
}
