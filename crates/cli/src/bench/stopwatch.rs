//! A clock for what is measured, which stands still where instructions are counted.
//!
//! Reading the clock takes as many instructions as it likes: the kernel's page is read again whenever it was written
//! meanwhile, and one instruction at a time that is not seldom.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// When all clocks were stopped, if they were.
static STOPPED: OnceLock<Instant> = OnceLock::new();

/// Time since its start.
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(now())
    }

    pub(super) fn elapsed(&self) -> Duration {
        now() - self.0
    }

    /// From here on no time passes in this process.
    pub(super) fn stop_all() {
        STOPPED.get_or_init(Instant::now);
    }
}

fn now() -> Instant {
    STOPPED.get().copied().unwrap_or_else(Instant::now)
}
