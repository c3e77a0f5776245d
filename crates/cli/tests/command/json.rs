//! The keys are a contract: exactly those that `docs/json.md` describes.

use serde_json::Value;

use super::json;

const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"));

const RUN: &[&str] = &[
    "app",
    "memory",
    "zero_copy_from",
    "policy",
    "pes",
    "style",
    "result",
    "copies",
    "bytes",
    "time_s",
    "evictions",
    "retries",
];
const DETECTION: &[&str] = &["doppler_hz", "delay_s", "magnitude", "peak_row", "peak_col", "max_error"];
const DIRECTIONS: &[&str] = &["host_to_device", "device_to_host", "device_to_device", "final"];
const TIMES: &[&str] = &["overall", "computation", "allocate", "fragment"];

pub(crate) fn assert_keys(object: &Value, wanted: &[&str]) {
    let mut found: Vec<&String> = object.as_object().unwrap().keys().collect();
    let mut wanted = wanted.to_vec();
    found.sort();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    for key in wanted {
        assert!(DOCS.contains(&format!("`{key}`")), "docs/json.md says nothing of `{key}`");
    }
}

fn assert_run(report: &Value, result: &[&str]) {
    let reference = &report["reference"];
    assert_keys(report, &[RUN, &["reference"]].concat());
    assert_keys(reference, RUN);
    assert_eq!(reference["memory"], "reference");
    assert_eq!(report["pes"], reference["pes"]);
    for run in [report, reference] {
        assert_keys(&run["result"], result);
        assert_keys(&run["copies"], DIRECTIONS);
        assert_keys(&run["bytes"], DIRECTIONS);
        assert_keys(&run["time_s"], TIMES);
        let time = |key: &str| run["time_s"][key].as_f64().unwrap();
        assert!(time("overall") >= time("computation") + time("allocate") + time("fragment"));
        assert!(time("computation") > 0.0);
        assert_eq!(run["evictions"], 0);
    }
}

#[test]
fn pulse_doppler() {
    for style in ["paper", "best"] {
        let report = json(&["run", "pulse-doppler", "--json", "--style", style]);
        assert_run(&report, DETECTION);
        assert_eq!(report["app"], "pulse-doppler");
        assert!(report["result"]["max_error"].as_f64().unwrap() < 0.01);
        assert_eq!(report["pes"].as_array().unwrap().last().unwrap(), "zip0");
    }
}

#[test]
fn signals_with_a_known_result() {
    for app in ["2fzf", "3zip"] {
        for points in ["1024", "1", "7", "4096"] {
            for style in ["paper", "best"] {
                let report = json(&["run", app, "--json", "--points", points, "--style", style]);
                assert_run(&report, &["max_error"]);
                assert_eq!(report["app"], app);
                assert!(report["result"]["max_error"].as_f64().unwrap() < 1e-4, "{report}");
            }
        }
    }
}

#[test]
fn radar_correlator() {
    for style in ["paper", "best"] {
        for conj in ["host", "device"] {
            let args = ["run", "radar-correlator", "--json", "--style", style, "--conj", conj];
            let report = json(&args);
            assert_run(&report, &["lag_s", "lag_samples", "magnitude", "max_error"]);
            assert_eq!((&report["result"]["lag_samples"], &report["result"]["max_error"]), (&42.into(), &0.0.into()));
            assert!((report["result"]["lag_s"].as_f64().unwrap() - 42e-6).abs() < 1e-15);
        }
    }
}

#[test]
fn sar() {
    for style in ["paper", "best"] {
        for (shape, row, col) in [("256x512", 128, 256), ("20x33", 10, 16)] {
            // The paper's blocks have room for one matrix, so they would evict.
            let args = ["run", "sar", "--json", "--on", "cpu,acc", "--style", style, "--shape", shape];
            let report = json(&args);
            assert_run(&report, &["peak", "peak_row", "peak_col", "max_error"]);
            let result = &report["result"];
            assert_eq!((&result["peak_row"], &result["peak_col"]), (&row.into(), &col.into()), "{style} {shape}");
            assert!(result["max_error"].as_f64().unwrap() < 1e-5, "{report}");
        }
    }
}

#[test]
fn a_run_is_repeatable() {
    let runs = [(), ()].map(|()| json(&["run", "pulse-doppler", "--json"]));
    assert_eq!(runs[0]["policy"], "round-robin");
    for key in ["copies", "bytes", "result"] {
        assert_eq!(runs[0][key], runs[1][key]);
        assert_eq!(runs[0]["reference"][key], runs[1]["reference"][key]);
    }
}

#[test]
fn two_fft() {
    for points in ["1024", "1", "7", "4096"] {
        let report = json(&["run", "2fft", "--json", "--points", points]);
        assert_run(&report, &["max_error"]);
        assert_eq!(report["app"], "2fft");
        assert!(report["result"]["max_error"].as_f64().unwrap() < 1e-5, "{report}");
    }
}

#[test]
fn two_fft_by_placement() {
    for (map, to_device, to_host, last) in
        [("fft=cpu,ifft=acc", 1, 0, 1), ("fft=acc0,ifft=cpu0", 1, 1, 0), ("fft=cpu,ifft=cpu", 0, 0, 0)]
    {
        let report = json(&["run", "2fft", "--json", "--on", "cpu,acc", "--map", map, "--repeat", "3"]);
        let count = |key: &str| report["copies"][key].as_u64().unwrap();
        let found = (count("host_to_device"), count("device_to_host"), count("final"));
        assert_eq!(found, (3 * to_device, 3 * to_host, 3 * last), "{map}");
    }
}

#[test]
fn devices() {
    let listing = json(&["devices", "--json"]);
    assert_keys(&listing, &["resources", "pes", "zero_copy_from", "missing"]);
    assert_keys(&listing["resources"][0], &["name", "description", "capacity", "simulated", "sharing"]);
    assert_keys(&listing["pes"][0], &["name", "kind", "resource", "can", "simulated"]);
    assert_eq!(listing["resources"][0]["name"], "host");
    let pes = listing["pes"].as_array().unwrap();
    for (name, simulated) in [("cpu0", false), ("acc0", true), ("fft0", true), ("zip0", true)] {
        let pe = pes.iter().find(|pe| pe["name"] == name).unwrap();
        assert_eq!(pe["simulated"], simulated);
    }
}

#[test]
fn a_device_with_room_for_little_more_than_one_call_gives_the_same_answer() {
    let run =
        |more: &[&str]| json(&[&["run", "pulse-doppler", "--style", "paper", "--on", "acc", "--json"], more].concat());
    let roomy = run(&[]);
    assert_eq!(roomy["evictions"], 0);
    for memory in ["reference", "last-resource", "valid-set"] {
        let tight = run(&["--device-memory", "8KiB", "--memory", memory]);
        assert!(tight["evictions"].as_u64().unwrap() > 0, "{tight}");
        assert_eq!(tight["result"], roomy["result"]);
    }
}
