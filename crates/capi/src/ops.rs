//! What the calls are: their operands' elements and roles, and their parameters from the operands' sizes. What they compute,
//! and which sizes fit, is [`rimms::op`]'s to say.
//!
//! Numbers that stand for one of several things come as plain integers, since C may pass any.
#![allow(unsafe_code)] // one pattern that a program points to

use crate::boundary::array;
use crate::error::{Fault, Result, hete_Error};
use crate::handles::hete_Data;
use crate::run::{How, run};
use crate::session::Cast;
use rimms::op::{Call, Constellation, Convolve, Decide, Element, Fft, FftShift, Fill, Gemm, Role, SampleType, Scale};
use rimms::op::{Shape, Transpose, Zip};
use rimms::{Complex32, ZipOp};
use std::ffi::{c_int, c_void};

type Handle = *mut hete_Data;

/// How many elements of `size` bytes there are in `bytes`; 0, which no call accepts, where they do not divide.
fn elements(bytes: usize, size: usize) -> usize {
    if bytes.is_multiple_of(size) { bytes / size } else { 0 }
}

/// Rows of `n` elements in so many.
fn rows(elements: usize, n: usize) -> usize {
    if n != 0 && elements.is_multiple_of(n) { elements / n } else { 0 }
}

pub(crate) fn fft(input: Handle, output: Handle, n: usize, forward: bool, how: How) -> Result<()> {
    let call = |sizes: &[usize], in_place| {
        let points = elements(sizes.first().copied().unwrap_or(0), size_of::<Complex32>());
        Call::Fft(Fft { n, rows: rows(points, n), inverse: !forward, in_place })
    };
    if input == output {
        return run([(input, Role::InOut, Cast::Complex)], how, |sizes| call(sizes, true));
    }
    let operands = [(input, Role::In, Cast::Complex), (output, Role::Out, Cast::Complex)];
    run(operands, how, |sizes| call(sizes, false))
}

pub(crate) fn zip(a: Handle, b: Handle, output: Handle, n: usize, op: c_int, how: How) -> Result<()> {
    // In the order of `hete_ZipOp`.
    const OPS: [ZipOp; 6] = [ZipOp::Add, ZipOp::Sub, ZipOp::Mul, ZipOp::Div, ZipOp::Mul, ZipOp::ConjMul];
    let op = *one_of("the operation", op, &OPS, "ZIP_ADD to ZIP_CONJ_MULT")?;
    run(in_in_out(a, b, output, Cast::Complex), how, |sizes| {
        let row = elements(sizes.get(1).copied().unwrap_or(0), size_of::<Complex32>());
        Call::Zip(Zip { op, sample: SampleType::Complex, len: n, row })
    })
}

pub(crate) fn zip_matrices(
    op: ZipOp,
    a: Handle,
    b: Handle,
    c: Handle,
    [rows, cols]: [usize; 2],
    how: How,
) -> Result<()> {
    // More than an address can count is as long as nothing is.
    let len = rows.saturating_mul(cols);
    run(in_in_out(a, b, c, Cast::Complex), how, |_| Call::Zip(Zip { op, sample: SampleType::Complex, len, row: len }))
}

pub(crate) fn gemm(a: Handle, b: Handle, c: Handle, [rows, inner, cols]: [usize; 3], how: How) -> Result<()> {
    run(in_in_out(a, b, c, Cast::Complex), how, |_| Call::Gemm(Gemm { sample: SampleType::Complex, rows, inner, cols }))
}

pub(crate) fn convolve(
    x: Handle,
    size: [usize; 2],
    mask: Handle,
    mask_size: [usize; 2],
    y: Handle,
    how: How,
) -> Result<()> {
    let ([rows, cols], [mask_rows, mask_cols]) = (size, mask_size);
    run(in_in_out(x, mask, y, Cast::Real), how, |_| {
        Call::Convolve(Convolve { sample: SampleType::Real, rows, cols, mask_rows, mask_cols })
    })
}

pub(crate) fn decide(x: Handle, y: Handle, constellation: Constellation, len: usize, how: How) -> Result<()> {
    let decision = match constellation {
        Constellation::Bpsk => Cast::Real,
        Constellation::Qam16 => Cast::Int,
    };
    let operands = [(x, Role::In, Cast::Complex), (y, Role::Out, decision)];
    run(operands, how, |_| Call::Decide(Decide { constellation, len }))
}

pub(crate) fn transpose(x: Handle, y: Handle, [rows, cols]: [usize; 2], conjugate: bool, how: How) -> Result<()> {
    let operands = [(x, Role::In, Cast::Complex), (y, Role::Out, Cast::Complex)];
    run(operands, how, |_| Call::Transpose(Transpose { sample: SampleType::Complex, rows, cols, conjugate }))
}

pub(crate) fn fftshift(x: Handle, y: Handle, n: usize, element: c_int, how: How) -> Result<()> {
    let (sample, cast) = samples(element)?;
    run([(x, Role::In, cast), (y, Role::Out, cast)], how, |sizes| {
        let all = elements(sizes.first().copied().unwrap_or(0), sample.element().size());
        Call::FftShift(FftShift { sample, n, rows: rows(all, n) })
    })
}

pub(crate) fn scale(x: Handle, y: Handle, factor: Complex32, element: c_int, how: How) -> Result<()> {
    let (sample, cast) = samples(element)?;
    if sample == SampleType::Real && factor.im != 0.0 {
        let why = format!("scale: real elements take no imaginary part, which is {}", factor.im);
        return Err(Fault::new(hete_Error::HETE_ERROR_ARGUMENT, why));
    }
    let call = |sizes: &[usize], in_place| {
        let len = elements(sizes.first().copied().unwrap_or(0), sample.element().size());
        Call::Scale(Scale { sample, factor, len, in_place })
    };
    if x == y {
        return run([(x, Role::InOut, cast)], how, |sizes| call(sizes, true));
    }
    run([(x, Role::In, cast), (y, Role::Out, cast)], how, |sizes| call(sizes, false))
}

pub(crate) fn magnitude(x: Handle, y: Handle, n: usize, how: How) -> Result<()> {
    run([(x, Role::In, Cast::Complex), (y, Role::Out, Cast::Real)], how, |_| Call::Magnitude(n))
}

pub(crate) fn arg_max(x: Handle, peak: Handle, n: usize, how: How) -> Result<()> {
    run([(x, Role::In, Cast::Real), (peak, Role::Out, Cast::Peak)], how, |_| Call::ArgMax(n))
}

pub(crate) fn copy(x: Handle, y: Handle, how: How) -> Result<()> {
    run([(x, Role::In, Cast::Bytes), (y, Role::Out, Cast::Bytes)], how, |sizes| {
        Call::Copy(Shape::new(sizes.first().copied().unwrap_or(0), Element::of::<u8>()))
    })
}

/// # Safety
/// `pattern` is NULL, or `size` bytes.
pub(crate) unsafe fn fill(y: Handle, pattern: *const c_void, size: usize, how: How) -> Result<()> {
    let (element, cast) = match size {
        1 => (Element::of::<u8>(), Cast::Bytes),
        4 => (Element::of::<f32>(), Cast::Real),
        8 => (Element::of::<Complex32>(), Cast::Complex),
        _ => {
            let why = format!("fill: elements of {size} bytes: 1, 4 or 8 are wanted");
            return Err(Fault::new(hete_Error::HETE_ERROR_ARGUMENT, why));
        }
    };
    // SAFETY: as the caller vouches.
    let pattern = unsafe { array("pattern", pattern.cast::<u8>(), size) }?.into();
    run([(y, Role::Out, cast)], how, |sizes| {
        let len = elements(sizes.first().copied().unwrap_or(0), size);
        Call::Fill(Fill { pattern, element, len })
    })
}

fn in_in_out(a: Handle, b: Handle, output: Handle, cast: Cast) -> [(Handle, Role, Cast); 3] {
    [(a, Role::In, cast), (b, Role::In, cast), (output, Role::Out, cast)]
}

fn samples(element: c_int) -> Result<(SampleType, Cast)> {
    // In the order of `hete_Type`.
    const TYPES: [(SampleType, Cast); 2] = [(SampleType::Real, Cast::Real), (SampleType::Complex, Cast::Complex)];
    one_of("the type of elements", element, &TYPES, "HETE_REAL, HETE_COMPLEX").copied()
}

fn one_of<'a, T>(what: &str, given: c_int, known: &'a [T], names: &str) -> Result<&'a T> {
    usize::try_from(given).ok().and_then(|at| known.get(at)).ok_or_else(|| {
        Fault::new(hete_Error::HETE_ERROR_ARGUMENT, format!("{what} is {given}: one of {names} is wanted"))
    })
}
