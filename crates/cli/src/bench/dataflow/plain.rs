//! 2FFT in plain CUDA, written by hand: the rival of the chain on a CUDA device.
//!
//! One stream, two blocks of device memory and one plan, made once; a lap copies the input in, transforms it, transforms it back and
//! scales, as a program for one GPU would. Copies are from and to the host's ordinary memory, which the driver stages.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fmt::Display;

use anyhow::anyhow;
use cudarc::cublas::{result as cublas, sys as cublas_sys};
use cudarc::cufft::{result as cufft, sys as cufft_sys};
use cudarc::driver::{result, sys};
use rimms::Complex32;

use crate::output::Failure;

fn said(what: &str, error: impl Display) -> Failure {
    anyhow!("plain CUDA: {what}: {error}").into()
}

/// What is made once.
pub(super) struct Plain {
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    plan: cufft_sys::cufftHandle,
    blas: cublas_sys::cublasHandle_t,
    /// On the device: the signal, and its spectrum.
    x: sys::CUdeviceptr,
    spectrum: sys::CUdeviceptr,
    output: Vec<Complex32>,
}

impl Plain {
    /// On the driver's first device, whose libraries are known to be here.
    pub(super) fn new(points: usize) -> Result<Self, Failure> {
        let n = c_int::try_from(points).map_err(|e| said("points", e))?;
        result::init().map_err(|e| said("the driver", e))?;
        let device = result::device::get(0).map_err(|e| said("the device", e))?;
        // SAFETY: a device of the driver's; released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(|e| said("the context", e))?;
        // SAFETY: retained just now.
        unsafe { result::ctx::set_current(context) }.map_err(|e| said("the context", e))?;
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = stream.map_err(|e| said("a stream", e))?;
        let bytes = points * size_of::<Complex32>();
        // SAFETY: freed in `drop`; read only where it was written.
        let room = || unsafe { result::malloc_sync(bytes) }.map_err(|e| said("memory", e));
        let (x, spectrum) = (room()?, room()?);
        let plan = cufft::plan_1d(n, cufft_sys::cufftType::CUFFT_C2C, 1).map_err(|e| said("a plan", e))?;
        // SAFETY: both were made just now; one type by two names.
        unsafe { cufft::set_stream(plan, stream.cast()) }.map_err(|e| said("a plan", e))?;
        let blas = cublas::create_handle().map_err(|e| said("cuBLAS", e))?;
        // SAFETY: as above.
        unsafe { cublas::set_stream(blas, stream.cast()) }.map_err(|e| said("cuBLAS", e))?;
        let output = vec![Complex32::default(); points];
        Ok(Self { device, context, stream, plan, blas, x, spectrum, output })
    }

    /// The input goes in, and the result is made there; over when it returns.
    pub(super) fn call(&self, input: &[Complex32]) -> Result<(), Failure> {
        const FORWARD: c_int = -1;
        const INVERSE: c_int = 1;
        let n = self.output.len();
        if input.len() != n {
            return Err(anyhow!("plain CUDA: {} points in room for {n}", input.len()).into());
        }
        let Self { plan, stream, .. } = *self;
        let (x, spectrum) = (self.x as *mut cufft_sys::cufftComplex, self.spectrum as *mut cufft_sys::cufftComplex);
        // SAFETY: live, and of this thread's context, which others may have changed in between.
        unsafe { result::ctx::set_current(self.context) }.map_err(|e| said("the context", e))?;
        // SAFETY: as many bytes as there is room for; the input lives until the stream is finished below.
        unsafe { result::memcpy_htod_async(self.x, input, stream) }.map_err(|e| said("the copy in", e))?;
        // SAFETY: both places have as many points as the plan.
        unsafe { cufft::exec_c2c(plan, x, spectrum, FORWARD) }.map_err(|e| said("the FFT", e))?;
        // SAFETY: as above.
        unsafe { cufft::exec_c2c(plan, spectrum, x, INVERSE) }.map_err(|e| said("the inverse FFT", e))?;
        let factor = 1.0 / n as f32;
        // SAFETY: as above; the factor is read in the call.
        let scaled = unsafe { cublas_sys::cublasCsscal_v2(self.blas, n as c_int, &factor, x.cast(), 1) };
        scaled.result().map_err(|e| said("scaling", e))?;
        // SAFETY: a live stream.
        unsafe { result::stream::synchronize(stream) }.map_err(|e| said("waiting", e))
    }

    /// The result comes to the host.
    pub(super) fn read(&mut self) -> Result<(), Failure> {
        // SAFETY: as many bytes as were written there; the output lives until the stream is finished.
        unsafe { result::memcpy_dtoh_async(&mut self.output, self.x, self.stream) }
            .map_err(|e| said("the copy out", e))?;
        // SAFETY: a live stream.
        unsafe { result::stream::synchronize(self.stream) }.map_err(|e| said("waiting", e))
    }

    pub(super) fn output(&self) -> &[Complex32] {
        &self.output
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // SAFETY: each is ours, and given back once; nothing is queued any more.
        unsafe {
            let _ = result::ctx::set_current(self.context);
            let _ = result::stream::synchronize(self.stream);
            let _ = cublas::destroy_handle(self.blas);
            let _ = cufft::destroy(self.plan);
            let _ = result::free_sync(self.x);
            let _ = result::free_sync(self.spectrum);
            let _ = result::stream::destroy(self.stream);
            let _ = result::ctx::set_current(std::ptr::null_mut());
            let _ = result::primary_ctx::release(self.device);
        }
    }
}
