//! The thread of a PE: works its queue off, in order.

use super::Shared;
use super::execute::{Failure, Job};
use super::hand::Hand;
use super::monitor::Task;
use super::pe::Pe;
use super::queue::Work;
use crate::device::panic_message;
use crate::error::{Error, Result};
use crate::order::{Ticket, thread_scope};
use parking_lot::Mutex;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::thread::JoinHandle;

/// A call that a predecessor left, and why it failed there; none for the first worker.
type Left = Arc<Mutex<Option<(Arc<Task>, Failure)>>>;

/// The worker of a PE, if it was needed already.
#[derive(Default)]
pub(super) struct Worker {
    is_there: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Worker {
    /// Sees to it that there is one.
    ///
    /// # Errors
    /// [`Error::Config`] where the system gives no thread.
    #[inline]
    pub(super) fn ensure(&self, shared: &Arc<Shared>, at: usize) -> Result<()> {
        if self.is_there.load(Acquire) { Ok(()) } else { self.first(shared, at) }
    }

    #[cold]
    fn first(&self, shared: &Arc<Shared>, at: usize) -> Result<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            *thread = Some(start(shared, at, 0, Left::default())?);
            self.is_there.store(true, Release);
        }
        Ok(())
    }

    /// Another goes on after the call at place `last`, which it finishes first. The one before is given up.
    pub(super) fn replace(&self, shared: &Arc<Shared>, at: usize, last: u64, left: (Arc<Task>, Failure)) {
        let mut thread = self.thread.lock();
        let left = Arc::new(Mutex::new(Some(left)));
        match start(shared, at, last, left.clone()) {
            Ok(successor) => *thread = Some(successor),
            // Where the system gives no thread, this one works the queue off: nothing may hang.
            Err(_) => main(shared, at, last, &left),
        }
    }

    /// Waits until the worker of the closed queue `at` is through.
    pub(super) fn end(&self, shared: &Shared, at: usize) {
        // One that drops the last handle, in what it calls of the user's, cannot wait for itself.
        let is_this = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if self.thread.lock().as_ref().is_none_or(is_this) {
            return;
        }
        // Not by the thread at first: it may be given up, and another take its place.
        shared.resources.order.lines.wait(Ticket::new(at, shared.pes.get(at).map_or(0, |pe| pe.queue.issued())));
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// What a worker does: goes on after place `last`; first of all with what its predecessor left, if it left something.
fn main(shared: &Arc<Shared>, at: usize, last: u64, left: &Left) {
    let Some(pe) = shared.pes.get(at) else { return };
    let _scope = thread_scope();
    if let Some((given_up, failure)) = left.lock().take() {
        let watched = |task: &Task| {
            let work = &task.work;
            shared.retry(at, failure, &job(work, Some(task), None))
        };
        let Some(outcome) = watch(pe, given_up.work.clone(), last, watched) else { return };
        let _ = let_go(pe, &mut Some(given_up));
        shared.resources.order.retire(Ticket::new(at, last), outcome);
    }
    run(shared, at, pe, last);
}

/// Starts a worker.
#[cold]
fn start(shared: &Arc<Shared>, at: usize, last: u64, left: Left) -> Result<JoinHandle<()>> {
    let name = shared.pes.get(at).map_or("worker", Pe::name).to_owned();
    let refused = |e| Error::Config(format!("the system gives no thread for PE {name}: {e}").into());
    let shared = shared.clone();
    let thread = std::thread::Builder::new().name(name.clone());
    thread.spawn(move || main(&shared, at, last, &left)).map_err(refused)
}

fn run(shared: &Arc<Shared>, at: usize, pe: &Pe, mut last: u64) {
    let hand = Hand::new(at);
    loop {
        // Stays where it is until it is let go of: it is large enough for a move to be felt.
        let mut next = pe.queue.next(last);
        let Some(work) = &next else { return };
        last += 1;
        let expected_ns = work.expected_ns;
        let outcome = if shared.is_watched {
            let watched = |task: &Task| execute(shared, at, pe, &task.work, Some(task), &hand);
            let Some(outcome) = next.take().and_then(|work| watch(pe, Arc::new(work), last, watched)) else { return };
            outcome
        } else {
            let outcome = contained(pe, &work.call, || execute(shared, at, pe, work, None, &hand));
            let outcome = settled(work, outcome);
            let_go(pe, &mut next).and(outcome)
        };
        // What the call held is let go by now: whoever waits for it finds nothing left of it.
        pe.queue.done(expected_ns);
        shared.resources.order.retire(Ticket::new(at, last), outcome);
    }
}

/// Executes a call that can be taken away; `None` if it was, and another worker has gone on in our place.
fn watch(
    pe: &Pe,
    work: Arc<Work>,
    place: u64,
    execute: impl FnOnce(&Task) -> Result<()>,
) -> Option<Result<(), Arc<Error>>> {
    let task = Arc::new(Task::new(work, place));
    pe.queue.set_running(Some(task.clone()));
    let outcome = contained(pe, &task.work.call, || execute(&task));
    if !task.end() {
        // The last that we have of it: what is impounded for us is released.
        let _ = let_go(pe, &mut Some(task));
        return None;
    }
    pe.queue.set_running(None);
    let outcome = settled(&task.work, outcome);
    Some(let_go(pe, &mut Some(task)).and(outcome))
}

fn execute(shared: &Shared, at: usize, pe: &Pe, work: &Work, task: Option<&Task>, hand: &Hand) -> Result<()> {
    for ticket in &work.after {
        if !shared.resources.order.lines.is_done(*ticket) {
            pe.queue.set_waiting(Some(*ticket));
            shared.resources.order.wait_in_worker(*ticket);
            pe.queue.set_waiting(None);
        }
    }
    hand.settle(pe);
    shared.execute(at, pe, &job(work, task, Some(hand)))
}

/// What became of the call: if it failed, what it was to write is missing.
#[inline]
fn settled(work: &Work, outcome: Result<()>) -> Result<(), Arc<Error>> {
    outcome.map_err(|error| poisoned(work, Arc::new(error)))
}

#[cold]
fn poisoned(work: &Work, error: Arc<Error>) -> Arc<Error> {
    job(work, None, None).poison(&error);
    error
}

#[inline]
fn job<'a>(work: &'a Work, task: Option<&'a Task>, hand: Option<&'a Hand>) -> Job<'a> {
    Job { call: &work.call, operands: work.operands.operands(), size: work.size, allowed: &work.allowed, task, hand }
}

/// Drops the last of a kernel, of its parameters, of blocks on a device: what the user wrote for that may panic too.
#[inline]
fn let_go<T>(pe: &Pe, value: &mut Option<T>) -> Result<(), Arc<Error>> {
    let letting_go = contained(pe, &"letting go of a call", || {
        *value = None;
        Ok(())
    });
    letting_go.map_err(Arc::new)
}

/// A panic in a device or a policy of the user's is an answer too: a worker that dies answers nobody.
#[inline]
fn contained(pe: &Pe, call: &dyn Display, work: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = panic_message(&*payload);
        // Dropping it is the user's code once more.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        Err(Error::Panicked { call: call.to_string().into(), pe: pe.name().into(), message })
    })
}
