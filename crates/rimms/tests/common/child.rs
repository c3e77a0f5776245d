//! A process that has to succeed in time.

use std::process::Command;
use std::time::{Duration, Instant};

/// Runs a command that has to succeed in time.
pub(crate) fn within(mut command: Command, limit: Duration, what: &str) {
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < limit {
        match child.try_wait().unwrap() {
            Some(status) => return assert!(status.success(), "{what}: {status}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    child.kill().unwrap();
    let _ = child.wait();
    panic!("{what} took more than {limit:?}");
}
