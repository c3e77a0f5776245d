//! `rimms bench overhead`: the runtime's own costs, each beside its target.

use super::subject::{SUBJECTS, Subject};
use super::{bytes, room, single_step};
use crate::output::{self, Failure};
use anyhow::Result;
use comfy_table::Table;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The keys of `--json`, described in `docs/json.md`.
#[derive(Serialize)]
struct Listing {
    cycle_ns: f64,
    operations: Vec<Line>,
}

/// One line of the report.
#[derive(Serialize)]
struct Line {
    operation: &'static str,
    /// The operation whose cost was taken off, where one was.
    above: Option<&'static str>,
    ns: Option<f64>,
    target_ns: Option<f64>,
    cycles: Option<f64>,
    target_cycles: Option<f64>,
    instructions: Option<f64>,
    target_instructions: Option<f64>,
    bytes: Option<f64>,
    target_bytes: Option<f64>,
    copies: Option<f64>,
    target_copies: Option<f64>,
}

impl Line {
    const fn new(operation: &'static str) -> Self {
        Self {
            operation,
            above: None,
            ns: None,
            target_ns: None,
            cycles: None,
            target_cycles: None,
            instructions: None,
            target_instructions: None,
            bytes: None,
            target_bytes: None,
            copies: None,
            target_copies: None,
        }
    }
}

/// How long an operation is measured: rounds, of which the fastest counts.
struct Effort {
    round: Duration,
    rounds: usize,
    /// Runs whose instructions are counted.
    counted: u32,
}

const FULL: Effort = Effort { round: Duration::from_millis(4), rounds: 60, counted: single_step::TIMES };
const QUICK: Effort = Effort { round: Duration::from_millis(1), rounds: 3, counted: 1 };

/// Measures everything and prints it.
pub(super) fn run(json: bool, quick: bool) -> Result<String, Failure> {
    let effort = if quick { QUICK } else { FULL };
    let cycle = cycle_ns();
    let mut lines: Vec<Line> = Vec::new();
    for subject in SUBJECTS {
        let off = subject.above.and_then(|id| SUBJECTS.iter().position(|s| s.id == id)).and_then(|i| lines.get(i));
        let (off_ns, off_instructions) =
            off.map_or((0.0, 0.0), |l| (l.ns.unwrap_or(0.0), l.instructions.unwrap_or(0.0)));
        let ns = time(subject, &effort)? - off_ns;
        let is_check = subject.id.starts_with("check");
        let over = subject.target_over.and_then(|(id, factor)| {
            let other = SUBJECTS.iter().position(|s| s.id == id).and_then(|i| lines.get(i))?;
            other.ns.map(|ns| ns * factor)
        });
        lines.push(Line {
            above: off.map(|l| l.operation),
            ns: Some(ns),
            target_ns: subject.target_ns.or(over),
            cycles: is_check.then_some(ns / cycle),
            target_cycles: is_check.then_some(if subject.id == "check-l1" { 1.0 } else { 2.0 }),
            instructions: subject
                .counts_instructions()
                .then(|| single_step::instructions(subject, effort.counted))
                .flatten()
                .map(|i| i - off_instructions),
            target_instructions: subject.target_instructions,
            ..Line::new(subject.what)
        });
    }
    let bytes = |what, bytes, target| Line { bytes, target_bytes: Some(target), ..Line::new(what) };
    lines.push(bytes("bookkeeping of a datum", bytes::per_datum()?, 256.0));
    lines.push(bytes("bookkeeping of a leaf", bytes::per_leaf()?, 64.0));
    lines.push(Line {
        copies: Some(room::loads_of_a_cycle()? as f64),
        target_copies: Some(28.0),
        ..Line::new("12 blocks in room for 4, 3 times round: copies in")
    });
    if json {
        return output::json(&Listing { cycle_ns: cycle, operations: lines });
    }
    Ok(format!(
        "{}\nns: fastest of {} rounds. cycles: of the clock that a dependent addition takes one of ({cycle:.3} ns here).\n\
         instructions: counted one by one in a traced child{}.\n",
        table(&lines),
        effort.rounds,
        if lines.iter().all(|l| l.instructions.is_none()) { " (not possible on this machine)" } else { "" }
    ))
}

/// Nanoseconds of one operation: the fastest of many rounds.
fn time(subject: &Subject, effort: &Effort) -> Result<f64> {
    let mut run = (subject.prepare)()?;
    let mut times = 1_u32;
    // As many runs a round as fill it.
    let mut fastest = run(times);
    while fastest < effort.round && times < 1 << 28 && !subject.is_slow() {
        times *= 2;
        fastest = run(times);
    }
    let rounds = if subject.is_slow() { effort.rounds * 4 } else { effort.rounds };
    let fastest = (0..rounds).map(|_| run(times)).min().unwrap_or_default();
    Ok(fastest.as_nanos() as f64 / f64::from(times) / f64::from(subject.per_run))
}

/// Nanoseconds of a cycle: a chain of additions, each of which waits for the one before.
fn cycle_ns() -> f64 {
    const CHAIN: u64 = 1 << 20;
    let chain = || {
        let start = Instant::now();
        let mut x = black_box(1_u64);
        let step = black_box(3_u64);
        for _ in 0..CHAIN / 8 {
            // Opaque to the compiler, so that the chain is not computed in advance; eight a turn hide the loop itself.
            for _ in 0..8 {
                x = x.wrapping_add(step) ^ step;
            }
            x = black_box(x);
        }
        black_box(x);
        start.elapsed().as_nanos() as f64
    };
    // An addition and an exclusive-or: two cycles a step.
    (0..20).map(|_| chain()).fold(f64::INFINITY, f64::min) / (2 * CHAIN) as f64
}

fn table(lines: &[Line]) -> Table {
    let mut table = output::table(["operation", "measured", "target", "", "instructions", "target", ""]);
    for l in lines {
        let met = |found: Option<f64>, target: Option<f64>| match (found, target) {
            (Some(f), Some(t)) => {
                // To the digit that is shown: a slab's own header is no part of a leaf.
                if f < t + 0.05 { "met" } else { "missed" }
            }
            _ => "",
        };
        let show = |value: Option<f64>, unit: &str| value.map_or(String::new(), |v| format!("{v:.1}{unit}"));
        let (found, target, unit) = match (l.bytes.or(l.target_bytes), l.cycles) {
            _ if l.copies.is_some() => (l.copies, l.target_copies, " copies"),
            (Some(_), _) => (l.bytes, l.target_bytes, " B"),
            (None, Some(_)) => (l.cycles, l.target_cycles, " cycles"),
            _ => (l.ns, l.target_ns, " ns"),
        };
        table.add_row([
            l.operation.to_string(),
            show(found, unit),
            show(target, unit),
            met(found, target).into(),
            show(l.instructions, ""),
            show(l.target_instructions, ""),
            met(l.instructions, l.target_instructions).into(),
        ]);
    }
    table
}
