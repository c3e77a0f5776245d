//! Ops that users add: declared once, called like the built-in ones.

use super::cuda::CuKernel;
use super::items::{ItemKernel, WorkItem};
use super::opencl::{ClCall, ClKernel};
use super::{Call, Element, KernelArgs, KernelError, Role, Shape};
use bytemuck::Pod;
use rimms_devmem::{Fault, Launch, RangeError};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kind of device a kernel is written for.
///
/// ```
/// # use rimms::op::{Target, UserOp};
/// let op = UserOp::builder("clear")
///     .output::<f32>()
///     .on_cpu(|k| Ok(k.output::<f32>(0)?.fill(0.0)))
///     .build()?;
/// assert!(op.runs_on(Target::Cpu));
/// assert!(!op.runs_on(Target::Sim)); // never placed there
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Target {
    /// The host's processors: the kernel works on the datum's own memory.
    Cpu,
    /// A simulated accelerator: the kernel works on what is in the simulated memory.
    Sim,
    /// A device with an OpenCL driver: the kernel is OpenCL C.
    OpenCl,
    /// A device with a CUDA driver: the kernel is CUDA C, or PTX.
    Cuda,
    /// An accelerator in programmable logic, which is built for its ops: there are no kernels to give it.
    Dma,
}

impl Target {
    /// How many there are.
    const COUNT: usize = Self::Dma as usize + 1;
}

type SliceKernel = dyn Fn(&mut KernelArgs<'_>) -> Result<(), KernelError> + Send + Sync;

/// A kernel for one kind of device.
pub(super) enum Kernel {
    /// On all elements, as slices.
    Slices(Box<SliceKernel>),
    /// On one work-item, in a simulated memory.
    Items(ItemKernel),
    /// In OpenCL C.
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    OpenCl(ClKernel),
    /// In CUDA C or PTX.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    Cuda(CuKernel),
}

type Kernels = [Option<Kernel>; Target::COUNT];
type ShapeRule = Box<dyn Fn(&[usize]) -> Result<(), String> + Send + Sync>;

struct Inner {
    id: u32,
    name: Box<str>,
    roles: Vec<Role>,
    /// Each operand's type, and its role once more: what a call is checked against.
    types: Box<[(Element, Role)]>,
    /// Of those operands that have one.
    names: Vec<(usize, Box<str>)>,
    rule: Option<ShapeRule>,
    /// By target.
    kernels: Kernels,
}

/// An op of the user's own. Cheap to clone.
///
/// ```
/// use rimms::op::{Role, UserOp};
/// use rimms::{Runtime, arg, arg_mut};
///
/// // y = a·x + y, with `a` given at each call
/// let axpy = UserOp::builder("axpy")
///     .input::<f32>()
///     .inout::<f32>()
///     .shape(|len| if len[0] == len[1] { Ok(()) } else { Err(format!("x has {} elements, y {}", len[0], len[1])) })
///     .on_cpu(|k| {
///         let (a, x) = (*k.params::<f32>()?, k.input::<f32>(0)?);
///         k.output::<f32>(1)?.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
///         Ok(())
///     })
///     .build()?;
///
/// let rt = Runtime::builder().cpus(1).build()?;
/// let (mut x, mut y) = (rt.alloc::<f32>(4)?, rt.alloc::<f32>(4)?);
/// x.overwrite()?.fill(1.0)?;
/// y.overwrite()?.fill(0.5)?;
/// rt.call(&axpy.with(2.0_f32), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [2.5; 4]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone)]
pub struct UserOp(Arc<Inner>);

impl UserOp {
    /// Starts the declaration of an op.
    pub fn builder(name: &str) -> UserOpBuilder {
        UserOpBuilder {
            name: name.into(),
            roles: Vec::new(),
            elements: Vec::new(),
            names: Vec::new(),
            rule: None,
            kernels: Kernels::default(),
        }
    }

    /// The op's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name that operand `i` was given.
    pub fn operand_name(&self, i: usize) -> Option<&str> {
        self.0.names.iter().find(|(of, _)| *of == i).map(|(_, name)| &**name)
    }

    /// Bytes of an element of each operand.
    pub(crate) fn element_sizes(&self) -> impl Iterator<Item = usize> {
        self.0.types.iter().map(|(element, _)| element.size())
    }

    /// A call of this op without parameters.
    pub fn call(&self) -> Call {
        Call::User(UserCall { op: self.clone(), params: None })
    }

    /// A call of this op with parameters, which its kernels read with [`KernelArgs::params`].
    pub fn with<P: Any + Send + Sync>(&self, params: P) -> Call {
        Call::User(UserCall { op: self.clone(), params: Some(Arc::new(params)) })
    }

    /// Says, when nobody can call the op any more.
    #[cfg(any(feature = "opencl", feature = "cuda"))]
    pub(crate) fn life(&self) -> std::sync::Weak<dyn Any + Send + Sync> {
        let weak: std::sync::Weak<Inner> = Arc::downgrade(&self.0);
        weak
    }

    /// The op's number, different for each.
    pub(crate) fn id(&self) -> u32 {
        self.0.id
    }

    #[inline]
    pub(super) fn roles(&self) -> &[Role] {
        &self.0.roles
    }

    /// Is there a kernel for this kind of device?
    #[inline]
    pub fn runs_on(&self, target: Target) -> bool {
        self.0.kernels[target as usize].is_some()
    }

    /// Types and roles of the operands, where nothing else is asked of them.
    #[inline]
    pub(super) fn types_alone(&self) -> Option<&[(Element, Role)]> {
        self.0.rule.is_none().then_some(&self.0.types)
    }

    #[inline]
    pub(super) fn check(&self, found: &[Shape]) -> Result<(), Box<str>> {
        for (i, ((want, _), found)) in self.0.types.iter().zip(found).enumerate() {
            if *want != found.element {
                return Err(format!("operand {i} is of {}, {} is wanted", found.element.name(), want.name()).into());
            }
        }
        match &self.0.rule {
            None => Ok(()),
            Some(rule) => {
                let lens: smallvec::SmallVec<[usize; 8]> = found.iter().map(|s| s.len).collect();
                // The rule is the user's code: a panic in it is an answer too.
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rule(&lens))) {
                    Ok(answer) => answer.map_err(Into::into),
                    Err(_) => Err("the op's shape rule panicked".into()),
                }
            }
        }
    }
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOp").field("name", &self.0.name).field("roles", &self.0.roles).finish_non_exhaustive()
    }
}

/// A call of a [`UserOp`], with its parameters.
///
/// ```
/// # use rimms::op::{Call, KernelArgs, Role, Target, UserOp};
/// # let op = UserOp::builder("set").output::<f32>().on_cpu(|k| {
/// #     let value = *k.params::<f32>()?;
/// #     Ok(k.output::<f32>(0)?.fill(value))
/// # }).build()?;
/// // `op` fills its only operand with its parameter.
/// let Call::User(call) = op.with(3.0_f32) else { unreachable!() };
/// let mut y = [0.0_f32; 2];
/// let mut args = KernelArgs::new();
/// args.push(Role::Out, bytemuck::cast_slice_mut(&mut y));
/// call.run(Target::Cpu, &mut args)?; // what a device does
/// drop(args);
/// assert_eq!(y, [3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct UserCall {
    op: UserOp,
    params: Option<Arc<dyn Any + Send + Sync>>,
}

impl UserCall {
    /// The op.
    #[inline]
    pub fn op(&self) -> &UserOp {
        &self.op
    }

    /// Runs the op's kernel for `target` on `args`.
    ///
    /// # Errors
    /// What the kernel says; or that there is none for this kind of device.
    #[inline]
    pub fn run<'a>(&'a self, target: Target, args: &mut KernelArgs<'a>) -> Result<(), KernelError> {
        args.set_params(self.params.as_deref());
        match &self.op.0.kernels[target as usize] {
            Some(Kernel::Slices(kernel)) => kernel(args),
            Some(Kernel::Items(_)) => {
                Err(format!("{} works on items of a simulated memory there, not on slices", self.op.name()).into())
            }
            Some(Kernel::OpenCl(_)) => {
                Err(format!("{} is OpenCL C there, which does not work on slices", self.op.name()).into())
            }
            Some(Kernel::Cuda(_)) => {
                Err(format!("{} is CUDA C there, which does not work on slices", self.op.name()).into())
            }
            None => Err(format!("{} has no kernel for {target:?}", self.op.name()).into()),
        }
    }
}

impl UserCall {
    /// The kernel for items of a simulated accelerator, if that is how it is written.
    pub(crate) fn items(&self) -> Option<&ItemKernel> {
        match &self.op.0.kernels[Target::Sim as usize] {
            Some(Kernel::Items(kernel)) => Some(kernel),
            _ => None,
        }
    }

    /// The kernel in OpenCL C, if there is one.
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    pub(crate) fn opencl(&self) -> Option<&ClKernel> {
        match &self.op.0.kernels[Target::OpenCl as usize] {
            Some(Kernel::OpenCl(kernel)) => Some(kernel),
            _ => None,
        }
    }

    /// The kernel in CUDA C or PTX, if there is one.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn cuda(&self) -> Option<&CuKernel> {
        match &self.op.0.kernels[Target::Cuda as usize] {
            Some(Kernel::Cuda(kernel)) => Some(kernel),
            _ => None,
        }
    }

    /// What an OpenCL or CUDA kernel's launch is made from, for operands of so many elements each.
    #[cfg_attr(not(any(feature = "opencl", feature = "cuda")), allow(dead_code))]
    pub(crate) fn cl_call<'a>(&'a self, lens: &'a [usize]) -> ClCall<'a> {
        ClCall { lens, params: self.params() }
    }

    pub(crate) fn params(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.params.as_deref()
    }
}

impl fmt::Debug for UserCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UserCall").field(&self.op).finish()
    }
}

/// Declares a [`UserOp`]: operands in order, a shape rule, a kernel for each kind of device.
///
/// ```
/// use rimms::op::UserOp;
/// let sum = UserOp::builder("sum")
///     .input::<f32>()
///     .output::<f32>()
///     .shape(|len| if len[1] == 1 { Ok(()) } else { Err(format!("the sum is 1 element, not {}", len[1])) });
/// assert!(sum.build().unwrap_err().to_string().contains("no kernel"));
/// ```
#[must_use]
pub struct UserOpBuilder {
    name: Box<str>,
    roles: Vec<Role>,
    elements: Vec<Element>,
    names: Vec<(usize, Box<str>)>,
    rule: Option<ShapeRule>,
    kernels: Kernels,
}

impl UserOpBuilder {
    /// The next operand.
    pub fn operand<T: Pod>(mut self, role: Role) -> Self {
        self.roles.push(role);
        self.elements.push(Element::of::<T>());
        self
    }

    /// The next operand is read.
    pub fn input<T: Pod>(self) -> Self {
        self.operand::<T>(Role::In)
    }

    /// The next operand is written, every byte of it.
    pub fn output<T: Pod>(self) -> Self {
        self.operand::<T>(Role::Out)
    }

    /// The next operand is read and written.
    pub fn inout<T: Pod>(self) -> Self {
        self.operand::<T>(Role::InOut)
    }

    /// The name of the operand declared last, for what is said about its memory.
    pub fn named(mut self, name: &str) -> Self {
        self.names.push((self.roles.len().wrapping_sub(1), name.into()));
        self
    }

    /// Which lengths (in elements, one per operand) fit together; the error says what was wanted.
    pub fn shape(mut self, rule: impl Fn(&[usize]) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// The kernel for one kind of device that works on slices, as all but OpenCL's and CUDA's do. A second one for the same kind replaces the first.
    pub fn kernel(
        mut self,
        target: Target,
        kernel: impl Fn(&mut KernelArgs<'_>) -> Result<(), KernelError> + Send + Sync + 'static,
    ) -> Self {
        self.set_kernel(target, Kernel::Slices(Box::new(kernel)));
        self
    }

    pub(super) fn set_kernel(&mut self, target: Target, kernel: Kernel) {
        self.kernels[target as usize] = Some(kernel);
    }

    /// The kernel for the CPU.
    pub fn on_cpu(
        self,
        kernel: impl Fn(&mut KernelArgs<'_>) -> Result<(), KernelError> + Send + Sync + 'static,
    ) -> Self {
        self.kernel(Target::Cpu, kernel)
    }

    /// The kernel for simulated accelerators.
    pub fn on_sim(
        self,
        kernel: impl Fn(&mut KernelArgs<'_>) -> Result<(), KernelError> + Send + Sync + 'static,
    ) -> Self {
        self.kernel(Target::Sim, kernel)
    }

    /// The kernel for simulated accelerators, written for one work-item. It reaches its operands through the accelerator's memory:
    /// what is wrong with an access is a fault of the call that says where, and what
    /// [`Sim::checked`](crate::device::sim::Sim::checked) looks for is found. `launch` says, from the lengths of the operands,
    /// how many items there are and what local memory their groups have. An example is at [`WorkItem`].
    pub fn on_sim_items<K>(
        mut self,
        launch: impl Fn(&[usize]) -> Result<Launch, RangeError> + Send + Sync + 'static,
        kernel: K,
    ) -> Self
    where
        K: AsyncFn(WorkItem<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    {
        self.kernels[Target::Sim as usize] = Some(Kernel::Items(ItemKernel::new(launch, kernel)));
        self
    }

    /// The op.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) where it has no operand or no kernel, or a name for an operand that is not
    /// there.
    pub fn build(self) -> crate::Result<UserOp> {
        let refuse = |why: &str| Err(crate::Error::Config(format!("op `{}` {why}", self.name).into()));
        if self.roles.is_empty() {
            return refuse("has no operand: declare at least one with input, output or inout");
        }
        if self.kernels.iter().all(Option::is_none) {
            return refuse("has no kernel: give it one with on_cpu, on_sim, on_opencl or on_cuda");
        }
        if let Some(Kernel::Slices(_)) = &self.kernels[Target::OpenCl as usize] {
            return refuse("has a kernel for OpenCL that is none: give it one in OpenCL C with on_opencl");
        }
        if let Some(Kernel::Slices(_)) = &self.kernels[Target::Cuda as usize] {
            return refuse("has a kernel for CUDA that is none: give it one in CUDA C or PTX with on_cuda");
        }
        if self.names.iter().any(|(of, _)| *of >= self.roles.len()) {
            return refuse("names an operand before it has one: name it after its input, output or inout");
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let Self { name, roles, elements, names, rule, kernels } = self;
        let types = elements.into_iter().zip(roles.iter().copied()).collect();
        Ok(UserOp(Arc::new(Inner { id, name, roles, types, names, rule, kernels })))
    }
}
