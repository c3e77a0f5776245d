//! Streams and events: when what was queued happens.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does one job after the other.
pub(crate) struct Stream {
    pub(crate) device: usize,
    jobs: Sender<Job>,
}

impl Stream {
    /// Each job begins so long after the one before.
    pub(crate) fn new(device: usize, lag: Duration) -> Self {
        let (jobs, queue) = channel::<Job>();
        std::thread::spawn(move || {
            for job in queue {
                if !lag.is_zero() {
                    std::thread::sleep(lag);
                }
                job();
            }
        });
        Self { device, jobs }
    }

    pub(crate) fn queue(&self, job: impl FnOnce() + Send + 'static) {
        // The thread lives as long as we do.
        let _ = self.jobs.send(Box::new(job));
    }

    /// Returns when all that was queued before is over.
    pub(crate) fn synchronize(&self) {
        let event = Event::default();
        event.record(self);
        event.wait();
    }
}

#[derive(Default)]
struct Times {
    recorded: u64,
    done: u64,
}

/// A cheap handle.
#[derive(Clone, Default)]
pub(crate) struct Event(Arc<(Mutex<Times>, Condvar)>);

impl Event {
    pub(crate) fn record(&self, stream: &Stream) {
        let ticket = {
            let mut times = self.0.0.lock();
            times.recorded += 1;
            times.recorded
        };
        let event = self.clone();
        stream.queue(move || {
            let mut times = event.0.0.lock();
            times.done = times.done.max(ticket);
            event.0.1.notify_all();
        });
    }

    /// What was recorded last, for [`wait_until`](Self::wait_until).
    pub(crate) fn ticket(&self) -> u64 {
        self.0.0.lock().recorded
    }

    pub(crate) fn wait_until(&self, ticket: u64) {
        let mut times = self.0.0.lock();
        while times.done < ticket {
            self.0.1.wait(&mut times);
        }
    }

    pub(crate) fn wait(&self) {
        self.wait_until(self.ticket());
    }

    pub(crate) fn is_done(&self) -> bool {
        let times = self.0.0.lock();
        times.done >= times.recorded
    }
}
