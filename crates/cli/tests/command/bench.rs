//! `rimms bench`: exact counts are tests, times are not.

use crate::json::assert_keys;
use crate::{json, rimms};

const OPERATION: &[&str] = &[
    "operation",
    "above",
    "ns",
    "target_ns",
    "cycles",
    "target_cycles",
    "instructions",
    "target_instructions",
    "bytes",
    "target_bytes",
    "copies",
    "target_copies",
];

/// Instructions of one operation; `None` where this machine does not let a child be traced.
fn instructions(subject: &str) -> Option<f64> {
    let out = rimms(["bench", "instructions", subject]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    out.stdout.trim().parse().ok()
}

#[test]
fn the_state_check_takes_at_most_fifteen_instructions() {
    let (Some(walk), Some(check)) = (instructions("walk-l1"), instructions("check-l1")) else {
        eprintln!("skipped: instructions cannot be counted here");
        return;
    };
    assert!(check - walk <= 15.0, "{check} a leaf, {walk} of them for walking over it");
    // With the walk, so that this cannot pass on a difference of two wrong numbers.
    assert!((2.0..=40.0).contains(&check), "{check}");
}

/// And every count is the same: nothing of what other threads do, of lists that grow or of the clock is in it.
#[test]
fn a_submission_takes_at_most_400_instructions_optimised() {
    let counts = [instructions("queued"), instructions("queued")];
    let [Some(count), Some(again)] = counts else {
        eprintln!("skipped: instructions cannot be counted here");
        return;
    };
    assert_eq!(count, again);
    let most = if cfg!(debug_assertions) { 600.0 } else { 400.0 };
    assert!((100.0..=most).contains(&count), "{count}, {most} at most wanted");
}

#[test]
fn an_unknown_subject_is_refused() {
    let out = rimms(["bench", "instructions", "everything"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(1), ""));
    assert!(out.stderr.contains("`everything`"), "{}", out.stderr);
}

#[test]
fn overhead_says_what_docs_json_says() {
    let report = json(&["bench", "overhead", "--json", "--quick"]);
    assert_keys(&report, &["cycle_ns", "operations"]);
    assert!(report["cycle_ns"].as_f64().unwrap() > 0.0);
    let operations = report["operations"].as_array().unwrap();
    let names: Vec<&str> = operations.iter().map(|line| line["operation"].as_str().unwrap()).collect();
    for line in operations {
        assert_keys(line, OPERATION);
        let measured = ["ns", "bytes", "copies"].iter().filter(|key| line[**key].is_f64()).count();
        let allocator_is_silent = line["target_bytes"].is_f64() && line["bytes"].is_null();
        assert!(measured == 1 || allocator_is_silent, "{line}");
        assert!(line["above"].as_str().is_none_or(|other| names.contains(&other)), "{line}");
    }
    let cycle = operations.iter().find(|line| line["copies"].is_f64()).unwrap();
    assert!(cycle["copies"].as_f64().unwrap() <= 28.0, "{cycle}");
    for wanted in [
        "empty call",
        "queued empty call",
        "never fit",
        "create + free",
        "128 fragments",
        "bookkeeping of a datum",
        "bookkeeping of a leaf",
    ] {
        assert!(names.iter().any(|name| name.contains(wanted)), "{wanted}: {names:?}");
    }
}

const CHAIN: &[&str] = &[
    "flow",
    "points",
    "placement",
    "memory",
    "laps",
    "time_s",
    "speedup",
    "time_read_s",
    "speedup_read",
    "copies",
    "bytes",
    "copies_read",
    "bytes_read",
    "max_error",
];

/// Copies for the calls, and for the host to have the result, by flow, placement and mode. Every signal has one size,
/// so bytes follow.
const COPIES: &[(&str, &str, &str, [u64; 2])] = &[
    // The paper's: one copy less of two, three less of four, and none to spare in the others.
    ("2fft", "cpu-cpu", "reference", [0, 0]),
    ("2fft", "cpu-cpu", "last-resource", [0, 0]),
    ("2fft", "cpu-cpu", "valid-set", [0, 0]),
    ("2fft", "cpu-cpu", "zero-copy", [0, 0]),
    ("2fft", "cpu-acc", "reference", [2, 0]),
    ("2fft", "cpu-acc", "last-resource", [1, 1]),
    ("2fft", "cpu-acc", "valid-set", [1, 1]),
    ("2fft", "acc-cpu", "reference", [2, 0]),
    ("2fft", "acc-cpu", "last-resource", [2, 0]),
    ("2fft", "acc-cpu", "valid-set", [2, 0]),
    ("2fft", "acc-acc", "reference", [4, 0]),
    ("2fft", "acc-acc", "last-resource", [1, 1]),
    ("2fft", "acc-acc", "valid-set", [1, 1]),
    ("2fzf", "cpu-acc", "reference", [5, 0]),
    ("2fzf", "cpu-acc", "last-resource", [2, 1]),
    ("2fzf", "cpu-acc", "valid-set", [2, 1]),
    ("2fzf", "acc-cpu", "reference", [4, 0]),
    ("2fzf", "acc-cpu", "last-resource", [4, 0]),
    ("2fzf", "acc-cpu", "valid-set", [4, 0]),
    ("2fzf", "acc-acc", "reference", [9, 0]),
    ("2fzf", "acc-acc", "last-resource", [2, 1]),
    ("2fzf", "acc-acc", "valid-set", [2, 1]),
    ("3zip", "cpu-acc", "reference", [3, 0]),
    ("3zip", "cpu-acc", "last-resource", [2, 1]),
    ("3zip", "cpu-acc", "valid-set", [2, 1]),
    ("3zip", "acc-cpu", "reference", [6, 0]),
    ("3zip", "acc-cpu", "last-resource", [6, 0]),
    ("3zip", "acc-cpu", "valid-set", [6, 0]),
    ("3zip", "acc-acc", "reference", [9, 0]),
    ("3zip", "acc-acc", "last-resource", [4, 1]),
    ("3zip", "acc-acc", "valid-set", [4, 1]),
];

#[test]
fn dataflow_copies_what_is_stale_and_no_more() {
    let report = json(&["bench", "dataflow", "--json", "--quick"]);
    assert_keys(&report, &["rows"]);
    let rows = report["rows"].as_array().unwrap();
    // Three chains, two sizes, four placements in three modes, and zero-copy on the CPU alone.
    assert_eq!(rows.len(), 3 * 2 * (4 * 3 + 1));
    for row in rows {
        assert_keys(row, CHAIN);
        assert!(row["max_error"].as_f64().unwrap() < 1e-4, "{row}");
        assert!(row["time_s"].as_f64().unwrap() > 0.0 && row["laps"].as_u64().unwrap() > 0, "{row}");
        assert!(row["memory"] != "reference" || row["speedup"] == 1.0, "{row}");
    }
    for (flow, placement, memory, [copies, read]) in COPIES {
        for points in [64, 128] {
            let is_it = |row: &&serde_json::Value| {
                row["flow"] == *flow
                    && row["placement"] == *placement
                    && row["memory"] == *memory
                    && row["points"] == points
            };
            let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{flow} {placement} {memory} {points}"));
            assert_eq!((&row["copies"], &row["copies_read"]), (&(*copies).into(), &(*read).into()), "{row}");
            let bytes = |copies: u64| serde_json::Value::from(copies * points * 8);
            assert_eq!((&row["bytes"], &row["bytes_read"]), (&bytes(*copies), &bytes(*read)), "{row}");
        }
    }
}

#[test]
fn dataflow_measures_what_it_is_asked_for() {
    let report = json(&["bench", "dataflow", "--json", "--quick", "--flow", "3zip", "--max-points", "100"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    assert!(rows.iter().all(|row| row["flow"] == "3zip" && row["points"] == 64));
    let out = rimms(["bench", "dataflow", "--quick", "--max-points", "64"]);
    assert!(out.code == Some(0) && out.stdout.contains("acc-cpu") && out.stderr.contains("simulated"), "{out:?}");
}

#[test]
fn dataflow_takes_a_kind_for_its_only_accelerator() {
    let out = rimms(["bench", "dataflow", "--quick", "--flow", "2fft", "--max-points", "64", "--acc", "acc"]);
    assert!(out.code == Some(0) && out.stdout.contains("acc-acc") && out.stderr.contains("simulated: acc0"), "{out:?}");
}

const APPLICATION: &[&str] = &[
    "app",
    "repeat",
    "memory",
    "heap",
    "alloc",
    "rounds",
    "overall_s",
    "overall_speedup",
    "computation_s",
    "computation_speedup",
    "malloc_s",
    "fragment_s",
    "free_s",
    "rest_s",
    "copies",
    "bytes",
    "evictions",
    "max_error",
];

#[test]
fn apps_adds_up() {
    let report = json(&["bench", "apps", "--json", "--quick"]);
    assert_keys(&report, &["rows"]);
    let rows = report["rows"].as_array().unwrap();
    // Two applications, one and two repeats, three modes, five heaps, two ways to allocate.
    assert_eq!(rows.len(), 2 * 2 * 3 * 5 * 2);
    for row in rows {
        assert_keys(row, APPLICATION);
        let of = |key: &str| row[key].as_f64().unwrap();
        let sum = of("malloc_s") + of("fragment_s") + of("free_s") + of("rest_s");
        assert!((of("overall_s") - sum).abs() < 1e-9, "one round, so medians add up: {row}");
        assert!((of("rest_s") - of("computation_s") * of("repeat")).abs() < 1e-9, "{row}");
        assert!(of("malloc_s") > 0.0 && of("computation_s") > 0.0 && of("evictions") == 0.0, "{row}");
    }
    let copies = |app: &str, repeat: u64, memory: &str, alloc: &str| {
        let is_it = |row: &&serde_json::Value| {
            row["app"] == app && row["repeat"] == repeat && row["memory"] == memory && row["alloc"] == alloc
        };
        let mut found: Vec<u64> = rows.iter().filter(is_it).map(|row| row["copies"].as_u64().unwrap()).collect();
        assert_eq!(found.len(), 5);
        found.dedup();
        assert_eq!(found.len(), 1, "the heap has no part in what is copied: {found:?}");
        found[0]
    };
    // 2FFT: four copies around two calls; one in, and the final one.
    for alloc in ["each", "fragment"] {
        assert_eq!(copies("2fft", 1, "reference", alloc), 4);
        assert_eq!(copies("2fft", 2, "valid-set", alloc), 2 * 2);
    }
    let reference = copies("pulse-doppler", 1, "reference", "each");
    assert!(copies("pulse-doppler", 1, "valid-set", "each") < reference / 2);
    assert_eq!(copies("pulse-doppler", 2, "reference", "fragment"), 2 * reference);
}

#[test]
fn apps_measures_what_it_is_asked_for_beside_its_base() {
    let line = "bench apps --json --quick --app 3zip --repeat 3 --heap next-fit --alloc each --memory valid-set";
    let report = json(&line.split_whitespace().collect::<Vec<_>>());
    let rows = report["rows"].as_array().unwrap();
    let ways: Vec<[&str; 3]> =
        rows.iter().map(|row| ["memory", "heap", "alloc"].map(|key| row[key].as_str().unwrap())).collect();
    assert_eq!(ways, [["reference", "two-level", "fragment"], ["valid-set", "next-fit", "each"]]);
    assert!(rows.iter().all(|row| row["repeat"] == 3 && row["app"] == "3zip"));
    let out = rimms(["bench", "apps", "--quick", "--app", "2fft", "--heap", "bitset:64"]);
    assert!(out.code == Some(0) && out.stdout.contains("bitset:64"), "{out:?}");
}
