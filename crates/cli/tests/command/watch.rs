//! Applications under the checkers and counters of simulated devices.

use serde_json::Value;

use super::json::assert_keys;
use super::{json, rimms};

const COUNTS: &[&str] =
    &["device", "kernel", "space", "loads", "load_bytes", "stores", "store_bytes", "atomics", "atomic_bytes"];

#[test]
fn the_applications_are_clean() {
    let mut lines: Vec<String> =
        ["2fft --points 1000", "2fft --repeat 3", "2fft --map fft=acc,ifft=acc"].map(Into::into).into();
    for style in ["paper", "best"] {
        for memory in ["reference", "last-resource", "valid-set"] {
            lines.push(format!("pulse-doppler --shape 16x32 --style {style} --memory {memory}"));
        }
        lines.push(format!("pulse-doppler --style {style} --on acc"));
    }
    // Blocks that come and go, and are used again.
    lines.push("pulse-doppler --style paper --on acc --device-memory 8KiB".into());
    lines.push("pulse-doppler --style paper --alloc each --heap bitset:64 --on fft,zip,cpu".into());
    for line in lines {
        let args: Vec<&str> = ["run", "--json", "--check"].into_iter().chain(line.split(' ')).collect();
        let report = json(&args);
        for run in [&report, &report["reference"]] {
            assert_eq!(run["findings"], Value::Array(Vec::new()), "{line}");
            assert!(run["mem_counts"].is_null());
        }
    }
}

#[test]
fn counts_are_those_of_the_calls() {
    let args = ["run", "2fft", "--json", "--points", "1024", "--on", "acc", "--repeat", "3", "--mem-counts"];
    let report = json(&args);
    let counts = |run: &Value| {
        let rows = run["mem_counts"].as_array().unwrap().clone();
        rows.iter().for_each(|row| assert_keys(row, COUNTS));
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let keys = ["loads", "load_bytes", "stores", "store_bytes", "atomics", "atomic_bytes"];
        let of = |row: &Value| (row["kernel"].as_str().map(str::to_owned), keys.map(|key| number(row, key)));
        rows.iter().map(of).collect::<Vec<_>>()
    };
    let kernel = |name: &str| (Some(name.to_owned()), [3, 3 * 8192, 3, 3 * 8192, 0, 0]);
    // Newest bytes stay where they are: one copy in and one out for each input. By the reference all go both ways.
    let host = |times| (None, [times, times * 8192, times, times * 8192, 0, 0]);
    assert_eq!(counts(&report), [host(3), kernel("fft"), kernel("ifft")]);
    assert_eq!(counts(&report["reference"]), [host(6), kernel("fft"), kernel("ifft")]);
    assert!(report["findings"].is_null());
}

#[test]
fn people_get_a_table_and_a_verdict() {
    let done = rimms(["run", "2fft", "--on", "acc", "--check", "--mem-counts"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in ["memory of devices, valid-set", "memory of devices, reference run", "(host)", "ifft", "8192"] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    assert!(done.stdout.contains("findings, valid-set: none") && done.stdout.contains("findings, reference run: none"));
    let plain = rimms(["run", "2fft", "--on", "acc"]);
    assert!(!plain.stdout.contains("findings") && !plain.stdout.contains("(host)"));
}

#[test]
fn there_has_to_be_something_to_watch() {
    for option in ["--check", "--mem-counts"] {
        let done = rimms(["run", "2fft", "--on", "cpu", option]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
        assert!(done.stderr.contains(option) && done.stderr.contains("simulated devices"), "{done:?}");
    }
}

#[test]
fn the_keys_of_findings_are_described() {
    const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"));
    for key in ["findings", "mem_counts", "device", "kind", "kernel", "buffer", "space", "offset", "size", "message"] {
        assert!(DOCS.contains(&format!("`{key}`")), "{key}");
    }
}
