//! Kernels in CUDA C for ops of the user's own: source, and how it is launched. Knows no device.
#![allow(unsafe_code)]

use super::KernelError;
use super::opencl::ClCall;
use super::user::{Kernel, Target, UserOpBuilder};
use bytemuck::Pod;
use smallvec::SmallVec;

/// What a launch of a CUDA kernel is made from: the same as of one in OpenCL C.
pub type CuCall<'a> = ClCall<'a>;

/// What a CUDA kernel is written in.
///
/// ```
/// use rimms::op::CuSource;
/// // A text is CUDA C, unless it is said to be PTX.
/// assert!(matches!(CuSource::from("extern \"C\" __global__ void f() {}"), CuSource::C(_)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CuSource<'a> {
    /// CUDA C (C++17), compiled on first use, for the device that it is run on.
    C(&'a str),
    /// PTX, which NVIDIA's compilers make: the driver compiles it.
    Ptx(&'a str),
}

impl<'a> From<&'a str> for CuSource<'a> {
    fn from(source: &'a str) -> Self {
        Self::C(source)
    }
}

/// Threads of a block, unless told otherwise.
const BLOCK: u32 = 256;

/// How a CUDA kernel is launched: its blocks of threads, and its arguments behind the operands.
///
/// ```
/// use rimms::op::CuLaunch;
/// // At least a thread for each of 1000 elements, in blocks of 128; behind the operands there are a number and a factor.
/// let launch = CuLaunch::over([1000]).blocks_of([128]).value(1000_u32).value(0.5_f32);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CuLaunch {
    threads: SmallVec<[usize; 3]>,
    block: SmallVec<[u32; 3]>,
    shared: u32,
    pub(crate) args: SmallVec<[SmallVec<[u8; 32]>; 4]>,
}

impl CuLaunch {
    /// At least so many threads in one, two or three dimensions: whole blocks of them, so the kernel has to look which are
    /// too many.
    pub fn over<const N: usize>(threads: [usize; N]) -> Self {
        const { assert!(N >= 1 && N <= 3, "a range has one, two or three dimensions") };
        Self { threads: SmallVec::from_slice(&threads), block: SmallVec::new(), shared: 0, args: SmallVec::new() }
    }

    /// Blocks of this size, in as many dimensions as there are; by default 256 threads in the first.
    pub fn blocks_of<const N: usize>(mut self, threads: [u32; N]) -> Self {
        self.block = SmallVec::from_slice(&threads);
        self
    }

    /// So many bytes for the kernel's `extern __shared__` array, for each block.
    pub fn shared_memory(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// The next argument: what CUDA C knows by the same layout (`f32` as `float`, `[f32; 2]` as a struct of two).
    pub fn value<T: Pod>(mut self, value: T) -> Self {
        self.args.push(SmallVec::from_slice(bytemuck::bytes_of(&value)));
        self
    }

    /// Blocks, threads of a block, and bytes of shared memory; or why it cannot be.
    pub(crate) fn range(&self) -> Result<([u32; 3], [u32; 3], u32), String> {
        let Self { threads, block, shared, .. } = self;
        let is_other = !block.is_empty() && block.len() != threads.len();
        if is_other || threads.contains(&0) || block.contains(&0) {
            return Err(format!("blocks of {block:?} are no way to divide {threads:?} threads"));
        }
        let mut range = ([1; 3], [1; 3]);
        for (i, wanted) in threads.iter().enumerate() {
            let size = block.get(i).copied().unwrap_or(if i == 0 { BLOCK } else { 1 });
            let blocks = u32::try_from(wanted.div_ceil(size as usize)).ok();
            range.0[i] = blocks.ok_or_else(|| format!("{wanted} threads in blocks of {size} are too many"))?;
            range.1[i] = size;
        }
        Ok((range.0, range.1, *shared))
    }
}

type LaunchRule = dyn Fn(&CuCall<'_>) -> Result<CuLaunch, KernelError> + Send + Sync;

/// A kernel for CUDA devices.
pub(crate) struct CuKernel {
    source: Box<str>,
    is_ptx: bool,
    pub(crate) name: Box<str>,
    pub(crate) launch: Box<LaunchRule>,
}

impl CuKernel {
    pub(crate) fn source(&self) -> CuSource<'_> {
        if self.is_ptx { CuSource::Ptx(&self.source) } else { CuSource::C(&self.source) }
    }
}

impl UserOpBuilder {
    /// The kernel for devices with a CUDA driver: the function `name` of `source`, `extern "C" __global__`, which is compiled on
    /// first use. It takes the operands as pointers, in order and without gaps, and then what `launch` adds. `launch` says, from
    /// the lengths of the operands, how many threads there are.
    ///
    /// What the compiler says of mistakes, with lines of `source`, is the error of the first call.
    ///
    /// ```
    /// use rimms::device::cuda;
    /// use rimms::op::{CuLaunch, UserOp};
    /// use rimms::{Runtime, arg, arg_mut};
    /// const SOURCE: &str = r#"
    ///     extern "C" __global__ void axpy(const float *x, float *y, unsigned long long n, float a) {
    ///         unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    ///         if (i < n) y[i] += a * x[i];
    ///     }"#;
    /// let axpy = UserOp::builder("axpy").input::<f32>().inout::<f32>();
    /// let axpy = axpy.shape(|len| if len[0] == len[1] { Ok(()) } else { Err("x and y differ in length".into()) });
    /// // SAFETY: the kernel has a thread for each element, which touches that element alone; those beyond do nothing.
    /// let axpy = unsafe {
    ///     axpy.on_cuda(SOURCE, "axpy", |c| {
    ///         Ok(CuLaunch::over([c.len(1)]).value(c.len(1) as u64).value(*c.params::<f32>()?))
    ///     })
    /// };
    /// let axpy = axpy.build()?;
    ///
    /// if let Some(device) = cuda::find().devices.pop() {
    ///     let rt = Runtime::builder().cpus(0).device(device).build()?;
    ///     let (mut x, mut y) = (rt.alloc::<f32>(100)?, rt.alloc::<f32>(100)?);
    ///     x.overwrite()?.fill(1.0)?;
    ///     y.overwrite()?.fill(0.5)?;
    ///     rt.call(&axpy.with(2.0_f32), &mut [arg(&x), arg_mut(&mut y)])?;
    ///     assert_eq!(y.read()?[..], [2.5; 100]);
    /// }
    /// # Ok::<(), rimms::Error>(())
    /// ```
    ///
    /// # Safety
    /// For all operands that the op's shape rule lets pass, and all parameters, the kernel takes the arguments that it is given, reads
    /// only what lies in operands it may read, and writes only what lies in operands it may write. Where device and host share
    /// memory nothing stops one that does not.
    pub unsafe fn on_cuda<'a>(
        mut self,
        source: impl Into<CuSource<'a>>,
        name: &str,
        launch: impl Fn(&CuCall<'_>) -> Result<CuLaunch, KernelError> + Send + Sync + 'static,
    ) -> Self {
        let (source, is_ptx) = match source.into() {
            CuSource::C(text) => (text.into(), false),
            CuSource::Ptx(text) => (text.into(), true),
        };
        self.set_kernel(
            Target::Cuda,
            Kernel::Cuda(CuKernel { source, is_ptx, name: name.into(), launch: Box::new(launch) }),
        );
        self
    }
}
