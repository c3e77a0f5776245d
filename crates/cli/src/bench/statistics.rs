//! What many measurements come to.

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
    use super::median;

    #[test]
    fn the_middle_one_or_the_mean_of_both() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
        assert_eq!(median(vec![7.0]), 7.0);
        assert!(median(vec![]).is_nan());
    }
}
