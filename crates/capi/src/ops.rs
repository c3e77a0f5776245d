//! What the calls are: their operands' elements and roles, and their parameters from the operands' sizes. What they compute,
//! and which sizes fit, is [`rimms::op`]'s to say.
//!
//! Numbers that stand for one of several things come as plain integers, since C may pass any.
#![allow(unsafe_code)] // one pattern that a program points to

use crate::boundary::array;
use crate::error::{Fault, Result, hete_Error};
use crate::operands::{In, InOut, Out};
use crate::run::{How, run};
use crate::slab::hete_Data;
use bytemuck::Pod;
use rimms::op::{Call, Constellation, Convolve, Decide, Element, Fft, FftShift, Fill, Gemm, Sample, SampleType, Scale};
use rimms::op::{Shape, Transpose, Zip};
use rimms::{Complex32, Peak, ZipOp};
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
    let call = |size: usize, in_place| {
        let points = elements(size, size_of::<Complex32>());
        Call::Fft(Fft { n, rows: rows(points, n), inverse: !forward, in_place })
    };
    if input == output {
        return run((InOut::<Complex32>::of(input),), how, |found| call(found.size(0), true));
    }
    run((In::<Complex32>::of(input), Out::<Complex32>::of(output)), how, |found| call(found.size(0), false))
}

pub(crate) fn zip(a: Handle, b: Handle, output: Handle, n: usize, op: c_int, how: How) -> Result<()> {
    zips::<Complex32>(a, b, output, n, op, how)
}

pub(crate) fn zip_of(
    a: Handle,
    b: Handle,
    output: Handle,
    n: usize,
    op: c_int,
    element: c_int,
    how: How,
) -> Result<()> {
    match samples(element)? {
        SampleType::Real => zips::<f32>(a, b, output, n, op, how),
        SampleType::Complex => zips::<Complex32>(a, b, output, n, op, how),
    }
}

#[inline(always)]
fn zips<S: Sample>(a: Handle, b: Handle, output: Handle, n: usize, op: c_int, how: How) -> Result<()> {
    // In the order of `hete_ZipOp`.
    const OPS: [ZipOp; 6] = [ZipOp::Add, ZipOp::Sub, ZipOp::Mul, ZipOp::Div, ZipOp::Mul, ZipOp::ConjMul];
    let op = *one_of("the operation", op, &OPS, "ZIP_ADD to ZIP_CONJ_MULT")?;
    run(in_in_out::<S>(a, b, output), how, |found| {
        let row = elements(found.size(1), size_of::<S>());
        Call::Zip(Zip { op, sample: S::TYPE, len: n, row })
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
    run(in_in_out::<Complex32>(a, b, c), how, |_| Call::Zip(Zip { op, sample: SampleType::Complex, len, row: len }))
}

pub(crate) fn gemm(a: Handle, b: Handle, c: Handle, size: [usize; 3], how: How) -> Result<()> {
    gemms::<Complex32>(a, b, c, size, how)
}

pub(crate) fn gemm_of(a: Handle, b: Handle, c: Handle, size: [usize; 3], element: c_int, how: How) -> Result<()> {
    match samples(element)? {
        SampleType::Real => gemms::<f32>(a, b, c, size, how),
        SampleType::Complex => gemms::<Complex32>(a, b, c, size, how),
    }
}

fn gemms<S: Sample>(a: Handle, b: Handle, c: Handle, [rows, inner, cols]: [usize; 3], how: How) -> Result<()> {
    run(in_in_out::<S>(a, b, c), how, |_| Call::Gemm(Gemm { sample: S::TYPE, rows, inner, cols }))
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
    run(in_in_out::<f32>(x, mask, y), how, |_| {
        Call::Convolve(Convolve { sample: SampleType::Real, rows, cols, mask_rows, mask_cols })
    })
}

pub(crate) fn decide(x: Handle, y: Handle, constellation: Constellation, len: usize, how: How) -> Result<()> {
    let (x, call) = (In::<Complex32>::of(x), Call::Decide(Decide { constellation, len }));
    match constellation {
        Constellation::Bpsk => run((x, Out::<f32>::of(y)), how, |_| call),
        Constellation::Qam16 => run((x, Out::<i32>::of(y)), how, |_| call),
    }
}

pub(crate) fn transpose(x: Handle, y: Handle, size: [usize; 2], conjugate: bool, how: How) -> Result<()> {
    transposes::<Complex32>(x, y, size, conjugate, how)
}

pub(crate) fn transpose_of(x: Handle, y: Handle, size: [usize; 2], element: c_int, how: How) -> Result<()> {
    match samples(element)? {
        SampleType::Real => transposes::<f32>(x, y, size, false, how),
        SampleType::Complex => transposes::<Complex32>(x, y, size, false, how),
    }
}

fn transposes<S: Sample>(x: Handle, y: Handle, [rows, cols]: [usize; 2], conjugate: bool, how: How) -> Result<()> {
    let call = Call::Transpose(Transpose { sample: S::TYPE, rows, cols, conjugate });
    run((In::<S>::of(x), Out::<S>::of(y)), how, |_| call)
}

pub(crate) fn fftshift(x: Handle, y: Handle, n: usize, element: c_int, how: How) -> Result<()> {
    fn of<S: Sample>(x: Handle, y: Handle, n: usize, how: How) -> Result<()> {
        run((In::<S>::of(x), Out::<S>::of(y)), how, |found| {
            Call::FftShift(FftShift { sample: S::TYPE, n, rows: rows(elements(found.size(0), size_of::<S>()), n) })
        })
    }
    match samples(element)? {
        SampleType::Real => of::<f32>(x, y, n, how),
        SampleType::Complex => of::<Complex32>(x, y, n, how),
    }
}

pub(crate) fn scale(x: Handle, y: Handle, factor: Complex32, element: c_int, how: How) -> Result<()> {
    fn of<S: Sample>(x: Handle, y: Handle, factor: Complex32, how: How) -> Result<()> {
        let call = |size: usize, in_place| {
            Call::Scale(Scale { sample: S::TYPE, factor, len: elements(size, size_of::<S>()), in_place })
        };
        if x == y {
            return run((InOut::<S>::of(x),), how, |found| call(found.size(0), true));
        }
        run((In::<S>::of(x), Out::<S>::of(y)), how, |found| call(found.size(0), false))
    }
    match samples(element)? {
        SampleType::Real if factor.im != 0.0 => {
            let why = format!("scale: real elements take no imaginary part, which is {}", factor.im);
            Err(Fault::new(hete_Error::HETE_ERROR_ARGUMENT, why))
        }
        SampleType::Real => of::<f32>(x, y, factor, how),
        SampleType::Complex => of::<Complex32>(x, y, factor, how),
    }
}

pub(crate) fn magnitude(x: Handle, y: Handle, n: usize, how: How) -> Result<()> {
    run((In::<Complex32>::of(x), Out::<f32>::of(y)), how, |_| Call::Magnitude(n))
}

pub(crate) fn arg_max(x: Handle, peak: Handle, n: usize, how: How) -> Result<()> {
    run((In::<f32>::of(x), Out::<Peak>::of(peak)), how, |_| Call::ArgMax(n))
}

pub(crate) fn copy(x: Handle, y: Handle, how: How) -> Result<()> {
    run((In::<u8>::of(x), Out::<u8>::of(y)), how, |found| Call::Copy(Shape::new(found.size(0), Element::of::<u8>())))
}

/// # Safety
/// `pattern` is NULL, or `size` bytes.
pub(crate) unsafe fn fill(y: Handle, pattern: *const c_void, size: usize, how: How) -> Result<()> {
    fn of<T: Pod>(y: Handle, pattern: &[u8], how: How) -> Result<()> {
        run((Out::<T>::of(y),), how, |found| {
            let len = elements(found.size(0), size_of::<T>());
            Call::Fill(Fill { pattern: pattern.into(), element: Element::of::<T>(), len })
        })
    }
    if ![1, 4, 8].contains(&size) {
        let why = format!("fill: elements of {size} bytes: 1, 4 or 8 are wanted");
        return Err(Fault::new(hete_Error::HETE_ERROR_ARGUMENT, why));
    }
    // SAFETY: as the caller vouches.
    let pattern = unsafe { array("pattern", pattern.cast::<u8>(), size) }?;
    match size {
        1 => of::<u8>(y, pattern, how),
        4 => of::<f32>(y, pattern, how),
        _ => of::<Complex32>(y, pattern, how),
    }
}

#[inline(always)]
fn in_in_out<T: Pod>(a: Handle, b: Handle, output: Handle) -> (In<T>, In<T>, Out<T>) {
    (In::of(a), In::of(b), Out::of(output))
}

fn samples(element: c_int) -> Result<SampleType> {
    // In the order of `hete_Type`.
    const TYPES: [SampleType; 2] = [SampleType::Real, SampleType::Complex];
    one_of("the type of elements", element, &TYPES, "HETE_REAL, HETE_COMPLEX").copied()
}

#[inline(always)]
fn one_of<'a, T>(what: &str, given: c_int, known: &'a [T], names: &str) -> Result<&'a T> {
    match usize::try_from(given).ok().and_then(|at| known.get(at)) {
        Some(one) => Ok(one),
        None => Err(none_of(what, given, names)),
    }
}

#[cold]
fn none_of(what: &str, given: c_int, names: &str) -> Box<Fault> {
    Fault::new(hete_Error::HETE_ERROR_ARGUMENT, format!("{what} is {given}: one of {names} is wanted"))
}
