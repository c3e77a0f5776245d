use super::*;
use crate::op::OpKind;

fn candidate(pe: usize, busy_ns: f64, cost_ns: Option<f64>) -> Candidate {
    Candidate { pe, busy_ns, cost_ns, ..Candidate::default() }
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

#[test]
fn locality_weighs_copies_against_waiting() {
    let at =
        |busy_ns, ready_ns, transfer_ns, cost_ns| Candidate { ready_ns, transfer_ns, ..candidate(0, busy_ns, cost_ns) };
    let pick = |c: &[Candidate]| Locality.choose(0, c);
    assert_eq!(pick(&[at(0.0, 0.0, 500.0, Some(10.0)), at(400.0, 0.0, 0.0, Some(10.0))]), 1);
    assert_eq!(pick(&[at(0.0, 0.0, 300.0, Some(10.0)), at(400.0, 0.0, 0.0, Some(10.0))]), 0);
    // Both have to wait for the input: the copy comes on top.
    assert_eq!(pick(&[at(0.0, 400.0, 1.0, Some(10.0)), at(400.0, 400.0, 0.0, Some(10.0))]), 1);
    assert_eq!(pick(&[at(0.0, 0.0, 500.0, None), at(0.0, 0.0, 0.0, Some(10.0))]), 1, "copies alone rule it out");
    assert_eq!(pick(&[at(0.0, 0.0, 500.0, None), at(0.0, 0.0, 0.0, Some(900.0))]), 0, "not measured: tried");
    assert_eq!(pick(&[at(0.0, 0.0, 0.0, None), at(0.0, 0.0, 0.0, None)]), 0, "ties go to the first");
}

#[test]
fn the_first_calls_of_a_size_are_measured_and_then_one_in_sixteen() {
    let costs = Costs::new(1);
    let due: Vec<bool> = (0..64).map(|_| costs.is_due(OpKind::Fft, 0, 64)).collect();
    assert!(due[..16].iter().all(|d| *d));
    assert_eq!(due[16..].iter().filter(|d| **d).count(), 3);
    assert!(costs.is_due(OpKind::Fft, 0, 4096), "another size class");
    assert!(!costs.is_due(OpKind::Fft, 7, 64), "no such PE");
}

/// Calls by their costs on each PE.
fn ready(costs: &[&[f64]]) -> Vec<Vec<Candidate>> {
    costs.iter().map(|c| c.iter().enumerate().map(|(pe, ns)| candidate(pe, 0.0, Some(*ns))).collect()).collect()
}

fn pairs(placed: &[Placement]) -> Vec<(usize, usize)> {
    placed.iter().map(|p| (p.call, p.candidate)).collect()
}

#[test]
fn calls_submitted_together_are_placed_as_if_one_after_the_other() {
    let ready = ready(&[&[50.0, 60.0], &[50.0, 60.0], &[50.0, 60.0]]);
    assert_eq!(pairs(&EarliestFinish.arrange(0, &ready)), [(0, 0), (1, 1), (2, 0)]);
    assert_eq!(pairs(&RoundRobin.arrange(4, &ready)), [(0, 0), (1, 1), (2, 0)]);
    assert_eq!(pairs(&RoundRobin.arrange(5, &ready)), [(0, 1), (1, 0), (2, 1)]);
}

#[test]
fn etf_takes_the_pair_that_finishes_first_and_heft_rt_the_longest_call() {
    let ready = ready(&[&[100.0, 300.0], &[10.0, 90.0], &[20.0, 25.0]]);
    // 10 on PE 0, then 25 on PE 1 (30 behind the first), then 110 on PE 0.
    assert_eq!(pairs(&EarliestTaskFirst.arrange(0, &ready)), [(1, 0), (2, 1), (0, 0)]);
    // By mean cost: 200, 50, 22.5.
    assert_eq!(pairs(&HeftRt.arrange(0, &ready)), [(0, 0), (1, 1), (2, 1)]);
    let unmeasured = [vec![candidate(0, 0.0, Some(5.0))], vec![candidate(0, 0.0, None)]];
    assert_eq!(pairs(&HeftRt.arrange(0, &unmeasured)), [(1, 0), (0, 0)]);
    assert_eq!(pairs(&EarliestTaskFirst.arrange(0, &unmeasured)), [(1, 0), (0, 0)]);
    assert!(EarliestTaskFirst.arrange(0, &[]).is_empty());
}

proptest::proptest! {
    #[test]
    fn each_choice_of_etf_is_the_first_to_finish_of_all_that_were_left(
        costs in proptest::collection::vec(proptest::collection::vec(1.0..100.0_f64, 3), 1..8),
    ) {
        let ready: Vec<Vec<Candidate>> =
            costs.iter().map(|c| (0..3).map(|pe| candidate(pe, 0.0, Some(c[pe]))).collect()).collect();
        let (mut free, mut left) = ([0.0; 3], (0..costs.len()).collect::<Vec<_>>());
        for Placement { call, candidate: pe } in EarliestTaskFirst.arrange(0, &ready) {
            let first = left.iter().flat_map(|c| (0..3).map(|pe| free[pe] + costs[*c][pe])).fold(f64::MAX, f64::min);
            free[pe] += costs[call][pe];
            proptest::prop_assert!((free[pe] - first).abs() < 1e-9);
            left.retain(|c| *c != call);
        }
        proptest::prop_assert!(left.is_empty());
    }
}

#[test]
fn random_is_even_and_the_same_each_time_for_one_seed() {
    let pes = [0, 1, 2, 3, 4].map(|pe| candidate(pe, 0.0, None));
    let picks = |seed: u64| -> Vec<usize> { (0..5_000).map(|turn| Random { seed }.choose(turn, &pes)).collect() };
    for seed in [0, 1, 42, u64::MAX] {
        let once = picks(seed);
        assert_eq!(once, picks(seed));
        assert_ne!(once, picks(seed.wrapping_add(1)));
        for pe in 0..pes.len() {
            let n = once.iter().filter(|pick| **pick == pe).count();
            // 1,000 wanted, with a standard deviation of 28.
            assert!((860..=1140).contains(&n), "seed {seed}: {n} of 5000 on PE {pe}");
        }
        // The turn alone decides, not what was asked before.
        assert_eq!(Random { seed }.choose(1234, &pes), once[1234]);
    }
    assert_eq!(Random { seed: 3 }.choose(usize::MAX, &pes[..1]), 0);
}

#[test]
fn met_takes_the_cheapest_kind_and_turns_within_it() {
    let pe = |pe, kind, busy_ns, cost_ns| Candidate { kind, ..candidate(pe, busy_ns, cost_ns) };
    let picks = |c: &[Candidate]| [0, 1, 2, 3].map(|turn| MinimumExecutionTime.choose(turn, c));
    let measured = [
        pe(0, 0, 0.0, Some(50.0)),
        pe(1, 0, 0.0, Some(60.0)),
        pe(2, 2, 1e9, Some(20.0)),
        pe(3, 0, 0.0, Some(55.0)),
        pe(4, 2, 0.0, Some(30.0)),
    ];
    assert_eq!(picks(&measured), [2, 4, 2, 4], "however long its queues are");
    let slower = measured.map(|c| if c.kind == 2 { Candidate { cost_ns: Some(51.0), ..c } } else { c });
    assert_eq!(picks(&slower), [0, 1, 3, 0]);
    let unmeasured = measured.map(|c| if c.kind == 0 { Candidate { cost_ns: None, ..c } } else { c });
    assert_eq!(picks(&unmeasured), [0, 1, 3, 0], "never measured: tried first");
    assert_eq!(picks(&measured.map(|c| Candidate { cost_ns: Some(5.0), ..c })), [0, 1, 3, 0], "ties go to the first");
}

#[test]
fn every_policy_is_known_by_its_name() {
    for name in POLICIES {
        assert_eq!(by_name(name).unwrap().name(), name);
    }
    assert!(format!("{:?}", by_name("random:7").unwrap()).contains('7'), "the seed is part of the policy");
    for (wrong, said) in [
        ("best", "round-robin, random, met, eft, etf, heft-rt, locality"),
        ("random:", "seed ``"),
        ("random:-1", "seed `-1`"),
        ("random:18446744073709551616", "whole number"),
        ("met:1", "known: round-robin"),
        ("Random", "known: round-robin"),
    ] {
        let message = by_name(wrong).unwrap_err().to_string();
        assert!(message.contains(said), "{wrong}: {message}");
    }
}
