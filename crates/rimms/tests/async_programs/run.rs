//! Running programs, many of them; and making those that fail small.

use crate::setting::{Setting, Trouble};
use crate::stall;
use crate::step::Step;
use crate::worker::Worker;
use crate::world::World;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use rimms::{Cause, Counters};
use std::any::Any;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

/// What each thread does.
pub(crate) type Program = Vec<Vec<Step>>;

/// Runs a program.
///
/// # Errors
/// What was wrong, in the words of the assertion.
pub(crate) fn run(setting: &Setting, program: &Program, name: &str) -> Result<(), String> {
    let watch = stall::watch(format!("{name}\n{setting:?}"));
    let failure = Mutex::new(None);
    let note = |payload: Box<dyn Any + Send>| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        failure.lock().unwrap().get_or_insert(text.unwrap_or_else(|| "a panic without words".into()));
    };
    let report = watch.clone();
    let world = World::new(setting.clone(), move |text| report.note(text));
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for steps in program {
            let (world, watch, stop, note) = (&world, &watch, &stop, &note);
            let work = move || {
                let mut worker = Worker::new(world);
                for step in steps.iter().take_while(|_| !stop.load(Relaxed)) {
                    worker.step(step);
                    watch.step();
                }
                worker.finish();
            };
            s.spawn(move || {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
                    stop.store(true, Relaxed);
                    note(payload);
                }
            });
        }
    });
    if failure.lock().unwrap().is_none() {
        TALLY.add(&world.rt.counters());
        let end = || {
            world.rt.finish().unwrap();
            Worker::new(&world).read_all();
            world.end();
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(end)) {
            note(payload);
        }
    }
    failure.into_inner().unwrap().map_or(Ok(()), Err)
}

/// The program that a number stands for.
pub(crate) fn program(seed: u64, threads: usize, steps: usize) -> Program {
    let mut rng = SmallRng::seed_from_u64(seed ^ 0x5eed);
    let each = steps.div_ceil(threads);
    (0..threads).map(|_| (0..each).map(|_| Step::from(rng.random::<u64>())).collect()).collect()
}

/// How a campaign's settings differ from what their numbers make of them.
pub(crate) type Adjust = fn(Setting) -> Setting;

/// Runs programs of `each` steps until `total` steps are done: some known ones, then others every time.
///
/// `RIMMS_SEED` and `RIMMS_STEPS` repeat one.
pub(crate) fn campaign(test: &str, trouble: Trouble, total: usize, each: usize, adjust: Adjust) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("RIMMS_SEED") {
        return one(test, seed, trouble, number("RIMMS_STEPS").map_or(each, |n| n as usize), adjust);
    }
    let clock = clock();
    println!("{test}: seeds from {clock}");
    let runs = total.div_ceil(each) as u64;
    for i in 0..runs {
        // A quarter of them are the same every time.
        let seed = if i % 4 == 0 { i } else { clock.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) };
        one(test, seed, trouble, each, adjust);
    }
    println!("{test}: {} steps; all tests so far: {}", runs * each as u64, totals());
}

/// Runs programs on devices that have 100 to 110 % of what the largest call needs, one after the other, for so long.
pub(crate) fn soak(test: &str, minutes: f64) {
    const STEPS: usize = 20_000;
    let first = std::env::var("RIMMS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(clock);
    println!("RIMMS_SEED={first}: {minutes} minutes");
    let (start, mut told, mut steps) = (Instant::now(), Instant::now(), 0);
    let tight = |setting: Setting| setting.tightened(|acc| [100, 105, 110][acc % 3]).watched();
    let limit = Duration::from_secs_f64(60.0 * minutes);
    for seed in (0..).map(|i: u64| first.wrapping_add(i)).take_while(|_| start.elapsed() < limit) {
        one(&format!("--ignored {test}"), seed, Trouble::None, STEPS, tight);
        steps += STEPS;
        if told.elapsed() > Duration::from_secs(10) || start.elapsed() >= limit {
            let rate = steps as f64 / start.elapsed().as_secs_f64();
            println!(
                "{:5.0} s: {steps} steps, {rate:.0} a second, seed {seed}; {}",
                start.elapsed().as_secs_f64(),
                totals()
            );
            told = Instant::now();
        }
    }
}

fn clock() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// Runs one, and reports it if it fails: the smallest that was found to fail too.
pub(crate) fn one(test: &str, seed: u64, trouble: Trouble, steps: usize, adjust: Adjust) {
    let repeat = format!("RIMMS_SEED={seed} RIMMS_STEPS={steps} cargo test -p rimms --test async_programs -- {test}");
    let setting = adjust(Setting::random(seed, trouble, steps as u64));
    let program = program(seed, setting.threads, steps);
    let Err(error) = run(&setting, &program, &repeat) else { return };
    eprintln!("{repeat}\n{setting:?}\nfailed: {error}\nmaking it smaller ...");
    let small = minimise(&setting, program, Duration::from_secs(60));
    let mut text = String::new();
    for (thread, steps) in small.iter().enumerate() {
        let _ = write!(text, "\nthread {thread}:");
        for step in steps.iter().take(200) {
            let _ = write!(text, "\n  {step:?}");
        }
    }
    panic!("{error}\nrepeat: {repeat}\n{setting:?}{text}");
}

/// Leaves out what is not needed for a program to fail, by halves, quarters and so on.
fn minimise(setting: &Setting, mut program: Program, budget: Duration) -> Program {
    let start = Instant::now();
    // What depends on how threads come across each other may need a few tries.
    let fails = |program: &Program| (0..3).any(|_| run(setting, program, "making a failure smaller").is_err());
    let mut chunk = program.iter().map(Vec::len).max().unwrap_or(0) / 2;
    while chunk > 0 && start.elapsed() < budget {
        let mut any = false;
        for thread in 0..program.len() {
            let mut from = 0;
            while from < program[thread].len() && start.elapsed() < budget {
                let mut less = program.clone();
                let to = (from + chunk).min(less[thread].len());
                less[thread].drain(from..to);
                if fails(&less) {
                    (program, any) = (less, true);
                } else {
                    from = to;
                }
            }
        }
        if !any || chunk > 1 {
            chunk /= 2;
        }
    }
    program
}

/// What all programs together came to.
struct Tally {
    calls: AtomicU64,
    retries: AtomicU64,
    evictions: AtomicU64,
    copies: [AtomicU64; Cause::ALL.len()],
}

static TALLY: Tally = Tally {
    calls: AtomicU64::new(0),
    retries: AtomicU64::new(0),
    evictions: AtomicU64::new(0),
    copies: [const { AtomicU64::new(0) }; Cause::ALL.len()],
};

impl Tally {
    fn add(&self, counters: &Counters) {
        self.calls.fetch_add(counters.calls_by_pe.iter().map(|(_, n)| n).sum(), Relaxed);
        self.retries.fetch_add(counters.retries, Relaxed);
        self.evictions.fetch_add(counters.evictions, Relaxed);
        for (sum, cause) in self.copies.iter().zip(Cause::ALL) {
            sum.fetch_add(counters.by_cause(cause).copies, Relaxed);
        }
    }
}

/// What all programs of this process came to, in words.
pub(crate) fn totals() -> String {
    let of = |n: &AtomicU64| n.load(Relaxed);
    let copies = TALLY.copies.iter().zip(Cause::ALL).map(|(n, cause)| format!("{} {}", of(n), cause.name()));
    let copies = copies.collect::<Vec<_>>().join(", ");
    let Tally { calls, retries, evictions, .. } = &TALLY;
    format!("{} calls done, {} tried elsewhere, {} evictions; copies: {copies}", of(calls), of(retries), of(evictions))
}
