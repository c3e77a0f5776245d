//! Whatever is wrong is one clear line on stderr that names it, nothing on stdout, and 2 for the arguments, 1 for the rest.

use std::fs;
use std::path::Path;

use super::rimms;

fn assert_error(args: &[&str], code: i32, parts: &[&str]) {
    let done = rimms(args);
    assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{args:?}: {done:?}");
    assert!(done.stderr.starts_with("error: ") && done.stderr.lines().count() == 1, "{args:?}: {done:?}");
    for part in parts {
        assert!(done.stderr.contains(part), "{args:?}: `{part}` is not in: {}", done.stderr);
    }
}

#[test]
fn arguments() {
    for (line, parts) in [
        ("", &["--help"][..]),
        ("run", &["<APP>"]),
        ("fly", &["fly"]),
        ("run 3fft", &["3fft", "2fft", "2fzf", "3zip", "radar-correlator", "pulse-doppler", "sar"]),
        ("run 2fft --colour", &["--colour"]),
        ("run pulse-doppler --shape 0x64", &["--shape", "0x64", "at least 1"]),
        ("run pulse-doppler --shape 128x0", &["--shape", "128x0"]),
        ("run pulse-doppler --shape 1x64", &["1x64", "at least 2"]),
        ("run pulse-doppler --shape -1x4", &["--shape", "-1x4"]),
        ("run pulse-doppler --shape 128", &["--shape", "128", "ROWSxCOLUMNS"]),
        ("run pulse-doppler --shape 99999999999999999999x2", &["--shape", "addressed"]),
        ("run pulse-doppler --shape 4294967296x4294967296", &["--shape", "addressed"]),
        ("run pulse-doppler --pri 0", &["PRI `0`"]),
        ("run pulse-doppler --pri -1e-4", &["PRI `-0.0001`"]),
        ("run pulse-doppler --pri nan", &["PRI `NaN`"]),
        ("run pulse-doppler --pri fast", &["--pri", "fast"]),
        ("run pulse-doppler --points 64", &["--points", "pulse-doppler"]),
        ("run 2fft --input x", &["--input", "2fft"]),
        ("run 2fft --shape 2x2", &["--shape", "2fft"]),
        ("run 2fft --pri 1", &["--pri", "2fft"]),
        ("run 2fft --conj host", &["--conj", "2fft"]),
        ("run 2fzf --input x", &["--input", "2fzf"]),
        ("run 3zip --conj host", &["--conj", "3zip"]),
        ("run 3zip --map zip=cpu", &["map `zip=cpu`", "known: zip-0, zip-1, zip-2"]),
        ("run radar-correlator --shape 2x2", &["--shape", "radar-correlator"]),
        ("run radar-correlator --pri 1", &["--pri", "radar-correlator"]),
        ("run radar-correlator --map pad=acc", &["pad", "known: fft-received"]),
        ("run 2fft --image x", &["--image", "2fft"]),
        ("run radar-correlator --image x", &["--image", "radar-correlator"]),
        ("run sar --points 64", &["--points", "sar"]),
        ("run sar --conj host", &["--conj", "sar"]),
        ("run sar --shape 1x512", &["1x512", "at least 2"]),
        ("run sar --style best --alloc each", &["--alloc each", "--style best"]),
        ("run 2fft --points 0", &["--points", "at least 1"]),
        ("run 2fft --points 99999999999999999999", &["--points", "whole number"]),
        ("run 2fft --repeat 0", &["--repeat", "at least 1"]),
        ("run 2fft --repeat -1", &["--repeat", "-1", "at least 1"]),
        ("run 2fft --points -1", &["--points", "-1", "at least 1"]),
        ("run 2fft --points --json", &["--points"]),
        ("run 2fft --on gpu", &["--on", "gpu", "cpu0", "acc0", "fft0", "zip0", "; no CUDA: ", "; no OpenCL: "]),
        ("run 2fft --on cpu,opencl", &["--on", "`opencl`", "zip0; no OpenCL: its loader"]),
        ("run 2fft --on cuda7", &["--on", "`cuda7`", "zip0; no CUDA: "]),
        ("run 2fft --on cpu99999", &["--on", "cpu99999"]),
        ("run 2fft --on cpu,", &["--on", "``"]),
        ("run 2fft --map fft", &["--map", "stage=PE"]),
        ("run 2fft --map fft=cpu,fft=acc", &["--map", "twice"]),
        ("run 2fft --map zip=cpu", &["map `zip=cpu`", "known: fft, ifft"]),
        ("run 2fft --map fft=gpu0", &["map `fft=gpu0`", "known: cpu, cpu0"]),
        ("run 2fft --on cpu --map fft=acc0", &["map `fft=acc0`", "known: cpu"]),
        ("run pulse-doppler --map pad=cpu", &["pad", "fft-pulse, fft-reference, zip, ifft, fft-doppler"]),
        ("run 2fft --memory shared", &["--memory", "shared", "valid-set"]),
        ("run 2fft --memory zero-copy", &["zero-copy", "acc0"]),
        ("run 2fft --watchdog 0", &["--watchdog", "from 1e-9 to 1e19"]),
        ("run 2fft --watchdog 1e300", &["--watchdog", "1e300", "from 1e-9 to 1e19"]),
        ("run 2fft --watchdog soon", &["--watchdog", "soon", "a number of seconds"]),
        ("run 2fft --policy best", &["policy `best`", "round-robin, random, met, eft, etf, heft-rt, locality"]),
        ("run 2fft --policy random:x", &["random", "seed `x`"]),
        ("run 2fft --fixed-costs", &["--costs"]),
        ("run 2fft --heap buddy", &["--heap", "buddy", "two-level"]),
        ("run 2fft --heap bitset:12", &["--heap", "12", "power of two"]),
        ("run 2fft --heap next-fit:8", &["--heap", "next-fit"]),
        ("run 2fft --alloc some", &["--alloc", "some", "each or fragment"]),
        ("run 2fft --style ugly", &["--style", "ugly", "paper or best"]),
        ("run 2fft --style best --alloc each", &["--alloc each", "--style best"]),
        ("run pulse-doppler --style best --alloc each", &["--alloc each", "--style best"]),
        ("run pulse-doppler --conj nobody", &["--conj", "nobody", "host or device"]),
        ("run 2fft --device-memory 2MB", &["--device-memory", "MB", "KiB"]),
        ("run 2fft --device-memory -1", &["--device-memory", "-1"]),
        ("run 2fft --device-memory -1KiB", &["--device-memory", "-1KiB"]),
        ("run 2fft --device-memory 0", &["--device-memory", "acc0"]),
        ("run 2fft --device-memory 99999TiB", &["--device-memory", "acc0"]),
        ("scene", &["--output"]),
        ("scene -o x --noise -1", &["noise `-1`"]),
        ("scene -o x --noise inf", &["noise `inf`"]),
        ("scene -o x --seed -1", &["--seed", "-1"]),
        ("scene -o x --shape -1x4", &["--shape", "-1x4"]),
        ("scene -o x --shape 1x1", &["1x1"]),
        ("scene -o x --targets 1", &["target `1`", "delay:doppler:amplitude"]),
        ("scene -o x --targets -1e-5:0:1", &["target", "delay from 0"]),
        ("scene -o x --targets 0:0:0", &["target", "amplitude"]),
        ("scene -o x --targets 0:1e9:1", &["target", "Hz wanted"]),
        ("devices --shape 1x1", &["--shape"]),
        ("bench dataflow --flow 4zip", &["4zip", "2fft", "2fzf", "3zip"]),
        ("bench dataflow --max-points 63", &["--max-points 63", "64 or more"]),
        ("bench dataflow --max-points many", &["--max-points", "many"]),
        ("bench dataflow --acc cpu0", &["--acc", "accelerator", "`cpu0`"]),
        ("bench dataflow --acc acc0,cpu", &["--acc", "accelerator", "`cpu`"]),
        ("bench dataflow --acc acc,acc0", &["--acc", "two different ones", "acc0 twice"]),
        ("bench dataflow --acc acc0,fft0,zip0", &["--acc", "one PE or two different ones", "not 3"]),
        ("bench dataflow --acc opencl0", &["--acc", "no PE is named `opencl0`", "no OpenCL: its loader"]),
        ("bench apps --app 3fft", &["3fft", "pulse-doppler"]),
        ("bench apps --repeat 1,0", &["--repeat", "at least 1"]),
        ("bench apps --heap buddy", &["--heap", "two-level"]),
        ("bench apps --memory zero-copy", &["zero-copy", "acc0"]),
        ("bench apps --alloc some", &["--alloc", "each or fragment"]),
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        assert_error(&args, 2, parts);
        assert!(!Path::new("x").exists(), "nothing is written for a mistake");
    }
}

/// Nor is a reason given that is of something else.
#[test]
fn drivers_are_no_reason_for_what_has_none() {
    let both = &["CUDA", "OpenCL"][..];
    for (wanted, others) in [("acc7", both), ("cpu99999,opencl0", both), ("opencl0", &["CUDA"])] {
        let stderr = rimms(["run", "2fft", "--on", wanted]).stderr;
        assert!(others.iter().all(|other| !stderr.contains(other)), "{stderr}");
    }
}

#[test]
fn names_with_control_characters_move_no_cursor() {
    for (args, code) in [
        (&["run", "2fft", "--on", "\u{1b}[2Jx\ty\u{7}\r\nz\u{9b}1A"][..], 2),
        (&["run", "2fft", "--\u{1b}[31m"], 2),
        (&["run", "pulse-doppler", "--input", "no\u{1b}[2Jsuch\u{8}file"], 1),
    ] {
        assert_error(args, code, &[]);
        let stderr = rimms(args).stderr;
        assert!(!stderr.trim_end_matches('\n').contains(char::is_control), "{stderr:?}");
    }
}

#[test]
fn more_than_the_machine_has() {
    for (line, parts) in [
        ("run pulse-doppler --shape 10000000x10000000", &["no memory", "bytes wanted"][..]),
        ("run 2fft --points 1000000000000000", &["no memory", "bytes wanted"]),
        ("run 2fzf --points 1000000000000000", &["no memory", "bytes wanted"]),
        ("run 3zip --points 1000000000000000", &["no memory", "bytes wanted"]),
        ("run radar-correlator --points 1000000000000000", &["no memory", "bytes wanted"]),
        ("run sar --shape 10000000x10000000", &["no memory", "bytes wanted"]),
        ("scene -o x --shape 10000000x10000000", &["no memory", "bytes wanted"]),
        ("run 2fft --on acc --device-memory 64", &["acc0", "8192 bytes", "64"]),
        ("run pulse-doppler --on acc --device-memory 1KiB", &["acc0", "1024", "can never hold", "fft of 128"]),
        ("run 2fft --on zip", &["no PE can run fft", "zip0"]),
        ("run 2fft --on fft --points 100", &["fft0", "16 to 2048", "100"]),
    ] {
        let args: Vec<&str> = line.split_whitespace().collect();
        assert_error(&args, 1, parts);
    }
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let numbers = |n: usize| (0..n).map(|i| format!("{i} ")).collect::<String>().into_bytes();
    let input = |path: &str, parts: &[&str]| {
        assert_error(&["run", "pulse-doppler", "--input", path, "--shape", "2x3"], 1, parts);
    };
    write("pulse_3.txt", &numbers(6));

    let missing = folder.path().join("missing.txt");
    input(missing.to_str().unwrap(), &["missing.txt", "No such file"]);
    input(&write("empty.txt", b""), &["empty.txt", "empty"]);
    input(&write("blank.txt", b" \n\t\n"), &["blank.txt", "empty"]);
    input(&write("word.txt", b"1 2\n3 four 5"), &["word.txt:2:3", "four"]);
    input(&write("nan.txt", b"1 2 3 4\n\n  nan 6"), &["nan.txt:3:3", "nan", "finite"]);
    input(&write("inf.txt", b"1e99"), &["inf.txt:1:1", "finite"]);
    input(&write("short.txt", &numbers(11)), &["short.txt", "12 numbers wanted", "11 found"]);
    input(&write("long.txt", &numbers(14)), &["long.txt", "12 numbers wanted", "14 found"]);
    input(&write("binary.txt", &[0, 159, 146, 150]), &["binary.txt:1:1"]);
    input(&write("fake.npy", b"\x93NUMPY\x01"), &["fake.npy"]);
    input(&write("fake2.npy", b"no array"), &["fake2.npy"]);
    write("none/readme.txt", b"nothing");
    input(folder.path().join("none").to_str().unwrap(), &["none", "no recording"]);
    input(&write("alone/pulses_2x3.txt", &numbers(12)), &["pulses_2x3.txt", "no reference pulse"]);
    write("bad/pulse_3.txt", b"1 2 x");
    input(&write("bad/pulses_2x3.txt", &numbers(12)), &["pulse_3.txt:1:5"]);
    write("loud/pulse_3.txt", b"3e38 0 3e38 0 3e38 0");
    let loud = write("loud/pulses_2x3.txt", b"3e38 0 3e38 0 3e38 0 3e38 0 3e38 0 3e38 0");
    for style in ["paper", "best"] {
        let args = ["run", "pulse-doppler", "--input", &loud, "--style", style];
        assert_error(&args, 1, &["too large for single precision"]);
    }
    // And one that is right, so that the rest fails for the reason it names.
    let right = write("right.txt", &numbers(12));
    let done = rimms(["run", "pulse-doppler", "--input", &right, "--shape", "2x3"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let inside = file.join("scene");
    assert_error(&["scene", "-o", inside.to_str().unwrap()], 1, &["scene", "Not a directory"]);
    let args = ["run", "sar", "--shape", "4x4", "--on", "cpu", "--image", inside.to_str().unwrap()];
    assert_error(&args, 1, &["file/scene", "Not a directory"]);
}
