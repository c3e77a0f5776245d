//! What a device can report.

use super::{DeviceInfo, Rows};
use rimms_heap::HeapError;
use std::fmt;

/// The operations of a device, as they are named in errors and counted by `faulty`.
///
/// ```
/// # use rimms::device::{Device, Operation, sim::Sim};
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let error = acc.free(12).unwrap_err(); // no such block
/// assert_eq!(error.operation, Operation::Free);
/// assert!(error.to_string().starts_with("release of memory failed on acc0"));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `allocate`
    Allocate,
    /// `free`
    Free,
    /// `upload`
    Upload,
    /// `download`
    Download,
    /// `copy_within`, `copy_from`
    Copy,
    /// `launch`
    Launch,
    /// `flush`, `invalidate`
    Maintain,
    /// `finish`
    Finish,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allocate => "allocation",
            Self::Free => "release of memory",
            Self::Upload => "copy host to device",
            Self::Download => "copy device to host",
            Self::Copy => "copy device to device",
            Self::Launch => "execution",
            Self::Maintain => "cache maintenance",
            Self::Finish => "waiting for what was queued",
        })
    }
}

/// Why.
///
/// ```
/// # use rimms::device::{Device, DeviceErrorKind, sim::Sim};
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let too_large = acc.allocate(1 << 30).unwrap_err();
/// assert!(matches!(too_large.kind, DeviceErrorKind::NeverFits { wanted, capacity } if wanted > capacity));
/// let _half = acc.allocate(1 << 19).unwrap();
/// let full = acc.allocate(3 << 18).unwrap_err();
/// assert!(matches!(full.kind, DeviceErrorKind::Full { wanted, free, .. } if wanted > free));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceErrorKind {
    /// More than the device has in all.
    NeverFits {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes in all.
        capacity: u64,
    },
    /// Not enough is free now.
    Full {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free.
        free: u64,
        /// Bytes in all.
        capacity: u64,
    },
    /// Enough is free, but not in one piece.
    Fragmented {
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free.
        free: u64,
        /// The largest piece.
        largest: u64,
    },
    /// The device does not have this operation.
    Unsupported,
    /// An address or span that is not the device's, found by a device that checks.
    Invalid,
    /// The operation failed, in the driver's words.
    Failed,
    /// The device is gone, with all that it held: no operation will succeed again.
    Lost,
    /// A kernel of the user's returned an error.
    Kernel,
    /// A closure of the user's panicked.
    Panicked,
}

/// An operation of a device failed.
///
/// ```
/// # use rimms::device::{Device, DeviceError, DeviceErrorKind, Operation, sim::Sim};
/// # let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let failed = |kind| DeviceError::new(acc.info(), Operation::Launch, kind, "bus error");
/// assert_eq!(failed(DeviceErrorKind::Failed).to_string(), "execution failed on acc0: bus error");
/// assert!(failed(DeviceErrorKind::Failed).is_retryable());
/// assert!(!failed(DeviceErrorKind::Kernel).is_retryable()); // it would fail elsewhere too
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation} failed on {device}: {message}")]
pub struct DeviceError {
    /// The device.
    pub device: Box<str>,
    /// What it was doing.
    pub operation: Operation,
    /// Why.
    pub kind: DeviceErrorKind,
    /// The device's words.
    pub message: Box<str>,
}

impl DeviceError {
    /// An error of `device` in `operation`.
    pub fn new(device: &DeviceInfo, operation: Operation, kind: DeviceErrorKind, message: impl Into<Box<str>>) -> Self {
        Self { device: device.name.clone(), operation, kind, message: message.into() }
    }

    /// The device does not have this operation.
    pub fn unsupported(device: &DeviceInfo, operation: Operation) -> Self {
        Self::new(device, operation, DeviceErrorKind::Unsupported, "the device does not have it")
    }

    /// A marking system's refusal, as the device whose memory it marks reports it.
    pub(super) fn of_heap(device: &DeviceInfo, operation: Operation, refusal: &HeapError) -> Self {
        let kind = match *refusal {
            HeapError::NeverFits { wanted, capacity, .. } => DeviceErrorKind::NeverFits { wanted, capacity },
            HeapError::Full { wanted, free, capacity, .. } => DeviceErrorKind::Full { wanted, free, capacity },
            HeapError::Fragmented { wanted, free, largest_free, .. } => {
                DeviceErrorKind::Fragmented { wanted, free, largest: largest_free }
            }
            _ => DeviceErrorKind::Invalid,
        };
        Self::new(device, operation, kind, refusal.to_string())
    }

    /// Refuses a transfer whose two ends are not of the same shape: for backends, which check it first of all.
    ///
    /// # Errors
    /// [`DeviceErrorKind::Invalid`] with both shapes.
    pub fn check_shapes(device: &DeviceInfo, operation: Operation, from: &Rows, to: &Rows) -> Result<(), Self> {
        if from.matches(to) {
            return Ok(());
        }
        let say = |r: &Rows| format!("{} rows of {} bytes", r.rows, r.row_bytes);
        let message = format!("from {} to {}", say(from), say(to));
        Err(Self::new(device, operation, DeviceErrorKind::Invalid, message))
    }

    /// May another PE do better? Not where the user's own code refused.
    pub fn is_retryable(&self) -> bool {
        !matches!(self.kind, DeviceErrorKind::Kernel | DeviceErrorKind::Panicked)
    }
}
