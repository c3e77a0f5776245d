//! Random programs of thousands of steps, queued and blocking, by several threads, on devices with little room that fail:
//! every element of every answer is held against a model that knows nothing of devices.
//!
//! A failure prints what repeats it (`RIMMS_SEED=… RIMMS_STEPS=… cargo test …`) and the smallest program found to
//! fail on the same setting. `scripts/soak` runs the same for as long as one likes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
#[cfg(feature = "opencl")]
#[path = "../common/child.rs"]
mod child;
#[path = "../common/hooked.rs"]
mod hooked;
mod host;
mod model;
mod ops;
mod run;
mod setting;
mod stall;
mod step;
mod worker;
mod world;

use proptest::prelude::*;
use run::campaign;
use setting::{Setting, Trouble};
use step::Step;

#[test]
fn programs_mean_the_same_whatever_runs_at_once() {
    campaign("programs_mean_the_same_whatever_runs_at_once", Trouble::None, 400_000, 2_500, |setting| setting);
}

#[test]
fn programs_mean_the_same_where_room_is_short_everywhere() {
    let tight = |setting: Setting| setting.tightened(|acc| [100, 104, 110][acc % 3]);
    campaign("programs_mean_the_same_where_room_is_short_everywhere", Trouble::None, 250_000, 2_500, tight);
}

#[test]
fn programs_mean_the_same_or_say_what_failed() {
    campaign("programs_mean_the_same_or_say_what_failed", Trouble::Faults, 300_000, 2_000, |setting| setting);
}

#[test]
fn programs_survive_the_loss_of_a_device() {
    campaign("programs_survive_the_loss_of_a_device", Trouble::Loss, 150_000, 1_000, |setting| setting);
}

#[test]
fn programs_survive_devices_that_take_too_long() {
    campaign("programs_survive_devices_that_take_too_long", Trouble::Limit, 15_000, 500, |setting| setting);
}

/// On OpenCL devices; the environment says which driver's.
#[cfg(feature = "opencl")]
#[test]
#[ignore = "run with a driver by programs_mean_the_same_on_opencl_devices"]
fn opencl_programs() {
    campaign("--ignored opencl_programs", Trouble::None, 60_000, 2_000, Setting::on_opencl);
    campaign("--ignored opencl_programs", Trouble::Faults, 20_000, 1_000, Setting::on_opencl);
}

/// On both of PoCL's devices: one works in threads of its own, the other in those that wait for it.
#[cfg(feature = "opencl")]
#[test]
fn programs_mean_the_same_on_opencl_devices() {
    let driver = std::path::Path::new("/etc/OpenCL/vendors/pocl.icd");
    if !driver.exists() {
        return println!("left out: PoCL is not here");
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "opencl_programs", "--nocapture"]);
    command.env("OCL_ICD_VENDORS", driver).env("POCL_DEVICES", "pthread basic");
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/async_programs"));
    child::succeeds(command, "random programs with PoCL");
}

/// As long as `RIMMS_SOAK_MINUTES` says.
#[test]
#[ignore = "takes as long as is asked for: scripts/soak"]
fn soak() {
    let minutes = std::env::var("RIMMS_SOAK_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    run::soak("soak", minutes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Short programs of one thread, which are made small by leaving out steps.
    #[test]
    fn short_programs_mean_the_same(
        seed in any::<u64>().no_shrink(),
        trouble in prop::sample::select(vec![Trouble::None, Trouble::Faults, Trouble::Loss]),
        steps in prop::collection::vec(any::<u64>().no_shrink().prop_map(Step::from), 1..150),
    ) {
        let setting = Setting::random(seed, trouble, 200).with_threads(1);
        let outcome = run::run(&setting, &vec![steps], "a short program");
        prop_assert!(outcome.is_ok(), "{}\n{:?}", outcome.unwrap_err(), setting);
    }
}
