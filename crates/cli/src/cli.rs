//! The arguments. What one argument can say for itself is checked here; what depends on others, where it is used.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rimms::MemoryMode;
use rimms_heap::{HeapKind, parse_size};
use rimms_radar::Shape;
use rimms_radar::apps::{Alloc, Conj, Placement, Style};

use crate::bench::Dataflow;

/// Programs for CPUs and accelerators that allocate once and copy only what is stale.
#[derive(Debug, Parser)]
#[command(name = "rimms", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the devices and PEs of this machine
    Devices(DevicesArgs),
    /// Run an application, and once more in mode `reference` to compare
    Run(Box<RunArgs>),
    /// Make a synthetic recording with a known answer
    Scene(SceneArgs),
    /// Measure what the runtime costs, and what it saves
    #[command(subcommand)]
    Bench(Benchmark),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// State check, calls, allocation, fragments: time, instructions and bytes, each beside its target
    Overhead {
        /// One JSON object on stdout
        #[arg(long)]
        json: bool,
        /// Few and short rounds, to see that it works; its times mean little
        #[arg(long, hide = true)]
        quick: bool,
    },
    /// 2FFT, 2FZF and 3ZIP by size, placement and memory mode: time and copies, beside copies around every call
    Dataflow(DataflowArgs),
    /// Two kernels one after the other, on a device with an OpenCL driver, beside the same in plain OpenCL and, where it
    /// is installed, in StarPU (which takes cc and pkg-config when the benchmark starts)
    Chain(ChainArgs),
    /// Applications by number of repeats, memory mode, heap and way to allocate: Overall, Computation, and what allocation
    /// takes of it
    Apps(AppsArgs),
    /// Instructions of one operation that `overhead` measures
    #[command(hide = true)]
    Instructions {
        /// Which, such as check-l1 or call
        subject: String,
    },
    /// The part that is run in a traced child to count instructions
    #[command(hide = true)]
    Count {
        /// What to run
        subject: String,
        /// How often
        times: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DataflowArgs {
    /// Which chains; all by default
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) flow: Vec<Dataflow>,

    /// The accelerator: a simulated one, or one with a CUDA or OpenCL driver, such as cuda0 (or cuda, where that is the only
    /// one); or two different ones, such as opencl0,opencl1, of which the second does what comes after the first
    #[arg(long, value_name = "PE[,PE]", default_value = "acc0", value_delimiter = ',', num_args = 1)]
    pub(crate) acc: Vec<String>,

    /// The most points; sizes are the powers of two from 64 on
    #[arg(long, value_name = "N", default_value_t = 1 << 20)]
    pub(crate) max_points: usize,

    /// Few points and laps, to see that it works; its times mean little
    #[arg(long)]
    pub(crate) quick: bool,

    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChainArgs {
    /// The device
    #[arg(long, value_name = "PE", default_value = "opencl0")]
    pub(crate) on: String,

    /// Few laps, to see that it works; its times mean little
    #[arg(long)]
    pub(crate) quick: bool,

    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AppsArgs {
    /// Which applications [default: all but sar, which takes long]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) app: Vec<App>,

    /// How often the Computation is run [default: 1,10,100,1000]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = count, allow_negative_numbers = true)]
    pub(crate) repeat: Vec<NonZeroUsize>,

    /// Memory modes [default: reference,last-resource,valid-set]
    #[arg(long, value_name = "MODE,…", value_delimiter = ',')]
    pub(crate) memory: Vec<MemoryMode>,

    /// Marking systems [default: next-fit,bitset:256,bitset:4096,bitset:65536,two-level]
    #[arg(long, value_name = "NAME[:BLOCK],…", value_delimiter = ',')]
    pub(crate) heap: Vec<HeapKind>,

    /// Ways to allocate [default: each,fragment]
    #[arg(long, value_name = "each|fragment,…", value_delimiter = ',')]
    pub(crate) alloc: Vec<Alloc>,

    /// Two applications, one or two repeats and one round, where not asked for otherwise, to see that it works; its times
    /// mean little
    #[arg(long)]
    pub(crate) quick: bool,

    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum App {
    /// An FFT and its inverse
    #[value(name = "2fft")]
    TwoFft,
    /// Two FFTs, their product, and an inverse FFT: a convolution
    #[value(name = "2fzf")]
    TwoFzf,
    /// Two products, and the product of these
    #[value(name = "3zip")]
    ThreeZip,
    /// How late a known signal is in what was received
    #[value(name = "radar-correlator")]
    RadarCorrelator,
    /// Range and speed from a train of pulses
    #[value(name = "pulse-doppler")]
    PulseDoppler,
    /// The image of a synthetic-aperture radar
    #[value(name = "sar")]
    Sar,
}

impl App {
    /// Its name on the command line and in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TwoFft => "2fft",
            Self::TwoFzf => "2fzf",
            Self::ThreeZip => "3zip",
            Self::RadarCorrelator => "radar-correlator",
            Self::PulseDoppler => "pulse-doppler",
            Self::Sar => "sar",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Which application
    pub(crate) app: App,

    /// A recording (radar-correlator, pulse-doppler, sar): its folder, or the file of what was received, as text, .npy or
    /// SigMF; a synthetic one by default
    #[arg(long, value_name = "PATH")]
    pub(crate) input: Option<PathBuf>,

    /// Pulses x samples (pulse-doppler), or places x samples (sar); by default the recording's own, or 128x64 and 256x512
    #[arg(long, value_name = "RxC", allow_hyphen_values = true)]
    pub(crate) shape: Option<Shape>,

    /// Pulse-repetition interval (pulse-doppler); by default the recording's own, or 1.27e-4
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) pri: Option<f64>,

    /// Samples (2fft, 2fzf, 3zip, radar-correlator) [default: 1024, or 256 for radar-correlator]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) points: Option<NonZeroUsize>,

    /// PEs to use, by name (cpu0) or kind (cpu, cuda, opencl); all by default, simulated ones where there is no real accelerator
    #[arg(long, value_name = "PE,…")]
    pub(crate) on: Option<String>,

    /// Stages that run on chosen PEs
    #[arg(long, value_name = "STAGE=PE,…")]
    pub(crate) map: Option<Placement>,

    /// How copies are kept coherent: reference, last-resource, valid-set or zero-copy; by default valid-set, and zero-copy
    /// for data so large that copies would cost more, where all devices share the host's memory (`rimms devices` says)
    #[arg(long, value_name = "MODE")]
    pub(crate) memory: Option<MemoryMode>,

    /// How PEs are chosen: round-robin; random or random:SEED; or by measured times, so that the run and its reference
    /// run may be placed differently: met (the fastest kind, in turn within it), eft (earliest finish), etf or heft-rt
    /// (the same, over all rows that are submitted together), or locality (eft with copies counted in)
    #[arg(long, value_name = "NAME", default_value = "round-robin")]
    pub(crate) policy: String,

    /// What calls take: read before, if there is such a file, and written after, with what the run has measured
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,

    /// Choose PEs by the costs in FILE as they are: nothing is measured, and nothing written
    #[arg(long, requires = "costs")]
    pub(crate) fixed_costs: bool,

    /// The marking system of devices: bitset, bitset:BLOCK, next-fit or two-level [default: two-level on simulated ones, the
    /// driver's own on others]
    #[arg(long, value_name = "NAME[:BLOCK]")]
    pub(crate) heap: Option<HeapKind>,

    /// One hete_Malloc a row (each), or a stage (fragment); paper style only
    #[arg(long, value_name = "each|fragment", default_value_t)]
    pub(crate) alloc: Alloc,

    /// Memory of each device, such as 4096, 8KiB, 2MiB [default: what suits a simulated one, 256 MiB for --heap on others, and
    /// else all there is]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) device_memory: Option<u64>,

    /// One call a row and host code between (paper), or whole matrices (best)
    #[arg(long, value_name = "paper|best", default_value_t)]
    pub(crate) style: Style,

    /// Who conjugates the reference's spectrum (radar-correlator, pulse-doppler): host or device [default: device]
    #[arg(long, value_name = "host|device")]
    pub(crate) conj: Option<Conj>,

    /// How often to run the Computation
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, default_value = "1")]
    pub(crate) repeat: NonZeroUsize,

    /// Say who waits for whom when no call was done for so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) watchdog: Option<Duration>,

    /// Check how kernels use the memory of simulated devices: invalid accesses, reads of what nobody wrote, data races.
    /// Exits with 1 where anything is found. Times then are those of a first run under checkers
    #[arg(long)]
    pub(crate) check: bool,

    /// Count operations and bytes in the memory of simulated devices, by kernel and address space
    #[arg(long)]
    pub(crate) mem_counts: bool,

    /// Write a timeline of the run (calls, copies, waits, allocations, evictions) as Chrome trace events, which the Perfetto
    /// UI opens
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// The range-Doppler map (pulse-doppler) or the image (sar) as a picture
    #[arg(long, value_name = "FILE.png")]
    pub(crate) image: Option<PathBuf>,

    /// One JSON object on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SceneArgs {
    /// Targets, as delay:doppler:amplitude in seconds and Hz; one in the middle of the map by default
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) targets: Option<String>,

    /// Root mean square of the complex noise
    #[arg(long, value_name = "RMS", allow_hyphen_values = true, default_value_t = 0.1)]
    pub(crate) noise: f64,

    /// Seed of the noise
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Pulses x samples
    #[arg(long, value_name = "RxC", allow_hyphen_values = true, default_value_t = Shape::STANDARD)]
    pub(crate) shape: Shape,

    /// Pulse-repetition interval
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, default_value_t = rimms_radar::geometry::STANDARD_PRI_S)]
    pub(crate) pri: f64,

    /// The folder to write to; it is made where it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

/// From the shortest to about the longest that there is.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|s: &f64| (1e-9..=1e19).contains(s));
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).ok_or("a number of seconds from 1e-9 to 1e19 wanted")
}

fn count(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "a whole number of at least 1 wanted")
}
