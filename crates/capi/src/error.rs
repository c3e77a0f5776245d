//! Error codes, and what the library's errors come to in them.
//!
//! A code says what kind of mistake or trouble it was; the message, which names operands, sizes and devices, says what to
//! do. [`boundary`](crate::boundary) keeps both for the calling thread.
#![allow(non_camel_case_types)] // the names that C sees

use rimms::Error;

/// What became of a call. Everything but `HETE_OK` comes with a message: `hete_LastErrorMessage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum hete_Error {
    /// It was done, or accepted.
    HETE_OK = 0,
    /// A pointer is NULL, or not aligned, where one is needed.
    HETE_ERROR_NULL = 1,
    /// A pointer or number that this library never gave out.
    HETE_ERROR_HANDLE = 2,
    /// It was given out, and is freed by now: freed twice, used after `hete_Free`, or a fragment of data that was divided
    /// anew or joined since.
    HETE_ERROR_FREED = 3,
    /// An index beyond the end.
    HETE_ERROR_INDEX = 4,
    /// Sizes or counts that do not fit together.
    HETE_ERROR_SHAPE = 5,
    /// What the call writes overlaps another of its operands.
    HETE_ERROR_OVERLAP = 6,
    /// A value that is none of those allowed.
    HETE_ERROR_ARGUMENT = 7,
    /// Not an event of a call that was accepted.
    HETE_ERROR_EVENT = 8,
    /// A name that is not known: the message lists those that are.
    HETE_ERROR_UNKNOWN = 9,
    /// The configuration cannot be.
    HETE_ERROR_CONFIG = 10,
    /// It has to be said before the runtime starts.
    HETE_ERROR_STARTED = 11,
    /// The host has no room.
    HETE_ERROR_MEMORY = 12,
    /// A device has no room, now or ever.
    HETE_ERROR_DEVICE_MEMORY = 13,
    /// Bytes that nobody has written, or that the call that was to write them did not.
    HETE_ERROR_UNINITIALISED = 14,
    /// No processing element can run the call.
    HETE_ERROR_NO_PE = 15,
    /// It would wait for itself: made inside a kernel, for what that kernel's call uses or has to wait for.
    HETE_ERROR_DEADLOCK = 16,
    /// A device failed, or is lost.
    HETE_ERROR_DEVICE = 17,
    /// A kernel of the program's said that it failed.
    HETE_ERROR_KERNEL = 18,
    /// A file could not be read or written.
    HETE_ERROR_FILE = 19,
    /// A defect of the library. Please report it with the message.
    HETE_ERROR_INTERNAL = 20,
}

use hete_Error::*;

impl hete_Error {
    /// All of them, each at its number.
    pub(crate) const ALL: [(Self, &'static std::ffi::CStr); 21] = [
        (HETE_OK, c"HETE_OK"),
        (HETE_ERROR_NULL, c"HETE_ERROR_NULL"),
        (HETE_ERROR_HANDLE, c"HETE_ERROR_HANDLE"),
        (HETE_ERROR_FREED, c"HETE_ERROR_FREED"),
        (HETE_ERROR_INDEX, c"HETE_ERROR_INDEX"),
        (HETE_ERROR_SHAPE, c"HETE_ERROR_SHAPE"),
        (HETE_ERROR_OVERLAP, c"HETE_ERROR_OVERLAP"),
        (HETE_ERROR_ARGUMENT, c"HETE_ERROR_ARGUMENT"),
        (HETE_ERROR_EVENT, c"HETE_ERROR_EVENT"),
        (HETE_ERROR_UNKNOWN, c"HETE_ERROR_UNKNOWN"),
        (HETE_ERROR_CONFIG, c"HETE_ERROR_CONFIG"),
        (HETE_ERROR_STARTED, c"HETE_ERROR_STARTED"),
        (HETE_ERROR_MEMORY, c"HETE_ERROR_MEMORY"),
        (HETE_ERROR_DEVICE_MEMORY, c"HETE_ERROR_DEVICE_MEMORY"),
        (HETE_ERROR_UNINITIALISED, c"HETE_ERROR_UNINITIALISED"),
        (HETE_ERROR_NO_PE, c"HETE_ERROR_NO_PE"),
        (HETE_ERROR_DEADLOCK, c"HETE_ERROR_DEADLOCK"),
        (HETE_ERROR_DEVICE, c"HETE_ERROR_DEVICE"),
        (HETE_ERROR_KERNEL, c"HETE_ERROR_KERNEL"),
        (HETE_ERROR_FILE, c"HETE_ERROR_FILE"),
        (HETE_ERROR_INTERNAL, c"HETE_ERROR_INTERNAL"),
    ];
}

/// Why a call of the interface failed. Boxed, so that success costs little.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: hete_Error,
    pub(crate) message: String,
}

pub(crate) type Result<T, E = Box<Fault>> = std::result::Result<T, E>;

impl Fault {
    #[cold]
    pub(crate) fn new(code: hete_Error, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, message: message.into() })
    }

    #[cold]
    pub(crate) fn null(what: &str) -> Box<Self> {
        Self::new(HETE_ERROR_NULL, format!("{what} is NULL"))
    }

    /// The same, said of an operand of a call.
    #[cold]
    pub(crate) fn of_operand(mut self: Box<Self>, i: usize) -> Box<Self> {
        self.message.insert_str(0, &format!("operand {i}: "));
        self
    }
}

impl From<Error> for Box<Fault> {
    #[cold]
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Shape { .. } | Error::Strided { .. } => HETE_ERROR_SHAPE,
            Error::Index { .. } => HETE_ERROR_INDEX,
            Error::NoPe { .. } => HETE_ERROR_NO_PE,
            Error::NeverFits { .. } | Error::Full { .. } | Error::Fragmented { .. } => HETE_ERROR_DEVICE_MEMORY,
            Error::HostMemory { .. } => HETE_ERROR_MEMORY,
            Error::Uninitialised { .. } => HETE_ERROR_UNINITIALISED,
            // Only events could be another runtime's, and those are looked at first.
            Error::OtherRuntime { .. } => HETE_ERROR_EVENT,
            Error::Unknown { .. } => HETE_ERROR_UNKNOWN,
            Error::TooManyResources { .. } | Error::Config(_) => HETE_ERROR_CONFIG,
            Error::Costs { .. } => HETE_ERROR_FILE,
            Error::Device { .. } | Error::DeviceLost { .. } => HETE_ERROR_DEVICE,
            Error::WouldDeadlock => HETE_ERROR_DEADLOCK,
            Error::Kernel { .. } | Error::Forgotten { .. } => HETE_ERROR_KERNEL,
            Error::Panicked { .. } => HETE_ERROR_INTERNAL,
        };
        Fault::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::hete_Error;

    #[test]
    fn each_code_is_listed_at_its_number_with_its_name() {
        for (at, (code, name)) in hete_Error::ALL.iter().enumerate() {
            assert_eq!(*code as usize, at);
            assert_eq!(name.to_str().unwrap(), format!("{code:?}"));
        }
    }
}
