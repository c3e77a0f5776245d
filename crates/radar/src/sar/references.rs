//! The signals that echoes are focused with, and the constants of the flight that they are made from.
//!
//! Along fast time, g(t) = exp(−iπ·Kr·t²) for |t| < Tr/2, on an axis that starts at 0 and spans the difference between
//! the farthest and the nearest echo, and the pulse. Along slow time, H(t) = exp(iπ·Ka·t²) for
//! |t| < (Tr/2)·(way's time)/(fast time's span), from 0 to the way's time; Ka = 2v²/(λ·R0). g is transformed before
//! its use, H is used as it is. Both are as the recording's processor has them.

use std::f64::consts::PI;

use num_complex::Complex64;

/// Metres a second, of light.
const LIGHT: f64 = 3e8;
/// Metres a second, of the radar.
const SPEED: f64 = 150.0;
/// Metres that the radar flies.
const WAY: f64 = 50.0;
/// Metres on the ground to the middle of the scene, and from there to its edges.
const MIDDLE: f64 = 10_000.0;
const HALF_WIDTH: f64 = 500.0;
/// Seconds of the pulse.
const PULSE: f64 = 2.5e-6;
/// Hertz a second that it sweeps.
const SWEEP: f64 = 2e13;
/// Metres above the ground.
const HEIGHT: f64 = 5000.0;
/// Metres of the wave.
const WAVE: f64 = 0.0566;

/// Seconds from the first to the last sample of a row.
fn fast_time() -> f64 {
    let distance = |ground: f64| ground.hypot(HEIGHT);
    2.0 * distance(MIDDLE + HALF_WIDTH) / LIGHT + PULSE - 2.0 * distance(MIDDLE - HALF_WIDTH) / LIGHT
}

/// g, for rows of `cols` samples.
///
/// ```
/// let g = rimms_radar::sar::range_reference(512);
/// assert_eq!(g.iter().filter(|g| g.norm() > 0.5).count(), 76);
/// ```
#[must_use]
pub fn range_reference(cols: usize) -> Vec<Complex64> {
    let step = fast_time() / (cols.max(2) - 1) as f64;
    chirp(cols, step, PULSE / 2.0, -SWEEP)
}

/// H, for columns of `rows` places.
///
/// ```
/// let h = rimms_radar::sar::azimuth_reference(256);
/// assert_eq!(h.iter().filter(|h| h.norm() > 0.5).count(), 38);
/// ```
#[must_use]
pub fn azimuth_reference(rows: usize) -> Vec<Complex64> {
    let slow_time = WAY / SPEED;
    let step = slow_time / (rows.max(2) - 1) as f64;
    let sweep = 2.0 * SPEED * SPEED / (WAVE * MIDDLE.hypot(HEIGHT));
    chirp(rows, step, PULSE / 2.0 * slow_time / fast_time(), sweep)
}

/// How many metres lie between neighbouring rows, along the way, and between neighbouring columns, across it (half the
/// way of the wave between two samples), in an image of `rows` × `cols`.
///
/// ```
/// let (along, across) = rimms_radar::sar::cell_m(256, 512);
/// assert!((along * 255.0 - 50.0).abs() < 1e-9); // the radar's way
/// assert!((2.0..3.0).contains(&across));
/// ```
#[must_use]
pub fn cell_m(rows: usize, cols: usize) -> (f64, f64) {
    (WAY / (rows.max(2) - 1) as f64, LIGHT / 2.0 * fast_time() / (cols.max(2) - 1) as f64)
}

/// exp(iπ·sweep·t²) for t = 0, step … below `end`, then zeros.
fn chirp(len: usize, step: f64, end: f64, sweep: f64) -> Vec<Complex64> {
    let at = |i: usize| {
        let t = i as f64 * step;
        if t < end { Complex64::cis(PI * sweep * t * t) } else { Complex64::ZERO }
    };
    (0..len).map(at).collect()
}
