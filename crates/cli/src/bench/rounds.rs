//! Contenders in rounds, and what many measurements come to.

/// Lets each contender run once. Round after round another one begins, so that none always has the place behind the
/// same other.
pub(super) fn round<T, E>(
    contenders: &mut [T],
    number: usize,
    run: impl FnMut(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    let (late, early) = contenders.split_at_mut(number % contenders.len().max(1));
    early.iter_mut().chain(late).try_for_each(run)
}

/// The median; NaN of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.get(half.wrapping_sub(1)), values.get(half)) {
        (Some(below), Some(above)) if values.len().is_multiple_of(2) => (below + above) / 2.0,
        (_, Some(middle)) => *middle,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::{median, round};

    #[test]
    fn each_runs_once_a_round_and_another_begins() {
        let order = |number| {
            let mut order = Vec::new();
            let note = |contender: &mut char| {
                order.push(*contender);
                Ok::<(), ()>(())
            };
            round(&mut ['a', 'b', 'c'], number, note).map(|()| order.into_iter().collect::<String>())
        };
        assert_eq!([0, 1, 2, 3].map(order), ["abc", "bca", "cab", "abc"].map(|order| Ok(order.to_owned())));
        assert_eq!(round(&mut [1, 2], 1, |n| if *n == 1 { Err(*n) } else { Ok(()) }), Err(1));
        assert_eq!(round(&mut [(); 0], 1, |()| Err(())), Ok(()));
    }

    #[test]
    fn the_middle_one_or_the_mean_of_both() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
        assert_eq!(median(vec![7.0]), 7.0);
        assert!(median(vec![]).is_nan());
    }
}
