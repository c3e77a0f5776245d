//! The calls that CEDR has no name for, or only for complex elements.
//!
//! Each comes twice: it returns when it is done; or, with `_nb`, when it is accepted. The bodies are in [`ops`](crate::ops).
#![allow(unsafe_code, non_camel_case_types, non_snake_case, clippy::too_many_arguments)] // exported names

use crate::boundary::call;
use crate::error::hete_Error;
use crate::event::hete_Event;
use crate::ops::{arg_max, copy, fftshift, fill, gemm_of, magnitude, scale, transpose_of, zip_of};
use crate::run::How;
use crate::slab::hete_Data;
use rimms::Complex32;
use std::ffi::{c_int, c_void};

/// What elements are.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum hete_Type {
    /// `float`
    HETE_REAL = 0,
    /// Two of them, real and imaginary part: `float complex`, `std::complex<float>`.
    HETE_COMPLEX = 1,
}

/// What `hete_ArgMax` finds.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct hete_Peak {
    /// Where the largest element is, from 0.
    pub index: u64,
    /// How large it is.
    pub value: f64,
}

/// `output = a ∘ b` as `CEDR_ZIP_flt`, for `n` elements of a `hete_Type`; `op` is one of `hete_ZipOp`, of which
/// `ZIP_CONJ_MULT` is `ZIP_MULT` where they are real.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Zip(
    a: *mut hete_Data,
    b: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    op: c_int,
    element: c_int,
) -> hete_Error {
    call(|| zip_of(a, b, output, n, op, element, How::Blocking))
}

/// `hete_Zip`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Zip_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    op: c_int,
    element: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| zip_of(a, b, output, n, op, element, How::Queued(event)))
}

/// The matrix product `c = a · b` as `CEDR_GEMM_flt`, for elements of a `hete_Type`.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Gemm(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows_a: usize,
    cols_a: usize,
    cols_b: usize,
    element: c_int,
) -> hete_Error {
    call(|| gemm_of(a, b, c, [rows_a, cols_a, cols_b], element, How::Blocking))
}

/// `hete_Gemm`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Gemm_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows_a: usize,
    cols_a: usize,
    cols_b: usize,
    element: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| gemm_of(a, b, c, [rows_a, cols_a, cols_b], element, How::Queued(event)))
}

/// The corner turn `y[c][r] = x[r][c]` as `CEDR_TRANSPOSE_flt`, for elements of a `hete_Type`.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Transpose(
    input: *mut hete_Data,
    output: *mut hete_Data,
    rows: usize,
    cols: usize,
    element: c_int,
) -> hete_Error {
    call(|| transpose_of(input, output, [rows, cols], element, How::Blocking))
}

/// `hete_Transpose`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Transpose_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    rows: usize,
    cols: usize,
    element: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| transpose_of(input, output, [rows, cols], element, How::Queued(event)))
}

/// Each row of `n` elements turned by `n/2`, so that frequency 0 comes to the middle. `element` is one of `hete_Type`.
#[unsafe(no_mangle)]
pub extern "C" fn hete_FftShift(input: *mut hete_Data, output: *mut hete_Data, n: usize, element: c_int) -> hete_Error {
    call(|| fftshift(input, output, n, element, How::Blocking))
}

/// `hete_FftShift`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_FftShift_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    element: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| fftshift(input, output, n, element, How::Queued(event)))
}

/// `y = (re + i·im) · x`, for elements of a `hete_Type`; real ones take no imaginary part. `output` may be `input`.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Scale(
    input: *mut hete_Data,
    output: *mut hete_Data,
    re: f32,
    im: f32,
    element: c_int,
) -> hete_Error {
    call(|| scale(input, output, Complex32::new(re, im), element, How::Blocking))
}

/// `hete_Scale`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Scale_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    re: f32,
    im: f32,
    element: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| scale(input, output, Complex32::new(re, im), element, How::Queued(event)))
}

/// `y = |x|`: `n` floats from `n` complex elements.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Magnitude(input: *mut hete_Data, output: *mut hete_Data, n: usize) -> hete_Error {
    call(|| magnitude(input, output, n, How::Blocking))
}

/// `hete_Magnitude`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Magnitude_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| magnitude(input, output, n, How::Queued(event)))
}

/// Where the largest of `n` floats is, and how large: one `hete_Peak`. The first of equals; NaN is never the largest.
#[unsafe(no_mangle)]
pub extern "C" fn hete_ArgMax(input: *mut hete_Data, peak: *mut hete_Data, n: usize) -> hete_Error {
    call(|| arg_max(input, peak, n, How::Blocking))
}

/// `hete_ArgMax`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_ArgMax_nb(
    input: *mut hete_Data,
    peak: *mut hete_Data,
    n: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| arg_max(input, peak, n, How::Queued(event)))
}

/// `output = input`, both of the same size.
#[unsafe(no_mangle)]
pub extern "C" fn hete_Copy(input: *mut hete_Data, output: *mut hete_Data) -> hete_Error {
    call(|| copy(input, output, How::Blocking))
}

/// `hete_Copy`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Copy_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| copy(input, output, How::Queued(event)))
}

/// Every element of `output` becomes the one of `size` bytes at `pattern`: 1, 4 or 8.
///
/// # Safety
/// `pattern` is NULL, or that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Fill(output: *mut hete_Data, pattern: *const c_void, size: usize) -> hete_Error {
    // SAFETY: as the caller vouches.
    call(|| unsafe { fill(output, pattern, size, How::Blocking) })
}

/// `hete_Fill`, not waited for.
///
/// # Safety
/// `pattern` is as there; `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_Fill_nb(
    output: *mut hete_Data,
    pattern: *const c_void,
    size: usize,
    event: *mut hete_Event,
) -> hete_Error {
    // SAFETY: as the caller vouches.
    call(|| unsafe { fill(output, pattern, size, How::Queued(event)) })
}
