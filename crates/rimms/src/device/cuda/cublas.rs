//! Products of matrices by cuBLAS.
//!
//! Owns [`Blas`], a handle on a device's stream. cuBLAS has matrices column after column, and we row after row: what it takes for `b·a` is
//! our `a·b`, since each of our matrices is its transpose.
#![allow(unsafe_code)]

use super::library::{Code, CuBlas, Result};
use super::raw::{Context, Stream};
use crate::op::SampleType;
use cudarc::cublas::sys::{cublasHandle_t, cublasOperation_t::CUBLAS_OP_N as AS_IT_IS, float2};
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

fn done(code: u32) -> Result<()> {
    Code::of("cuBLAS", code)
}

/// A matrix on the device, row after row: where, and how many elements lie from one row to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    pub(super) address: u64,
    pub(super) leading: c_int,
}

impl Matrix {
    fn start<T>(self) -> *mut T {
        ptr::without_provenance_mut(self.address as usize)
    }
}

#[derive(Debug)]
pub(super) struct Blas {
    library: &'static CuBlas,
    context: Arc<Context>,
    handle: cublasHandle_t,
}

// SAFETY: a handle may be used from any thread, from one at a time: it is behind a lock.
unsafe impl Send for Blas {}

impl Blas {
    pub(super) fn new(library: &'static CuBlas, context: &Arc<Context>, stream: &Stream) -> Result<Self> {
        let _here = context.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: writes a handle.
        done(unsafe { (library.cublasCreate_v2)(&mut handle) })?;
        let blas = Self { library, context: context.clone(), handle };
        // SAFETY: a live stream, which outlives the handle; one type by two names.
        done(unsafe { (library.cublasSetStream_v2)(handle, stream.raw().cast()) })?;
        Ok(blas)
    }

    /// Queues `c = a·b`, of `rows` × `inner` and `inner` × `cols`.
    ///
    /// # Safety
    /// The matrices lie in live blocks, and have as many elements.
    pub(super) unsafe fn multiply(
        &self,
        sample: SampleType,
        [rows, inner, cols]: [c_int; 3],
        [a, b, c]: [Matrix; 3],
    ) -> Result<()> {
        let _here = self.context.enter()?;
        match sample {
            // SAFETY: the caller's; the factors are read in the call.
            SampleType::Real => done(unsafe {
                (self.library.cublasSgemm_v2)(
                    self.handle,
                    AS_IT_IS,
                    AS_IT_IS,
                    cols,
                    rows,
                    inner,
                    &1.0,
                    b.start(),
                    b.leading,
                    a.start(),
                    a.leading,
                    &0.0,
                    c.start(),
                    c.leading,
                )
            }),
            // SAFETY: as above.
            SampleType::Complex => done(unsafe {
                (self.library.cublasCgemm_v2)(
                    self.handle,
                    AS_IT_IS,
                    AS_IT_IS,
                    cols,
                    rows,
                    inner,
                    &float2 { x: 1.0, y: 0.0 },
                    b.start(),
                    b.leading,
                    a.start(),
                    a.leading,
                    &float2 { x: 0.0, y: 0.0 },
                    c.start(),
                    c.leading,
                )
            }),
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let _here = self.context.enter();
        // SAFETY: ours, and given back once.
        unsafe { (self.library.cublasDestroy_v2)(self.handle) };
    }
}
