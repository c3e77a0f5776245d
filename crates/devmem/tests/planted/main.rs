//! Small kernels, most with a mistake planted in them: the checkers find what is planted, where it is, and are silent on
//! what is right.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod barriers;
mod lab;
mod memory;
mod races;
mod undefined;

use lab::{Case, Lab, Seen};
use rimms_devmem::check::{Check, Findings, Memcheck, Problem, Races, Suppression};
use rimms_devmem::{Device, Flags, Init, Launch, NdRange};

fn all() -> impl Iterator<Item = &'static Case> {
    [memory::CASES, undefined::CASES, races::CASES, barriers::CASES].into_iter().flatten()
}

#[test]
fn what_is_planted_is_found_and_nothing_else() {
    for (name, case) in all() {
        let lab = Lab::new(1);
        let mut expected = case(&lab);
        let mut found = lab.found();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{name}");
    }
    assert!(all().count() >= 60, "{}", all().count());
}

/// With several threads the parties of a race between groups may be told the other way round, and which of several
/// is; that there is one, and where, is the same.
#[test]
fn several_threads_find_the_same() {
    let places = |seen: Vec<Seen>| {
        let is_race = |seen: &Seen| matches!(seen.what, lab::What::Race(..) | lab::What::RaceWithGroup(..));
        let mut places: Vec<_> = seen
            .into_iter()
            .map(|seen| {
                let at = seen.at.clone().map(|(space, name, offset, ..)| (space, name, offset));
                (is_race(&seen), at, if is_race(&seen) { None } else { seen.by })
            })
            .collect();
        places.sort();
        places
    };
    // Which group comes first is left to chance where a case counts on it.
    let ordered = ["local memory of the next group", "a barrier orders one group only"];
    for (name, case) in all().filter(|(name, _)| !ordered.contains(name)) {
        let lab = Lab::new(3);
        let expected = case(&lab);
        assert_eq!(places(lab.found()), places(expected), "{name}");
    }
}

/// Every pair of items of a 4×4 range in 2×2 groups that are not in one group, writing the same element.
#[test]
fn all_placements_of_two_writes_between_groups() {
    let mut placements = 0;
    for (one, other) in (0..16u64).flat_map(|one| (one + 1..16).map(move |other| (one, other))) {
        let group = |item: u64| (item % 4 / 2, item / 4 / 2);
        if group(one) == group(other) {
            continue;
        }
        placements += 1;
        for workers in [1, 3] {
            let lab = Lab::new(workers);
            let a = lab.zeros("a", 64);
            lab.run(NdRange::new([4, 4, 1], [2, 2, 1]).unwrap(), async |item| {
                let me = item.global_id(0) + 4 * item.global_id(1);
                if me == one || me == other {
                    item.global().store_value(item.global().element::<u32>(a, 7), me as u32)?;
                }
                Ok(())
            });
            let found = lab.found();
            assert_eq!(found.len(), 1, "{one} and {other}");
            let id = |item: u64| [item % 4, item / 4, 0];
            let lab::What::Race(lab::Access2::Write, first, lab::Group::Other) = found[0].what else {
                panic!("{found:?}")
            };
            let mut parties = [first, found[0].by.unwrap()];
            parties.sort();
            let mut wanted = [id(one), id(other)];
            wanted.sort();
            assert_eq!(parties, wanted);
        }
    }
    assert_eq!(placements, 96);
}

#[test]
fn within_a_group_too() {
    for (one, other) in (0..4u64).flat_map(|one| (one + 1..4).map(move |other| (one, other))) {
        let lab = Lab::new(1);
        let a = lab.zeros("a", 64);
        lab.run(NdRange::new([4, 4, 1], [2, 2, 1]).unwrap(), async |item| {
            let local = u64::from(item.id().local_number());
            if item.group().number() == 2 && (local == one || local == other) {
                item.global().store_value(a, local)?;
            }
            Ok(())
        });
        assert_eq!(lab.kinds(), [Check::Race]);
    }
}

fn racy<const IGNORE: bool>(value: impl Fn(u64) -> u32 + Sync, groups: u64) -> u64 {
    let findings = Findings::default();
    let races = if IGNORE { Races::ignoring_same_value_writes(&findings) } else { Races::new(&findings) };
    let device = Device::with_observer(races);
    let buffer = device.host().allocate(4, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let range = NdRange::linear(4, (4 / groups) as u32).unwrap();
    let outcome = device
        .run(&Launch::new("flag", range), async |item| item.global().store_value(buffer, value(item.global_id(0))));
    assert!(outcome.unwrap().is_clean());
    findings.count()
}

#[test]
fn writes_of_the_same_value_with_a_switch() {
    for groups in [1, 2, 4] {
        assert_eq!(racy::<false>(|_| 1, groups), 1);
        assert_eq!(racy::<true>(|_| 1, groups), 0);
        assert_eq!(racy::<true>(|item| item as u32 + 1, groups), 1);
        // One that differs, whenever it comes.
        assert_eq!(racy::<true>(|item| 1 + u32::from(item == 2), groups), 1);
    }
}

#[test]
fn findings_are_suppressed_by_kernel_and_kind() {
    let run = |suppressions: &[Suppression]| {
        let findings = Findings::default();
        suppressions.iter().for_each(|suppression| findings.suppress(suppression.clone()));
        let device = Device::with_observer((Memcheck::new(&findings), Races::new(&findings)));
        let buffer = device.host().allocate(4, Flags::READ_WRITE, Init::Zeroed).unwrap();
        for name in ["histogram", "sum"] {
            let outcome = device.run(&Launch::new(name, NdRange::linear(2, 2).unwrap()), async |item| {
                item.global().store_value(buffer, 1u32)?;
                item.global().load_value::<u64>(buffer).map(drop)
            });
            assert_eq!(outcome.unwrap().failed, 2);
        }
        device.host().load_value::<u64>(buffer).unwrap_err();
        let mut found: Vec<_> = findings.take();
        found.sort_by_key(|finding| finding.problem.check());
        let faults = found.iter().filter(|finding| matches!(finding.problem, Problem::Fault(_))).count();
        (faults, found.len() - faults, findings.suppressed())
    };
    let of = |kernel: Option<&str>, check| Suppression { kernel: kernel.map(Into::into), check };
    assert_eq!(run(&[]), (5, 2, 0));
    assert_eq!(run(&[of(Some("histogram"), Some(Check::Race))]), (5, 1, 1));
    assert_eq!(run(&[of(None, Some(Check::Race))]), (5, 0, 2));
    assert_eq!(run(&[of(Some("sum"), None)]), (3, 1, 3));
    assert_eq!(run(&[of(Some("sum"), None), of(None, Some(Check::Fault))]), (0, 1, 6));
    assert_eq!(run(&[of(None, None)]), (0, 0, 7));
}

#[test]
fn a_finding_leads_to_the_fault() {
    let lab = Lab::new(1);
    let a = lab.zeros("samples", 64);
    lab.host().deallocate(a).unwrap();
    let line = line!() - 1;
    lab.run(NdRange::new([4, 4, 1], [2, 2, 1]).unwrap(), async |item| {
        if item.id().global_id() == [3, 1, 0] { item.global().store_value(a, 1u64) } else { Ok(()) }
    });
    let found = lab.texts();
    let wanted = format!(
        "write of 8 bytes at global 0x0001_0000_0000_0000 (buffer 1, offset 0): use after free, freed at \
         crates/devmem/tests/planted/main.rs:{line}:16; buffer \"samples\"; by item (3, 1, 0) of planted, (1, 1, 0) of group (1, 0, 0)"
    );
    assert_eq!(found, [wanted]);
    let b = lab.zeros("sums", 64);
    lab.group(2, async |item| item.global().store_value(b, item.global_id(0)));
    assert_eq!(
        lab.texts(),
        [
            "write of 8 bytes at global 0x0001_0100_0000_0000 (buffer 1, generation 1, offset 0): a race from byte 0 on with a \
          write in the same group, by item (0, 0, 0) of planted, (0, 0, 0) of group (0, 0, 0); buffer \"sums\"; by \
          item (1, 0, 0) of planted, (1, 0, 0) of group (0, 0, 0)"
        ]
    );
}
