//! `rimms bench chain`: two kernels, one after the other, beside the same in plain OpenCL and in StarPU.
//!
//! A lap: the host has new input, `y = 1.0001·x + 1` twice, the host has the output. Contenders in turn: plain OpenCL
//! written by hand ([`plain`]), rimms with copies, and in mode `zero-copy` where the device shares the host's memory: by
//! mapping the host's, and, where the driver has shared virtual memory, in that. StarPU, where it is installed
//! ([`starpu`]), has its lap at the end of each round, in a process of its own. Every lap's output is compared with the
//! known one, outside the time.
#![allow(unsafe_code)] // for the kernel: see below

mod plain;
mod starpu;

use std::time::{Duration, Instant};

use anyhow::anyhow;
use comfy_table::CellAlignment;
use rimms::op::{Call, ClLaunch, UserOp};
use rimms::{HeteData, MemoryMode, Runtime, arg, arg_mut, sched};
use serde::Serialize;

use super::rounds::{median, round};
use crate::cli::ChainArgs;
use crate::machine::Machine;
use crate::output::{self, Failure};
use plain::Plain;
use starpu::Rival;

const SOURCE: &str = "
    kernel void step_on(global const float *x, global float *y) {
        size_t i = get_global_id(0);
        y[i] = x[i] * 1.0001f + 1.0f;
    }";

/// Floats of a chain: 256 B, 8 KiB (which others have measured), 64 KiB, 1 MiB.
const LENGTHS: [usize; 4] = [64, 2048, 16_384, 1 << 18];
/// Memory of a device that lends none: room for all lengths.
const MAPPED: u64 = 16 << 20;

/// The keys of `--json`, described in `docs/json.md`.
#[derive(Serialize)]
struct Listing {
    device: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    floats: usize,
    contender: &'static str,
    laps: usize,
    /// The median.
    time_s: f64,
    /// Over plain OpenCL, and over rimms with copies.
    ratio: f64,
    over_copies: f64,
}

pub(super) fn run(args: &ChainArgs) -> Result<String, Failure> {
    let machine = Machine::default();
    // Its blocks are parts of one buffer, and nothing is lent.
    let mapping = Machine { device_memory: Some(MAPPED), ..Machine::default() };
    let runtime = |machine: &Machine<'_>, mode| {
        Ok::<_, Failure>(machine.runtime(Some(&args.on), mode, sched::by_name("round-robin")?)?.0)
    };
    let rt = runtime(&machine, MemoryMode::ValidSet)?;
    let shared = |machine| match runtime(machine, MemoryMode::ZeroCopy) {
        Err(Failure::Usage(_)) => Ok(None),
        made => made.map(Some),
    };
    let mut runtimes = vec![(COPIES, rt.clone())];
    runtimes.extend(shared(&mapping)?.map(|rt| ("zero-copy, mapped", rt)));
    if machine.real().lends(&args.on) {
        runtimes.extend(shared(&machine)?.map(|rt| ("zero-copy", rt)));
    }
    let pes: Vec<&str> = rt.allowed_pes().map(|pe| pe.name()).collect();
    if !matches!(pes[..], [pe] if pe.starts_with("opencl")) {
        let found = pes.join(", ");
        return Err(Failure::Usage(format!(
            "--on {}: one OpenCL device is wanted, such as opencl0, not {found}",
            args.on
        )));
    }
    let used = rt.allowed_pes().next().map(|pe| pe.resource());
    let device = rt.resources().into_iter().find(|resource| Some(resource.id) == used);
    let device = device.ok_or_else(|| anyhow!("{} has no memory", args.on))?.description;
    let (mut rows, mut rival) = (Vec::new(), Rival::find());
    for floats in LENGTHS {
        rows.extend(measured(floats, &device, &runtimes, &mut rival, args.quick)?);
    }
    let listing = Listing { device: device.to_string(), rows };
    if args.json { output::json(&listing) } else { Ok(text(&listing)) }
}

/// The ones whose times the others' are compared with.
const PLAIN: &str = "plain OpenCL";
const COPIES: &str = "valid-set";

/// One who runs the chain.
enum Contender {
    Rimms(&'static str, Box<Chain>),
    Plain(Plain),
}

struct Chain {
    rt: Runtime,
    call: Call,
    data: [HeteData<f32>; 3],
}

impl Contender {
    fn name(&self) -> &'static str {
        match self {
            Self::Rimms(name, _) => name,
            Self::Plain(_) => PLAIN,
        }
    }

    /// How long a lap took, once its output was seen to be right.
    fn lap(&mut self, input: &[f32]) -> Result<Duration, Failure> {
        let start = Instant::now();
        let (time, last) = match self {
            Self::Plain(plain) => {
                plain.lap(input)?;
                (start.elapsed(), plain.output().last().copied())
            }
            Self::Rimms(_, chain) => {
                let Chain { rt, call, data: [x, y, z] } = &mut **chain;
                x.overwrite()?.copy_from_slice(input)?;
                rt.call(call, &mut [arg(x), arg_mut(y)])?;
                rt.call(call, &mut [arg(y), arg_mut(z)])?;
                let output = z.read()?;
                (start.elapsed(), output.last().copied())
            }
        };
        check(self.name(), last, input)?;
        Ok(time)
    }
}

/// Is that the last element which comes of this input?
fn check(name: &str, last: Option<f32>, input: &[f32]) -> anyhow::Result<()> {
    let step = |x: f32| x * 1.0001 + 1.0;
    let wanted = input.last().map_or(0.0, |x| step(step(*x)));
    match last {
        Some(found) if (found - wanted).abs() < 1e-4 * wanted.abs() => Ok(()),
        _ => Err(anyhow!("{name}: {last:?} is wrong, {wanted} wanted")),
    }
}

fn measured(
    floats: usize,
    device: &str,
    runtimes: &[(&'static str, Runtime)],
    rival: &mut Rival,
    quick: bool,
) -> Result<Vec<Row>, Failure> {
    let (laps, input) = (if quick { 3 } else { (1 << 26) / floats.max(1 << 16) }, vec![1.5_f32; floats]);
    let op = UserOp::builder("step on").input::<f32>().output::<f32>();
    // SAFETY: an item for each element; both operands are of one length below.
    let op = unsafe { op.on_opencl(SOURCE, "step_on", |c| Ok(ClLaunch::over([c.len(0)]))) }.build()?;
    let chain = |rt: &Runtime| -> Result<_, Failure> {
        let data = [rt.alloc(floats)?, rt.alloc(floats)?, rt.alloc(floats)?];
        Ok(Box::new(Chain { rt: rt.clone().blocking(), call: op.call(), data }))
    };
    let mut contenders = vec![(Contender::Plain(Plain::new(device, SOURCE, &input)?), Vec::new())];
    for (name, rt) in runtimes {
        contenders.push((Contender::Rimms(name, chain(rt)?), Vec::new()));
    }
    rival.start(device, SOURCE, &input, contenders.len());
    let mut rival_times = Vec::new();
    let mut rival_lap = || rival.lap(|last| check(Rival::NAME, last, &input));
    // Compiles, and allocates on the device.
    contenders.iter_mut().try_for_each(|(contender, _)| contender.lap(&input).map(drop))?;
    rival_lap();
    for lap in 0..laps {
        round(&mut contenders, lap, |(contender, times)| {
            times.push(contender.lap(&input)?.as_secs_f64());
            Ok::<(), Failure>(())
        })?;
        if let Some(time) = rival_lap() {
            rival_times.push(time.as_secs_f64());
            // A round that does not count: in the next one all find the caches as they are without a rival.
            round(&mut contenders, lap, |(contender, _)| contender.lap(&input).map(drop))?;
        }
    }
    let mut measured: Vec<_> = contenders.into_iter().map(|(contender, times)| (contender.name(), times)).collect();
    if rival_times.len() == laps {
        measured.push((Rival::NAME, rival_times));
    }
    Ok(rows(floats, measured))
}

/// What the times of each come to.
fn rows(floats: usize, measured: Vec<(&'static str, Vec<f64>)>) -> Vec<Row> {
    let medians: Vec<_> = measured.into_iter().map(|(name, times)| (name, times.len(), median(times))).collect();
    let of = |wanted| medians.iter().find(|(name, ..)| *name == wanted).map_or(f64::NAN, |(.., time_s)| *time_s);
    let (plain, copies) = (of(PLAIN), of(COPIES));
    let row = |&(contender, laps, time_s): &(&'static str, usize, f64)| Row {
        floats,
        contender,
        laps,
        time_s,
        ratio: time_s / plain,
        over_copies: time_s / copies,
    };
    medians.iter().map(row).collect()
}

fn text(listing: &Listing) -> String {
    let mut table = output::table(["floats", "", "time", "over plain OpenCL", "over copies"]);
    for row in &listing.rows {
        let Row { floats, contender, time_s, ratio, over_copies, .. } = row;
        let over_copies = if contender.starts_with("zero-copy") { format!("{over_copies:.2}") } else { String::new() };
        let (time, ratio) = (output::seconds(*time_s), format!("{ratio:.2}"));
        table.add_row([floats.to_string(), (*contender).to_owned(), time, ratio, over_copies]);
    }
    for i in [0, 2, 3, 4] {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let is_there = listing.rows.iter().any(|row| row.contender == Rival::NAME);
    let rival = if is_there { "StarPU: in a process of its own, in the same rounds.\n" } else { "" };
    format!(
        "{table}\n\non {}\ntime: new input on the host, two kernels, output on the host; the median of laps in turn.\n{rival}",
        listing.device
    )
}
