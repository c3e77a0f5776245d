//! `rimms run`: an application on chosen PEs, and the same once more in mode `reference`.
//!
//! [`RunArgs`] says what is wanted; here it is checked as a whole, made into a [`task`], and run in both modes, each on
//! devices of its own. [`report`] holds what came of it, [`text`] prints it for people.

mod files;
mod kernels;
mod report;
mod task;
mod text;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use rimms::{MemoryMode, Runtime, sched};
use rimms_radar::apps::{Alloc, Style};

use crate::cli::{App, RunArgs};
use crate::costs::Costs;
use crate::machine::{self, Machine};
use crate::output::{self, Failure};
use crate::progress::Progress;
use crate::watch::{Watched, Watching};
use files::OutFile;
pub(crate) use task::Task;

pub(crate) fn run(args: &RunArgs) -> Result<String, Failure> {
    refuse_what_does_not_apply(args)?;
    let watching = Watching { check: args.check, count: args.mem_counts };
    let RunArgs { device_memory, heap, watchdog, .. } = *args;
    let costs = args.costs.as_deref().map(|file| Costs::read(file, args.fixed_costs)).transpose()?;
    let mut machine = Machine { device_memory, heap, watchdog, watching, costs: costs.as_ref(), ..Machine::default() };
    let mut runtime = |mode: Option<MemoryMode>, timeline| {
        machine.timeline = timeline;
        machine.runtime(args.on.as_deref(), mode, sched::by_name(&args.policy)?)
    };
    // Mistakes in the arguments come before the files.
    let (rt, watched) = runtime(args.memory, args.trace.is_some())?;
    let (reference_rt, reference_watched) = runtime(Some(MemoryMode::Reference), false)?;
    let task = Task::new(args)?;
    let create = |option, path: &Option<PathBuf>| path.as_deref().map(|path| OutFile::create(option, path)).transpose();
    let trace = create("--trace", &args.trace)?;
    let picture = create("--image", &args.image)?;

    // Neither run pays for what the first call of a process pays: FFT plans, fresh pages, unmeasured costs. Where memory is
    // watched, times mean little, and nothing is to be counted twice.
    let mut calls = None;
    if !watching.any() {
        if kernels::any(&rt) {
            for mode in [args.memory, Some(MemoryMode::Reference)] {
                kernels::build(&task, &runtime(mode, false)?.0)?;
            }
        }
        for rt in [&rt, &reference_rt] {
            if let Err(failure) = task.run(rt, NonZeroUsize::MIN) {
                // What came before it may say why.
                if let Err(unwritten) = trace.map_or(Ok(()), |trace| trace.timeline(&rt.take_timeline())) {
                    output::note(&unwritten.to_string());
                }
                return Err(failure);
            }
        }
        rt.take_timeline();
        let once: u64 = rt.counters().calls_by_pe.iter().map(|(_, n)| n).sum();
        calls = Some(once.saturating_mul(args.repeat.get() as u64));
    }
    let run = |rt: &Runtime, watched: &Watched| {
        let _progress = Progress::of(rt, format!("{}, {}", args.app.name(), rt.memory_mode()), calls);
        match task.run(rt, args.repeat) {
            Ok(report) => Ok(report.watched(watching, watched)),
            Err(failure) => {
                // What was found may be why.
                watched.found().iter().for_each(|found| output::note(&found.line()));
                Err(failure)
            }
        }
    };
    let report = run(&rt, &watched);
    // Of a run that failed too.
    let traced = trace.map_or(Ok(()), |trace| trace.timeline(&rt.take_timeline()));
    let report = report?.beside(run(&reference_rt, &reference_watched)?);
    let pictured = match (picture, &report.picture) {
        (Some(file), Some(image)) => file.picture(&task.plot(image, report.result.finding)),
        _ => Ok(()),
    };
    let kept = costs.as_ref().map_or(Ok(()), |costs| costs.keep(&rt));
    let unwritten: Vec<String> =
        [traced, pictured, kept].into_iter().filter_map(Result::err).map(|failure| failure.to_string()).collect();
    let simulated: Vec<&str> =
        rt.allowed_pes().map(|pe| pe.name()).filter(|name| machine::is_simulated(name)).collect();
    if !simulated.is_empty() {
        let none = if args.on.is_none() { machine.real().none() } else { None };
        let none = none.map_or_else(String::new, |none| format!("{none}; "));
        output::note(&format!("{none}simulated: {}", simulated.join(", ")));
    }
    let result = if args.json { output::json(&report)? } else { text::of(&report, &task.input(), task.truth()) };
    verdict(result, report.found().count(), &unwritten)
}

/// A run with findings has not gone well, nor one whose files are not there; its result is no worse for that.
fn verdict(result: String, findings: usize, unwritten: &[String]) -> Result<String, Failure> {
    match (findings, unwritten.join("; ")) {
        (0, why) if why.is_empty() => Ok(result),
        (_, why) if why.is_empty() => Err(Failure::Found { result, findings }),
        (0, why) => Err(Failure::Unwritten { result, why }),
        (_, why) => Err(Failure::Unwritten { result, why: format!("{findings} findings; {why}") }),
    }
}

/// Options of other applications, or of the other style, are mistakes, not silently ignored.
fn refuse_what_does_not_apply(args: &RunArgs) -> Result<(), Failure> {
    use App::{PulseDoppler, RadarCorrelator, Sar, ThreeZip, TwoFft, TwoFzf};
    let options: [(&str, bool, &[App]); 6] = [
        ("--input", args.input.is_some(), &[RadarCorrelator, PulseDoppler, Sar]),
        ("--shape", args.shape.is_some(), &[PulseDoppler, Sar]),
        ("--pri", args.pri.is_some(), &[PulseDoppler]),
        ("--points", args.points.is_some(), &[TwoFft, TwoFzf, ThreeZip, RadarCorrelator]),
        ("--image", args.image.is_some(), &[PulseDoppler, Sar]),
        ("--conj", args.conj.is_some(), &[RadarCorrelator, PulseDoppler]),
    ];
    match options.iter().find(|(_, given, apps)| *given && !apps.contains(&args.app)) {
        Some((option, ..)) => Err(Failure::Usage(format!("{option} does not apply to {}", args.app.name()))),
        None if args.style == Style::Best && args.alloc == Alloc::Each => {
            let why = "--alloc each does not apply to --style best: it works on whole matrices, and has no rows";
            Err(Failure::Usage(why.to_owned()))
        }
        None => Ok(()),
    }
}
