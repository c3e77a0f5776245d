//! Kernels in OpenCL C for ops of the user's own: source, and how it is launched. Knows no device.
#![allow(unsafe_code)]

use super::KernelError;
use super::user::{Kernel, Target, UserOpBuilder};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;

/// What a launch of an OpenCL kernel is made from: the lengths of the operands, and the call's parameters.
///
/// ```
/// use rimms::op::{ClCall, ClLaunch, KernelError};
/// // An item for every four elements of the first operand; the kernel is told how many there are, and a factor.
/// fn launch(call: &ClCall<'_>) -> Result<ClLaunch, KernelError> {
///     let items = call.len(0).div_ceil(4);
///     Ok(ClLaunch::over([items]).value(call.len(0) as u64).value(*call.params::<f32>()?))
/// }
/// ```
#[derive(Clone, Copy)]
pub struct ClCall<'a> {
    pub(crate) lens: &'a [usize],
    pub(crate) params: Option<&'a (dyn Any + Send + Sync)>,
}

impl<'a> ClCall<'a> {
    /// Elements of operand `operand`; 0 where there is no such operand.
    pub fn len(&self, operand: usize) -> usize {
        self.lens.get(operand).copied().unwrap_or(0)
    }

    /// The parameters that the call was made with.
    ///
    /// # Errors
    /// Where the call has none, or of another type.
    pub fn params<P: 'static>(&self) -> Result<&'a P, KernelError> {
        let found = self.params.and_then(|params| params.downcast_ref());
        found.ok_or_else(|| format!("the call has no parameters of type {}", std::any::type_name::<P>()).into())
    }
}

impl fmt::Debug for ClCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClCall").field("lens", &self.lens).finish_non_exhaustive()
    }
}

/// An argument that follows the operands.
#[derive(Debug, Clone)]
pub(crate) enum ClArg {
    Value(SmallVec<[u8; 16]>),
    Local(usize),
}

/// How an OpenCL kernel is launched: its work-items, and its arguments behind the operands.
///
/// ```
/// use rimms::op::ClLaunch;
/// // A work-item for each of 1000 elements, in groups of 100; the kernel's last arguments are a float and local memory.
/// let launch = ClLaunch::over([1000]).groups_of([100]).value(0.5_f32).local_memory(400);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ClLaunch {
    pub(crate) global: SmallVec<[usize; 3]>,
    pub(crate) local: Option<SmallVec<[usize; 3]>>,
    pub(crate) args: SmallVec<[ClArg; 4]>,
}

impl ClLaunch {
    /// Work-items in one, two or three dimensions, in groups as the driver likes.
    pub fn over<const N: usize>(items: [usize; N]) -> Self {
        const { assert!(N >= 1 && N <= 3, "a range has one, two or three dimensions") };
        Self { global: SmallVec::from_slice(&items), local: None, args: SmallVec::new() }
    }

    /// Groups of this size, in as many dimensions as there are; each has to go into the number of items.
    pub fn groups_of<const N: usize>(mut self, items: [usize; N]) -> Self {
        self.local = Some(SmallVec::from_slice(&items));
        self
    }

    /// The next argument is a value: what OpenCL C knows by the same layout (`f32` as `float`, `[f32; 2]` as `float2`).
    pub fn value<T: Pod>(mut self, value: T) -> Self {
        self.args.push(ClArg::Value(SmallVec::from_slice(bytemuck::bytes_of(&value))));
        self
    }

    /// The next argument is local memory of so many bytes for each group.
    pub fn local_memory(mut self, bytes: usize) -> Self {
        self.args.push(ClArg::Local(bytes));
        self
    }

    /// Why it cannot be.
    pub(crate) fn refused(&self) -> Option<String> {
        let Self { global, local, .. } = self;
        if global.contains(&0) {
            return Some(format!("there are no work-items in {global:?}"));
        }
        let local = local.as_ref()?;
        let fits =
            local.len() == global.len() && global.iter().zip(local).all(|(g, l)| *l != 0 && g.is_multiple_of(*l));
        (!fits).then(|| format!("groups of {local:?} do not go into {global:?} work-items"))
    }
}

type LaunchRule = dyn Fn(&ClCall<'_>) -> Result<ClLaunch, KernelError> + Send + Sync;

/// A kernel in OpenCL C.
pub(crate) struct ClKernel {
    pub(crate) source: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) launch: Box<LaunchRule>,
}

impl UserOpBuilder {
    /// The kernel for devices with an OpenCL driver: the function `name` of `source`, which is OpenCL C 1.2 and is compiled
    /// on first use. It takes the operands as pointers to global memory, in order and without gaps, and then what `launch`
    /// adds. `launch` says, from the lengths of the operands, how many work-items there are.
    ///
    /// What the compiler says of mistakes, with lines of `source`, is the error of the first call.
    ///
    /// ```
    /// use rimms::device::opencl;
    /// use rimms::op::{ClLaunch, UserOp};
    /// use rimms::{Runtime, arg, arg_mut};
    /// const SOURCE: &str = "
    ///     kernel void axpy(global const float *x, global float *y, float a) {
    ///         size_t i = get_global_id(0);
    ///         y[i] += a * x[i];
    ///     }";
    /// let axpy = UserOp::builder("axpy").input::<f32>().inout::<f32>();
    /// let axpy = axpy.shape(|len| if len[0] == len[1] { Ok(()) } else { Err("x and y differ in length".into()) });
    /// // SAFETY: the kernel has an item for each element, which touches that element alone.
    /// let axpy = unsafe { axpy.on_opencl(SOURCE, "axpy", |c| Ok(ClLaunch::over([c.len(1)]).value(*c.params::<f32>()?))) };
    /// let axpy = axpy.build()?;
    ///
    /// if let Some(device) = opencl::find().devices.pop() {
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
    /// For all operands that the op's shape rule lets pass, and all parameters, the kernel reads only what lies in operands it may
    /// read, and writes only what lies in operands it may write. Some drivers run kernels in the memory of
    /// the program itself, where nothing stops one that does not.
    pub unsafe fn on_opencl(
        mut self,
        source: &str,
        name: &str,
        launch: impl Fn(&ClCall<'_>) -> Result<ClLaunch, KernelError> + Send + Sync + 'static,
    ) -> Self {
        let kernel = ClKernel { source: source.into(), name: name.into(), launch: Box::new(launch) };
        self.set_kernel(Target::OpenCl, Kernel::OpenCl(kernel));
        self
    }
}
