//! cuBLAS's calls that are used: products of two matrices as they are, column after column.

use crate::calls::{Whose, exports};
use crate::foreign::{copy, give, take};
use crate::state::{self, Handle, with as with_state};
use parking_lot::Mutex;
use rustfft::num_complex::{Complex32, Complex64};
use std::collections::HashMap;
use std::ffi::{c_int, c_uint};
use std::ptr::without_provenance_mut;
use std::sync::LazyLock;

const INVALID_VALUE: u32 = 7;
const NOT_INITIALIZED: u32 = 1;

/// The stream of each handle.
static HANDLES: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Copy)]
struct Matrix {
    start: usize,
    /// Elements from one column to the next.
    leading: usize,
}

/// `c = a · b`, of `m` rows and `n` columns, on samples of `floats` parts.
fn product(
    handle: Handle,
    [m, n, k]: [c_int; 3],
    [a, b, c]: [Matrix; 3],
    floats: usize,
    (is_plain, alpha, beta): (bool, f32, f32),
) -> Result<(), u32> {
    let stream = HANDLES.lock().get(&handle.addr()).copied().ok_or(NOT_INITIALIZED)?;
    let stream = state::stream(without_provenance_mut(stream)).map_err(|_| INVALID_VALUE)?;
    let [m, n, k] = [m, n, k].map(|n| n as usize);
    let size = 4 * floats;
    let is_there = |x: Matrix, rows: usize, columns: usize| {
        let inside = |i| with_state(|state| state.is_ours(x.start + i * x.leading * size, rows * size));
        x.leading >= rows && (0..columns).all(inside)
    };
    if !is_plain || (alpha, beta) != (1.0, 0.0) || !is_there(a, m, k) || !is_there(b, k, n) || !is_there(c, m, n) {
        return Err(INVALID_VALUE);
    }
    stream.queue(move || {
        let read = |x: Matrix, row: usize, column: usize| {
            let mut sample = [0.0_f32; 2];
            copy(x.start + (column * x.leading + row) * size, sample.as_mut_ptr().expose_provenance(), size);
            Complex64::new(sample[0].into(), sample[1].into())
        };
        for column in 0..n {
            for row in 0..m {
                let sum: Complex64 = (0..k).map(|i| read(a, row, i) * read(b, i, column)).sum();
                let sum = Complex32::new(sum.re as f32, sum.im as f32);
                let sample = [sum.re, sum.im];
                let to = c.start + (column * c.leading + row) * size;
                copy(sample.as_ptr().expose_provenance(), to, size);
            }
        }
    });
    Ok(())
}

fn matrix(start: Handle, leading: c_int) -> Matrix {
    Matrix { start: start.addr(), leading: leading as usize }
}

/// As new.
pub(crate) fn reset() {
    HANDLES.lock().clear();
}

exports! { Whose::Library;
    fn cublasCreate_v2(handle: *mut Handle) {
        let number = with_state(|state| {
            state.others += 1;
            state.fresh()
        });
        HANDLES.lock().insert(number, 0);
        give(handle, without_provenance_mut(number))?;
    }
    fn cublasDestroy_v2(handle: Handle) {
        HANDLES.lock().remove(&handle.addr()).ok_or(NOT_INITIALIZED)?;
        with_state(|state| state.others -= 1);
    }
    fn cublasSetStream_v2(handle: Handle, stream: Handle) {
        *HANDLES.lock().get_mut(&handle.addr()).ok_or(NOT_INITIALIZED)? = stream.addr();
    }
    fn cublasCsscal_v2(handle: Handle, n: c_int, factor: *const f32, x: Handle, step: c_int) {
        let stream = HANDLES.lock().get(&handle.addr()).copied().ok_or(NOT_INITIALIZED)?;
        let stream = state::stream(without_provenance_mut(stream)).map_err(|_| INVALID_VALUE)?;
        let (start, floats, factor) = (x.addr(), 2 * n as usize, take(factor)?);
        if step != 1 || !with_state(|state| state.is_ours(start, floats * 4)) {
            return Err(INVALID_VALUE);
        }
        stream.queue(move || {
            for at in (start..).step_by(4).take(floats) {
                let mut value = 0.0_f32;
                copy(at, (&raw mut value).expose_provenance(), 4);
                value *= factor;
                copy((&raw const value).expose_provenance(), at, 4);
            }
        });
    }
    fn cublasSgemm_v2(
        handle: Handle,
        turn_a: c_uint,
        turn_b: c_uint,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const f32,
        a: Handle,
        lda: c_int,
        b: Handle,
        ldb: c_int,
        beta: *const f32,
        c: Handle,
        ldc: c_int,
    ) {
        let factors = (turn_a == 0 && turn_b == 0, take(alpha)?, take(beta)?);
        product(handle, [m, n, k], [matrix(a, lda), matrix(b, ldb), matrix(c, ldc)], 1, factors)?;
    }
    fn cublasCgemm_v2(
        handle: Handle,
        turn_a: c_uint,
        turn_b: c_uint,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const [f32; 2],
        a: Handle,
        lda: c_int,
        b: Handle,
        ldb: c_int,
        beta: *const [f32; 2],
        c: Handle,
        ldc: c_int,
    ) {
        let ([alpha, turn], [beta, also]) = (take(alpha)?, take(beta)?);
        let factors = (turn_a == 0 && turn_b == 0 && turn == 0.0 && also == 0.0, alpha, beta);
        product(handle, [m, n, k], [matrix(a, lda), matrix(b, ldb), matrix(c, ldc)], 2, factors)?;
    }
}
