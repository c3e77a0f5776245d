//! The recorded inputs: the known answer, whatever the machine, the memory mode, the style and the heap.

use rimms_radar::recordings;
use serde_json::Value;

use super::{json, rimms};

const HEAPS: [&str; 4] = ["bitset", "bitset:64KiB", "next-fit", "two-level"];

fn folder() -> Option<String> {
    Some(recordings::find("cedr/pulse_doppler")?.to_str().unwrap().to_owned())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number wanted, not {value}"))
}

fn assert_answer(args: &[&str], report: &Value, doppler: &str, delay: &str, magnitude: f64, cell: (u64, u64)) {
    for run in [report, &report["reference"]] {
        let found = &run["result"];
        assert_eq!(format!("{:.6}", number(&found["doppler_hz"])), doppler, "{args:?}: {run}");
        assert_eq!(format!("{:.6e}", number(&found["delay_s"])), delay, "{args:?}: {run}");
        let relative = number(&found["magnitude"]) / magnitude - 1.0;
        assert!(relative.abs() < 1e-4, "{args:?}: {run}");
        assert_eq!((found["peak_row"].as_u64(), found["peak_col"].as_u64()), (Some(cell.0), Some(cell.1)));
        assert!(found["max_error"].is_null(), "no truth is known");
    }
}

#[test]
fn the_standard_recording_in_every_combination() {
    let Some(folder) = folder() else { return };
    for (on, modes) in [
        ("cpu", &["reference", "last-resource", "valid-set", "zero-copy"][..]),
        ("acc", &["reference", "last-resource", "valid-set"]),
        ("cpu,acc", &["reference", "last-resource", "valid-set"]),
    ] {
        for memory in modes {
            for style in ["paper", "best"] {
                for conj in ["host", "device"] {
                    for heap in HEAPS {
                        let args = [
                            "run",
                            "pulse-doppler",
                            "--json",
                            "--input",
                            &folder,
                            "--on",
                            on,
                            "--memory",
                            memory,
                            "--style",
                            style,
                            "--conj",
                            conj,
                            "--heap",
                            heap,
                        ];
                        let report = json(&args);
                        assert_answer(&args, &report, "62.000124", "3.830159e-5", 416.8205, (64, 82));
                        assert_eq!(report["memory"], *memory);
                        assert_eq!(report["style"], style);
                    }
                }
            }
        }
    }
}

#[test]
fn zero_copy_is_refused_where_a_device_has_a_memory_of_its_own() {
    for on in ["acc", "cpu,acc", "fft0"] {
        let done = rimms(["run", "pulse-doppler", "--on", on, "--memory", "zero-copy"]);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("--memory zero-copy") && done.stderr.contains("--on cpu"), "{done:?}");
    }
}

#[test]
fn both_ways_to_allocate_and_both_policies_with_every_pe() {
    let Some(folder) = folder() else { return };
    for alloc in ["each", "fragment"] {
        for policy in ["round-robin", "eft"] {
            let args = [
                "run",
                "pulse-doppler",
                "--json",
                "--input",
                &folder,
                "--alloc",
                alloc,
                "--policy",
                policy,
                "--repeat",
                "2",
            ];
            let report = json(&args);
            assert_answer(&args, &report, "62.000124", "3.830159e-5", 416.8205, (64, 82));
            assert_eq!(report["policy"], policy);
        }
    }
}

#[test]
fn the_older_recording_by_its_shape() {
    let Some(folder) = folder() else { return };
    let file = format!("{folder}/input_pd_ps.txt");
    for input in [&folder, &file] {
        for style in ["paper", "best"] {
            let args = ["run", "pulse-doppler", "--json", "--input", input, "--shape", "20x120", "--style", style];
            assert_answer(&args, &json(&args), "414.421881", "3.201681e-6", 130.611978, (10, 122));
        }
    }
}

#[test]
fn the_older_recording_in_the_standard_shape_is_refused_with_both_counts() {
    let Some(folder) = folder() else { return };
    let file = format!("{folder}/input_pd_ps.txt");
    for shape in [&["--shape", "128x64"][..], &[]] {
        let done = rimms([&["run", "pulse-doppler", "--input", &file][..], shape].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
        assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
        for part in ["input_pd_ps.txt", "16384 numbers wanted", "4800 found"] {
            assert!(done.stderr.contains(part), "{part}: {done:?}");
        }
    }
}

#[test]
fn the_counts_of_the_paper() {
    let Some(folder) = folder() else { return };
    for (memory, conj, copies, last) in [
        ("last-resource", "host", 768, 128),
        ("valid-set", "host", 641, 128),
        ("last-resource", "device", 512, 128),
        ("valid-set", "device", 385, 128),
    ] {
        let args =
            ["run", "pulse-doppler", "--json", "--input", &folder, "--on", "acc", "--memory", memory, "--conj", conj];
        let report = json(&args);
        let count = |run: &Value, key: &str| run["copies"][key].as_u64().unwrap();
        let all =
            |run: &Value| count(run, "host_to_device") + count(run, "device_to_host") + count(run, "device_to_device");
        assert_eq!((all(&report), count(&report, "final")), (copies, last), "{args:?}");
        assert_eq!((all(&report["reference"]), count(&report["reference"], "final")), (1408, 0));
        // Every copy is one row: 128 complex samples of 8 bytes.
        assert_eq!(report["bytes"]["final"], last * 1024);
    }
}

#[test]
fn sar_on_every_set_of_pes() {
    let Some(folder) = recordings::find("cedr/sar") else { return };
    let folder = folder.to_str().unwrap();
    for (on, modes) in
        [("cpu", &["zero-copy"][..]), ("acc", &["last-resource", "valid-set"]), ("cpu,acc", &["valid-set"])]
    {
        for memory in modes {
            for style in ["paper", "best"] {
                let args =
                    ["run", "sar", "--json", "--input", folder, "--on", on, "--memory", memory, "--style", style];
                let report = json(&args);
                for run in [&report, &report["reference"]] {
                    let found = &run["result"];
                    assert_eq!((found["peak_row"].as_u64(), found["peak_col"].as_u64()), (Some(127), Some(306)));
                    assert!((number(&found["peak"]) - 0.10563).abs() < 1e-4, "{args:?}: {run}");
                    assert!(number(&found["max_error"]) < 1e-4, "{args:?}: {run}");
                }
            }
        }
    }
}

#[test]
fn sar_from_a_numpy_array_of_the_recording() {
    let Some(folder) = recordings::find("cedr/sar") else { return };
    let echoes = rimms_radar::input::open_echoes(folder, None).unwrap();
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("echoes.npy");
    rimms_radar::npy::write(&file, &[256, 512], echoes.samples()).unwrap();
    for input in [other.path(), &file] {
        let report =
            json(&["run", "sar", "--json", "--on", "acc", "--style", "best", "--input", input.to_str().unwrap()]);
        assert_eq!(
            (report["result"]["peak_row"].as_u64(), report["result"]["peak_col"].as_u64()),
            (Some(127), Some(306))
        );
        assert!(report["result"]["max_error"].is_null(), "no image is beside it");
    }
}

#[test]
fn the_radar_correlators_recording_is_refused_with_both_counts_and_what_to_give() {
    let Some(folder) = recordings::find("cedr/radar_correlator") else { return };
    let args = ["run", "radar-correlator", "--input", folder.to_str().unwrap()];
    let done = rimms(args);
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.lines().count()), (Some(1), "", 1), "{done:?}");
    assert!(done.stderr.contains("512 numbers wanted") && done.stderr.contains("202 found"), "{done:?}");
    assert!(done.stderr.ends_with("; --points 101 takes what is there\n"), "{done:?}");
    assert_eq!(rimms(args.into_iter().chain(["--points", "101"])).code, Some(0));
}

#[test]
fn no_points_are_named_where_none_would_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("received.txt"), "1 0 2 0").unwrap();
    std::fs::write(folder.path().join("reference.txt"), "1 0 2 0 3 0").unwrap();
    let done = rimms(["run", "radar-correlator", "--input", folder.path().to_str().unwrap()]);
    assert!(done.stderr.contains("4 found") && !done.stderr.contains("--points"), "{done:?}");
}
