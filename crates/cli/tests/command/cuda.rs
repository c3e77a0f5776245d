//! CUDA devices, of a driver in software: which there are, which there are not and why, and the applications on them.

use std::path::Path;

use fakecuda::Libraries;
use rimms_radar::recordings;
use serde_json::Value;

use super::{Done, command, done};

/// The command with these libraries.
fn with(libraries: &Libraries, args: &[&str], environment: &[(&str, &str)]) -> Done {
    let mut command = command(args);
    // What is compiled is kept from one run to the next, but not in the user's folder.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command.env("FAKECUDA_CACHE", env!("CARGO_TARGET_TMPDIR")).envs(environment.iter().copied());
    libraries.use_in(&mut command);
    done(command)
}

fn report(done: &Done) -> Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn without_a_driver_the_reason_is_said() {
    let done = done(command(["devices"]));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.stdout.contains("no CUDA: ") && done.stdout.contains("acc0"), "{done:?}");
}

#[test]
fn devices_are_listed_and_nothing_is_simulated_beside_them() {
    let done = with(&Libraries::new().unwrap(), &["devices", "--json"], &[("FAKECUDA_DEVICES", "2")]);
    let listing = report(&done);
    let names = |what: &str| -> Vec<String> {
        let entries = listing[what].as_array().unwrap();
        entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("resources"), ["host", "cuda0", "cuda1"]);
    assert!(names("pes").contains(&"cuda1".to_owned()));
    assert!(listing["resources"][1]["description"].as_str().unwrap().starts_with("Fake GPU 0, 64 MiB"));
}

#[test]
fn devices_say_why_data_are_copied() {
    let done = with(&Libraries::new().unwrap(), &["devices"], &[("FAKECUDA_DEVICES", "2")]);
    let line = "data are copied by default (mode valid-set): no memory shared with the host (cuda0, cuda1).";
    assert!(done.stdout.lines().any(|said| said == line), "{done:?}");
}

/// The driver has less than that.
#[test]
fn the_drivers_reason_is_given_for_a_device_that_cannot_be_had() {
    let args = ["run", "2fft", "--on", "cuda", "--device-memory", "1PiB"];
    let done = with(&Libraries::new().unwrap(), &args, &[]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("no PE is named `cuda`") && done.stderr.contains("zip0; "), "{done:?}");
}

/// Whatever is missing: the reason is said, and the exit code is 0.
#[test]
fn libraries_that_lack_something_are_named() {
    let all = || Libraries::new().unwrap();
    let symbol = |library, symbol| all().without_symbol(library, symbol).unwrap();
    let cases = [
        (symbol("cuda", "cuInit"), "no CUDA: libcuda.so has no function cuInit"),
        (symbol("cuda", "cuLaunchKernel"), "no CUDA: libcuda.so has no function cuLaunchKernel"),
        (symbol("nvrtc", "nvrtcGetPTX"), "cuda0 can do nothing: libnvrtc.so has no function nvrtcGetPTX"),
        (symbol("cufft", "cufftExecC2C"), "cuda0 makes no Fourier transforms: libcufft.so has no function"),
        (symbol("cublas", "cublasSgemm_v2"), "cuda0 multiplies matrices with a plain kernel: libcublas.so has no"),
        (all().without("nvrtc").unwrap(), "cuda0 can do nothing: libnvrtc.so is not here"),
        (all().without("cufft").unwrap(), "cuda0 makes no Fourier transforms: libcufft.so is not here"),
    ];
    for (libraries, wanted) in cases {
        let done = with(&libraries, &["devices"], &[]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{wanted}: {done:?}");
        assert!(done.stdout.contains(wanted), "{wanted}: {done:?}");
    }
    let done = with(&all(), &["devices"], &[("FAKECUDA_DEVICES", "0")]);
    assert!(done.code == Some(0) && done.stdout.contains("no CUDA: the driver has no device"), "{done:?}");
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let done = done(command(["run", "2fft", "--on", "cuda0"]));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("no PE is named `cuda0`"), "{done:?}");
}

/// Beside plain CUDA, where both do the same, in the same rounds.
#[test]
fn dataflow_is_measured_beside_plain_cuda() {
    if !has_compiler() {
        return;
    }
    let args = ["bench", "dataflow", "--acc", "cuda0", "--flow", "2fft", "--quick", "--json"];
    let listing = report(&with(&Libraries::new().unwrap(), &args, &[]));
    let rows = listing["rows"].as_array().unwrap();
    let of = |memory: &str| -> Vec<&Value> {
        rows.iter().filter(|row| row["placement"] == "acc-acc" && row["memory"] == memory).collect()
    };
    assert_eq!([of("reference"), of("valid-set"), of("zero-copy"), of("plain CUDA")].map(|rows| rows.len()), [2; 4]);
    for row in of("plain CUDA") {
        assert_eq!((row["copies"].as_u64(), row["copies_read"].as_u64()), (Some(1), Some(1)));
    }
}

fn has_compiler() -> bool {
    let is_here = Path::new("/usr/bin/g++").exists();
    if !is_here {
        println!("left out: g++, which compiles kernels for the driver in software, is not here");
    }
    is_here
}

/// The applications on a CUDA device make the copies that they make on a simulated one, find what they find there, and make none
/// in host memory.
#[test]
fn applications_find_the_same_with_the_same_copies() {
    if !has_compiler() {
        return;
    }
    let libraries = Libraries::new().unwrap();
    let recording = recordings::find("cedr/pulse_doppler").map(|folder| folder.to_str().unwrap().to_owned());
    let mut apps: Vec<Vec<&str>> = vec![vec!["2fft"], vec!["2fzf"], vec!["3zip"], vec!["radar-correlator"]];
    apps.push(vec!["sar", "--shape", "32x64"]);
    apps.push(vec!["pulse-doppler"]);
    if let Some(folder) = &recording {
        apps.push(vec!["pulse-doppler", "--input", folder]);
    }
    for app in apps {
        for style in ["paper", "best"] {
            let run = |on, memory| {
                [&["run"], &app[..], &["--json", "--style", style, "--on", on, "--memory", memory]].concat()
            };
            for memory in ["reference", "last-resource", "valid-set"] {
                let found = report(&with(&libraries, &run("cuda0", memory), &[]));
                let wanted = report(&done(command(run("acc", memory))));
                for key in ["copies", "bytes"] {
                    assert_eq!(found[key], wanted[key], "{app:?} {style} {memory}: {key}");
                }
                for key in ["peak_row", "peak_col", "delay_s", "doppler_hz"] {
                    assert_eq!(found["result"][key], wanted["result"][key], "{app:?} {style} {memory}: {key}");
                }
            }
            let shared = report(&with(&libraries, &run("cuda", "zero-copy"), &[]));
            let copies = shared["copies"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
            assert_eq!(copies, 0, "{app:?} {style}: {}", shared["copies"]);
        }
    }
}
