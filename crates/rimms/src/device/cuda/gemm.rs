//! Products of matrices: by cuBLAS where it is here and the operands lie as it wants them, otherwise by a kernel.
#![allow(unsafe_code)]

use super::cublas::{Blas, Matrix};
use super::launch::{Job, Place, by_sample};
use super::library::CuBlas;
use super::program::{Family, GROUP};
use super::queue::arg;
use crate::device::DeviceError;
use crate::op::Gemm;

/// Rows that a thread of the kernel does.
const ROWS: usize = 4;

/// The place as a matrix of rows of so many elements, if its rows are that.
fn matrix(place: &Place, cols: usize, size: usize) -> Option<Matrix> {
    let rows = &place.rows;
    let leading = match rows.is_run() {
        true => cols,
        false if rows.row_bytes == cols * size && rows.pitch.is_multiple_of(size) => rows.pitch / size,
        false => return None,
    };
    let is_aligned = place.address.is_multiple_of(size as u64);
    Some(Matrix { address: place.address, leading: i32::try_from(leading).ok().filter(|_| is_aligned)? })
}

pub(super) fn run(job: &Job<'_>, g: &Gemm) -> Result<(), DeviceError> {
    let (kernel, size) = by_sample(g.sample, ["gemm_real", "gemm_complex"]);
    let [a, b, c] = [job.place(0)?, job.place(1)?, job.place(2)?];
    let matrices = (matrix(&a, g.inner, size), matrix(&b, g.cols, size), matrix(&c, g.cols, size));
    let sizes = [g.rows, g.inner, g.cols].map(|n| i32::try_from(n).ok());
    if let (Ok(library), (Some(a), Some(b), Some(c)), [Some(rows), Some(inner), Some(cols)]) =
        (CuBlas::get(), matrices, sizes)
    {
        let driver = &job.device.driver;
        let mut kept = job.device.blas.lock();
        let blas = match &mut *kept {
            Some(blas) => blas,
            none => {
                let made = Blas::new(library, &driver.context, &driver.queue.stream);
                none.insert(made.map_err(|code| job.failed(code))?)
            }
        };
        // SAFETY: the call was checked to fit its operands, which lie in live blocks.
        return unsafe { blas.multiply(g.sample, [rows, inner, cols], [a, b, c]) }.map_err(|code| job.failed(code));
    }
    let mut args = job.args(&[size; 3])?;
    args.extend([g.rows, g.inner, g.cols].map(|n| arg(n as u64)));
    let blocks = [g.cols.div_ceil(GROUP), g.rows.div_ceil(ROWS)];
    job.tiled(Family::Sums, kernel, &args, blocks, [GROUP, 1])
}
