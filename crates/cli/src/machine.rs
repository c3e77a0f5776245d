//! The PEs of this machine, and a runtime made of those that are asked for.
//!
//! While no backend for a real accelerator is built in, the paper's accelerators are simulated:
//! a GPU-like one, an FFT block and a ZIP block, one of each. Whoever uses one is told so.

use std::sync::Arc;
use std::time::Duration;

use rimms::device::sim::{ACC_MEMORY, DMA_BUFFER, Sim};
use rimms::sched::Policy;
use rimms::{MemoryMode, Result, Runtime};
use rimms_heap::HeapKind;

use crate::costs::Costs;
use crate::output::{self, Failure};
use crate::watch::{Watched, Watching};

/// Why there are simulated devices.
pub(crate) const NO_REAL_ONE: &str = "no real accelerator was found: this version has no backend for one";

/// A simulated accelerator of the paper's kinds.
struct Simulated {
    name: &'static str,
    memory: u64,
    make: fn(&str, u64, HeapKind) -> Result<Sim>,
}

const SIMULATED: [Simulated; 3] = [
    Simulated { name: "acc0", memory: ACC_MEMORY, make: Sim::acc },
    Simulated { name: "fft0", memory: DMA_BUFFER, make: Sim::fft },
    Simulated { name: "zip0", memory: DMA_BUFFER, make: Sim::zip },
];

/// Is the PE, or the device, of this name a simulated one?
pub(crate) fn is_simulated(name: &str) -> bool {
    SIMULATED.iter().any(|device| device.name == name)
}

/// What the machine is to be made of.
#[derive(Debug, Default)]
pub(crate) struct Machine<'a> {
    /// Memory of each simulated device; by default what suits its kind.
    pub(crate) device_memory: Option<u64>,
    /// Their marking system.
    pub(crate) heap: HeapKind,
    /// How long nothing may be done before that is reported.
    pub(crate) watchdog: Option<Duration>,
    /// What is watched on simulated devices.
    pub(crate) watching: Watching,
    /// Keep a timeline?
    pub(crate) timeline: bool,
    /// What is known of costs before.
    pub(crate) costs: Option<&'a Costs>,
}

impl Machine<'_> {
    /// A runtime whose calls go to the PEs named in `on` (all by default), with no device that is not needed for them;
    /// and what is written down of those that are simulated.
    pub(crate) fn runtime(
        &self,
        on: Option<&str>,
        mode: MemoryMode,
        policy: Arc<dyn Policy>,
    ) -> std::result::Result<(Runtime, Watched), Failure> {
        let known = names();
        let chosen = match on {
            Some(on) => choose(on, &known)?,
            None => known,
        };
        let cpus = chosen.iter().filter_map(|name| name.strip_prefix(CPU)?.parse::<usize>().ok());
        // cpu3 alone takes four to be there.
        let mut builder = Runtime::builder().cpus(cpus.map(|i| i + 1).max().unwrap_or(0));
        let mut watched = Watched::default();
        for Simulated { name, memory, make } in &SIMULATED {
            if chosen.iter().any(|pe| pe == name) {
                if mode == MemoryMode::ZeroCopy {
                    let why = format!("--memory zero-copy: {name} has a memory of its own; --on cpu has not");
                    return Err(Failure::Usage(why));
                }
                let option = if self.device_memory.is_some() { "--device-memory" } else { "--heap" };
                let device = make(name, self.device_memory.unwrap_or(*memory), self.heap);
                let device = device.map_err(|e| Failure::Usage(format!("{option}: {e}")))?;
                builder = builder.device(watched.sim(self.watching, name, device));
            }
        }
        if let Some(after) = self.watchdog {
            builder = builder.watchdog(after, output::note);
        }
        if self.timeline {
            builder = builder.timeline();
        }
        if let Some(costs) = self.costs {
            builder = costs.give(builder);
        }
        self.watching.refuse_without_devices(&watched)?;
        let rt = builder.memory_mode(mode).policy(policy).build()?.on(&chosen.join(","))?;
        Ok((rt, watched))
    }
}

const CPU: &str = "cpu";

/// Every PE there is.
fn names() -> Vec<String> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let simulated = SIMULATED.iter().map(|device| device.name.to_owned());
    (0..cpus).map(|i| format!("{CPU}{i}")).chain(simulated).collect()
}

/// Those of `known` that `on` names, one by one or by kind.
fn choose(on: &str, known: &[String]) -> std::result::Result<Vec<String>, Failure> {
    let kind = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut chosen = vec![false; known.len()];
    for wanted in on.split(',').map(str::trim) {
        let mut found = false;
        for (name, chosen) in known.iter().zip(&mut chosen) {
            if name == wanted || kind(name) == wanted {
                (found, *chosen) = (true, true);
            }
        }
        if !found {
            let kinds = SIMULATED.iter().map(|device| kind(device.name));
            let all: Vec<String> = std::iter::once(CPU.to_owned()).chain(kinds).chain(known.iter().cloned()).collect();
            return Err(Failure::Usage(format!("--on: no PE is named `{wanted}`; known: {}", all.join(", "))));
        }
    }
    Ok(known.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(name, _)| name.clone()).collect())
}
