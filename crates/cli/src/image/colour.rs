//! Colours that get brighter evenly, from dark blue over green to yellow, and can be told apart by all eyes.

/// A few points of *viridis* (Smith, van der Walt, 2015, in the public domain), evenly spaced.
const POINTS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// The colour of a value from 0 (dark) to 1 (bright); values beyond are taken for the ends.
pub(super) fn of(value: f64) -> [u8; 3] {
    let last = POINTS.len() - 1;
    let along = value.clamp(0.0, 1.0) * last as f64;
    let before = (along as usize).min(last - 1);
    let share = along - before as f64;
    let [low, high] = [POINTS[before], POINTS[before + 1]];
    std::array::from_fn(|i| (f64::from(low[i]) * (1.0 - share) + f64::from(high[i]) * share).round() as u8)
}
