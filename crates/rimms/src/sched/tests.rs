use super::*;
use crate::op::OpKind;

fn candidate(pe: usize, busy_ns: f64, cost_ns: Option<f64>) -> Candidate {
    Candidate { pe, busy_ns, cost_ns }
}

#[test]
fn round_robin_takes_turns() {
    let three = [0, 4, 7].map(|pe| candidate(pe, 0.0, None));
    let picks: Vec<_> = (0..6).map(|turn| RoundRobin.choose(turn, &three)).collect();
    assert_eq!(picks, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn eft_weighs_waiting_against_cost() {
    let pick = |c: &[Candidate]| EarliestFinish.choose(0, c);
    assert_eq!(pick(&[candidate(0, 0.0, Some(50.0)), candidate(1, 0.0, Some(20.0))]), 1);
    assert_eq!(pick(&[candidate(0, 0.0, Some(50.0)), candidate(1, 40.0, Some(20.0))]), 0);
    assert_eq!(pick(&[candidate(0, 0.0, Some(1.0)), candidate(1, 9.0, None)]), 1, "never measured: tried first");
    assert_eq!(pick(&[candidate(0, 0.0, Some(5.0)), candidate(1, 0.0, Some(5.0))]), 0, "ties go to the first");
}

#[test]
fn costs_are_functions_of_size_per_op_and_pe() {
    let costs = Costs::new(2);
    costs.record(OpKind::Fft, 0, 64, 100.0);
    costs.record(OpKind::Fft, 0, 4096, 10_000.0);
    costs.record(OpKind::Fft, 1, 64, 5.0);
    let at = |size| costs.estimate(OpKind::Fft, 0, size).unwrap();
    assert!((at(64) - 100.0).abs() < 0.1);
    assert!((at(8192) - 20_000.0).abs() < 1.0, "in proportion beyond the range: {}", at(8192));
    assert!(at(1000) > 100.0 && at(1000) < 10_000.0);
    assert_eq!(costs.estimate(OpKind::Zip, 0, 64), None);
    for _ in 0..60 {
        costs.record(OpKind::Fft, 0, 64, 300.0);
    }
    assert!((at(64) - 300.0).abs() < 1.0, "a mean that moves: {}", at(64));
    costs.record(OpKind::Fill, 0, 0, 1.0);
    assert!(costs.estimate(OpKind::Fill, 0, usize::MAX).is_some());
}
