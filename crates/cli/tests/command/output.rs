//! Stdout and stderr: what is said where, and what happens when nobody reads it.

use std::fs::{File, OpenOptions};
use std::process::Stdio;

use super::{command, rimms};

#[test]
fn the_report_has_the_answer_beside_the_truth_and_both_runs() {
    let done = rimms(["run", "pulse-doppler"]);
    assert_eq!(done.code, Some(0));
    for part in [
        "Doppler (Hz)",
        "known",
        "the known cell",
        "copies host to device",
        "final copies",
        "Overall",
        "Computation",
        "reference run",
        "calls on acc0",
        "retries",
        "evictions",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    let row = done.stdout.lines().find(|line| line.contains("Doppler (Hz)")).unwrap();
    assert_eq!(row.matches("2046.004092").count(), 2, "{row}");
}

#[test]
fn each_application_says_what_it_found_beside_what_is_known() {
    for (app, parts) in [
        ("2fft", &["largest difference from the input"][..]),
        ("2fzf", &["largest difference from the known result", "two echoes"]),
        ("3zip", &["largest difference from the known result", "four signals"]),
        ("radar-correlator", &["lag (s)", "4.200000e-05", "the known lag", "1000000 Hz"]),
        ("sar", &["peak", "128, 256", "largest difference from the known image", "256x512"]),
    ] {
        let done = rimms(["run", app, "--style", "best"]);
        assert_eq!(done.code, Some(0), "{done:?}");
        for part in parts.iter().chain(&["reference run", "final copies"]) {
            assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
        }
    }
}

#[test]
fn both_runs_are_placed_alike() {
    let done = rimms(["run", "pulse-doppler"]);
    let rows = done.stdout.lines().filter(|line| line.contains("calls on"));
    let calls: Vec<(u64, u64)> = rows
        .map(|row| {
            let mut cells = row.split(['│', '┆']).filter_map(|cell| cell.trim().parse().ok());
            (cells.next().unwrap(), cells.next().unwrap())
        })
        .collect();
    assert!(calls.len() >= 4 && calls.iter().all(|(run, reference)| run == reference), "{}", done.stdout);
    assert!(calls.iter().any(|(run, _)| *run > 0));
}

#[test]
fn simulated_devices_are_called_so() {
    for args in [&["run", "2fft"][..], &["run", "2fft", "--json"]] {
        let done = rimms(args);
        assert!(done.stderr.contains("no real accelerator was found") && done.stderr.contains("acc0"), "{done:?}");
    }
    let done = rimms(["run", "2fft", "--on", "acc"]);
    assert!(done.stderr.contains("simulated: acc0") && !done.stderr.contains("no real"), "nobody has looked: {done:?}");
    let done = rimms(["run", "2fft", "--on", "cpu,acc"]);
    assert!(done.stderr.contains("acc0") && !done.stderr.contains("fft0") && !done.stderr.contains("zip0"), "{done:?}");
    let done = rimms(["run", "2fft", "--on", "cpu"]);
    assert_eq!(done.stderr, "", "none is used");
    let done = rimms(["devices"]);
    assert!(done.stdout.contains("simulated") && done.stdout.contains("no real accelerator"), "{done:?}");
}

#[test]
fn devices_say_why_data_are_copied() {
    let stdout = rimms(["devices"]).stdout;
    let line = "data are copied by default (mode valid-set): no memory shared with the host (acc0, fft0, zip0).";
    assert!(stdout.lines().any(|said| said == line), "{stdout}");
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["run", "--help"], &["scene", "--help"], &["--version"]] {
        let done = rimms(args);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        assert!(!done.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    for args in [&["run", "pulse-doppler"][..], &["run", "2fft", "--json"], &["devices"], &["--help"]] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        assert!(!String::from_utf8_lossy(&done.stderr).contains("panicked"), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_one() {
    for args in [&["run", "2fft", "--on", "cpu"][..], &["devices", "--json"], &["--help"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = command(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.starts_with("error: stdout") && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_has_no_room_takes_no_result_with_it() {
    let run = ["run", "pulse-doppler", "--shape", "8x16", "--on", "cpu"];
    let all = rimms(run);
    let printed =
        |text: &str| text.lines().filter(|line| line.contains("row, column")).map(str::to_owned).collect::<Vec<_>>();
    assert!(!printed(&all.stdout).is_empty(), "{all:?}");
    for option in ["--trace", "--image"] {
        let done = rimms(run.iter().chain(&[option, "/dev/full"]));
        assert_eq!(done.code, Some(1), "{done:?}");
        assert_eq!(printed(&done.stdout), printed(&all.stdout));
        assert!(done.stderr.contains(&format!("{option}: /dev/full cannot be written")), "{done:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nobody_listening_on_stderr_changes_nothing() {
    for (args, code) in [(&["run", "2fft", "--json"][..], 0), (&["run", "2fft", "--on", "x"], 2), (&["x"], 2)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = command(args).stderr(full).output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{args:?}");
    }
}
