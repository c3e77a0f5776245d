//! How far a long run has come: on a terminal, and only there.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use rimms::{Counters, Runtime};

/// A run that is shorter is over before anybody asks.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

const BAR: &str = "{prefix}: [{bar:30}] {percent} % of {len} calls, {msg}; {eta} left";
const SPINNER: &str = "{prefix}: {spinner} {pos} calls, {msg}; {elapsed}";

/// Shows how far a runtime has come, until dropped.
pub(crate) struct Progress {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Looks at what `rt` has done from now on, of so many calls if that is known. `None` where nobody would see it.
    pub(crate) fn of(rt: &Runtime, prefix: String, calls: Option<u64>) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let (stop, stopped) = channel::<()>();
        let rt = rt.clone();
        let show = move || {
            let (start, before) = (Instant::now(), rt.counters());
            let mut bar = None;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TICK) {
                if start.elapsed() > PATIENCE {
                    let bar = bar.get_or_insert_with(|| shown(prefix.clone(), calls, start.elapsed()));
                    let (done, copied) = so_far(&rt.counters().since(&before));
                    bar.set_message(copied);
                    bar.set_position(done);
                    bar.tick();
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        };
        // Where the system gives no thread there is no progress to be seen, and the run is none the worse.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(show).ok()?;
        Some(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn shown(prefix: String, calls: Option<u64>, elapsed: Duration) -> ProgressBar {
    let (bar, style) = match calls {
        Some(calls) => (ProgressBar::new(calls), BAR),
        None => (ProgressBar::new_spinner(), SPINNER),
    };
    let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_prefix(prefix).with_elapsed(elapsed)
}

/// Calls, and in words what was copied.
fn so_far(counters: &Counters) -> (u64, String) {
    let calls = counters.calls_by_pe.iter().map(|(_, n)| n).sum();
    (calls, format!("{} copies of {}", HumanCount(counters.copies()), HumanBytes(counters.bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_templates() {
        for template in [BAR, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }

    #[test]
    fn what_was_done_is_told_in_words() {
        let rt = Runtime::builder().cpus(1).build().unwrap();
        rt.fill(1.0_f32, &mut rt.alloc(4).unwrap()).unwrap();
        rt.finish().unwrap();
        assert_eq!(so_far(&rt.counters()), (1, "0 copies of 0 B".to_owned()));
    }
}
