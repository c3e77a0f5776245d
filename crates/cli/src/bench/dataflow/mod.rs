//! `rimms bench dataflow`: chains of calls that hand data on, on the CPU, an accelerator, or both (the paper's §5.1).
//!
//! | | first | second |
//! | --- | --- | --- |
//! | `2fft` | FFT | inverse FFT |
//! | `2fzf` | both FFTs | product, inverse FFT |
//! | `3zip` | both products of inputs | their product |
//!
//! A placement names the PE of the first and of the second part: `cpu-acc` is the paper's CPU–ACC, `acc-other` goes from one
//! accelerator to another.
//!
//! The modes of a row's chain run in turn, lap by lap, so that whatever else the machine does meets all of them. A lap's
//! time is that of its calls with the copies they need; as in the paper, the result stays where it is. What it takes until
//! the host has it is given beside. Every lap's result is compared with the known one, outside the time.
//!
//! On a CUDA device 2FFT has a rival beside it in the same rounds: the same in [`plain`] CUDA.

mod chain;
mod plain;

use std::time::{Duration, Instant};

use comfy_table::CellAlignment;
use rimms::trace::{Counters, Flow};
use rimms::{MemoryMode, Runtime, sched};
use serde::Serialize;

use super::rounds::{median, round};
use crate::cli::DataflowArgs;
use crate::machine::{self, Machine};
use crate::output::{self, Failure};
use chain::Chain;
pub(crate) use chain::Dataflow;
use chain::Signals;
use plain::Plain;

/// The paper's smallest and largest number of points, and where the default ends.
const SMALLEST: usize = 64;
const LARGEST_QUICK: usize = 128;

/// Largest difference from the known result that is right, relative to its largest magnitude: single precision, through
/// two transforms of 2^20 points.
const TOLERANCE: f64 = 1e-4;

const CPU: &str = "cpu0";

/// Who makes the first calls, and who the rest: the CPU, the accelerator, or another one.
fn placements<'a>(acc: &'a str, other: Option<&'a str>) -> Vec<(&'static str, [&'a str; 2])> {
    let alone = [("cpu-cpu", [CPU, CPU]), ("cpu-acc", [CPU, acc]), ("acc-cpu", [acc, CPU]), ("acc-acc", [acc, acc])];
    alone.into_iter().chain(other.map(|other| ("acc-other", [acc, other]))).collect()
}

/// How long a row is measured: laps until the time is up, so many at least and at most.
struct Effort {
    time: Duration,
    least: usize,
    most: usize,
}

const FULL: Effort = Effort { time: Duration::from_millis(100), least: 5, most: 500 };
const QUICK: Effort = Effort { time: Duration::ZERO, least: 3, most: 3 };

/// The keys of `--json`, described in `docs/json.md`.
#[derive(Serialize)]
struct Listing {
    rows: Vec<Row>,
}

/// One chain at one size, placed and kept coherent in one way.
#[derive(Serialize)]
struct Row {
    flow: &'static str,
    points: usize,
    placement: &'static str,
    memory: &'static str,
    laps: usize,
    time_s: f64,
    speedup: f64,
    time_read_s: f64,
    speedup_read: f64,
    copies: u64,
    bytes: u64,
    copies_read: u64,
    bytes_read: u64,
    max_error: f64,
}

pub(super) fn run(args: &DataflowArgs) -> Result<String, Failure> {
    let effort = if args.quick { QUICK } else { FULL };
    let most = if args.quick { args.max_points.min(LARGEST_QUICK) } else { args.max_points };
    if most < SMALLEST {
        return Err(Failure::Usage(format!("--max-points {most}: {SMALLEST} or more wanted")));
    }
    let all = [Dataflow::TwoFft, Dataflow::TwoFzf, Dataflow::ThreeZip];
    let flows = if args.flow.is_empty() { &all[..] } else { &args.flow };
    let machine = Machine::default();
    let accs = args.acc.iter().map(|name| machine.accelerator("--acc", name)).collect::<Result<Vec<_>, _>>()?;
    let usage = |given: &str| Failure::Usage(format!("--acc: one PE or two different ones are wanted, not {given}"));
    let (acc, other) = match &accs[..] {
        [acc] => (acc, None),
        [acc, other] if acc != other => (acc, Some(other.as_str())),
        [acc, _] => return Err(usage(&format!("{acc} twice"))),
        several => return Err(usage(&several.len().to_string())),
    };
    let runtimes = runtimes(&machine, &accs.join(","))?;
    let mut rows = Vec::new();
    for flow in flows {
        for points in (0..).map_while(|i| SMALLEST.checked_shl(i).filter(|n| (SMALLEST..=most).contains(n))) {
            for (placement, pes) in placements(acc, other) {
                rows.extend(measured(*flow, points, placement, pes, &runtimes, &effort)?);
            }
        }
    }
    for acc in accs.iter().filter(|acc| machine::is_simulated(acc)) {
        output::note(&format!("simulated: {acc}"));
    }
    if args.json { output::json(&Listing { rows }) } else { Ok(text(&rows)) }
}

/// One for each mode, `reference` first; `zero-copy` without the accelerator, where that has a memory of its own.
fn runtimes(machine: &Machine<'_>, acc: &str) -> Result<Vec<Runtime>, Failure> {
    let both = format!("{CPU},{acc}");
    let runtime = |on, mode| Ok(machine.runtime(Some(on), mode, sched::by_name("round-robin")?)?.0);
    let with_all_it_can = |mode| match runtime(&both, mode) {
        Err(Failure::Usage(_)) if mode == MemoryMode::ZeroCopy => runtime(CPU, mode),
        made => made,
    };
    MemoryMode::ALL.into_iter().map(with_all_it_can).collect()
}

/// A row for each mode in which the chain can be placed so.
fn measured(
    flow: Dataflow,
    points: usize,
    placement: &'static str,
    pes: [&str; 2],
    runtimes: &[Runtime],
    effort: &Effort,
) -> Result<Vec<Row>, Failure> {
    let signals = flow.signals(points)?;
    let mut contenders = Vec::new();
    for rt in runtimes {
        if pes.iter().all(|pe| rt.pes().iter().any(|there| there.name() == *pe)) {
            let [first, second] = [rt.on(pes[0])?, rt.on(pes[1])?];
            let chain = Chain::new(flow, &signals, first, second)?;
            contenders.push(Contender { who: Who::Rimms(chain), laps: Vec::new() });
        }
    }
    if flow == Dataflow::TwoFft && pes == ["cuda0"; 2] {
        contenders.push(Contender { who: Who::Plain(Plain::new(points)?, &signals), laps: Vec::new() });
    }
    // Allocates on the device, and plans the transforms.
    contenders.iter_mut().try_for_each(Contender::lap)?;
    contenders.iter_mut().for_each(|contender| contender.laps.clear());
    let start = Instant::now();
    for laps in 1..=effort.most {
        round(&mut contenders, laps, Contender::lap)?;
        if laps >= effort.least && start.elapsed() >= effort.time {
            break;
        }
    }

    let mut rows: Vec<Row> = Vec::new();
    for Contender { who, laps } in &contenders {
        let memory = who.name();
        let max_error = laps.iter().map(|lap| lap.error).fold(0.0, |a, b| if b <= a { a } else { b });
        // Not a number is not right either.
        if !matches!(max_error.partial_cmp(&TOLERANCE), Some(std::cmp::Ordering::Less)) {
            let what = format!("{}, {points} points, {placement}, {memory}", flow.name());
            return Err(
                anyhow::anyhow!("{what}: the result is wrong by {max_error:e}, at most {TOLERANCE:e} wanted").into()
            );
        }
        let time_s = median(laps.iter().map(|lap| lap.calls.as_secs_f64()).collect());
        let time_read_s = median(laps.iter().map(|lap| (lap.calls + lap.read).as_secs_f64()).collect());
        let Some(last) = laps.last() else { continue };
        let (reference, reference_read) = rows.first().map_or((time_s, time_read_s), |r| (r.time_s, r.time_read_s));
        rows.push(Row {
            flow: flow.name(),
            points,
            placement,
            memory,
            laps: laps.len(),
            time_s,
            speedup: reference / time_s,
            time_read_s,
            speedup_read: reference_read / time_read_s,
            copies: last.called.copies,
            bytes: last.called.bytes,
            copies_read: last.was_read.copies,
            bytes_read: last.was_read.bytes,
            max_error,
        });
    }
    Ok(rows)
}

/// One who runs the chain.
struct Contender<'a> {
    who: Who<'a>,
    laps: Vec<Lap>,
}

enum Who<'a> {
    /// In one mode.
    Rimms(Chain<'a>),
    Plain(Plain, &'a Signals),
}

impl Who<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Rimms(chain) => chain.runtime().memory_mode().name(),
            Self::Plain(..) => "plain CUDA",
        }
    }
}

struct Lap {
    calls: Duration,
    read: Duration,
    /// What was copied for the calls, and for the host to have the result.
    called: Flow,
    was_read: Flow,
    error: f64,
}

impl Contender<'_> {
    fn lap(&mut self) -> Result<(), Failure> {
        let lap = match &mut self.who {
            Who::Rimms(chain) => Self::lap_of(chain)?,
            Who::Plain(plain, signals) => Self::lap_by_hand(plain, signals)?,
        };
        self.laps.push(lap);
        Ok(())
    }

    fn lap_by_hand(plain: &mut Plain, signals: &Signals) -> Result<Lap, Failure> {
        let input = signals.first();
        let start = Instant::now();
        plain.call(input)?;
        let calls = start.elapsed();
        let start = Instant::now();
        plain.read()?;
        let read = start.elapsed();
        let once = Flow { copies: 1, bytes: size_of_val(input) as u64 };
        Ok(Lap { calls, read, called: once, was_read: once, error: signals.error(plain.output()) })
    }

    fn lap_of(chain: &mut Chain<'_>) -> Result<Lap, Failure> {
        chain.write()?;
        let before = chain.runtime().counters();
        let start = Instant::now();
        chain.call()?;
        let calls = start.elapsed();
        let between = chain.runtime().counters();
        let start = Instant::now();
        chain.read()?;
        let read = start.elapsed();
        let after = chain.runtime().counters();
        let error = chain.error()?;
        let copied = |from, to: &Counters| {
            let counters = to.since(from);
            Flow { copies: counters.copies(), bytes: counters.bytes() }
        };
        let (called, was_read) = (copied(&before, &between), copied(&between, &after));
        Ok(Lap { calls, read, called, was_read, error })
    }
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table([
        "flow",
        "points",
        "placement",
        "memory",
        "time",
        "speed-up",
        "copies",
        "bytes",
        "time, read",
        "speed-up",
        "copies",
    ]);
    for row in rows {
        table.add_row([
            row.flow.to_owned(),
            row.points.to_string(),
            row.placement.to_owned(),
            row.memory.to_owned(),
            output::seconds(row.time_s),
            format!("{:.2}", row.speedup),
            row.copies.to_string(),
            output::bytes(row.bytes),
            output::seconds(row.time_read_s),
            format!("{:.2}", row.speedup_read),
            (row.copies + row.copies_read).to_string(),
        ]);
    }
    for column in table.column_iter_mut().enumerate().filter(|(i, _)| !matches!(i, 0 | 2 | 3)).map(|(_, column)| column)
    {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "{table}\n\ntime: of the calls with their copies, the median of a row's laps; the result stays where it is. \
         time, read: until the host has it.\nspeed-up: over memory mode reference in the same placement. Every lap's result \
         was compared with the known one.\n"
    )
}
