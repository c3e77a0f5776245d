//! What a kernel is given: its operands as typed slices.

use super::Role;
use bytemuck::Pod;
use std::any::Any;

/// What a kernel that gives up says. Made from any text.
///
/// ```
/// use rimms::op::{KernelArgs, KernelError};
/// let own: KernelError = format!("{} is no power of two", 12).into();
/// assert_eq!(own.to_string(), "12 is no power of two");
/// let missing = KernelArgs::new().input::<f32>(0).unwrap_err();
/// assert_eq!(missing, KernelError::from("operand 0 is no In operand of this call"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KernelError(pub Box<str>);

impl From<&str> for KernelError {
    fn from(s: &str) -> Self {
        Self(s.into())
    }
}

impl From<String> for KernelError {
    fn from(s: String) -> Self {
        Self(s.into())
    }
}

/// One operand's bytes.
#[derive(Debug)]
enum Slot<'a> {
    In(&'a [u8]),
    Out(&'a mut [u8]),
    Taken,
}

/// The operands of one call, in order, on a device whose memory is (or was staged to) the host's.
///
/// ```
/// use rimms::op::{KernelArgs, Role};
/// let (a, mut b) = ([1.0_f32, 2.0], [0.0_f32; 2]);
/// let mut k = KernelArgs::new();
/// k.push_input(bytemuck::cast_slice(&a));
/// k.push(Role::Out, bytemuck::cast_slice_mut(&mut b));
/// let x: &[f32] = k.input(0)?;
/// let y: &mut [f32] = k.output(1)?;
/// y.copy_from_slice(x);
/// drop(k);
/// assert_eq!(b, a);
/// # Ok::<(), rimms::op::KernelError>(())
/// ```
#[derive(Debug, Default)]
pub struct KernelArgs<'a> {
    slots: smallvec::SmallVec<[Slot<'a>; 6]>,
    params: Option<&'a (dyn Any + Send + Sync)>,
}

impl<'a> KernelArgs<'a> {
    /// No operands yet.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an operand. In operands are only ever lent out for reading.
    #[inline]
    pub fn push(&mut self, role: Role, bytes: &'a mut [u8]) {
        if role.writes() { self.slots.push(Slot::Out(bytes)) } else { self.slots.push(Slot::In(bytes)) }
    }

    /// Appends an In operand.
    #[inline]
    pub fn push_input(&mut self, bytes: &'a [u8]) {
        self.slots.push(Slot::In(bytes));
    }

    pub(crate) fn set_params(&mut self, params: Option<&'a (dyn Any + Send + Sync)>) {
        self.params = params;
    }

    /// How many operands there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Operand `i`, of role In, as a slice of `T`.
    ///
    /// # Errors
    /// Where there is no such In operand, or it does not divide into `T`s.
    #[inline]
    pub fn input<T: Pod>(&self, i: usize) -> Result<&'a [T], KernelError> {
        match self.slots.get(i) {
            Some(Slot::In(bytes)) => bytemuck::try_cast_slice(bytes).map_err(|e| cast_failed::<T>(i, bytes.len(), e)),
            _ => Err(format!("operand {i} is no In operand of this call").into()),
        }
    }

    /// Operand `i`, of role Out or InOut, as a mutable slice of `T`. It can be taken once.
    ///
    /// The bytes of an Out operand hold no particular values before they are written.
    ///
    /// # Errors
    /// Where there is no such operand, it was taken already, or it does not divide into `T`s.
    #[inline]
    pub fn output<T: Pod>(&mut self, i: usize) -> Result<&'a mut [T], KernelError> {
        match self.slots.get_mut(i) {
            Some(slot @ Slot::Out(_)) => {
                // Seen to first: a request of the wrong type does not use the operand up.
                if let Slot::Out(bytes) = &*slot
                    && let Err(e) = bytemuck::try_cast_slice::<u8, T>(bytes)
                {
                    return Err(cast_failed::<T>(i, bytes.len(), e));
                }
                match std::mem::replace(slot, Slot::Taken) {
                    Slot::Out(bytes) => {
                        let len = bytes.len();
                        bytemuck::try_cast_slice_mut(bytes).map_err(|e| cast_failed::<T>(i, len, e))
                    }
                    Slot::In(_) | Slot::Taken => Err(taken(i)),
                }
            }
            Some(Slot::Taken) => Err(taken(i)),
            _ => Err(format!("operand {i} is no Out or InOut operand of this call").into()),
        }
    }

    /// The parameters that the call was made with ([`UserOp::with`](super::UserOp::with)).
    ///
    /// # Errors
    /// Where the call has none, or of another type.
    pub fn params<P: 'static>(&self) -> Result<&'a P, KernelError> {
        self.params
            .and_then(|p| p.downcast_ref())
            .ok_or_else(|| format!("the call has no parameters of type {}", std::any::type_name::<P>()).into())
    }
}

#[cold]
fn taken(i: usize) -> KernelError {
    format!("operand {i} was taken already").into()
}

#[cold]
fn cast_failed<T>(i: usize, bytes: usize, e: bytemuck::PodCastError) -> KernelError {
    format!("operand {i} has {bytes} bytes, which are no slice of {}: {e}", std::any::type_name::<T>()).into()
}
