//! Keeping a timeline while it is made.

use super::{Cause, Entry, What};
use crate::coherence::ResourceId;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;
use std::time::Instant;

thread_local! {
    /// The call that this thread executes now.
    static CURRENT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The timeline of a runtime, as far as it has come.
pub(crate) struct Log {
    start: Instant,
    calls: AtomicU64,
    entered: Mutex<Entered>,
    threads: Mutex<Vec<(ThreadId, Box<str>)>>,
}

#[derive(Default)]
struct Entered {
    entries: Vec<Entry>,
    /// What each resource had allocated before the first of them.
    allocated: Vec<u64>,
}

impl Log {
    pub(crate) fn new(resources: usize) -> Self {
        let (calls, threads) = Default::default();
        let entered = Mutex::new(Entered { entries: Vec::new(), allocated: vec![0; resources] });
        Self { start: Instant::now(), calls, entered, threads }
    }

    /// What has been entered since this was last asked, and what each resource had allocated before that.
    pub(crate) fn take(&self) -> (Vec<Entry>, Vec<u64>) {
        let mut entered = self.entered.lock();
        let (entries, before) = (std::mem::take(&mut entered.entries), entered.allocated.clone());
        for entry in &entries {
            let (resource, change) = match entry.what {
                What::Allocation { resource, bytes } => (resource, bytes as i64),
                What::Release { resource, bytes } => (resource, -(bytes as i64)),
                _ => continue,
            };
            if let Some(level) = entered.allocated.get_mut(resource.index()) {
                *level = level.saturating_add_signed(change);
            }
        }
        (entries, before)
    }

    /// The names of the threads that have waited, by their number.
    pub(crate) fn threads(&self) -> Vec<Box<str>> {
        self.threads.lock().iter().map(|(_, name)| name.clone()).collect()
    }

    fn ns(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_nanos() as u64
    }

    /// Something ended just now; where `start` is `None` it took no time. The clock is read under the lock, so that entries
    /// are in order.
    fn ended(&self, start: Option<Instant>, what: What) {
        let mut entered = self.entered.lock();
        let end = Instant::now();
        let (start_ns, end_ns) = (self.ns(start.unwrap_or(end)), self.ns(end));
        entered.entries.push(Entry { start_ns, end_ns, call: CURRENT.get(), what });
    }

    pub(crate) fn copied(&self, start: Instant, from: ResourceId, to: ResourceId, cause: Cause, bytes: usize) {
        self.ended(Some(start), What::Copy { from, to, cause, bytes: bytes as u64 });
    }

    pub(crate) fn allocated(&self, resource: ResourceId, bytes: u64) {
        self.ended(None, What::Allocation { resource, bytes });
    }

    pub(crate) fn released(&self, resource: ResourceId, bytes: u64) {
        self.ended(None, What::Release { resource, bytes });
    }

    pub(crate) fn evicted(&self, resource: ResourceId, bytes: u64) {
        self.ended(None, What::Eviction { resource, bytes });
    }

    /// This thread has waited, from `start` until now, for the call at `place` of queue `on`.
    pub(crate) fn waited(&self, start: Instant, on: usize, place: u64) {
        let thread = self.this_thread();
        self.ended(Some(start), What::Wait { thread, on, place });
    }

    fn this_thread(&self) -> usize {
        let current = std::thread::current();
        let mut threads = self.threads.lock();
        threads.iter().position(|(id, _)| *id == current.id()).unwrap_or_else(|| {
            let name = current.name().map_or_else(|| format!("{:?}", current.id()).into(), Into::into);
            threads.push((current.id(), name));
            threads.len() - 1
        })
    }

    /// This thread executes a call from now on.
    pub(crate) fn call(&self) -> Traced<'_> {
        let number = self.calls.fetch_add(1, Relaxed);
        Traced { log: self, number, before: CURRENT.replace(Some(number)), launch: Cell::new(None) }
    }
}

/// A call that is being executed: what its thread does meanwhile is done for it.
pub(crate) struct Traced<'a> {
    log: &'a Log,
    number: u64,
    /// A kernel may make calls of its own.
    before: Option<u64>,
    launch: Cell<Option<(Instant, Instant)>>,
}

impl Traced<'_> {
    /// Launches it, in these words.
    pub(crate) fn launch<T>(&self, launch: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = launch();
        self.launch.set(Some((start, Instant::now())));
        result
    }

    /// It has come to an end; if it was launched, it is entered.
    pub(crate) fn end(&self, pe: usize, name: &dyn std::fmt::Display, failed: bool) {
        if let Some((start, end)) = self.launch.get() {
            let (start_ns, end_ns) = (self.log.ns(start), self.log.ns(end));
            let what = What::Call { pe, name: name.to_string().into(), failed };
            self.log.entered.lock().entries.push(Entry { start_ns, end_ns, call: Some(self.number), what });
        }
    }
}

impl Drop for Traced<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}
