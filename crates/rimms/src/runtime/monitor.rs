//! The one who watches: calls that take a device too long, and calls that never get on.
//!
//! One thread a runtime, if a time limit or a watchdog was asked for. A worker
//! that is watched says what it is at ([`Task`]). A call that has run over its
//! limit is taken away from its worker, which may be stuck in a driver for ever:
//! the device is lost, and a new worker goes on, first with the same call
//! elsewhere. Worker and watcher agree by the task's phase on whose the call is.
//! What the stuck thread may still be at stays impounded until it comes back.

use super::Shared;
use super::execute::Failure;
use super::pe::Pe;
use super::queue::Work;
use crate::coherence::ResourceId;
use crate::error::{Error, Result};
use crate::memory::Impound;
use crate::order::{Ticket, thread_scope};
use parking_lot::{Condvar, Mutex};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A watched call.
pub(super) struct Task {
    /// Shared with a worker that it was taken away from, and that may not know yet.
    pub(super) work: Arc<Work>,
    place: u64,
    phase: Mutex<Phase>,
    /// Its operands, once it was taken away: until the thread that is stuck in it lets go of this.
    impounded: Mutex<Vec<Impound>>,
}

#[derive(Clone, Copy)]
enum Phase {
    /// What it comes after is not done.
    Waiting,
    /// On a PE, since then: its operands are brought there; or, then, it is launched, and its results may go back.
    Running { pe: usize, since: Instant, is_launched: bool },
    /// The worker is past what can take long.
    Ending,
    /// Taken away.
    Abandoned,
}

impl Task {
    pub(super) fn new(work: Arc<Work>, place: u64) -> Self {
        Self { work, place, phase: Mutex::new(Phase::Waiting), impounded: Mutex::default() }
    }

    /// The call goes to this PE now.
    pub(super) fn begin(&self, pe: usize) {
        *self.phase.lock() = Phase::Running { pe, since: Instant::now(), is_launched: false };
    }

    /// The PE is through with it. `false` if it was taken away meanwhile.
    pub(super) fn end(&self) -> bool {
        let mut phase = self.phase.lock();
        if matches!(*phase, Phase::Abandoned) {
            return false;
        }
        *phase = Phase::Ending;
        true
    }

    /// The operands are in place, and the launch comes next: does `begin`, unless the call was taken away; it is not
    /// taken away meanwhile. Returns whether it was done.
    pub(super) fn launch(&self, begin: impl FnOnce()) -> bool {
        let mut phase = self.phase.lock();
        if let Phase::Running { pe, .. } = *phase {
            *phase = Phase::Running { pe, since: Instant::now(), is_launched: true };
            begin();
            return true;
        }
        false
    }

    /// Does `f`, unless the call was taken away; it is not taken away meanwhile. Returns whether it was done.
    pub(super) fn while_ours(&self, f: impl FnOnce()) -> bool {
        let phase = self.phase.lock();
        let is_ours = matches!(*phase, Phase::Running { .. });
        if is_ours {
            f();
        }
        is_ours
    }

    /// Takes it away if it has been running for longer than `limit`, and `stuck` says, of its PE and of whether it was
    /// launched, which device it is stuck in.
    fn abandon(&self, limit: Duration, stuck: impl Fn(usize, bool) -> Option<ResourceId>) -> Option<ResourceId> {
        let mut phase = self.phase.lock();
        let Phase::Running { pe, since, is_launched } = *phase else { return None };
        let device = if since.elapsed() > limit { stuck(pe, is_launched) } else { None }?;
        *phase = Phase::Abandoned;
        Some(device)
    }

    /// From now on the operands are impounded for the thread that is stuck, in a device that is lost.
    fn impound(&self, device: ResourceId) {
        self.impounded.lock().extend(self.work.operands.operands().iter().map(|one| one.node().impound(device)));
    }
}

/// A watchdog that was asked for.
pub(super) struct Watch {
    pub(super) after: Duration,
    pub(super) report: Box<dyn Fn(&str) + Send + Sync>,
}

/// The watching thread. Ends with its owner.
pub(super) struct Monitor {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts to watch, if anything is asked for.
    pub(super) fn start(shared: &Arc<Shared>, watch: Option<Watch>) -> Result<Option<Self>> {
        if !shared.is_watched {
            return Ok(None);
        }
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (shared, stopped) = (shared.clone(), stop.clone());
        let shortest = shared.time_limit.into_iter().chain(watch.as_ref().map(|w| w.after)).min().unwrap_or_default();
        let tick = (shortest / 8).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let main = move || {
            let mut stall = Stall { progress: 0, since: Instant::now(), told: false };
            // The watching thread may drop the last handle, in what it calls of the user's: it must not wait then.
            let _scope = thread_scope();
            let goes_on = || {
                let mut stop = stopped.0.lock();
                if !*stop {
                    stopped.1.wait_for(&mut stop, tick);
                }
                !*stop
            };
            // Looks without the lock.
            while goes_on() {
                if let Some(limit) = shared.time_limit {
                    (0..shared.pes.len()).for_each(|pe| shared.enforce(pe, limit));
                }
                if let Some(watch) = &watch {
                    stall.look(&shared, watch);
                }
            }
        };
        let refused = |e| Error::Config(format!("the system gives no thread to watch with: {e}").into());
        let thread = std::thread::Builder::new().name("rimms watch".into()).spawn(main).map_err(refused)?;
        Ok(Some(Self { stop, thread: Some(thread) }))
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take().filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Takes the call of queue `at` away from its worker, if a device has had it too long.
    fn enforce(self: &Arc<Self>, at: usize, limit: Duration) {
        let Some(Pe { queue, worker, .. }) = self.pes.get(at) else { return };
        let mut running = queue.running();
        let Some(task) = running.clone() else { return };
        let is_stuck = |r: &ResourceId| !r.is_host() && self.resources.is_stuck(*r, limit);
        // A launch is stuck in its own device; a copy may be in any, its own first.
        let device = |pe: usize, is_launched: bool| {
            let own = self.pes.get(pe).map(|pe| pe.resource);
            own.filter(is_stuck).or_else(|| if is_launched { None } else { self.resources.ids().find(is_stuck) })
        };
        let Some(device) = task.abandon(limit, device) else { return };
        *running = None;
        drop(running);
        let error = Error::DeviceLost {
            device: self.resources.device(device).info().name.clone(),
            call: Some(task.work.call.to_string().into()),
            message: format!("it did not finish within {limit:?}").into(),
        };
        self.resources.lose(device, Arc::new(error.clone()));
        // Before the call is done elsewhere, and others take it that nobody is at its operands.
        task.impound(device);
        let last = task.place;
        queue.done(task.work.expected_ns);
        worker.replace(self, at, last, (task, Failure { error, elsewhere: true }));
    }
}

/// How long nothing has been done for.
struct Stall {
    progress: u64,
    since: Instant,
    told: bool,
}

impl Stall {
    fn look(&mut self, shared: &Shared, watch: &Watch) {
        let lines = &shared.resources.order.lines;
        let progress = (0..shared.pes.len()).map(|queue| lines.done(queue)).sum();
        let is_pending = shared.pes.iter().enumerate().any(|(queue, pe)| pe.queue.issued() > lines.done(queue));
        if progress != self.progress || !is_pending {
            *self = Self { progress, since: Instant::now(), told: false };
        } else if !self.told && self.since.elapsed() >= watch.after {
            self.told = true;
            let report = shared.who_waits_for_whom(self.since.elapsed());
            // The user's code: a panic in it is no reason to watch no longer.
            let _ = catch_unwind(AssertUnwindSafe(|| (watch.report)(&report)));
        }
    }
}

impl Shared {
    fn who_waits_for_whom(&self, idle: Duration) -> String {
        let order = &self.resources.order;
        let name = |pe: usize| self.pes.get(pe).map_or("?", |pe| pe.name());
        let call = |t: Ticket| format!("call {} of {}", t.place(), name(t.queue()));
        let mut report = format!("no call was done for {:.1} s", idle.as_secs_f64());
        for (at, pe) in self.pes.iter().enumerate() {
            let (done, issued) = (order.lines.done(at), pe.queue.issued());
            if issued == done {
                continue;
            }
            let _ = write!(report, "\n  {}: {} pending; call {}", pe.name(), issued - done, done + 1);
            if let Some(task) = &*pe.queue.running() {
                let _ = write!(report, " ({})", task.work.call);
                if let Phase::Running { pe, since, .. } = *task.phase.lock() {
                    let _ = write!(report, " has been on {} for {:.1} s", name(pe), since.elapsed().as_secs_f64());
                }
            }
            if let Some(ticket) = pe.queue.waits_for() {
                let _ = write!(report, " waits for {}", call(ticket));
            }
            if pe.queue.waits_for_hand() {
                let device = &self.resources.device(pe.resource).info().name;
                let _ = write!(report, " waits for a write-back from {device}");
            }
        }
        for waiter in order.waiting() {
            let _ = write!(report, "\n  thread {} waits for {}", waiter.thread, call(waiter.on));
        }
        report
    }
}
