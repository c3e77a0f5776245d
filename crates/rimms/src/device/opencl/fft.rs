//! Fourier transforms: which stages, and where their points lie in between.
//!
//! A length whose prime factors are small is done in stages, one for each factor, fours first; a short
//! row, which fits into a group's local memory, all at once. Other lengths are a convolution
//! (Bluestein, *A linear filtering approach to the computation of the discrete Fourier transform*, 1970)
//! of a power of two. Tables are made in double precision. Many rows are done a part at a time, so that the
//! room beside the operands is bounded.

use super::commands::{Arg, Range};
use super::launch::{Args, Job, Place};
use super::program::{Family, GROUP};
use super::scratch::Table;
use crate::device::{DeviceError, DeviceErrorKind, Rows};
use crate::op::Fft;
use num_complex::Complex64;
use std::f64::consts::{PI, TAU};

/// The largest factor that is a stage: it takes as many steps a point.
const LARGEST: usize = 61;
/// Stages at most.
const STAGES: usize = 16;
/// Points of a row that is done at once.
const AT_ONCE: usize = 4096;
/// Bytes of the rooms that many rows take.
const ROOM: usize = 16 << 20;
const POINT: usize = 8;

/// The stages of a length, if its factors are small.
fn stages(n: usize) -> Option<Vec<u8>> {
    let mut rest = n;
    let mut found = Vec::new();
    let mut take = |r: usize| {
        while rest.is_multiple_of(r) {
            found.push(r as u8);
            rest /= r;
        }
    };
    take(4);
    (2..=LARGEST).for_each(&mut take);
    (rest == 1 && found.len() <= STAGES).then_some(found)
}

/// Some rows of equal length.
#[derive(Clone, Copy)]
struct Batch {
    n: usize,
    rows: usize,
    /// 1, or -1 for the inverse.
    sign: f32,
    scale: f32,
}

pub(super) fn run(job: &Job<'_>, fft: &Fft) -> Result<(), DeviceError> {
    let Fft { n, rows, inverse, in_place } = *fft;
    if u32::try_from(n).is_err() {
        return Err(job.refuse(DeviceErrorKind::Unsupported, format!("{n} points are more than it counts to")));
    }
    let (x, out) = (job.place(0)?, job.place(usize::from(!in_place))?);
    let (sign, scale) = if inverse { (-1.0, (1.0 / n as f64) as f32) } else { (1.0, 1.0) };
    let stages = stages(n);
    let length = if stages.is_some() { n } else { filtered(n) };
    let at_once = (ROOM / POINT / length).max(1);
    // A batch begins with a row of each tile, or is all there is.
    let is_split = |place: &Place| !place.rows.is_run() && !(at_once * n * POINT).is_multiple_of(place.rows.row_bytes);
    let at_once = if is_split(x) || is_split(out) { rows } else { at_once };
    for first in (0..rows).step_by(at_once) {
        let batch = Batch { n, rows: at_once.min(rows - first), sign, scale };
        let (x, out) = (part(x, first, &batch), part(out, first, &batch));
        match &stages {
            Some(stages) => transform(job, stages, &x, &out, batch)?,
            None => convolve(job, &x, &out, batch)?,
        }
    }
    Ok(())
}

/// Of a place that holds rows of points those of a batch.
fn part(place: &Place, first: usize, batch: &Batch) -> Place {
    let Rows { row_bytes, pitch, .. } = place.rows;
    let start = first * batch.n * POINT;
    let (offset, rows) = match place.rows.is_run() {
        true => (start, Rows::run(batch.rows * batch.n * POINT)),
        false => (start / row_bytes * pitch, place.rows),
    };
    place.part(offset, rows)
}

/// The length of the convolution for `n` points.
fn filtered(n: usize) -> usize {
    (2 * n - 1).next_power_of_two()
}

fn transform(job: &Job<'_>, stages: &[u8], x: &Place, out: &Place, batch: Batch) -> Result<(), DeviceError> {
    let Batch { n, rows, sign, scale } = batch;
    let roots = table(job, Table::Roots(n))?;
    let roots = Arg::Buffer(&roots);
    let is_local = n <= AT_ONCE && (2 * n * POINT) as u64 <= job.device.driver.facts.local_memory;
    if is_local {
        let mut args = Args::new();
        job.push(&mut args, x, POINT)?;
        job.push(&mut args, out, POINT)?;
        let mut radices = [0_u8; STAGES];
        radices.iter_mut().zip(stages).for_each(|(to, r)| *to = *r);
        let radices = u128::from_le_bytes(radices);
        args.extend([roots, Arg::of(n as u32), Arg::of([radices as u64, (radices >> 64) as u64])]);
        args.extend([Arg::of(stages.len() as u32), Arg::of(sign), Arg::of(scale)]);
        args.extend([Arg::Local(n * POINT), Arg::Local(n * POINT)]);
        let range = Range { global: &[rows * GROUP], local: Some(&[GROUP]) };
        return job.submit(Family::Fft, "fft_rows", &args, range);
    }
    // One stage alone would read what it has written, if both places are one.
    let stages = if stages.len() < 2 { &[&[1], stages].concat() } else { stages };
    let [a, b] = [0, 1].map(|i| job.scratch(i, rows * n * POINT).map(Place::whole));
    let (a, b) = (a?, b?);
    let mut done = 1;
    for (i, r) in stages.iter().enumerate() {
        let between = |i: usize| if i.is_multiple_of(2) { &a } else { &b };
        let is_last = i + 1 == stages.len();
        let mut args = Args::new();
        job.push(&mut args, if i == 0 { x } else { between(i - 1) }, POINT)?;
        job.push(&mut args, if is_last { out } else { between(i) }, POINT)?;
        let butterflies = rows * (n / usize::from(*r));
        args.extend([roots, Arg::of(n as u32), Arg::of(done as u32), Arg::of(u32::from(*r))]);
        args.extend([Arg::of(butterflies as u64), Arg::of(sign), Arg::of(if is_last { scale } else { 1.0 })]);
        job.each(Family::Fft, "fft_stage", &args, butterflies)?;
        done *= usize::from(*r);
    }
    Ok(())
}

/// `X[k] = c[k]·Σ (x[j]·c[j])·conj(c[k − j])`, with the chirp `c`; for the inverse all conjugate.
fn convolve(job: &Job<'_>, x: &Place, out: &Place, batch: Batch) -> Result<(), DeviceError> {
    let Batch { n, rows, sign, scale } = batch;
    let m = filtered(n);
    let powers =
        stages(m).ok_or_else(|| job.refuse(DeviceErrorKind::Unsupported, format!("{n} points are too many")))?;
    let (chirp, filter) = (table(job, Table::Chirp(n))?, table(job, Table::Filter(n))?);
    let (chirp, filter) = (Arg::Buffer(&chirp), Arg::Buffer(&filter));
    let points = job.scratch(2, rows * m * POINT)?;
    let (lengths, count) = ([Arg::of(n as u32), Arg::of(m as u32)], |count: usize| Arg::of(count as u64));

    let mut args = Args::new();
    job.push(&mut args, x, POINT)?;
    args.extend([Arg::Buffer(&points), chirp, lengths[0], lengths[1], count(rows * m), Arg::of(sign)]);
    job.each(Family::Fft, "chirp_in", &args, rows * m)?;

    let place = Place::whole(points.clone());
    transform(job, &powers, &place, &place, Batch { n: m, rows, sign: 1.0, scale: 1.0 })?;
    let args = [Arg::Buffer(&points), filter, lengths[1], count(rows * m), Arg::of(sign)];
    job.each(Family::Fft, "chirp_filter", &args, rows * m)?;
    transform(job, &powers, &place, &place, Batch { n: m, rows, sign: -1.0, scale: 1.0 })?;

    let mut args = Args::from_iter([Arg::Buffer(&points)]);
    job.push(&mut args, out, POINT)?;
    args.extend([chirp, lengths[0], lengths[1], count(rows * n), Arg::of(sign), Arg::of(scale)]);
    job.each(Family::Fft, "chirp_out", &args, rows * n)
}

fn table(job: &Job<'_>, table: Table) -> Result<std::sync::Arc<super::raw::Buffer>, DeviceError> {
    let make = || {
        let values: Vec<Complex64> = match table {
            Table::Roots(n) => (0..n).map(|t| Complex64::cis(-TAU * t as f64 / n as f64)).collect(),
            Table::Chirp(n) => (0..n).map(|j| chirp(j, n)).collect(),
            Table::Filter(n) => filter(n),
        };
        values.iter().map(|x| [x.re as f32, x.im as f32]).collect()
    };
    let place = |bytes: &[u8]| job.device.driver.context.buffer_of(bytes);
    job.device.scratch.lock().table(table, make, place).map_err(|code| job.failed(code))
}

fn chirp(j: usize, n: usize) -> Complex64 {
    // The angle repeats after 2n, so j² counts modulo that.
    let square = (j as u128 * j as u128) % (2 * n as u128);
    Complex64::cis(-PI * square as f64 / n as f64)
}

/// The transform of `conj(c[|j|])`, divided by its length.
fn filter(n: usize) -> Vec<Complex64> {
    let m = filtered(n);
    let mut values = vec![Complex64::ZERO; m];
    for j in 0..n {
        let value = chirp(j, n).conj() / m as f64;
        for at in [j, (m - j) % m] {
            if let Some(to) = values.get_mut(at) {
                *to = value;
            }
        }
    }
    rimms_fft::plan_f64(m, false).process(&mut values);
    values
}
