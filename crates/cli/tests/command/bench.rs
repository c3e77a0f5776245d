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
