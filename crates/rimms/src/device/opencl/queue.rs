//! A device's queue: what was handed over, how far the device has come, and waiting for it.
//!
//! Owns [`Queue`]. Its commands run in order and are numbered from 1, so that a number says all: once a command is over,
//! so are those before it. Each has an event until its end was seen; a command that nobody waits for and that failed is
//! remembered. What the commands are is in [`commands`](super::commands).

use super::raw::{Code, Context, Event, Id, QueueHandle, Result};
use cl3::command_queue as driver;
use cl3::types::cl_int;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, OnceLock};

/// Commands whose end was not seen yet, before somebody looks whether some have ended.
const UNSEEN: usize = 64;

/// Commands of one device, run in order.
///
/// One thread at a time hands commands over, to all queues of a device together, though OpenCL allows more: a driver that runs
/// them in that thread (PoCL's `basic`, up to 3.1 at least) waits for itself for ever when another comes in between. Nobody has the
/// turn while he waits for a command.
#[derive(Debug)]
pub(super) struct Queue {
    handle: QueueHandle,
    /// Who hands commands over.
    turn: Mutex<Unseen>,
    /// The last command, and the last that is known to be over.
    given: AtomicU64,
    over: AtomicU64,
    failure: OnceLock<Code>,
    /// The one whose turn has to be taken too, and that keeps the failures of both.
    first: Option<Arc<Queue>>,
}

/// Commands whose end was not seen, in order; the last of them is the last that was handed over.
#[derive(Debug, Default)]
struct Unseen {
    events: VecDeque<Event>,
    /// The number of the first.
    first: u64,
}

impl Queue {
    pub(super) fn new(context: &Context, device: Id) -> Result<Self> {
        let turn = Mutex::new(Unseen { events: VecDeque::new(), first: 1 });
        let (given, over) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { handle: context.queue(device)?, turn, given, over, failure: OnceLock::new(), first: None })
    }

    /// One more of the same device. Whoever hands commands over to either has both to himself; neither waits for the other's.
    pub(super) fn beside(first: &Arc<Self>, context: &Context, device: Id) -> Result<Self> {
        Ok(Self { first: Some(first.clone()), ..Self::new(context, device)? })
    }

    pub(super) fn raw(&self) -> *mut c_void {
        self.handle.raw()
    }

    /// Begins with what is queued, without waiting.
    pub(super) fn flush(&self) -> Result<()> {
        driver::flush(self.raw()).map_err(Code)
    }

    /// How a command failed that nobody has waited for, if one did.
    pub(super) fn failure(&self) -> Option<Code> {
        self.failure.get().copied()
    }

    /// Queues a command, and gives its number.
    pub(super) fn enqueue(
        &self,
        command: impl FnOnce(*mut c_void) -> std::result::Result<*mut c_void, cl_int>,
    ) -> Result<u64> {
        let _first = self.first.as_deref().map(|first| first.turn.lock());
        let mut unseen = self.turn.lock();
        let event = Event::new(command(self.raw()))?;
        unseen.events.push_back(event);
        let number = unseen.first + unseen.events.len() as u64 - 1;
        self.given.store(number, Release);
        if unseen.events.len().is_multiple_of(UNSEEN) {
            self.look(&mut unseen, number, None);
        }
        Ok(number)
    }

    /// What this queue comes to last, for [another](Self::comes_after); none where it is through.
    fn last(&self) -> Result<Option<Event>> {
        if self.is_idle() {
            return Ok(None);
        }
        let last = self.turn.lock().events.back().map(Event::share).transpose()?;
        // Otherwise the other one might wait for what never begins.
        self.flush()?;
        Ok(last)
    }

    /// What is queued from here on begins when all that was queued there before is over. Both are of one context.
    pub(super) fn comes_after(&self, other: &Self) -> Result<()> {
        match other.last()? {
            Some(last) => self.barrier(&last).map(drop),
            None => Ok(()),
        }
    }

    /// Queues a command, and waits until it is over.
    pub(super) fn complete(
        &self,
        command: impl FnOnce(*mut c_void) -> std::result::Result<*mut c_void, cl_int>,
    ) -> Result<()> {
        self.wait(self.enqueue(command)?)
    }

    /// The number of the command that was handed over last.
    pub(super) fn given(&self) -> u64 {
        self.given.load(Acquire)
    }

    /// Is all that was handed over known to be over? Does not look.
    pub(super) fn is_idle(&self) -> bool {
        self.over.load(Acquire) >= self.given()
    }

    /// Is this command known to be over?
    pub(super) fn is_over(&self, number: u64) -> bool {
        if self.over.load(Acquire) < number {
            self.look(&mut self.turn.lock(), number, None);
        }
        self.over.load(Acquire) >= number
    }

    /// Waits until all that is queued is over. How it ended is told by [`failure`](Self::failure).
    pub(super) fn finish(&self) -> Result<()> {
        self.reach(u64::MAX)
    }

    /// Waits until this command is over and those before it, or all where there are fewer. How they ended is told by
    /// [`failure`](Self::failure).
    pub(super) fn reach(&self, number: u64) -> Result<()> {
        self.wait_for(number.min(self.given()), None)
    }

    /// Waits until this command is over.
    ///
    /// # Errors
    /// Where it failed.
    pub(super) fn wait(&self, number: u64) -> Result<()> {
        self.wait_for(number, Some(number))
    }

    fn wait_for(&self, number: u64, asked: Option<u64>) -> Result<()> {
        if self.over.load(Acquire) >= number {
            return Ok(());
        }
        self.end_of(number)?;
        let mut failed = self.look(&mut self.turn.lock(), number, asked);
        // What fails since another queue's command did, fails before its turn comes: those before it may still be running.
        while self.over.load(Acquire) < number {
            let first = self.turn.lock().first;
            self.end_of(first)?;
            failed = failed.or(self.look(&mut self.turn.lock(), number, asked));
            if self.turn.lock().first == first {
                // A driver that has waited for it, and does not say how it ended.
                return driver::finish(self.raw()).map_err(Code);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Waits until the driver says of this command that it is over.
    fn end_of(&self, number: u64) -> Result<()> {
        let event = {
            let unseen = self.turn.lock();
            let at = number.checked_sub(unseen.first).and_then(|at| usize::try_from(at).ok());
            match at.and_then(|at| unseen.events.get(at)) {
                Some(event) => event.share()?,
                None => return Ok(()), // Somebody has seen it meanwhile.
            }
        };
        if event.wait().is_err() && event.outcome().is_none() {
            // Whatever comes of that, the command must be over.
            driver::finish(self.raw()).map_err(Code)?;
        }
        Ok(())
    }

    /// Looks how commands ended up to this one, until one has not. Gives how `asked` failed, if it did; other failures are kept.
    fn look(&self, unseen: &mut Unseen, last: u64, asked: Option<u64>) -> Option<Code> {
        let mut failed = None;
        while unseen.first <= last
            && let Some(outcome) = unseen.events.front().and_then(Event::outcome)
        {
            match outcome {
                Err(code) if asked == Some(unseen.first) => failed = Some(code),
                Err(code) => drop(self.first.as_deref().unwrap_or(self).failure.set(code)),
                Ok(()) => {}
            }
            unseen.events.pop_front();
            self.over.fetch_max(unseen.first, Release);
            unseen.first += 1;
        }
        failed
    }
}
