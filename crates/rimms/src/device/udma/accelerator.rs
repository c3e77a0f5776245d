//! What works on a DMA buffer: started with physical ranges, and waited for.

use crate::device::Capability;
use crate::op::{Call, Role};
use std::fmt;
use std::time::Instant;

/// Bytes in physical memory, in one piece.
///
/// ```
/// use rimms::{device::udma::PhysicalRange, op::Role};
/// let row = PhysicalRange { address: 0x7000_0000, bytes: 8 * 256, role: Role::In };
/// assert!(row.role.reads());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhysicalRange {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: usize,
    /// What the accelerator does with it.
    pub role: Role,
}

/// Why an accelerator has not done what it was to do.
///
/// ```
/// use rimms::device::udma::AcceleratorError;
/// assert!(AcceleratorError::stopped("no memory at that address").has_stopped);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceleratorError {
    /// In words, for a person.
    pub message: Box<str>,
    /// Does it touch no memory any more? Where that is not certain the device is given up, with all that it holds.
    pub has_stopped: bool,
}

impl AcceleratorError {
    /// It has stopped, and may be used again.
    pub fn stopped(message: impl Into<Box<str>>) -> Self {
        Self { message: message.into(), has_stopped: true }
    }

    /// It may still be at work.
    pub fn at_large(message: impl Into<Box<str>>) -> Self {
        Self { message: message.into(), has_stopped: false }
    }
}

/// An accelerator that reads and writes physical memory by itself.
///
/// The device that owns the memory ([`Udma`](super::Udma)) calls one method at a time, maintains caches, and divides a call
/// into [pieces](Self::pieces).
///
/// ```
/// use rimms::device::Capability;
/// use rimms::device::udma::{Accelerator, AcceleratorError, PhysicalRange};
/// use rimms::op::Call;
/// use std::time::Instant;
/// /// Writes down what it is asked for.
/// #[derive(Debug, Default)]
/// struct Listening(Vec<PhysicalRange>);
/// impl Accelerator for Listening {
///     fn capability(&self) -> Capability {
///         Capability::ALL
///     }
///     fn start(&mut self, _: &Call, ranges: &[PhysicalRange]) -> Result<(), AcceleratorError> {
///         self.0.extend(ranges);
///         Ok(())
///     }
///     fn wait(&mut self, _until: Instant) -> Result<(), AcceleratorError> {
///         Ok(())
///     }
/// }
/// ```
pub trait Accelerator: Send + fmt::Debug {
    /// What it can do. It is never given anything else.
    fn capability(&self) -> Capability;

    /// How many pieces of equal size a call has that it does one after the other, such as rows. Each operand is divided so;
    /// each part lies in one piece of memory.
    fn pieces(&self, _call: &Call) -> usize {
        1
    }

    /// Starts one piece: its operands, in the call's order.
    ///
    /// # Errors
    /// Why it cannot be started.
    fn start(&mut self, call: &Call, ranges: &[PhysicalRange]) -> Result<(), AcceleratorError>;

    /// Returns when what was started is done.
    ///
    /// # Errors
    /// Why it failed, or that it was not done by then.
    fn wait(&mut self, until: Instant) -> Result<(), AcceleratorError>;

    /// What each element (an `f32`) of the results has to be multiplied by, for the CPU to do, where the accelerator leaves
    /// that undone.
    fn factor_left(&self, _call: &Call) -> Option<f32> {
        None
    }
}
