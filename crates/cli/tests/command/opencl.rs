//! OpenCL devices: which there are, which there are not, and the applications on them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rimms_radar::recordings;
use serde_json::Value;

use super::json::assert_keys;
use super::{Done, command, done};

const POCL: &str = "/etc/OpenCL/vendors/pocl.icd";

/// The command with drivers from here.
fn with_drivers(at: &Path, args: &[&str]) -> Command {
    let mut command = command(args);
    command.env("OCL_ICD_VENDORS", at).env("POCL_DEVICES", "pthread basic").env("RUSTICL_ENABLE", "llvmpipe");
    // Built programs are kept from one run to the next, but not in the user's folder.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// The same with PoCL and its two devices; `None` where it is not here.
fn pocl(args: &[&str]) -> Option<Command> {
    if !Path::new(POCL).exists() {
        println!("left out: PoCL is not here");
        return None;
    }
    Some(with_drivers(POCL.as_ref(), args))
}

fn with_pocl(args: &[&str]) -> Option<Done> {
    pocl(args).map(done)
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
    let done = done(with_drivers(folder.path(), &["devices"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    // The loader itself may be missing too.
    let is_named =
        done.stdout.contains("broken.icd names \"libnowhere.so.1\"") || done.stdout.contains("libOpenCL.so.1");
    assert!(is_named && done.stdout.contains("simulated"), "{done:?}");
}

#[test]
fn a_file_on_which_the_loader_would_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.icd"), "\0").unwrap();
    let done = done(with_drivers(folder.path(), &["devices"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("x.icd begins with a NUL byte") && done.stdout.contains("acc0"), "{done:?}");
}

#[cfg(unix)]
#[test]
fn a_file_that_never_ends_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("x.icd")).unwrap();
    let done = done(with_drivers(folder.path(), &["devices"]));
    assert!(done.code == Some(0) && done.stdout.contains("x.icd is no file"), "{done:?}");
}

#[test]
fn drivers_that_lead_nowhere_are_told_of_beside_one_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(pocl) = std::fs::read(POCL) else { return };
    std::fs::write(folder.path().join("pocl.icd"), pocl).unwrap();
    std::fs::write(folder.path().join("gone.icd"), "/usr/lib/nowhere.so\n").unwrap();
    std::fs::write(folder.path().join("other.icd"), "libc.so.6\n").unwrap();
    std::fs::write(folder.path().join("binary.icd"), [0xff, 0xfe, 0]).unwrap();
    let listing = report(&done(with_drivers(folder.path(), &["devices", "--json"])));
    assert_eq!(listing["resources"][1]["name"], "opencl0");
    let missing: Vec<&str> = listing["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (file, why) in [("gone.icd", "cannot be loaded"), ("other.icd", "no driver"), ("binary.icd", "no text")] {
        assert!(missing.iter().any(|line| line.contains(file) && line.contains(why)), "{file}: {missing:?}");
    }
    assert!(!missing.iter().any(|line| line.contains("pocl.icd")), "{missing:?}");
}

#[test]
fn the_chain_is_for_one_opencl_device() {
    for on in ["opencl", "opencl0,opencl1", "cpu0"] {
        let Some(done) = with_pocl(&["bench", "chain", "--quick", "--on", on]) else { return };
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("one OpenCL device is wanted"), "{done:?}");
    }
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
    // The first one lends, to the second too.
    assert!(from.is_some(), "{done:?}");
}

#[test]
fn devices_say_which_mode_data_are_in() {
    let Some(done) = with_pocl(&["devices"]) else { return };
    // It depends on what was measured just now.
    let of = |start: &str| done.stdout.lines().filter(|line| line.starts_with(start)).count();
    let copied = of("data are copied by default (mode valid-set): mapping the host's memory never pays (opencl");
    assert_eq!(of("data are in mode zero-copy from ") + copied, 1, "{done:?}");
}

#[test]
fn the_drivers_reason_is_given_for_a_device_that_cannot_be_had() {
    for (memory, why) in [("1PiB", "1125899906842624 bytes in one piece are wanted"), ("0", "give it at least 1 B")] {
        let Some(done) = with_pocl(&["run", "2fft", "--on", "opencl", "--device-memory", memory]) else { return };
        assert_eq!((done.code, done.stderr.lines().count()), (Some(2), 1), "{done:?}");
        assert!(done.stderr.contains("no PE is named `opencl`") && done.stderr.contains(why), "{done:?}");
    }
}

#[test]
fn a_kind_of_two_is_no_accelerator() {
    for (acc, parts) in [("opencl", "`opencl` is several: opencl0, opencl1"), ("opencl0,opencl0", "opencl0 twice")] {
        let Some(done) = with_pocl(&["bench", "dataflow", "--quick", "--acc", acc]) else { return };
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
        assert!(done.stderr.contains("--acc: ") && done.stderr.contains(parts), "{done:?}");
    }
}

/// Wherever calls may go: costs send all of both runs to one device here, and the other has built as much all the same.
#[test]
fn kernels_are_built_on_all_devices_before_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("costs.json");
    let cost = |pe, ns| format!(r#"{{ "op": "fft", "pe": "{pe}", "size": 1024, "ns": {ns}, "measured": 1 }}"#);
    let text =
        format!(r#"{{ "version": 1, "costs": [ {}, {} ] }}"#, cost("opencl0", 1), cost("opencl1", 1_000_000_000));
    std::fs::write(&costs, text).unwrap();
    let built = |on: &str| {
        let cache = folder.path().join(on);
        let costs = costs.to_str().unwrap();
        let args = ["run", "2fft", "--on", on, "--policy", "eft", "--costs", costs, "--fixed-costs"];
        let mut command = pocl(&args)?;
        command.env("XDG_CACHE_HOME", &cache);
        let done = done(command);
        let calls = done.stdout.lines().find(|line| line.contains("calls on opencl1"));
        assert!(calls.is_none_or(|calls| calls.matches(" 0 ").count() == 2), "{done:?}");
        Some(std::fs::read_dir(cache.join("rimms/opencl")).unwrap().count())
    };
    let Some(one) = built("opencl0") else { return };
    assert!(one > 0);
    assert_eq!(built("opencl0,opencl1"), Some(2 * one));
}

#[test]
fn all_drivers_at_once() {
    let vendors = Path::new("/etc/OpenCL/vendors");
    if !vendors.exists() {
        return;
    }
    let done = done(with_drivers(vendors, &["devices"]));
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

/// The contenders of each length, and what holds of all rows.
fn contenders(done: &Done) -> Vec<Vec<String>> {
    let listing = report(done);
    let mut contenders: Vec<(u64, Vec<String>)> = Vec::new();
    for row in listing["rows"].as_array().unwrap() {
        assert_keys(row, &["floats", "contender", "laps", "time_s", "ratio", "over_copies"]);
        let of = |key: &str| row[key].as_f64().unwrap();
        assert!(of("time_s") > 0.0 && of("ratio") > 0.0 && of("over_copies") > 0.0 && row["laps"] == 3, "{row}");
        for (base, ratio) in [("plain OpenCL", "ratio"), ("valid-set", "over_copies")] {
            assert!(row["contender"] != base || of(ratio) == 1.0, "{row}");
        }
        let (floats, contender) = (row["floats"].as_u64().unwrap(), row["contender"].as_str().unwrap().to_owned());
        match contenders.last_mut() {
            Some((length, of_length)) if *length == floats => of_length.push(contender),
            _ => contenders.push((floats, vec![contender])),
        }
    }
    assert_eq!(contenders.iter().map(|(floats, _)| *floats).collect::<Vec<_>>(), [64, 2048, 16_384, 1 << 18]);
    contenders.into_iter().map(|(_, of_length)| of_length).collect()
}

const CHAIN: [&str; 6] = ["bench", "chain", "--quick", "--json", "--on", "opencl1"];

/// Its output is compared with the known one by the command, which says so if it is another.
#[test]
fn the_chain_is_measured_beside_plain_opencl_and_starpu() {
    let Some(done) = with_pocl(&CHAIN) else { return };
    let has_starpu = Command::new("pkg-config").args(["--exists", "starpu-1.3"]).status().is_ok_and(|s| s.success());
    let mut wanted = vec!["plain OpenCL", "valid-set", "zero-copy, mapped", "zero-copy"];
    if has_starpu {
        wanted.push("StarPU");
        assert_eq!(done.stderr, "");
    } else {
        println!("left out: StarPU is not here");
        assert_eq!(done.stderr.matches("StarPU is left out").count(), 1, "{done:?}");
    }
    assert!(contenders(&done).iter().all(|of_length| *of_length == wanted), "{done:?}");
}

/// Whatever keeps StarPU away is said in one line, once, and the others are measured.
#[test]
fn without_starpu_the_chain_is_measured_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let has = |name: &str, script: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    };
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let compiled = |script: &str| format!("printf '#!/bin/sh\n{script}\n' > $3; chmod +x $3");
    // What stands in for a compiler gives a program that does this instead.
    for (flags, compiler, wanted) in [
        (
            "echo no package >&2; exit 1",
            "exit 0",
            "it is not found (it takes pkg-config and Debian's libstarpu-dev): pkg-config: no package",
        ),
        ("echo -la", "echo cannot link >&2; exit 1", "cc: cannot link"),
        ("echo -la", "exit 0", "its program cannot be run: "),
        ("echo -la", &compiled("echo no worker >&2; exit 1"), "it ended: no worker"),
        ("echo -la", &compiled("read line; echo 5 3.5004; read line; echo 5 7"), "StarPU: Some(7.0) is wrong, 3.50"),
    ] {
        has("pkg-config", flags);
        has("cc", compiler);
        let Some(mut command) = pocl(&CHAIN) else { return };
        command.env("PATH", &path);
        let done = done(command);
        let others = ["plain OpenCL", "valid-set", "zero-copy, mapped", "zero-copy"];
        assert!(contenders(&done).iter().all(|of_length| *of_length == others), "{done:?}");
        let said = done.stderr.trim_start_matches("note: StarPU is left out").trim_start_matches(" from 64 floats on");
        let is_said = said.strip_prefix(": ").is_some_and(|said| said.starts_with(wanted));
        assert!(is_said && done.stderr.lines().count() == 1, "{wanted}: {done:?}");
    }
}

#[test]
fn what_is_no_opencl_device_is_refused_by_the_chain() {
    let done = done(command(["bench", "chain"]));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("no PE is named `opencl0`"), "{done:?}");
}
