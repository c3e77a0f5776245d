//! A process that has to succeed, and not to hang.

use std::process::Command;
use std::time::{Duration, Instant};

/// For one that hangs: busy machines take several times what quiet ones do.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs a command that has to succeed, and to end.
pub(crate) fn succeeds(mut command: Command, what: &str) {
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        match child.try_wait().unwrap() {
            Some(status) => return assert!(status.success(), "{what}: {status}"),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    child.kill().unwrap();
    let _ = child.wait();
    panic!("{what} took more than {LIMIT:?}");
}
