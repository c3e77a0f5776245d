//! The timeline: every call, copy, wait, allocation and eviction, with its time.
//!
//! Off unless asked for ([`RuntimeBuilder::timeline`](crate::RuntimeBuilder::timeline)): a runtime without one tests for
//! it and goes on. Entries are kept in memory until they are taken.
//!
//! Invariant: an entry is made where the counters are, once for each step of theirs, so that the two agree.
//! [`chrome`] writes a timeline for viewers.

mod chrome;
mod log;
#[cfg(test)]
mod tests;

pub(crate) use log::{Log, Traced};

use super::Cause;
use crate::coherence::ResourceId;

/// What a runtime did, from one look to the next: [`Runtime::take_timeline`](crate::Runtime::take_timeline).
///
/// ```
/// use rimms::{Runtime, device::sim::Sim, trace::What};
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).timeline().build()?;
/// let mut x = rt.alloc::<f32>(64)?;
/// x.overwrite()?.fill(1.0)?;
/// rt.scale_in_place(2.0, &mut x)?;
/// rt.finish()?;
///
/// let timeline = rt.take_timeline();
/// let copy = timeline.entries.iter().find(|e| matches!(e.what, What::Copy { .. })).unwrap();
/// let call = timeline.entries.iter().find(|e| matches!(e.what, What::Call { .. })).unwrap();
/// assert_eq!(copy.call, call.call); // what it was copied for
/// assert!(copy.end_ns <= call.start_ns);
///
/// let mut file = Vec::new(); // or a real one, for the Perfetto UI
/// timeline.write_chrome(&mut file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In the order in which they ended; calls when their results were recorded, too.
    pub entries: Vec<Entry>,
    /// Bytes that each resource had allocated before the first of them.
    pub allocated: Vec<u64>,
    /// The names of the PEs, by their number.
    pub pes: Vec<Box<str>>,
    /// The names of the resources, by their index.
    pub resources: Vec<Box<str>>,
    /// The names of the threads that waited, by their number.
    pub threads: Vec<Box<str>>,
}

/// Something that took time; or that happened at one, where start and end are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Nanoseconds since the runtime was built.
    pub start_ns: u64,
    /// The same.
    pub end_ns: u64,
    /// The call that it belongs to, or that it was done for; a call that is tried again elsewhere has another number there.
    /// `None` for what the program did.
    pub call: Option<u64>,
    /// What it was.
    pub what: What,
}

/// What an [`Entry`] tells of.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A call, from its launch until the PE was done.
    Call {
        /// The number of the PE.
        pe: usize,
        /// The op and its size.
        name: Box<str>,
        /// It failed there: the counters do not count it.
        failed: bool,
    },
    /// A copy.
    Copy {
        /// From whose memory.
        from: ResourceId,
        /// To whose.
        to: ResourceId,
        /// Why.
        cause: Cause,
        /// How much.
        bytes: u64,
    },
    /// A thread waited for a call to be done.
    Wait {
        /// The number of the thread.
        thread: usize,
        /// The PE in whose queue the call was.
        on: usize,
        /// Its place there, from 1.
        place: u64,
    },
    /// A block of a device's memory was allocated.
    Allocation {
        /// Whose memory.
        resource: ResourceId,
        /// How much was asked for.
        bytes: u64,
    },
    /// A block was released.
    Release {
        /// Whose memory.
        resource: ResourceId,
        /// As asked for when it was allocated.
        bytes: u64,
    },
    /// A block made room for others: it is released next.
    Eviction {
        /// Whose memory.
        resource: ResourceId,
        /// Its size.
        bytes: u64,
    },
}
