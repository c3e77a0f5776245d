//! `--costs FILE`: what one run has measured, the next begins with; and policies that have nothing to do with time.

use std::fs;

use serde_json::Value;

use super::{json, rimms};

fn costs(file: &str) -> Vec<Value> {
    let table: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(table["version"], 1);
    table["costs"].as_array().unwrap().clone()
}

#[test]
fn a_run_keeps_what_others_have_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("costs.json");
    let file = file.to_str().unwrap();

    json(&["run", "2fft", "--on", "acc", "--repeat", "3", "--costs", file, "--json"]);
    let first = costs(file);
    // The warm-up and three repeats, with an FFT and its inverse each.
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!((&first[0]["op"], &first[0]["pe"], &first[0]["size"]), (&"fft".into(), &"acc0".into(), &1024.into()));
    assert_eq!(first[0]["measured"], 8, "{first:?}");

    json(&["run", "2fft", "--on", "cpu0", "--costs", file, "--json"]);
    let second = costs(file);
    let of = |pe: &str| second.iter().find(|cost| cost["pe"] == pe).unwrap_or_else(|| panic!("{pe}: {second:?}"));
    assert_eq!((of("acc0"), &of("cpu0")["measured"]), (&first[0], &4.into()));

    json(&["run", "2fft", "--on", "acc", "--costs", file, "--json"]);
    let third = costs(file);
    assert_eq!(third.iter().find(|cost| cost["pe"] == "acc0").unwrap()["measured"], 12, "{third:?}");
}

#[test]
fn fixed_costs_place_calls_the_same_way_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("costs.json");
    let text = r#"{ "version": 1, "costs": [
        { "op": "fft", "pe": "cpu", "size": 128, "ns": 900, "measured": 1 },
        { "op": "fft", "pe": "acc", "size": 128, "ns": 300, "measured": 1 },
        { "op": "zip", "pe": "cpu", "size": 128, "ns": 100, "measured": 1 },
        { "op": "zip", "pe": "acc", "size": 128, "ns": 300, "measured": 1 } ] }"#;
    fs::write(&file, text).unwrap();
    let arguments = ["--on", "cpu0,acc0", "--policy", "met", "--costs", file.to_str().unwrap(), "--fixed-costs"];
    let args: Vec<&str> = ["run", "pulse-doppler", "--json"].into_iter().chain(arguments).collect();
    let copies = || json(&args)["copies"].clone();
    let first = copies();
    // Spectra from the accelerator, products on the CPU, and back: a pulse takes a copy in, two out, one in and one out.
    assert_eq!(first["device_to_host"], 3 * 128, "{first}");
    for _ in 0..2 {
        assert_eq!(copies(), first);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "it stays as it was");
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("costs.json");
    let missing = folder.path().join("missing.json");
    let [empty, blank] = ["empty.json", "blank.json"].map(|name| folder.path().join(name));
    fs::write(&file, "{ \"version\": 1, \"costs\": [ {} ] }").unwrap();
    fs::write(&empty, "").unwrap();
    fs::write(&blank, " \n").unwrap();
    for (args, said) in [
        (&["--costs", file.to_str().unwrap()][..], "missing field `op`"),
        (&["--costs", missing.to_str().unwrap(), "--fixed-costs"], "missing.json: No such file"),
        (&["--costs", folder.path().to_str().unwrap()], "directory"),
        (&["--costs", empty.to_str().unwrap()], "empty.json: empty: costs that a run has written are wanted"),
        (&["--costs", blank.to_str().unwrap(), "--fixed-costs"], "blank.json: empty: costs"),
        // These never end.
        (&["--costs", "/dev/zero"], "/dev/zero: not a regular file"),
        (&["--costs", "/dev/full", "--fixed-costs"], "/dev/full: not a regular file"),
    ] {
        let done = rimms(["run", "2fft"].iter().chain(args));
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{done:?}");
        assert!(done.stderr.contains(said) && done.stderr.lines().count() == 1, "{done:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"version\": 1, \"costs\": [ {} ] }");
    assert!(!missing.exists() && fs::read_to_string(&empty).unwrap().is_empty());
}

#[test]
fn a_seed_places_calls_the_same_way_each_time() {
    let copies = |seed: &str| {
        let policy = format!("random:{seed}");
        json(&["run", "pulse-doppler", "--on", "cpu0,acc0", "--policy", &policy, "--json"])["copies"].clone()
    };
    assert_eq!(copies("5"), copies("5"));
    let different = ["6", "7", "8"].iter().filter(|seed| copies(seed) != copies("5")).count();
    assert!(different > 0);
}
