//! `rimms bench apps`: applications in the paper's regions, over repeats, memory modes, heaps and ways to allocate.
//!
//! *Computation* takes one input in, transforms it and hands the output on; *Overall* is the allocation, N Computations
//! and the release of the memory (the paper's §5.3, Figure 9 and Table 3). What allocation costs is split as in its
//! Figure 10: the time in `hete_Malloc`, in `fragment`, and the rest.
//!
//! Applications are in paper style, which has rows to allocate, on a simulated accelerator alone, as the paper's on its.
//! Calls are made one after the other by the calling thread, so that no time is counted twice. Blocks on the device are
//! allocated when they are first needed; their share is counted as `hete_Malloc`'s, not as Computation ([`meter`]).
//!
//! All combinations of an application and a number of repeats run in turn, a round after the other, and each figure is a
//! median of the rounds. Speed-ups are over one base: memory mode `reference` with one allocation a stage on a two-level
//! heap, which is as cheap as it gets. The last result of every run is compared with the known answer.

mod meter;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use comfy_table::CellAlignment;
use rimms::device::sim::{ACC_MEMORY, Sim};
use rimms::{MemoryMode, Runtime};
use rimms_heap::HeapKind;
use rimms_radar::apps::{Alloc, Config};
use serde::Serialize;

use super::rounds::{median, round};
use crate::cli::{App, AppsArgs};
use crate::output::{self, Failure};
use crate::run::Task;
use meter::Meter;

const ACC: &str = "acc0";

/// The paper's application, and the small ones. SAR is left out by default: a thousand images in each combination take
/// most of an hour.
const APPS: [App; 5] = [App::TwoFft, App::TwoFzf, App::ThreeZip, App::RadarCorrelator, App::PulseDoppler];
const REPEATS: [usize; 4] = [1, 10, 100, 1000];
const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];
/// The paper's two with its block size, a smaller and a larger one, and the default.
const HEAPS: [HeapKind; 5] = [
    HeapKind::NextFit,
    HeapKind::Bitset { block: 256 },
    HeapKind::Bitset { block: 4096 },
    HeapKind::Bitset { block: 65_536 },
    HeapKind::TwoLevel,
];

/// What speed-ups are over.
const BASE: Combination =
    Combination { memory: MemoryMode::Reference, heap: HeapKind::TwoLevel, alloc: Alloc::Fragment };

/// How long the combinations of an application and a number of repeats are measured together: rounds until the time is
/// up, so many at most, and one at least.
const TIME: Duration = Duration::from_secs(2);
const ROUNDS: usize = 15;

/// A way to run an application.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Combination {
    memory: MemoryMode,
    heap: HeapKind,
    alloc: Alloc,
}

/// The keys of `--json`, described in `docs/json.md`.
#[derive(Serialize)]
struct Listing {
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    app: &'static str,
    repeat: usize,
    memory: &'static str,
    heap: String,
    alloc: &'static str,
    rounds: usize,
    overall_s: f64,
    overall_speedup: f64,
    computation_s: f64,
    computation_speedup: f64,
    malloc_s: f64,
    fragment_s: f64,
    free_s: f64,
    rest_s: f64,
    copies: u64,
    bytes: u64,
    evictions: u64,
    max_error: f64,
}

pub(super) fn run(args: &AppsArgs) -> Result<String, Failure> {
    let or = |given: &[NonZeroUsize], default: &[usize]| match given {
        [] => default.to_vec(),
        given => given.iter().map(|n| n.get()).collect(),
    };
    let quick = args.quick;
    let repeats = or(&args.repeat, if quick { &[1, 2] } else { &REPEATS });
    let apps = chosen(&args.app, if quick { &[App::TwoFft, App::PulseDoppler] } else { &APPS });
    let combinations = combinations(args);
    let mut rows = Vec::new();
    for app in apps {
        for repeat in &repeats {
            let rounds = if quick { 1 } else { ROUNDS };
            rows.extend(measured(app, NonZeroUsize::new(*repeat).unwrap_or(NonZeroUsize::MIN), &combinations, rounds)?);
        }
    }
    output::note(&format!("simulated: {ACC}"));
    if args.json { output::json(&Listing { rows }) } else { Ok(text(&rows)) }
}

fn chosen<T: Copy>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
}

/// The base first, and then all others that are asked for.
fn combinations(args: &AppsArgs) -> Vec<Combination> {
    let mut all = vec![BASE];
    for memory in chosen(&args.memory, &MODES) {
        for heap in chosen(&args.heap, &HEAPS) {
            for alloc in chosen(&args.alloc, Alloc::ALL) {
                let combination = Combination { memory, heap, alloc };
                if combination != BASE {
                    all.push(combination);
                }
            }
        }
    }
    all
}

/// A combination at work.
struct Contender {
    combination: Combination,
    task: Task,
    rt: Runtime,
    meter: Arc<Meter>,
    runs: Vec<Run>,
}

/// One run: times in seconds.
struct Run {
    overall: f64,
    computation: f64,
    malloc: f64,
    fragment: f64,
    free: f64,
    copies: u64,
    bytes: u64,
    evictions: u64,
    error: f64,
}

impl Contender {
    fn new(app: App, combination: Combination) -> Result<Self, Failure> {
        let Combination { memory, heap, alloc } = combination;
        let meter = Arc::new(Meter::default());
        let refused = |e: rimms::Error| Failure::Usage(format!("--heap {heap}: {e}"));
        let acc = meter.of(Sim::acc(ACC, ACC_MEMORY, heap).map_err(refused)?);
        let rt = Runtime::builder().cpus(0).device(acc).memory_mode(memory).build()?.blocking();
        let task = Task::synthetic(app, Config { alloc, ..Config::default() })?;
        Ok(Self { combination, task, rt, meter, runs: Vec::new() })
    }

    fn run(&self, repeat: NonZeroUsize) -> Result<Run, Failure> {
        self.meter.take();
        let report = self.task.run(&self.rt, repeat)?;
        let reading = self.meter.take();
        let tolerance = self.task.tolerance();
        let error = report.result.max_error.unwrap_or(f64::NAN);
        if error.is_nan() || error > tolerance {
            let Combination { memory, heap, alloc } = self.combination;
            let what = format!("{}, {memory}, {heap}, {alloc}", report.app);
            return Err(
                anyhow::anyhow!("{what}: the result is wrong by {error:e}, at most {tolerance:e} wanted").into()
            );
        }
        let n = repeat.get() as f64;
        let [allocate, free, mark, clear] =
            [reading.allocate, reading.free, reading.mark, reading.clear].map(|time| time.as_secs_f64());
        let time = &report.time_s;
        let computations = time.computation * n;
        let release = time.overall - time.allocate - time.fragment - computations;
        // Blocks are allocated within Computations, and freed at the end.
        let (malloc, computations) = (time.allocate + mark, computations - allocate);
        let (fragment, free) = (time.fragment, (release - free).max(0.0) + clear);
        Ok(Run {
            overall: malloc + fragment + computations + free,
            computation: computations / n,
            malloc,
            fragment,
            free,
            copies: report.copies.total(),
            bytes: report.bytes.total(),
            evictions: report.evictions,
            error,
        })
    }
}

fn measured(app: App, repeat: NonZeroUsize, all: &[Combination], most: usize) -> Result<Vec<Row>, Failure> {
    let mut contenders: Vec<Contender> =
        all.iter().map(|combination| Contender::new(app, *combination)).collect::<Result<_, _>>()?;
    // Plans of transforms, fresh pages.
    contenders.iter().try_for_each(|contender| contender.run(NonZeroUsize::MIN).map(drop))?;
    let start = Instant::now();
    for number in 0..most {
        round(&mut contenders, number, |contender| {
            contender.runs.push(contender.run(repeat)?);
            Ok::<_, Failure>(())
        })?;
        if start.elapsed() >= TIME {
            break;
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for Contender { combination: Combination { memory, heap, alloc }, runs, .. } in &contenders {
        let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
        let (overall_s, computation_s) = (of(|r| r.overall), of(|r| r.computation));
        let Some(last) = runs.last() else { continue };
        let base = rows.first().map_or((overall_s, computation_s), |base| (base.overall_s, base.computation_s));
        rows.push(Row {
            app: app.name(),
            repeat: repeat.get(),
            memory: memory.name(),
            heap: heap.to_string(),
            alloc: alloc.name(),
            rounds: runs.len(),
            overall_s,
            overall_speedup: base.0 / overall_s,
            computation_s,
            computation_speedup: base.1 / computation_s,
            malloc_s: of(|r| r.malloc),
            fragment_s: of(|r| r.fragment),
            free_s: of(|r| r.free),
            rest_s: of(|r| r.overall - r.malloc - r.fragment - r.free),
            copies: last.copies,
            bytes: last.bytes,
            evictions: last.evictions,
            max_error: runs.iter().map(|r| r.error).fold(0.0, f64::max),
        });
    }
    Ok(rows)
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table([
        "app",
        "repeats",
        "memory",
        "heap",
        "alloc",
        "Overall",
        "speed-up",
        "Computation",
        "speed-up",
        "hete_Malloc",
        "fragment",
        "free",
        "rest",
        "copies",
    ]);
    for row in rows {
        table.add_row([
            row.app.to_owned(),
            row.repeat.to_string(),
            row.memory.to_owned(),
            row.heap.clone(),
            row.alloc.to_owned(),
            output::seconds(row.overall_s),
            format!("{:.2}", row.overall_speedup),
            output::seconds(row.computation_s),
            format!("{:.2}", row.computation_speedup),
            output::seconds(row.malloc_s),
            output::seconds(row.fragment_s),
            output::seconds(row.free_s),
            output::seconds(row.rest_s),
            row.copies.to_string(),
        ]);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        if i == 1 || i > 4 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!(
        "{table}\n\nOverall: hete_Malloc, fragment, the Computations (rest) and free. Medians over the rounds.\nspeed-up: \
         over the first row of the same application and number of repeats: reference, two-level, fragment.\nThe last result \
         of every run was compared with the known one.\n"
    )
}
