//! Kernels written for one work-item: `async` functions that simulated accelerators run.
//!
//! Owns [`WorkItem`], what such a kernel is given, and [`ItemKernel`], the kernel with its launch. Its operands are not slices
//! but buffers of a simulated memory, which checks every access, and whose observers see it. What lies where is the
//! device's to say ([`Part`]); nothing here knows more of it than `rimms-devmem` does.

use bytemuck::Pod;
use rimms_devmem::check::{Counters, Memcheck, Races, Uninitialised};
use rimms_devmem::{Address, Device, Fault, Item, Launch, Outcome, RangeError, Rows};
use std::any::Any;
use std::fmt;
use std::ops::Deref;

/// Who watches the memory of a simulated accelerator: the checkers, the counters, both or nobody.
pub type Watch = (Option<Checks>, Option<Counters>);

/// The checkers: invalid uses, reads of what nobody wrote, data races.
pub type Checks = ((Memcheck, Uninitialised), Races);

/// A work-item of a user-defined kernel: its ids and memories (those of [`Item`]), and the operands of the call.
///
/// ```
/// use rimms::device::sim::Sim;
/// use rimms::device::sim::devmem::{Launch, NdRange};
/// use rimms::op::UserOp;
/// use rimms::{Runtime, arg, arg_mut};
///
/// // Each item averages two neighbours; the last one has none to its right.
/// let smooth = UserOp::builder("smooth")
///     .input::<f32>()
///     .output::<f32>()
///     .on_sim_items(
///         |len| Ok(Launch::new("smooth", NdRange::linear(len[0] as u64, 4)?)),
///         async |item| {
///             let me = item.global_id(0);
///             let right = if me + 1 < item.len(0) { me + 1 } else { me };
///             item.store(1, me, (item.load::<f32>(0, me)? + item.load::<f32>(0, right)?) / 2.0)
///         },
///     )
///     .build()?;
///
/// let rt = Runtime::builder().cpus(0).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
/// let (mut x, mut y) = (rt.alloc::<f32>(8)?, rt.alloc::<f32>(8)?);
/// x.overwrite()?.write_with(|i| i as f32)?;
/// rt.call(&smooth.call(), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct WorkItem<'a> {
    item: Item<'a, Watch>,
    call: &'a ItemCall<'a>,
}

impl<'a> WorkItem<'a> {
    /// Elements of operand `operand`; 0 where there is no such operand.
    #[inline]
    pub fn len(&self, operand: usize) -> u64 {
        self.call.lens.get(operand).map_or(0, |len| *len as u64)
    }

    /// The address of element `index` of operand `operand`, for [`global`](Item::global) memory. One that the operand does
    /// not have is an address behind it, or null: its use is a fault.
    #[inline]
    pub fn element<T>(&self, operand: usize, index: u64) -> Address {
        let element = || {
            let part = self.call.parts.get(operand)?;
            let at = part.offset_of(index.checked_mul(size_of::<T>() as u64)?)?;
            self.item.global().layout().add(part.address, at)
        };
        element().unwrap_or(Address::NULL)
    }

    /// Loads element `index` of operand `operand`.
    ///
    /// # Errors
    /// The [`Fault`] of the access: beyond the operand, above all.
    #[inline]
    pub fn load<T: Pod>(&self, operand: usize, index: u64) -> Result<T, Fault> {
        self.item.global().load_value(self.element::<T>(operand, index))
    }

    /// Stores element `index` of operand `operand`.
    ///
    /// # Errors
    /// The [`Fault`] of the access: beyond the operand, or to one of role In.
    #[inline]
    pub fn store<T: Pod>(&self, operand: usize, index: u64, value: T) -> Result<(), Fault> {
        self.item.global().store_value(self.element::<T>(operand, index), value)
    }

    /// The parameters that the call was made with; `None` where it has none, or of another type.
    pub fn params<P: 'static>(&self) -> Option<&'a P> {
        self.call.params.and_then(|params| params.downcast_ref())
    }
}

impl<'a> Deref for WorkItem<'a> {
    type Target = Item<'a, Watch>;

    #[inline(always)]
    fn deref(&self) -> &Item<'a, Watch> {
        &self.item
    }
}

impl fmt::Debug for WorkItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.item.id().party())
    }
}

/// An operand in a simulated memory: a buffer of its own, and where in it the rows are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) buffer: Address,
    /// Of the first row.
    pub(crate) address: Address,
    pub(crate) rows: Rows,
}

impl Part {
    /// Where byte `at` of the rows, one behind the other, lies behind the first one's start. Beyond the last row it is beyond
    /// the buffer.
    #[inline]
    fn offset_of(&self, at: u64) -> Option<u64> {
        let Rows { count, bytes, pitch } = self.rows;
        if count <= 1 || pitch == bytes {
            return Some(at);
        }
        let row = at.checked_div(bytes)?;
        row.checked_mul(pitch)?.checked_add(at % bytes)
    }
}

/// What a call gives to its kernel.
pub(crate) struct ItemCall<'a> {
    pub(crate) parts: &'a [Part],
    /// Elements of each operand.
    pub(crate) lens: &'a [usize],
    pub(crate) params: Option<&'a (dyn Any + Send + Sync)>,
}

/// Why a kernel was not run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRun {
    #[error("its work-items: {0}")]
    Range(#[from] RangeError),
    #[error("{0}")]
    Fault(#[from] Fault),
}

/// A kernel and its launch, for any lengths of its operands.
pub(crate) struct ItemKernel(Box<Run>);

type Run = dyn Fn(&Device<Watch>, &ItemCall<'_>) -> Result<Outcome, NotRun> + Send + Sync;

impl ItemKernel {
    pub(super) fn new<K>(
        launch: impl Fn(&[usize]) -> Result<Launch, RangeError> + Send + Sync + 'static,
        kernel: K,
    ) -> Self
    where
        K: AsyncFn(WorkItem<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    {
        Self(Box::new(move |device, call| {
            let buffers: Vec<Address> = call.parts.iter().map(|part| part.buffer).collect();
            let launch = launch(call.lens)?.uses(&buffers);
            Ok(device.run(&launch, async |item| kernel(WorkItem { item, call }).await)?)
        }))
    }

    pub(crate) fn run(&self, device: &Device<Watch>, call: &ItemCall<'_>) -> Result<Outcome, NotRun> {
        (self.0)(device, call)
    }
}
