//! `--trace`: the file says what the report says.

use serde_json::Value;

use super::{json, rimms};

fn traced(args: &[&str]) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let report = json(&[&["run", "--json", "--trace", path.to_str().unwrap()], args].concat());
    let trace: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (report, trace["traceEvents"].as_array().unwrap().clone())
}

fn sum(flows: &Value) -> u64 {
    flows.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
}

#[test]
fn copies_calls_and_evictions_are_there_once() {
    let small = ["--device-memory", "8KiB", "--on", "acc"];
    for (app, more) in [
        ("2fft", &["--memory", "reference"][..]),
        ("3zip", &["--on", "zip,cpu"]),
        ("pulse-doppler", &small),
        ("sar", &["--style", "best", "--shape", "16x32"]),
    ] {
        let (report, events) = traced(&[&[app], more].concat());
        let slices = |pid: u64| events.iter().filter(move |e| e["ph"] == "X" && e["pid"] == pid);
        assert_eq!(slices(2).count() as u64, sum(&report["copies"]), "{app}");
        assert_eq!(
            slices(2).map(|e| e["args"]["bytes"].as_u64().unwrap()).sum::<u64>(),
            sum(&report["bytes"]),
            "{app}"
        );
        let evictions = events.iter().filter(|e| e["name"] == "eviction" && e["ph"] == "i").count() as u64;
        assert_eq!(evictions, report["evictions"], "{app}");
        assert_eq!(evictions > 0, more == small, "{app}");
        assert!(slices(1).all(|e| e["args"]["failed"] == false && e["dur"].as_f64().unwrap() >= 0.0), "{app}");
        assert!(slices(1).count() >= 2, "{app}");
    }
    // The warm-up is not in it: the application's two calls alone.
    let (_, events) = traced(&["2fft", "--on", "acc"]);
    let calls: Vec<&str> =
        (events.iter().filter(|e| e["ph"] == "X" && e["pid"] == 1)).map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(calls, ["fft of 1024", "ifft of 1024"]);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    let done = rimms(["run", "2fft", "--trace", "/nowhere/at/all.json"]);
    assert_eq!((done.code, &*done.stdout), (Some(1), ""));
    assert!(done.stderr.contains("--trace: /nowhere/at/all.json cannot be written"), "{}", done.stderr);
}
