//! What can go wrong, as one closed enum.
//!
//! Each kind has one meaning and one remedy, and its message names what was
//! wanted and what was found. Errors the caller can make (`Shape`, `NoPe`,
//! `NeverFits` …) are returned before anything is moved or run; errors of a
//! device come with the device, the operation and the driver's words.
//! Nothing in this library panics on what a user or a device can cause,
//! indexing with `[]` out of range apart, which behaves as slices do.

use std::sync::Arc;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong. Cheap to clone: a failed call's error is kept
/// as the cause of what depended on it.
///
/// ```
/// use rimms::{Error, Runtime};
/// let rt = Runtime::builder().cpus(1).build()?;
/// let x = rt.alloc::<f32>(8)?;
/// // Nobody has written x: reading it is an error, not zeros.
/// assert!(matches!(x.read(), Err(Error::Uninitialised { .. })));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Lengths, counts or element types do not fit together. Remedy: pass what the message asks for.
    #[error("{call}: {reason}")]
    Shape {
        /// The call, such as `fft` or `fragment`.
        call: Box<str>,
        /// What was wanted and what was found.
        reason: Box<str>,
    },
    /// An index beyond the end. Remedy: stay below `len`.
    #[error("fragment {index} was asked for, but there are {len}")]
    Index {
        /// The index asked for.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// No PE of this runtime (or of those allowed by [`Runtime::on`](crate::Runtime::on)) can run the call.
    /// Remedy: allow another PE, or change the size to one that is supported.
    #[error("no PE can run {call}: {why}")]
    NoPe {
        /// The call with its sizes.
        call: Box<str>,
        /// PE by PE, why not.
        why: Box<str>,
    },
    /// The operands can never fit into the device's memory, however empty it is.
    /// Remedy: smaller operands, fragments, or a larger device memory.
    #[error("{device} can never hold {}: {wanted} bytes are wanted, its memory has {capacity} \
             ({free} are free now, {largest} of them in one piece)", operands_of(.call, .operands))]
    NeverFits {
        /// The device.
        device: Box<str>,
        /// The call, where one is known.
        call: Option<Box<str>>,
        /// The operands and their sizes in bytes.
        operands: Box<[(Box<str>, u64)]>,
        /// Bytes wanted in all, with what the device adds to each.
        wanted: u64,
        /// Bytes the device has in all.
        capacity: u64,
        /// Bytes free now.
        free: u64,
        /// Bytes of the largest free block.
        largest: u64,
    },
    /// The device's memory is full now, of blocks that calls use or that could not be written back.
    /// Remedy: let calls end, or drop data.
    #[error("{device} is full: {wanted} bytes wanted, {free} of {capacity} free")]
    Full {
        /// The device.
        device: Box<str>,
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free in all.
        free: u64,
        /// Bytes the device has in all.
        capacity: u64,
    },
    /// Enough bytes are free, but no run of them is long enough. Remedy: another marking system, or larger blocks.
    #[error("{device} is fragmented: {wanted} bytes wanted, {free} free, but the largest free block has {largest}")]
    Fragmented {
        /// The device.
        device: Box<str>,
        /// Bytes wanted.
        wanted: u64,
        /// Bytes free in all.
        free: u64,
        /// Bytes of the largest free block.
        largest: u64,
    },
    /// The host's allocator refused. Remedy: ask for less.
    #[error("the host has no room for {bytes} bytes")]
    HostMemory {
        /// Bytes wanted.
        bytes: usize,
    },
    /// The bytes asked for were never written, or the call that was to write them failed.
    /// Remedy: write first, or look at the cause.
    #[error("{datum} is read, but {}", match .cause { Some(c) => format!("what was to write it failed: {c}"), None => "nothing has written it".into() })]
    Uninitialised {
        /// The datum, by name or by shape.
        datum: Box<str>,
        /// Why the bytes are missing, where a failed call is to blame.
        cause: Option<Arc<Error>>,
    },
    /// The view is strided (a tile), so it is no slice. Remedy: `read_rows`, `update_rows`.
    #[error("{datum} is a tile of {rows} rows that do not follow each other in memory: use the _rows form")]
    Strided {
        /// The datum.
        datum: Box<str>,
        /// Rows of the tile.
        rows: usize,
    },
    /// Operand (or event) and runtime do not belong together. Remedy: allocate with the runtime that runs the call; wait with
    /// the one that accepted it.
    #[error("{call}: {} {operand} belongs to another runtime", if **call == *"wait" { "event" } else { "operand" })]
    OtherRuntime {
        /// The call; `wait` of events.
        call: Box<str>,
        /// Which operand or event, from 0.
        operand: usize,
    },
    /// A name that is not known. Remedy: one of those listed.
    #[error("unknown {what} `{name}`; known: {known}")]
    Unknown {
        /// What kind of thing was named: `PE`, `policy`, `memory mode`.
        what: &'static str,
        /// The name given.
        name: Box<str>,
        /// Names that exist.
        known: Box<str>,
    },
    /// More resources than one state word can name.
    #[error("{found} resources, but one runtime can track {most}: use fewer devices, or several runtimes")]
    TooManyResources {
        /// Resources asked for.
        found: usize,
        /// The most there can be.
        most: usize,
    },
    /// The runtime was configured with something that cannot be.
    #[error("{0}")]
    Config(Box<str>),
    /// Costs could not be read or written. Remedy: what the message asks for, or make the file anew.
    #[error("costs, {of}: {problem}")]
    Costs {
        /// The file, or what else they come from.
        of: Box<str>,
        /// What was wanted and what was found.
        problem: Box<str>,
    },
    /// A device operation failed. Remedy: in the device's words.
    #[error("{call} on {pe}: {error}")]
    Device {
        /// The call, or the copy, that was being done.
        call: Box<str>,
        /// The PE or device.
        pe: Box<str>,
        /// What the device said.
        error: crate::device::DeviceError,
    },
    /// The device is gone, and with it what only it had. Remedy: other PEs can still be used; write again what was lost.
    #[error("{device} is lost{}: {message}", seen_at(.call))]
    DeviceLost {
        /// The device.
        device: Box<str>,
        /// What it was asked for when that was seen: a call, or a copy for one.
        call: Option<Box<str>>,
        /// What it said last.
        message: Box<str>,
    },
    /// A kernel waits for a call in flight, which may stand behind the kernel's own call in its queue.
    /// Remedy: wait before the call, or make it part of the kernel.
    #[error("a kernel waits for a call in flight, which may wait for the kernel: wait before the call instead")]
    WouldDeadlock,
    /// The call failed, and many others since. Remedy: ask what became of a call sooner.
    #[error("the call failed; why is no longer known, as {later} others have failed since")]
    Forgotten {
        /// Of so many that failed after it the reason is kept.
        later: usize,
    },
    /// A kernel of a user-defined op returned an error.
    #[error("{call} on {pe} failed: {message}")]
    Kernel {
        /// The op.
        call: Box<str>,
        /// The PE.
        pe: Box<str>,
        /// The kernel's own words.
        message: Box<str>,
    },
    /// A closure of the user's panicked; the panic was contained.
    #[error("{call} on {pe} panicked: {message}")]
    Panicked {
        /// The op.
        call: Box<str>,
        /// The PE.
        pe: Box<str>,
        /// The panic's message.
        message: Box<str>,
    },
}

impl Error {
    pub(crate) fn shape(call: impl Into<Box<str>>, reason: impl Into<Box<str>>) -> Self {
        Self::Shape { call: call.into(), reason: reason.into() }
    }
}

fn seen_at(call: &Option<Box<str>>) -> String {
    call.as_ref().map_or_else(String::new, |call| format!(" (seen at: {call})"))
}

/// What can never fit.
fn operands_of(call: &Option<Box<str>>, operands: &[(Box<str>, u64)]) -> String {
    let mut text = call.as_deref().unwrap_or("this").to_owned();
    for (i, (name, bytes)) in operands.iter().enumerate() {
        let before = if i == 0 { " with " } else { " and " };
        text.push_str(&format!("{before}{name} ({bytes} bytes)"));
    }
    text
}
