//! CUDA devices, on a driver in software, which runs their kernels on the CPU.
//!
//! Libraries are found when they are first used, by the path that a process is started with. So the tests proper (`suite`, `programs`,
//! `failures`) are run by those here, in processes of their own, in limited time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cache;
#[path = "../common/child.rs"]
mod child;
mod failures;
mod hardware;
mod programs;
mod suite;

use fakecuda::Libraries;
use std::path::Path;
use std::process::Command;

/// Runs the tests whose names begin so with these libraries.
fn passes(libraries: &Libraries, tests: &str, environment: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    libraries.use_in(&mut command).args(["--ignored", tests, "--nocapture", "--test-threads=1"]);
    // What was compiled is kept in the build's folder, from one run to the next; apart, since one test damages it.
    let cache = format!("{}/cuda-{}", env!("CARGO_TARGET_TMPDIR"), tests.replace(':', "-"));
    command.env("XDG_CACHE_HOME", cache).env("FAKECUDA_CACHE", env!("CARGO_TARGET_TMPDIR"));
    // Nor are OpenCL devices looked for, where a runtime takes all that there is.
    command.env("OCL_ICD_VENDORS", "/nowhere/").envs(environment.iter().copied());
    child::succeeds(command, &format!("{tests} with {environment:?}"));
}

fn all() -> Libraries {
    Libraries::new().unwrap()
}

/// Kernels are compiled for the CPU by g++.
fn has_compiler() -> bool {
    let is_here = Path::new("/usr/bin/g++").exists() || Command::new("g++").arg("--version").output().is_ok();
    if !is_here {
        println!("left out: g++ is not here");
    }
    is_here
}

#[test]
fn memory_and_copies() {
    passes(&all(), "suite::conformance", &[("FAKECUDA_DEVICES", "2")]);
}

#[test]
fn memory_and_copies_without_pools_where_commands_take_their_time() {
    let environment = [("FAKECUDA_WITHOUT_POOLS", "1"), ("FAKECUDA_LAG_US", "20")];
    passes(&all(), "suite::conformance", &environment);
}

#[test]
fn every_op() {
    if has_compiler() {
        passes(&all(), "suite::ops", &[]);
    }
}

#[test]
fn every_op_without_libraries() {
    if has_compiler() {
        let libraries = all().without("cufft").unwrap().without("cublas").unwrap();
        passes(&libraries, "suite::other_ops", &[]);
    }
}

#[test]
fn programs_on_two_devices() {
    if has_compiler() {
        passes(&all(), "programs::", &[("FAKECUDA_DEVICES", "2")]);
        passes(&all(), "programs::", &[("FAKECUDA_DEVICES", "2"), ("FAKECUDA_LAG_US", "50")]);
    }
}

#[test]
fn a_damaged_cache() {
    if has_compiler() {
        passes(&all(), "cache::what_is", &[]);
    }
}

#[test]
fn a_driver_older_than_the_compiler() {
    if has_compiler() {
        passes(&all(), "cache::a_driver", &[("FAKECUDA_OLD", "1")]);
    }
}

#[test]
fn mistakes_and_failures() {
    if has_compiler() {
        // Without a cache, so that the compiler is always asked.
        let little = [("FAKECUDA_DEVICES", "2"), ("FAKECUDA_MEMORY", "1048576")];
        passes(&all(), "failures::", &[&little[..], &[("XDG_CACHE_HOME", "/dev/null/none")]].concat());
    }
}

/// What is for hardware works here too.
#[test]
fn what_runs_on_hardware() {
    if has_compiler() {
        passes(&all(), "hardware::long", &[]);
        passes(&all(), "hardware::ops", &[]);
    }
}

#[test]
fn what_is_missing_is_said() {
    passes(&all().without("cuda").unwrap(), "suite::missing", &[("EXPECTED", "libcuda.so.1, is not here")]);
    let old = all().without_symbol("cuda", "cuMemPoolCreate").unwrap();
    passes(&old, "suite::missing", &[("EXPECTED", "has no function cuMemPoolCreate")]);
    passes(&all(), "suite::missing", &[("FAKECUDA_DEVICES", "0"), ("EXPECTED", "the driver has no device")]);
    let bare = all().without("nvrtc").unwrap();
    passes(&bare, "suite::without_a_compiler", &[]);
    let old = all().without_symbol("nvrtc", "nvrtcGetPTX").unwrap();
    passes(&old, "suite::without_a_compiler", &[]);
}
