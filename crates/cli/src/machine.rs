//! The PEs of this machine, and a runtime made of those that are asked for.
//!
//! Accelerators are what has a CUDA or an OpenCL driver. Where there is none, the paper's are simulated: a GPU-like one, an FFT
//! block and a ZIP block, one of each. Whoever uses one is told so. By name they can be had anywhere.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use rimms::device::cuda::{self, Cuda};
use rimms::device::opencl;
use rimms::device::sim::{ACC_MEMORY, DMA_BUFFER, Sim};
use rimms::device::udma::UdmaRoot;
use rimms::device::{Device, DeviceInfo};
use rimms::sched::Policy;
use rimms::{MemoryMode, Result, Runtime};
use rimms_heap::HeapKind;

use crate::costs::Costs;
use crate::output::{self, Failure};
use crate::watch::{Watched, Watching};

/// The real accelerators, and why there are no more.
#[derive(Debug, Default)]
pub(crate) struct Real {
    devices: Vec<Arc<dyn Device>>,
    /// Of which kind, and a line.
    missing: Vec<(&'static str, String)>,
}

impl Real {
    /// With memory of so many bytes under a marking system, or as their drivers have it.
    fn find(slab: Option<(u64, HeapKind)>) -> Self {
        let (cuda, opencl) = match slab {
            None => (cuda::Memory::Driver, opencl::Memory::Driver),
            Some((bytes, heap)) => (cuda::Memory::Slab { bytes, heap }, opencl::Memory::Slab { bytes, heap }),
        };
        let cuda::Found { devices, missing } = cuda::find_with(cuda);
        // What can do nothing is said by a line.
        let can = |device: &Cuda| device.info().units.iter().any(|unit| unit.capability.ops() != Some(&[]));
        let cuda = devices.into_iter().filter(can).map(|device| Arc::new(device) as Arc<dyn Device>);
        let opencl::Found { devices, missing: more } = opencl::find_with(opencl);
        let devices = cuda.chain(devices.into_iter().map(|device| Arc::new(device) as Arc<dyn Device>)).collect();
        let of = |kind: &'static str| move |why| (kind, why);
        let missing = missing.into_iter().map(of(CUDA)).chain(more.into_iter().map(of(OPENCL)));
        let missing = missing.chain(dma_buffers(&UdmaRoot::system()).map(of("udma"))).collect();
        Self { devices, missing }
    }

    /// What cannot be used, and why: a line each.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(|(_, why)| why.as_str())
    }

    /// Those of them that can be why there is no PE of this name.
    fn why_no(&self, name: &str) -> impl Iterator<Item = &str> {
        let kind = kind(name);
        let can_be = move |of: &str| of == kind || !REAL.contains(&kind) && !is_always_there(kind);
        self.missing.iter().filter(move |(of, _)| can_be(of)).map(|(_, why)| why.as_str())
    }

    pub(crate) fn devices(&self) -> &[Arc<dyn Device>] {
        &self.devices
    }

    /// Does the device of this name lend the host memory?
    pub(crate) fn lends(&self, name: &str) -> bool {
        self.devices.iter().any(|device| *device.info().name == *name && device.lends_memory())
    }

    /// Why there is none, if there is none.
    pub(crate) fn none(&self) -> Option<String> {
        let why = || format!("no real accelerator was found: {}", self.missing().collect::<Vec<_>>().join("; "));
        self.devices.is_empty().then(why)
    }
}

/// A line for each DMA buffer and dma-heap. Nothing says which accelerators work there, or what they can do.
fn dma_buffers(root: &UdmaRoot) -> impl Iterator<Item = String> {
    let buffers = root.buffers().into_iter().map(|name| format!("DMA buffer {name}"));
    let heaps = root.heaps().into_iter().map(|name| format!("dma-heap {name}"));
    buffers
        .chain(heaps)
        .map(|what| format!("{what} is here; the accelerators that work there are for a program to name: docs/zynq.md"))
}

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
    /// Memory of each device; by default what suits its kind, or what it has.
    pub(crate) device_memory: Option<u64>,
    /// Their marking system; by default two-level, or what a driver has.
    pub(crate) heap: Option<HeapKind>,
    /// How long nothing may be done before that is reported.
    pub(crate) watchdog: Option<Duration>,
    /// What is watched on simulated devices.
    pub(crate) watching: Watching,
    /// Keep a timeline?
    pub(crate) timeline: bool,
    /// What is known of costs before.
    pub(crate) costs: Option<&'a Costs>,
    /// The real accelerators, once somebody has asked for one: to look for them takes a while.
    pub(crate) real: OnceCell<Real>,
    /// CUDA devices that work in host memory, once somebody has asked for zero-copy.
    pub(crate) mapped: OnceCell<Vec<Arc<Cuda>>>,
}

impl Machine<'_> {
    /// A runtime whose calls go to the PEs named in `on` (all by default), with no device that is not needed for them;
    /// and what is written down of those that are simulated. Without a mode in the runtime's default.
    pub(crate) fn runtime(
        &self,
        on: Option<&str>,
        mode: impl Into<Option<MemoryMode>>,
        policy: Arc<dyn Policy>,
    ) -> std::result::Result<(Runtime, Watched), Failure> {
        let mode = mode.into();
        let chosen = match on {
            Some(on) => self.choose("--on", on)?,
            None => self.names(None),
        };
        let cpus = chosen.iter().filter_map(|name| name.strip_prefix(CPU)?.parse::<usize>().ok());
        // cpu3 alone takes four to be there.
        let mut builder = Runtime::builder().cpus(cpus.map(|i| i + 1).max().unwrap_or(0));
        let mut watched = Watched::default();
        let refused = |name: &str| {
            Failure::Usage(format!("--memory zero-copy: {name} has a memory of its own; --on cpu has not"))
        };
        let is_chosen = |name: &str| chosen.iter().any(|pe| pe == name);
        for (name, device) in self.chosen_real(&chosen, mode) {
            builder = device.map(|device| builder.shared_device(device)).ok_or_else(|| refused(&name))?;
        }
        for Simulated { name, memory, make } in SIMULATED.iter().filter(|device| is_chosen(device.name)) {
            if mode == Some(MemoryMode::ZeroCopy) {
                return Err(refused(name));
            }
            let option = if self.device_memory.is_some() { "--device-memory" } else { "--heap" };
            let device = make(name, self.device_memory.unwrap_or(*memory), self.heap.unwrap_or_default());
            let device = device.map_err(|e| Failure::Usage(format!("{option}: {e}")))?;
            builder = builder.device(watched.sim(self.watching, name, device));
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
        if let Some(mode) = mode {
            builder = builder.memory_mode(mode);
        }
        let rt = builder.policy(policy).build()?.on(&chosen.join(","))?;
        Ok((rt, watched))
    }
}

const CPU: &str = "cpu";
/// Kinds of real accelerators.
const REAL: [&str; 2] = [CUDA, OPENCL];
const CUDA: &str = "cuda";
const OPENCL: &str = "opencl";

/// Is the PE of this name one with a driver?
pub(crate) fn is_real(name: &str) -> bool {
    REAL.contains(&kind(name))
}

/// Is the PE, or the kind, of this name on any machine?
fn is_always_there(name: &str) -> bool {
    kind(name) == CPU || SIMULATED.iter().any(|device| kind(device.name) == kind(name))
}

impl Machine<'_> {
    /// What real accelerators there are.
    pub(crate) fn real(&self) -> &Real {
        self.real.get_or_init(|| {
            let is_told = self.device_memory.is_some() || self.heap.is_some();
            Real::find(is_told.then(|| (self.device_memory.unwrap_or(ACC_MEMORY), self.heap.unwrap_or_default())))
        })
    }

    /// The real ones of these names; `None` for one that cannot be had in this mode.
    fn chosen_real(&self, chosen: &[String], mode: Option<MemoryMode>) -> Vec<(String, Option<Arc<dyn Device>>)> {
        if !chosen.iter().any(|name| is_real(name)) {
            return Vec::new();
        }
        let zero_copy = |device: &Arc<dyn Device>| {
            let DeviceInfo { name, shares_host_memory, .. } = device.info();
            if *shares_host_memory {
                return Some(device.clone());
            }
            // A CUDA device can work in host memory all the same, where that is pinned.
            let mapped = self
                .mapped
                .get_or_init(|| cuda::find_with(cuda::Memory::Mapped).devices.into_iter().map(Arc::new).collect());
            mapped.iter().find(|device| device.info().name == *name).map(|device| device.clone() as Arc<dyn Device>)
        };
        let devices = self.real().devices.iter().filter(|device| chosen.iter().any(|pe| **pe == *device.info().name));
        let device = |device: &Arc<dyn Device>| {
            let found = if mode == Some(MemoryMode::ZeroCopy) { zero_copy(device) } else { Some(device.clone()) };
            (device.info().name.to_string(), found)
        };
        devices.map(device).collect()
    }

    /// Every PE there is for those that `on` asks for; all real ones by default, or else the simulated ones too.
    fn names(&self, on: Option<&str>) -> Vec<String> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut names: Vec<String> = (0..cpus).map(|i| format!("{CPU}{i}")).collect();
        if on.is_none_or(|on| !on.split(',').map(str::trim).all(is_always_there)) {
            names.extend(self.real().devices.iter().map(|device| device.info().name.to_string()));
        }
        if on.is_some() || !names.iter().any(|name| is_real(name)) {
            names.extend(SIMULATED.iter().map(|device| device.name.to_owned()));
        }
        names
    }

    /// The PEs that `list` names, one by one or by kind; it was given with `option`.
    fn choose(&self, option: &str, list: &str) -> std::result::Result<Vec<String>, Failure> {
        let known = self.names(Some(list));
        let mut chosen = vec![false; known.len()];
        for wanted in list.split(',').map(str::trim) {
            let mut found = false;
            for (name, chosen) in known.iter().zip(&mut chosen) {
                if name == wanted || kind(name) == wanted {
                    (found, *chosen) = (true, true);
                }
            }
            if !found {
                let mut all: Vec<&str> = known.iter().map(|name| kind(name)).collect();
                all.dedup();
                all.extend(known.iter().map(String::as_str));
                let why = self.real.get().into_iter().flat_map(|real| real.why_no(wanted));
                let why: String = why.map(|line| format!("; {line}")).collect();
                let known = all.join(", ");
                return Err(Failure::Usage(format!("{option}: no PE is named `{wanted}`; known: {known}{why}")));
            }
        }
        Ok(known.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(name, _)| name.clone()).collect())
    }

    /// The accelerator of this name, or the only one of this kind; it was given with `option`.
    pub(crate) fn accelerator(&self, option: &str, wanted: &str) -> std::result::Result<String, Failure> {
        let chosen = self.choose(option, wanted)?;
        match &chosen[..] {
            [.., last] if kind(last) == CPU => {
                Err(Failure::Usage(format!("{option}: an accelerator is wanted, and `{wanted}` is none")))
            }
            [one] => Ok(one.clone()),
            several => {
                let several = several.join(", ");
                Err(Failure::Usage(format!(
                    "{option}: the name of one PE is wanted, and `{wanted}` is several: {several}"
                )))
            }
        }
    }
}

fn kind(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dma_buffers_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(dma_buffers(&UdmaRoot::at(folder.path())).count(), 0);
        std::fs::create_dir_all(folder.path().join("sys/class/u-dma-buf/udmabuf7")).unwrap();
        let lines: Vec<String> = dma_buffers(&UdmaRoot::at(folder.path())).collect();
        assert!(lines.len() == 1 && lines[0].contains("udmabuf7"), "{lines:?}");
        std::fs::create_dir_all(folder.path().join("dev/dma_heap/reserved")).unwrap();
        assert!(dma_buffers(&UdmaRoot::at(folder.path())).any(|line| line.contains("dma-heap reserved is here")));
    }
}
