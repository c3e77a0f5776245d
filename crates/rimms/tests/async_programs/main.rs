//! Random programs of thousands of steps, queued and blocking, by several threads, on devices with little room that fail:
//! every element of every answer is held against a model that knows nothing of devices.
//!
//! A failure prints what repeats it (`RIMMS_SEED=… RIMMS_STEPS=… cargo test …`) and the smallest program found to
//! fail on the same setting. `scripts/soak` runs the same for as long as one likes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
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
