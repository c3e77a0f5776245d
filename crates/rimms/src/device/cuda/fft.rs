//! Fourier transforms, by cuFFT.
//!
//! Rows at equal distances are one plan, wherever they lie. What lies otherwise, rows across the rows of a tile, is packed first. cuFFT does
//! not scale: a kernel does, after an inverse.
#![allow(unsafe_code)]

use super::cufft::Shape;
use super::launch::{Job, Place};
use super::library::CuFft;
use super::scratch::Use;
use crate::device::{DeviceError, DeviceErrorKind};
use crate::op::Fft;

const POINT: usize = 8;

/// How many points lie from one row of `n` to the next, if it is always as many.
fn distance(place: &Place, n: usize) -> Option<usize> {
    let rows = &place.rows;
    if rows.is_run() {
        return Some(n);
    }
    (rows.row_bytes == n * POINT && rows.pitch.is_multiple_of(POINT)).then_some(rows.pitch / POINT)
}

pub(super) fn run(job: &Job<'_>, fft: &Fft) -> Result<(), DeviceError> {
    let Fft { n, rows, inverse, in_place } = *fft;
    let (x, out) = (job.place(0)?, job.place(usize::from(!in_place))?);
    let (from, from_distance) = match distance(&x, n) {
        Some(distance) => (x, distance),
        None => (job.packed(x, Use::In, true)?, n),
    };
    let (to, to_distance, is_packed) = match distance(&out, n) {
        Some(distance) => (out, distance, false),
        None if in_place => (from, n, true),
        None => (job.packed(out, Use::Out, false)?, n, true),
    };
    transform(job, [n, rows, from_distance, to_distance], from, to, inverse)?;
    if inverse {
        let factor = (1.0 / n as f64) as f32;
        let scaled = (to, POINT);
        job.map("scale_complex", scaled, scaled, n.saturating_mul(rows), [factor, 0.0])?;
    }
    if is_packed { job.unpacked(to, out) } else { Ok(()) }
}

fn transform(job: &Job<'_>, shape: [usize; 4], from: Place, to: Place, inverse: bool) -> Result<(), DeviceError> {
    let unsupported = |why: String| job.refuse(DeviceErrorKind::Unsupported, why);
    let library = CuFft::get().map_err(|why| unsupported(why.to_string()))?;
    let too_many = |_| unsupported(format!("{} rows of {} points are more than it counts to", shape[1], shape[0]));
    let [n, batch, from_distance, to_distance] = shape.map(i32::try_from);
    let shape = Shape {
        n: n.map_err(too_many)?,
        batch: batch.map_err(too_many)?,
        from: from_distance.map_err(too_many)?,
        to: to_distance.map_err(too_many)?,
    };
    if let Some(odd) = [from.address, to.address].into_iter().find(|address| !address.is_multiple_of(POINT as u64)) {
        let message = format!("an operand lies at {odd:#x}, which is no multiple of a point's {POINT} bytes");
        return Err(job.refuse(DeviceErrorKind::Invalid, message));
    }
    let driver = &job.device.driver;
    let mut plans = job.device.plans.lock();
    let plan = plans.plan(library, &driver.context, &driver.queue.stream, shape).map_err(|code| job.failed(code))?;
    let room = job.scratch(Use::Work, plan.room)?;
    // SAFETY: the call was checked to fit its operands, which lie in live blocks; scratch is as large as asked for.
    unsafe { plan.run(room, from.address, to.address, inverse) }.map_err(|code| job.failed(code))
}
