//! Exact instruction counts without a profiler or hardware counters: the
//! subject runs in a child that is traced and executed one instruction at a time.
//!
//! The child stops itself before and after the part that counts; what stopping
//! costs is in two runs of different length, and so not in their difference. Linux on x86-64 and
//! AArch64; elsewhere, and where tracing is forbidden, there is no count.
#![allow(unsafe_code)]

use super::stopwatch::Stopwatch;
use super::subject::{self, Subject};
use crate::output::Failure;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Runs of a subject that are counted together, where nobody is in a hurry.
pub(super) const TIMES: u32 = 4;

/// Runs before those that are counted. So many that no list which has grown along with them grows once more meanwhile:
/// lists double, and what that takes comes to nothing in the long run, but not in a few runs.
const WARM_UP: u32 = 100;

/// Instructions of one operation, over so many runs of it; `None` where they cannot be counted here.
pub(super) fn instructions(subject: &Subject, times: u32) -> Option<f64> {
    // Of so many runs more: what the first one takes beside is in both.
    let (some, more) = (steps(subject, times)?, steps(subject, 2 * times)?);
    Some((more as f64 - some as f64) / f64::from(times * subject.per_run))
}

/// What the child does: prepares the subject, warms it up, and runs it between two stops.
pub(crate) fn child(id: &str, times: u32) -> Result<String, Failure> {
    let subject = subject::by_id(id)?;
    let mut run = subject.counted.unwrap_or(subject.prepare)()?;
    Stopwatch::stop_all();
    run(WARM_UP);
    stop();
    run(times);
    stop();
    Ok(String::new())
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn stop() {
    // SAFETY: raising a signal in oneself has no preconditions.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Instructions the child executes between its two stops.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn steps(subject: &Subject, times: u32) -> Option<u64> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["bench", "count", subject.id, &times.to_string()]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: ptrace(TRACEME) is a bare system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    #[allow(clippy::zombie_processes)] // waited for by Traced, by number
    let child = command.spawn().ok()?;
    let traced = Traced(i32::try_from(child.id()).ok()?);
    // Stopped once by exec, then by itself before and after what counts.
    (traced.wait()? == libc::SIGTRAP).then_some(())?;
    traced.resume(libc::PTRACE_CONT)?;
    (traced.wait()? == libc::SIGSTOP).then_some(())?;
    let mut count = 0;
    loop {
        traced.resume(libc::PTRACE_SINGLESTEP)?;
        match traced.wait()? {
            libc::SIGTRAP => count += 1,
            libc::SIGSTOP => return Some(count),
            _ => return None,
        }
    }
}

/// A traced child. Ends it when dropped.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
struct Traced(libc::pid_t);

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Traced {
    /// The signal that stopped it; `None` once it is gone.
    fn wait(&self) -> Option<libc::c_int> {
        let mut status = 0;
        // SAFETY: waits for our own child; status is ours.
        let waited = unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        (waited == self.0 && libc::WIFSTOPPED(status)).then(|| libc::WSTOPSIG(status))
    }

    fn resume(&self, how: libc::c_uint) -> Option<()> {
        // SAFETY: our own child, which is stopped.
        let done = unsafe { libc::ptrace(how, self.0, 0, 0) };
        (done != -1).then_some(())
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: our own child; if it is gone already both calls fail, which is as good.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn stop() {}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn steps(_subject: &Subject, _times: u32) -> Option<u64> {
    None
}
