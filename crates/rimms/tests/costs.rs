//! Costs that outlive a runtime.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use rimms::device::sim::Sim;
use rimms::op::OpKind;
use rimms::sched::{self, Cost, CostTable};
use rimms::{Complex32, Runtime, RuntimeBuilder};

/// Two CPUs and two equal accelerators.
fn four() -> RuntimeBuilder {
    let acc = |name| Sim::acc(name, 1 << 20, Default::default()).unwrap();
    Runtime::builder().cpus(2).device(acc("acc0")).device(acc("acc1"))
}

fn cost(op: OpKind, pe: &str, size: f32, ns: f32) -> Cost {
    Cost { op, pe: pe.into(), size, ns, measured: 20 }
}

/// FFTs of one length after the other; which PE each went to.
fn placed(rt: &Runtime, lengths: &[usize]) -> Vec<String> {
    let names: Vec<String> = rt.pes().iter().map(|pe| pe.name().to_owned()).collect();
    let mut placed = Vec::new();
    for n in lengths {
        let mut x = rt.alloc::<Complex32>(*n).unwrap();
        x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
        let before = rt.counters();
        rt.fft_in_place(&mut x).unwrap();
        rt.finish().unwrap();
        let run = rt.counters().since(&before);
        placed.extend(names.iter().filter(|name| run.calls(name) > 0).cloned());
    }
    placed
}

#[test]
fn the_same_costs_place_calls_the_same_way_each_time() {
    let costs = || {
        let mut table = CostTable::default();
        table.extend([
            cost(OpKind::Fft, "cpu", 64.0, 100.0),
            cost(OpKind::Fft, "cpu", 4096.0, 90_000.0),
            cost(OpKind::Fft, "acc", 64.0, 5_000.0),
            cost(OpKind::Fft, "acc", 4096.0, 20_000.0),
        ]);
        table
    };
    let lengths = [64, 4096, 64, 128, 4096, 2048, 4096, 64];
    for (policy, blocking) in [("met", false), ("met", true), ("eft", true)] {
        let once = || {
            let rt = four().policy(sched::by_name(policy).unwrap()).fixed_costs(&costs()).build().unwrap();
            let rt = if blocking { rt.blocking() } else { rt };
            let placed = placed(&rt, &lengths);
            assert_eq!(rt.costs().iter().count(), 8, "nothing is added: two sizes on each of four PEs");
            placed
        };
        let first = once();
        for (n, pe) in lengths.iter().zip(&first) {
            assert_eq!(pe.starts_with("acc"), *n >= 2048, "{policy}: {n} on {pe}");
        }
        for _ in 0..5 {
            assert_eq!(once(), first, "{policy}");
        }
    }
}

#[test]
fn a_runtime_goes_on_from_what_another_has_learnt() {
    let rt = four().policy(sched::by_name("round-robin").unwrap()).costs(&CostTable::default()).build().unwrap();
    placed(&rt, &[256; 40]);
    let learnt = rt.costs();
    let names: Vec<&str> = learnt.iter().map(|cost| &*cost.pe).collect();
    assert_eq!(names, ["cpu0", "cpu1", "acc0", "acc1"]);
    // In turn, so ten calls each; the first sixteen of a size are all measured.
    assert!(learnt.iter().all(|cost| cost.op == OpKind::Fft && cost.size == 256.0 && cost.measured == 10));

    let next = four().costs(&learnt.to_string().parse().unwrap()).build().unwrap();
    assert_eq!(next.costs(), learnt, "to the last bit");
    placed(&next.on("acc1").unwrap(), &[256; 3]);
    let measured: Vec<u32> = next.costs().iter().map(|cost| cost.measured).collect();
    assert_eq!(measured, [10, 10, 10, 13]);
}

#[test]
fn without_costs_given_only_policies_that_look_at_them_measure() {
    for (policy, measures) in [("round-robin", false), ("random", false), ("met", true), ("eft", true)] {
        let rt = Runtime::builder().cpus(1).policy(sched::by_name(policy).unwrap()).build().unwrap();
        placed(&rt, &[64]);
        assert_eq!(rt.costs().iter().count() > 0, measures, "{policy}");
    }
}

#[test]
fn what_a_pe_is_known_for_counts_more_than_its_kind() {
    let mut table = CostTable::default();
    table.extend([cost(OpKind::Fft, "cpu1", 64.0, 7.0), cost(OpKind::Fft, "cpu", 64.0, 9.0)]);
    let rt = Runtime::builder().cpus(3).fixed_costs(&table).build().unwrap();
    let found: Vec<f32> = rt.costs().iter().map(|cost| cost.ns).collect();
    assert_eq!(found, [9.0, 7.0, 9.0]);
}

#[test]
fn damaged_files_are_refused_and_say_where() {
    let file = |costs: &str| format!("{{ \"version\": 1, \"costs\": [\n{costs}\n] }}");
    let right = r#"{ "op": "fft", "pe": "cpu0", "size": 64, "ns": 100, "measured": 1 }"#;
    let with = |from: &str, to: &str| file(&right.replace(from, to));
    assert_eq!(file(right).parse::<CostTable>().unwrap().iter().count(), 1);
    for (text, parts) in [
        (String::new(), &["line 1"][..]),
        ("{}".into(), &["version"]),
        (file(right).replace("1,", "2,"), &["version 1 wanted", "2 found"]),
        (file(right).replace("] }", ""), &["line 3"]),
        (file(right) + "x", &["line 3"]),
        (with("\"pe\": \"cpu0\", ", ""), &["`pe`", "line 2"]),
        (with("\"ns\"", "\"us\""), &["`us`", "line 2"]),
        (with("100", "\"fast\""), &["line 2", "fast"]),
        (with("fft", "dft"), &["cost 1", "`dft`", "known: fft, zip"]),
        (with("cpu0", ""), &["cost 1", "`pe`"]),
        (with("64", "0"), &["cost 1", "`size`", "at least 1"]),
        (with("64", "1e30"), &["cost 1", "`size`"]),
        (with("100", "-1"), &["cost 1", "`ns` is -1"]),
        (with("100", "1e300"), &["line 2", "out of range"]),
        (with("\"measured\": 1", "\"measured\": 0"), &["cost 1", "`measured`"]),
        (with("\"measured\": 1", "\"measured\": -1"), &["line 2"]),
        (file(&format!("{right},\n{}", right.replace("64", "65"))), &["cost 2", "twice", "fft on cpu0"]),
    ] {
        let message = match text.parse::<CostTable>() {
            Err(error) => error.to_string(),
            Ok(table) => panic!("accepted: {text}: {table:?}"),
        };
        for part in parts {
            assert!(message.contains(part), "{text}\n`{part}` is not in: {message}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_named() {
    let folder = std::env::temp_dir().join(format!("rimms-costs-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let missing = folder.join("missing").join("costs.json");
    for error in [CostTable::read(&missing).unwrap_err(), CostTable::default().write(&missing).unwrap_err()] {
        assert!(error.to_string().contains("missing/costs.json: No such file"), "{error}");
    }
    let file = folder.join("costs.json");
    std::fs::write(&file, "{").unwrap();
    let error = CostTable::read(&file).unwrap_err().to_string();
    assert!(error.contains("costs.json") && error.contains("line 1"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was measured comes back from a file as it was.
    #[test]
    fn files_keep_every_bit(
        calls in prop::collection::vec((0..12_usize, 0..3_usize, 0..usize::MAX >> 1, 0.0..1e12_f64), 0..60),
    ) {
        let names = ["cpu0", "acc0", "a \"quoted\"\n name7"];
        let costs = sched::Costs::new(names.len());
        for (op, pe, size, ns) in calls {
            costs.record(OpKind::BUILT_IN[op], pe, size, ns);
        }
        let table = costs.table(&names);
        let read: CostTable = table.to_string().parse().unwrap();
        let again = sched::Costs::new(names.len());
        again.load(&read, &names);
        prop_assert_eq!(again.table(&names), table);
    }
}
