//! C and C++ programs against the installed package: the paper's Listing 4, pulse Doppler, the wrapper, what the interface
//! does when it is used rightly, wrongly, and by threads in any order. The last two under valgrind and AddressSanitizer too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod installed;

use installed::{both, compile, compile_with, pkg_config, prefix, succeed};
use std::process::Command;

/// Machines that programs run on, by settings in the environment.
const MACHINES: [(&str, &[(&str, &str)]); 6] = [
    ("CPU", &[("RIMMS_CPUS", "2")]),
    ("accelerator", ACC),
    ("last resource", &[("RIMMS_DEVICES", "acc0"), ("RIMMS_ON", "acc0"), ("RIMMS_MEMORY", "last-resource")]),
    ("reference", &[("RIMMS_DEVICES", "acc0"), ("RIMMS_ON", "acc0"), ("RIMMS_MEMORY", "reference")]),
    ("all in turn", &[("RIMMS_DEVICES", "acc0,fft0,zip0"), ("RIMMS_CPUS", "1"), ("RIMMS_POLICY", "round-robin")]),
    ("little room", &[("RIMMS_DEVICES", "acc0:8KiB,acc1"), ("RIMMS_CPUS", "1"), ("RIMMS_POLICY", "round-robin")]),
];

const ACC: &[(&str, &str)] = &[("RIMMS_CPUS", "1"), ("RIMMS_DEVICES", "acc0:1MiB"), ("RIMMS_ON", "acc0")];

#[test]
fn listing_4_in_c_and_in_cpp_on_every_machine() {
    for source in ["examples/listing4.c", "examples/listing4.cpp"] {
        let Some(program) = compile(source, &[]) else { return };
        for (machine, settings) in MACHINES {
            let said = succeed(program.command().envs(settings.iter().copied()));
            assert!(said.contains("the tone is in bin 16"), "{source} on {machine}: {said}");
            // One copy a fragment there, all of them as one back.
            let copies = if machine == "CPU" { Some((0, 0)) } else { (machine == "accelerator").then_some((64, 1)) };
            if let Some((to, back)) = copies {
                assert!(
                    said.contains(&format!("calls 64, copies to devices {to}, back {back}\n")),
                    "{machine}: {said}"
                );
            }
        }
    }
}

#[test]
fn pulse_doppler_in_cpp_finds_the_target_on_every_machine() {
    let Some(program) = compile("examples/pulse_doppler.cpp", &[]) else { return };
    for (machine, settings) in MACHINES {
        let said = succeed(program.command().envs(settings.iter().copied()));
        assert!(said.contains("an echo 23 samples late, -37 turns of phase"), "{machine}: {said}");
        if machine == "accelerator" {
            assert!(said.contains("calls 8, copies to devices 2, back 1\n"), "{said}");
        }
    }
}

/// PoCL alone, where it is.
const POCL: &str = "/etc/OpenCL/vendors/pocl.icd";

#[test]
fn on_devices_with_an_opencl_driver() {
    let settings =
        [("RIMMS_DEVICES", "opencl"), ("RIMMS_ON", "opencl"), ("RIMMS_CPUS", "1"), ("OCL_ICD_VENDORS", POCL)];
    let programs = [
        ("examples/listing4.c", "the tone is in bin 16"),
        ("examples/pulse_doppler.cpp", "an echo 23 samples late, -37 turns of phase"),
    ];
    for (source, answer) in programs {
        let Some(program) = compile(source, &[]) else { return };
        if std::path::Path::new(POCL).exists() {
            let said = succeed(program.command().envs(settings));
            assert!(said.contains(answer), "{source}: {said}");
        } else {
            eprintln!("left out: {source} on an OpenCL device (package pocl-opencl-icd is not here)");
        }
        // Without a driver there is an error, and not a program that runs elsewhere.
        let output = program.command().envs(settings).env("OCL_ICD_VENDORS", "/no/such/folder").output().unwrap();
        assert!(!output.status.success() && both(&output).contains("no OpenCL"), "{source}: {}", both(&output));
    }
}

#[test]
fn the_static_library_will_do_too() {
    let Some(flags) = pkg_config(&["--static", "--cflags", "--libs"]) else { return };
    let archive = prefix().unwrap().join("lib/librimms.a").to_string_lossy().into_owned();
    let flags: Vec<String> = flags.into_iter().map(|f| if f == "-lrimms" { archive.clone() } else { f }).collect();
    let program = compile_with("examples/listing4.c", &["-DSTATIC"], &flags);
    let said = succeed(program.command().env_remove("LD_LIBRARY_PATH"));
    assert!(said.contains("the tone is in bin 16"), "{said}");
}

/// The page for C programmers: its first program does what it says there.
#[test]
fn the_first_program_of_the_page() {
    let page = std::fs::read_to_string(std::path::Path::new(installed::CRATE).join("../../docs/c.md")).unwrap();
    let program = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("first.c");
    std::fs::write(&source, program).unwrap();
    let Some(program) = compile(source.to_str().unwrap(), &[]) else { return };
    assert_eq!(succeed(&mut program.command()), "64\n");
    assert_eq!(succeed(program.command().envs(ACC.iter().copied())), "64\n");
}

#[test]
fn what_the_environment_says_wrong_is_told() {
    let Some(program) = compile("examples/listing4.c", &["-DENVIRONMENT"]) else { return };
    for (name, value, words) in [
        ("RIMMS_CORES", "2", "HETE_ERROR_UNKNOWN: unknown environment variable `RIMMS_CORES`; known: RIMMS_CPUS"),
        ("RIMMS_MEMORY", "fast", "HETE_ERROR_CONFIG: RIMMS_MEMORY = `fast`"),
        ("RIMMS_CONFIG", "/no/such/file", "HETE_ERROR_FILE: settings in /no/such/file"),
        ("RIMMS_CPUS", "0", "HETE_ERROR_CONFIG"),
    ] {
        let output = program.command().env(name, value).output().unwrap();
        assert!(!output.status.success() && both(&output).contains(words), "{name}: {}", both(&output));
    }
}

#[test]
fn the_wrapper() {
    let Some(program) = compile("tests/c/wrapper.cpp", &[]) else { return };
    for (_, settings) in &MACHINES[..2] {
        succeed(program.command().envs(settings.iter().copied()));
    }
    let Some(program) = compile("tests/c/wrapper.cpp", &["-fsanitize=address,undefined"]) else { return };
    succeed(program.command().envs(ACC.iter().copied()));
}

/// A program in which each check says what it wants, run plainly, under valgrind and AddressSanitizer.
fn everywhere(source: &str, args: [&[&str]; 3], settings: &[(&str, &str)]) {
    let Some(program) = compile(source, &[]) else { return };
    let run = |mut command: Command, args: &[&str]| {
        println!("{}", succeed(command.args(args).envs(settings.iter().copied())));
    };
    run(program.command(), args[0]);
    if let Some(command) = program.under_valgrind() {
        run(command, args[1]);
    }
    if let Some(program) = compile(source, &["-fsanitize=address,undefined"]) {
        run(program.command(), args[2]);
    }
}

const SMALL: &[(&str, &str)] = &[("RIMMS_CPUS", "1"), ("RIMMS_DEVICES", "acc0:64KiB")];

#[test]
fn rightly_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let settings: Vec<(&str, &str)> = ACC.iter().copied().chain([("RIMMS_TRACE", "true")]).collect();
    everywhere("tests/c/behaviour.c", [&[folder]; 3], &settings);
}

#[test]
fn wrongly_used() {
    everywhere("tests/c/misuse.c", [&[]; 3], SMALL);
}

#[test]
fn used_by_threads_in_any_order() {
    everywhere("tests/c/threads.c", [&["10000"], &["150"], &["3000"]], SMALL);
}

#[test]
fn the_watchdog_tells_who_waits_for_whom() {
    let Some(program) = compile("tests/c/slow.c", &[]) else { return };
    let said = succeed(program.command().env("RIMMS_CPUS", "1").env("RIMMS_WATCHDOG", "100"));
    assert!(said.contains("rimms: no call was done for") && said.contains("(sleeps) has been on cpu0"), "{said}");
    assert!(!succeed(program.command().env("RIMMS_CPUS", "1")).contains("no call was done"));
}

#[test]
fn nothing_else_is_exported() {
    let Some(prefix) = prefix() else { return };
    let library = prefix.join("lib/librimms.so");
    let listed = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let is_ours = |name: &&str| ["hete_", "rimms_", "CEDR_"].iter().any(|prefix| name.starts_with(prefix));
    let others: Vec<&&str> = names.iter().filter(|name| !is_ours(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    // And all that the header declares is there.
    let header = std::fs::read_to_string(prefix.join("include/hete.h")).unwrap();
    let words = header.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let declared: Vec<&str> = words.filter(|word| is_ours(word) && header.contains(&format!("{word}("))).collect();
    assert!(declared.len() > 60, "{declared:?}");
    for name in declared {
        assert!(names.contains(&name), "{name} is declared, and not exported");
    }
    let soname = succeed(Command::new("readelf").arg("-d").arg(&library));
    assert!(soname.contains("[librimms.so.0.1]"), "{soname}");
}
