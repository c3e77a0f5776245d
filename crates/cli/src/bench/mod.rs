//! `rimms bench`: what the runtime itself costs, and what it saves.
//!
//! | module | subject |
//! | --- | --- |
//! | [`dataflow`] | chains of calls by placement and memory mode |
//! | [`chain`] | two kernels, beside the same in plain OpenCL and in StarPU |
//! | [`apps`] | applications by memory mode, heap and way to allocate |
//! | [`rounds`] | contenders in rounds, and what many measurements come to |
//! | [`subject`] | the operations that are measured, each a closure |
//! | [`queued`] | those among them that go through a queue |
//! | [`room`] | those that have to make room on a device |
//! | [`overhead`] | time, instructions and bytes of each, beside its target |
//! | [`single_step`] | exact instruction counts, by tracing a child |
//! | [`stopwatch`] | a clock that stands still meanwhile |
//! | [`bytes`] | bytes of bookkeeping, from the allocator's own count |
//!
//! Times are ratios to look at, never tests; instruction and byte counts are exact, and tests assert on them.

mod apps;
mod bytes;
mod chain;
mod dataflow;
mod overhead;
mod queued;
mod room;
mod rounds;
mod single_step;
mod stopwatch;
mod subject;

pub(crate) use dataflow::Dataflow;

use crate::cli::Benchmark;
use crate::output::Failure;

/// Runs the benchmark asked for.
pub(crate) fn run(which: &Benchmark) -> Result<String, Failure> {
    match which {
        Benchmark::Overhead { json, quick } => overhead::run(*json, *quick),
        Benchmark::Dataflow(args) => dataflow::run(args),
        Benchmark::Chain(args) => chain::run(args),
        Benchmark::Apps(args) => apps::run(args),
        Benchmark::Instructions { subject } => {
            let counted = single_step::instructions(subject::by_id(subject)?, single_step::TIMES);
            Ok(counted.map_or("not countable on this machine\n".into(), |n| format!("{n}\n")))
        }
        Benchmark::Count { subject, times } => single_step::child(subject, *times),
    }
}
