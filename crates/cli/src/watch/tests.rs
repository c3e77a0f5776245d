//! A kernel with a mistake is found, said, and makes the command fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use rimms::device::sim::devmem::{Launch, NdRange};
use rimms::op::UserOp;
use rimms::{Runtime, arg_mut};
use std::process::ExitCode;

/// What a device finds of a kernel whose last item reaches beyond its operand, and counts.
fn broken(watching: Watching) -> Watched {
    let op = UserOp::builder("over")
        .inout::<u32>()
        .named("x")
        .on_sim_items(
            |len| Ok(Launch::new("over", NdRange::linear(len[0] as u64, 4)?)),
            async |item| item.store(0, item.global_id(0) + 1, 1u32),
        )
        .build()
        .unwrap();
    let mut watched = Watched::default();
    let acc = watched.sim(watching, "acc0", Sim::acc("acc0", 1 << 20, Default::default()).unwrap());
    let rt = Runtime::builder().cpus(0).device(acc).build().unwrap().blocking();
    let mut x = rt.alloc::<u32>(8).unwrap();
    x.overwrite().unwrap().fill(0).unwrap();
    rt.call(&op.call(), &mut [arg_mut(&mut x)]).unwrap_err();
    watched
}

#[test]
fn a_finding_says_device_kind_kernel_and_place() {
    let found = broken(Watching { check: true, count: false }).found();
    assert_eq!(found.len(), 1);
    let json = serde_json::to_value(&found[0]).unwrap();
    for (key, wanted) in [
        ("device", "acc0".into()),
        ("kind", "fault".into()),
        ("kernel", "over".into()),
        ("buffer", "x".into()),
        ("space", "global".into()),
        ("offset", serde_json::json!(32)),
        ("size", serde_json::json!(4)),
    ] {
        assert_eq!(json[key], wanted, "{key}");
    }
    let line = found[0].line();
    assert!(line.starts_with("acc0: fault: write of 4 bytes at global"), "{line}");
    assert!(line.contains("by item (7, 0, 0) of over") && line.lines().count() == 1, "{line}");
}

#[test]
fn only_what_is_asked_for_is_done() {
    let counted = broken(Watching { check: false, count: true });
    assert!(counted.found().is_empty());
    let counts = serde_json::to_value(counted.counts()).unwrap();
    assert_eq!(counts[0]["kernel"], serde_json::Value::Null);
    assert_eq!((&counts[0]["stores"], &counts[0]["store_bytes"]), (&1.into(), &32.into()));
    assert_eq!(counts[1]["kernel"], "over");
    // The one that was refused does not count.
    assert_eq!((&counts[1]["stores"], &counts[1]["store_bytes"]), (&7.into(), &28.into()));
    let nothing = broken(Watching::default());
    assert!(nothing.found().is_empty() && nothing.counts().iter().all(|of| of.stores == 0));
}

#[test]
fn findings_are_a_failure_of_the_command() {
    let found = broken(Watching { check: true, count: true }).found();
    let failure = Failure::Found { result: found[0].line() + "\n", findings: found.len() };
    assert_eq!(failure.to_string(), "1 finding");
    assert_eq!(output::finish(Err(failure)), ExitCode::from(1));
}
