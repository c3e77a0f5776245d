//! NVIDIA's libraries: opened at run time, with every function that is used here.
//!
//! Owns [`Driver`], [`Nvrtc`], [`CuFft`] and [`CuBlas`]: tables of functions, each made whole or not at all, so that
//! what is missing is known before anything is called, with its name. cudarc knows under which
//! names the libraries go, and its bindings hold the signatures here to be right, at compile time; its own functions are not
//! called, as they panic where a symbol is missing, and their results cannot hold a code that is newer than they are.
//!
//! Functions are as unsafe as the libraries say. Each gives 0 or a code, which [`Code`] puts in words.
#![allow(unsafe_code, non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::sync::OnceLock;

/// Why a library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Missing {
    /// It is not here.
    Library(&'static str),
    /// It is too old, or something else: it lacks a function.
    Symbol(&'static str, &'static str),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(name) => write!(f, "lib{name}.so is not here"),
            Self::Symbol(name, symbol) => write!(f, "lib{name}.so has no function {symbol}: another version is needed"),
        }
    }
}

macro_rules! library {
    (
        $(#[$doc:meta])*
        $table:ident, $name:literal, $sys:ident;
        $(fn $function:ident($($arg:ident: $type:ty),*);)*
        $(by_number fn $other:ident($($other_type:ty),*);)*
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $table {
            $(pub(super) $function: unsafe extern "C" fn($($type),*) -> u32,)*
            $(pub(super) $other: unsafe extern "C" fn($($other_type),*) -> u32,)*
        }

        impl $table {
            /// Opened on first use, for the life of the process.
            pub(super) fn get() -> Result<&'static Self, Missing> {
                static TABLE: OnceLock<Result<$table, Missing>> = OnceLock::new();
                TABLE.get_or_init(Self::open).as_ref().map_err(Clone::clone)
            }

            fn open() -> Result<Self, Missing> {
                // SAFETY: a library of this name does nothing when it is loaded but what NVIDIA's does.
                if !unsafe { $sys::is_culib_present() } {
                    return Err(Missing::Library($name));
                }
                // SAFETY: as above; that there is one was seen just now.
                let library = unsafe { $sys::culib() };
                Ok(Self {
                    // SAFETY: the type is that of the bindings (below), with codes as numbers.
                    $($function: *unsafe { library.get(concat!(stringify!($function), "\0").as_bytes()) }
                        .map_err(|_| Missing::Symbol($name, stringify!($function)))?,)*
                    // SAFETY: as above.
                    $($other: *unsafe { library.get(concat!(stringify!($other), "\0").as_bytes()) }
                        .map_err(|_| Missing::Symbol($name, stringify!($other)))?,)*
                })
            }
        }

        $(const _: () = {
            #[allow(dead_code, clippy::too_many_arguments)]
            unsafe fn bound($($arg: $type),*) {
                // SAFETY: never called: it is here to be compiled.
                let _ = unsafe { $sys::$function($($arg),*) };
            }
        };)*
    };
}

use cudarc::cublas::sys as cublas;
use cudarc::cufft::sys as cufft;
use cudarc::driver::sys as driver;
use cudarc::nvrtc::sys as nvrtc;

pub(super) use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUcontext, CUdevice, CUdevice_attribute as Attribute, CUdeviceptr, CUevent,
    CUfunction, CUmemAccessDesc, CUmemPoolProps, CUmemoryPool, CUmemorytype, CUmodule, CUstream,
};

library! {
    /// The driver, `libcuda.so.1`.
    Driver, "cuda", driver;
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: Attribute, device: CUdevice);
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    fn cuCtxPushCurrent_v2(context: CUcontext);
    fn cuCtxPopCurrent_v2(context: *mut CUcontext);
    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    fn cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: driver::CUmemPool_attribute, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: CUmemoryPool, access: *const CUmemAccessDesc, count: usize);
    fn cuMemPoolDestroy(pool: CUmemoryPool);
    fn cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    fn cuMemFree_v2(address: CUdeviceptr);
    fn cuMemHostAlloc(start: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn cuMemFreeHost(start: *mut c_void);
    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, start: *mut c_void, flags: c_uint);
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    fn cuMemcpyPeerAsync(
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        stream: CUstream
    );
    fn cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream);
    fn cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: CUstream);
    fn cuStreamSynchronize(stream: CUstream);
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    fn cuEventCreate(event: *mut CUevent, flags: c_uint);
    fn cuEventDestroy_v2(event: CUevent);
    fn cuEventRecord(event: CUevent, stream: CUstream);
    fn cuEventQuery(event: CUevent);
    fn cuEventSynchronize(event: CUevent);
    fn cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut driver::CUjit_option,
        values: *mut *mut c_void
    );
    fn cuModuleUnload(module: CUmodule);
    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn cuLaunchKernel(
        function: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
        shared: c_uint, stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void
    );
    by_number fn cuGetErrorName(u32, *mut *const c_char);
    by_number fn cuGetErrorString(u32, *mut *const c_char);
}

library! {
    /// The compiler of CUDA C, `libnvrtc.so`.
    Nvrtc, "nvrtc", nvrtc;
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int);
    fn nvrtcGetNumSupportedArchs(count: *mut c_int);
    fn nvrtcGetSupportedArchs(to: *mut c_int);
    fn nvrtcCreateProgram(
        program: *mut nvrtc::nvrtcProgram, source: *const c_char, name: *const c_char, headers: c_int,
        texts: *const *const c_char, names: *const *const c_char
    );
    fn nvrtcDestroyProgram(program: *mut nvrtc::nvrtcProgram);
    fn nvrtcCompileProgram(program: nvrtc::nvrtcProgram, count: c_int, options: *const *const c_char);
    fn nvrtcGetPTXSize(program: nvrtc::nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetPTX(program: nvrtc::nvrtcProgram, ptx: *mut c_char);
    fn nvrtcGetCUBINSize(program: nvrtc::nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetCUBIN(program: nvrtc::nvrtcProgram, code: *mut c_char);
    fn nvrtcGetProgramLogSize(program: nvrtc::nvrtcProgram, bytes: *mut usize);
    fn nvrtcGetProgramLog(program: nvrtc::nvrtcProgram, log: *mut c_char);
}

library! {
    /// Fourier transforms, `libcufft.so`.
    CuFft, "cufft", cufft;
    fn cufftCreate(plan: *mut cufft::cufftHandle);
    fn cufftDestroy(plan: cufft::cufftHandle);
    fn cufftSetAutoAllocation(plan: cufft::cufftHandle, is_automatic: c_int);
    fn cufftMakePlanMany(
        plan: cufft::cufftHandle, rank: c_int, n: *mut c_int, in_embed: *mut c_int, in_stride: c_int,
        in_distance: c_int, out_embed: *mut c_int, out_stride: c_int, out_distance: c_int,
        kind: cufft::cufftType, batch: c_int, bytes: *mut usize
    );
    fn cufftSetStream(plan: cufft::cufftHandle, stream: cufft::cudaStream_t);
    fn cufftSetWorkArea(plan: cufft::cufftHandle, area: *mut c_void);
    fn cufftExecC2C(
        plan: cufft::cufftHandle, from: *mut cufft::cufftComplex, to: *mut cufft::cufftComplex,
        direction: c_int
    );
}

library! {
    /// Products of matrices, `libcublas.so`.
    CuBlas, "cublas", cublas;
    fn cublasCreate_v2(handle: *mut cublas::cublasHandle_t);
    fn cublasDestroy_v2(handle: cublas::cublasHandle_t);
    fn cublasSetStream_v2(handle: cublas::cublasHandle_t, stream: cublas::cudaStream_t);
    fn cublasSgemm_v2(
        handle: cublas::cublasHandle_t, turn_a: cublas::cublasOperation_t, turn_b: cublas::cublasOperation_t,
        m: c_int, n: c_int, k: c_int, alpha: *const f32, a: *const f32, lda: c_int, b: *const f32, ldb: c_int,
        beta: *const f32, c: *mut f32, ldc: c_int
    );
    fn cublasCgemm_v2(
        handle: cublas::cublasHandle_t, turn_a: cublas::cublasOperation_t, turn_b: cublas::cublasOperation_t,
        m: c_int, n: c_int, k: c_int, alpha: *const cublas::cuComplex, a: *const cublas::cuComplex,
        lda: c_int, b: *const cublas::cuComplex, ldb: c_int, beta: *const cublas::cuComplex,
        c: *mut cublas::cuComplex, ldc: c_int
    );
}

/// What a library says when something fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) library: &'static str,
    pub(super) number: u32,
}

pub(super) type Result<T, E = Code> = std::result::Result<T, E>;

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, number } = self;
        match Driver::get() {
            Ok(driver) if *library == Self::DRIVER => {
                let text = |of: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
                    let mut text = std::ptr::null();
                    // SAFETY: gives a text that lives as long as the library, or none.
                    let found = unsafe { of(*number, &mut text) } == 0 && !text.is_null();
                    // SAFETY: as above.
                    if found { unsafe { CStr::from_ptr(text) }.to_string_lossy() } else { "unknown".into() }
                };
                write!(
                    f,
                    "the {library} says {} ({number}): {}",
                    text(driver.cuGetErrorName),
                    text(driver.cuGetErrorString)
                )
            }
            _ => write!(f, "{library} says error {number}"),
        }
    }
}

impl Code {
    pub(super) const DRIVER: &'static str = "CUDA driver";

    pub(super) const fn of(library: &'static str, number: u32) -> Result<()> {
        if number == 0 { Ok(()) } else { Err(Self { library, number }) }
    }
}
