//! OpenCL devices: which there are, which there are not, and the applications on them.

use std::path::Path;

use rimms_radar::recordings;
use serde_json::Value;

use super::{Done, command, done};

const POCL: &str = "/etc/OpenCL/vendors/pocl.icd";

/// The command with drivers from here.
fn with_drivers(at: &Path, args: &[&str]) -> Done {
    let mut command = command(args);
    command.env("OCL_ICD_VENDORS", at).env("POCL_DEVICES", "pthread basic").env("RUSTICL_ENABLE", "llvmpipe");
    // Built programs are kept from one run to the next, but not in the user's folder.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    done(command)
}

/// The same with PoCL and its two devices; `None` where it is not here.
fn with_pocl(args: &[&str]) -> Option<Done> {
    if !Path::new(POCL).exists() {
        println!("left out: PoCL is not here");
        return None;
    }
    Some(with_drivers(POCL.as_ref(), args))
}

fn report(done: &Done) -> Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn without_a_driver_the_reason_is_said() {
    let done = done(command(["devices"]));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.stdout.contains("no OpenCL: its loader") && done.stdout.contains("acc0"), "{done:?}");
}

#[test]
fn a_driver_that_cannot_be_loaded_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.icd"), "libnowhere.so.1\n").unwrap();
    let done = with_drivers(folder.path(), &["devices"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    // The loader itself may be missing too.
    let is_named =
        done.stdout.contains("broken.icd names \"libnowhere.so.1\"") || done.stdout.contains("libOpenCL.so.1");
    assert!(is_named && done.stdout.contains("simulated"), "{done:?}");
}

#[test]
fn devices_are_listed_and_nothing_is_simulated_beside_them() {
    let Some(done) = with_pocl(&["devices", "--json"]) else { return };
    let listing = report(&done);
    let names: Vec<&str> =
        listing["resources"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["host", "opencl0", "opencl1"]);
    assert!(listing["resources"][1]["description"].as_str().unwrap().contains("Portable Computing Language"));
    // Which mode from which size, and what was measured.
    let from = listing["zero_copy_from"].as_u64();
    for resource in &listing["resources"].as_array().unwrap()[1..] {
        let sharing = &resource["sharing"];
        assert_eq!(sharing["lends"], true);
        let is_positive = |cost: &Value| ["copied_s", "mapped_s"].iter().all(|key| cost[key].as_f64().unwrap() > 0.0);
        assert!(sharing["costs"].as_array().unwrap().iter().all(is_positive), "{sharing}");
    }
    // The first one lends; where mapping pays for the second, both do without copies.
    assert_eq!(from.is_some(), listing["resources"][2]["sharing"]["mapping_pays_from"].is_u64(), "{done:?}");
}

#[test]
fn all_drivers_at_once() {
    let vendors = Path::new("/etc/OpenCL/vendors");
    if !vendors.exists() {
        return;
    }
    let done = with_drivers(vendors, &["devices"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

/// The applications on one OpenCL device make the copies that they make on a simulated one, find what they find there,
/// and make none where memory is shared.
#[test]
fn applications_find_the_same_with_the_same_copies() {
    let [pulses, echoes, reception] = ["cedr/pulse_doppler", "cedr/sar", "cedr/radar_correlator"]
        .map(|name| recordings::find(name).map(|folder| folder.to_str().unwrap().to_owned()));
    let mut apps: Vec<Vec<&str>> = vec![vec!["2fft"], vec!["2fzf"], vec!["3zip"], vec!["radar-correlator"]];
    apps.push(vec!["sar", "--shape", "32x64"]);
    apps.push(vec!["pulse-doppler"]);
    if let Some(folder) = &pulses {
        apps.push(vec!["pulse-doppler", "--input", folder]);
    }
    if let Some(folder) = &echoes {
        apps.push(vec!["sar", "--input", folder]);
    }
    if let Some(folder) = &reception {
        // What there is of it.
        apps.push(vec!["radar-correlator", "--input", folder, "--points", "101"]);
    }
    for app in apps {
        for style in ["paper", "best"] {
            let run = |on, memory| {
                [&["run"], &app[..], &["--json", "--style", style, "--on", on, "--memory", memory]].concat()
            };
            let Some(found) = with_pocl(&run("opencl0", "valid-set")) else { return };
            let (found, wanted) = (report(&found), report(&done(command(run("acc", "valid-set")))));
            assert_eq!(found["copies"], wanted["copies"], "{app:?} {style}");
            assert_eq!(found["bytes"], wanted["bytes"], "{app:?} {style}");
            assert_eq!(found["reference"]["copies"], wanted["reference"]["copies"], "{app:?} {style}");
            for key in ["peak_row", "peak_col", "delay_s", "doppler_hz"] {
                assert_eq!(found["result"][key], wanted["result"][key], "{app:?} {style}");
            }
            let shared = report(&with_pocl(&run("opencl", "zero-copy")).unwrap());
            let copies = shared["copies"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
            assert_eq!(copies, 0, "{app:?} {style}: {}", shared["copies"]);
            assert_eq!(shared["result"]["peak_row"], wanted["result"]["peak_row"], "{app:?} {style}");
        }
    }
}

/// From one device to another of the same platform: copies directly, in no mode more than on simulated ones; none in
/// mode zero-copy.
#[test]
fn dataflow_goes_from_device_to_device() {
    let args = ["bench", "dataflow", "--json", "--quick", "--flow", "2fft", "--acc", "opencl0,opencl1"];
    let Some(done) = with_pocl(&args) else { return };
    let listing = report(&done);
    let row = |memory: &str, points: u64| {
        let is_it =
            |row: &&Value| row["placement"] == "acc-other" && row["memory"] == memory && row["points"] == points;
        listing["rows"].as_array().unwrap().iter().find(is_it).unwrap().clone()
    };
    for points in [64, 128] {
        for (memory, copies, read) in
            [("reference", 4, 0), ("last-resource", 2, 1), ("valid-set", 2, 1), ("zero-copy", 0, 0)]
        {
            let row = row(memory, points);
            assert_eq!((&row["copies"], &row["copies_read"]), (&copies.into(), &read.into()), "{row}");
            assert!(row["max_error"].as_f64().unwrap() < 1e-4, "{row}");
        }
    }
}

#[test]
fn the_chain_is_measured_beside_plain_opencl() {
    let Some(done) = with_pocl(&["bench", "chain", "--quick", "--json"]) else { return };
    let listing = report(&done);
    let rows = listing["rows"].as_array().unwrap();
    let contenders: Vec<&str> = rows.iter().take(4).map(|row| row["contender"].as_str().unwrap()).collect();
    assert_eq!(contenders, ["plain OpenCL", "valid-set", "zero-copy, mapped", "zero-copy"]);
    assert!(rows.len() == 16 && rows.iter().all(|row| row["ratio"].as_f64().unwrap() > 0.0), "{done:?}");
}

#[test]
fn what_is_no_opencl_device_is_refused_by_the_chain() {
    let done = done(command(["bench", "chain"]));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("no PE is named `opencl0`"), "{done:?}");
}
