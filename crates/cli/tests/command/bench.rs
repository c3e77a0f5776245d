//! `rimms bench`: exact counts are tests, times are not.

use crate::rimms;

/// Instructions of one operation; `None` where this machine does not let a child be traced.
fn instructions(subject: &str) -> Option<f64> {
    let out = rimms(["bench", "instructions", subject]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    out.stdout.trim().parse().ok()
}

#[test]
fn the_state_check_takes_at_most_fifteen_instructions() {
    let (Some(walk), Some(check)) = (instructions("walk-l1"), instructions("check-l1")) else {
        eprintln!("skipped: instructions cannot be counted here");
        return;
    };
    assert!(check - walk <= 15.0, "{check} a leaf, {walk} of them for walking over it");
    // With the walk, so that this cannot pass on a difference of two wrong numbers.
    assert!((2.0..=40.0).contains(&check), "{check}");
}

#[test]
fn an_unknown_subject_is_refused() {
    let out = rimms(["bench", "instructions", "everything"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(1), ""));
    assert!(out.stderr.contains("`everything`"), "{}", out.stderr);
}
