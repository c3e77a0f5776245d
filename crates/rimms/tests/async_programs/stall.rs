//! A program that does not get on is a failure too: it is reported, and the process ends.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::{Duration, Instant};

/// How long no step may be done.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that is watched, as long as it is kept.
pub(crate) struct Watch {
    name: String,
    steps: AtomicU64,
    /// What the runtime says about who waits for whom.
    report: Mutex<String>,
}

static ALL: Mutex<Vec<Weak<Watch>>> = Mutex::new(Vec::new());

impl Watch {
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    pub(crate) fn note(&self, report: &str) {
        eprintln!("{report}");
        *self.report.lock().unwrap() = report.into();
    }
}

pub(crate) fn watch(name: String) -> Arc<Watch> {
    static START: Once = Once::new();
    START.call_once(|| drop(std::thread::spawn(main)));
    let watch = Arc::new(Watch { name, steps: AtomicU64::new(0), report: Mutex::default() });
    ALL.lock().unwrap().push(Arc::downgrade(&watch));
    watch
}

fn main() {
    let mut seen: Vec<(Arc<Watch>, u64, Instant)> = Vec::new();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        // Those that nobody else keeps are over.
        seen.retain(|(watch, ..)| Arc::strong_count(watch) > 1);
        let mut all = ALL.lock().unwrap();
        all.retain(|watch| watch.strong_count() > 0);
        for watch in all.drain(..).filter_map(|watch| watch.upgrade()) {
            seen.push((watch, 0, Instant::now()));
        }
        drop(all);
        for (watch, steps, since) in &mut seen {
            let now = watch.steps.load(Relaxed);
            if now != *steps {
                (*steps, *since) = (now, Instant::now());
            } else if since.elapsed() > PATIENCE {
                let report = watch.report.lock().unwrap();
                eprintln!("stalled after {now} steps: {}\n{report}", watch.name);
                std::process::exit(1);
            }
        }
    }
}
