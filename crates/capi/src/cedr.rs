//! The calls by CEDR's names, on `hete_Data`.
//!
//! Each comes twice: it returns when it is done; or, with `_nb`, when it is accepted. The bodies are in [`ops`](crate::ops).
//! CEDR's `_int` calls are not here: what it calls so works on 16-bit integers, and the runtime's kernels on floats.
#![allow(unsafe_code, non_camel_case_types, non_snake_case, clippy::too_many_arguments)] // exported names, CEDR's signatures

use crate::boundary::call;
use crate::error::hete_Error;
use crate::event::hete_Event;
use crate::ops::{convolve, decide, fft, gemm, transpose, zip, zip_matrices};
use crate::run::How;
use crate::slab::hete_Data;
use rimms::ZipOp;
use rimms::op::Constellation;
use std::ffi::c_int;

/// What `CEDR_ZIP_flt` does with two elements. All but the last are CEDR's.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum hete_ZipOp {
    /// `a + b`
    ZIP_ADD = 0,
    /// `a − b`
    ZIP_SUB = 1,
    /// `a · b`
    ZIP_MULT = 2,
    /// `a / b`
    ZIP_DIV = 3,
    /// The same as `ZIP_MULT`: CEDR's other name for the complex product.
    ZIP_CMP_MULT = 4,
    /// `a · conj(b)`
    ZIP_CONJ_MULT = 5,
}

/// Fourier transforms of `n` complex points, of each row of `n` in `input`; backwards, and divided by `n`, where `forward` is
/// false. `output` may be `input`.
///
/// Forward: `y[k] = Σ x[j]·exp(−2πi·jk/n)`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_FFT_flt(input: *mut hete_Data, output: *mut hete_Data, n: usize, forward: bool) -> hete_Error {
    call(|| fft(input, output, n, forward, How::Blocking))
}

/// `CEDR_FFT_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_FFT_flt_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    forward: bool,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| fft(input, output, n, forward, How::Queued(event)))
}

/// `output = a ∘ b`, element by element, for `n` complex elements; `op` is one of `hete_ZipOp`. `b` may be shorter, if its
/// length divides `n`: one row for all rows of `a`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_ZIP_flt(
    a: *mut hete_Data,
    b: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    op: c_int,
) -> hete_Error {
    call(|| zip(a, b, output, n, op, How::Blocking))
}

/// `CEDR_ZIP_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_ZIP_flt_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    op: c_int,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| zip(a, b, output, n, op, How::Queued(event)))
}

/// The matrix product `c = a · b` of complex matrices, row after row: `a` is `rows_a` × `cols_a`, `b` is `cols_a` × `cols_b`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_GEMM_flt(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows_a: usize,
    cols_a: usize,
    cols_b: usize,
) -> hete_Error {
    call(|| gemm(a, b, c, [rows_a, cols_a, cols_b], How::Blocking))
}

/// `CEDR_GEMM_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_GEMM_flt_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows_a: usize,
    cols_a: usize,
    cols_b: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| gemm(a, b, c, [rows_a, cols_a, cols_b], How::Queued(event)))
}

/// `y[i] = Σ mask[j]·x[i + j − k/2]` for `n` real elements and a mask of `k`, zeros beyond the ends; the mask is not turned
/// round.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_CONV_1D_flt(
    input: *mut hete_Data,
    n: usize,
    mask: *mut hete_Data,
    k: usize,
    output: *mut hete_Data,
) -> hete_Error {
    call(|| convolve(input, [1, n], mask, [1, k], output, How::Blocking))
}

/// `CEDR_CONV_1D_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_CONV_1D_flt_nb(
    input: *mut hete_Data,
    n: usize,
    mask: *mut hete_Data,
    k: usize,
    output: *mut hete_Data,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| convolve(input, [1, n], mask, [1, k], output, How::Queued(event)))
}

/// The same in two dimensions: `height` rows of `width` real elements, a mask of `k` × `k`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_CONV_2D_flt(
    input: *mut hete_Data,
    height: usize,
    width: usize,
    mask: *mut hete_Data,
    k: usize,
    output: *mut hete_Data,
) -> hete_Error {
    call(|| convolve(input, [height, width], mask, [k, k], output, How::Blocking))
}

/// `CEDR_CONV_2D_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_CONV_2D_flt_nb(
    input: *mut hete_Data,
    height: usize,
    width: usize,
    mask: *mut hete_Data,
    k: usize,
    output: *mut hete_Data,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| convolve(input, [height, width], mask, [k, k], output, How::Queued(event)))
}

/// Decisions on `n` complex BPSK symbols: the float +1 where the real part is above 0, else −1.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_BPSK_flt(input: *mut hete_Data, output: *mut hete_Data, n: usize) -> hete_Error {
    call(|| decide(input, output, Constellation::Bpsk, n, How::Blocking))
}

/// `CEDR_BPSK_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_BPSK_flt_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| decide(input, output, Constellation::Bpsk, n, How::Queued(event)))
}

/// Decisions on `n` complex QAM16 symbols: the number, an `int32_t`, of the nearest one, 4·(level of the real part) +
/// (level of the imaginary part), levels from 0 at −3/√10 to 3 at 3/√10.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_QAM16_flt(input: *mut hete_Data, output: *mut hete_Data, n: usize) -> hete_Error {
    call(|| decide(input, output, Constellation::Qam16, n, How::Blocking))
}

/// `CEDR_QAM16_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_QAM16_flt_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    n: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| decide(input, output, Constellation::Qam16, n, How::Queued(event)))
}

/// `c = a + b`, for complex matrices of `rows` × `cols`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_MADD_flt(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows: usize,
    cols: usize,
) -> hete_Error {
    call(|| zip_matrices(ZipOp::Add, a, b, c, [rows, cols], How::Blocking))
}

/// `CEDR_MADD_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_MADD_flt_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows: usize,
    cols: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| zip_matrices(ZipOp::Add, a, b, c, [rows, cols], How::Queued(event)))
}

/// `c = a − b`, for complex matrices of `rows` × `cols`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_MSUB_flt(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows: usize,
    cols: usize,
) -> hete_Error {
    call(|| zip_matrices(ZipOp::Sub, a, b, c, [rows, cols], How::Blocking))
}

/// `CEDR_MSUB_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_MSUB_flt_nb(
    a: *mut hete_Data,
    b: *mut hete_Data,
    c: *mut hete_Data,
    rows: usize,
    cols: usize,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| zip_matrices(ZipOp::Sub, a, b, c, [rows, cols], How::Queued(event)))
}

/// The corner turn `y[c][r] = x[r][c]` of a complex matrix of `rows` × `cols`; conjugated too, if `conjugate`.
#[unsafe(no_mangle)]
pub extern "C" fn CEDR_TRANSPOSE_flt(
    input: *mut hete_Data,
    output: *mut hete_Data,
    rows: usize,
    cols: usize,
    conjugate: bool,
) -> hete_Error {
    call(|| transpose(input, output, [rows, cols], conjugate, How::Blocking))
}

/// `CEDR_TRANSPOSE_flt`, not waited for.
///
/// # Safety
/// `event` is NULL, or a place for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CEDR_TRANSPOSE_flt_nb(
    input: *mut hete_Data,
    output: *mut hete_Data,
    rows: usize,
    cols: usize,
    conjugate: bool,
    event: *mut hete_Event,
) -> hete_Error {
    call(|| transpose(input, output, [rows, cols], conjugate, How::Queued(event)))
}
