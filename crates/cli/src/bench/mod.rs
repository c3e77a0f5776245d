//! `rimms bench`: what the runtime itself costs.
//!
//! | module | subject |
//! | --- | --- |
//! | [`subject`] | the operations that are measured, each a closure |
//! | [`queued`] | those among them that go through a queue, or have to make room |
//! | [`overhead`] | time, instructions and bytes of each, beside its target |
//! | [`single_step`] | exact instruction counts, by tracing a child |
//! | [`bytes`] | bytes of bookkeeping, from the allocator's own count |
//!
//! Times are ratios to look at, never tests; instruction and byte counts are exact, and tests assert on them.

mod bytes;
mod overhead;
mod queued;
mod single_step;
mod subject;

use crate::cli::Benchmark;
use crate::output::Failure;

/// Runs the benchmark asked for.
pub(crate) fn run(which: &Benchmark) -> Result<String, Failure> {
    match which {
        Benchmark::Overhead { json, quick } => overhead::run(*json, *quick),
        Benchmark::Instructions { subject } => {
            let counted = single_step::instructions(subject::by_id(subject)?, single_step::TIMES);
            Ok(counted.map_or("not countable on this machine\n".into(), |n| format!("{n}\n")))
        }
        Benchmark::Count { subject, times } => single_step::child(subject, *times),
    }
}
