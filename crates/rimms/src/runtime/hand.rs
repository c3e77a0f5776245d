//! The second hand of a worker: copies away, while the worker is at one call, what the next one will drive out.
//!
//! Owns [`Hand`], and its thread, which is started when there is something to do for the first time, and ends with the worker. It is for
//! devices that are done when a launch returns. Where launches are [queued](crate::device::Device::queues_launches) the
//! worker is at the next call already, and what that has to copy runs beside the kernels that are queued.
//!
//! The worker says what there is to do as soon as the operands of a call are in place, and before it places those of the next
//! one it takes back what was not begun, and waits for what was: so no two of them ever make room on a device for
//! the same call. Nobody is told how a copy ended: who needs the room finds out.
//!
//! With a time limit there is none, as a thread that is stuck in a copy is to be a call's, which can be taken away.

use super::Shared;
use super::foresight::Foresight;
use super::pe::Pe;
use crate::memory::{Coming, WriteBacks};
use crate::order::thread_scope;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Where worker and hand meet.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Asked(WriteBacks),
    Working,
    Closed,
}

/// A worker's second hand.
pub(super) struct Hand {
    /// Which PE's worker it belongs to.
    at: usize,
    desk: Arc<Desk>,
    thread: Cell<Option<JoinHandle<()>>>,
    /// Was it given something that the worker has not waited for?
    is_asked: Cell<bool>,
}

impl Hand {
    pub(super) fn new(at: usize) -> Self {
        Self { at, desk: Arc::default(), thread: Cell::default(), is_asked: Cell::default() }
    }

    /// The operands of a call are in place on PE `at`, and others may be in the way of the next one in its queue.
    #[inline]
    pub(super) fn look_ahead(&self, shared: &Shared, at: usize, pe: &Pe) {
        // Where the call has come from another PE, that one's worker sees to it.
        if at == self.at && shared.resources.is_short_of_room(pe.resource) {
            self.look(shared, pe);
        }
    }

    #[cold]
    fn look(&self, shared: &Shared, pe: &Pe) {
        if shared.time_limit.is_some() || pe.device.queues_launches() {
            return;
        }
        let mut coming = None;
        pe.queue.each_pending(&mut |work| {
            coming = Some(Coming::new(work.operands.operands(), pe.resource));
            false
        });
        if let Some(found) =
            coming.and_then(|coming| coming.write_backs(&shared.resources, &Foresight(shared), shared.ahead_from))
        {
            self.ask(pe, found);
        }
    }

    fn ask(&self, pe: &Pe, found: WriteBacks) {
        let mut thread = self.thread.take();
        if thread.is_none() {
            let desk = self.desk.clone();
            let name = format!("{} room", pe.name());
            // Without one the copies are made when they have to be.
            thread = std::thread::Builder::new().name(name).spawn(move || desk.serve()).ok();
        }
        if thread.is_some() {
            *self.desk.state.lock() = State::Asked(found);
            self.desk.changed.notify_all();
            self.is_asked.set(true);
        }
        self.thread.set(thread);
    }

    /// From here on it is at nothing.
    #[inline]
    pub(super) fn settle(&self, pe: &Pe) {
        if self.is_asked.take() {
            pe.queue.set_waiting_for_hand(true);
            self.desk.settle();
            pe.queue.set_waiting_for_hand(false);
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let left = std::mem::replace(&mut *self.desk.state.lock(), State::Closed);
        self.desk.changed.notify_all();
        drop(left);
        let _ = thread.join();
    }
}

impl Desk {
    #[cold]
    fn settle(&self) {
        let mut state = self.state.lock();
        while let State::Working = *state {
            self.changed.wait(&mut state);
        }
        let left = std::mem::take(&mut *state);
        drop(state);
        // Without the lock: it may be the last that keeps a datum.
        drop(left);
    }

    /// What the thread does.
    fn serve(&self) {
        let _scope = thread_scope();
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, State::Working) {
                State::Asked(found) => {
                    drop(state);
                    // A device of the user's may panic. It is asked again by whoever needs the room. What it threw is the user's
                    // too, and stays where it is.
                    let _ = catch_unwind(AssertUnwindSafe(|| found.make())).map_err(std::mem::forget);
                    state = self.state.lock();
                    if let State::Working = *state {
                        *state = State::Idle;
                    }
                    self.changed.notify_all();
                }
                State::Closed => return,
                before => {
                    *state = before;
                    self.changed.wait(&mut state);
                }
            }
        }
    }
}
