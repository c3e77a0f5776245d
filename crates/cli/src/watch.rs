//! What is watched on simulated devices: their memory's checkers and counters, and what came of them.
//!
//! Owns [`Watching`], what is asked for, and [`Watched`], the lists and numbers of one runtime's devices. A list and a set of
//! numbers is kept for each device, so that what is said names it.

use comfy_table::CellAlignment;
use rimms::device::sim::Sim;
use rimms::device::sim::devmem::AddressSpace;
use rimms::device::sim::devmem::check::{Check, Counters, Counts, Finding, Findings};
use serde::Serialize;

use crate::output::{self, Failure};

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watching {
    /// Look for mistakes.
    pub(crate) check: bool,
    /// Count operations and bytes.
    pub(crate) count: bool,
}

impl Watching {
    /// Is anything?
    pub(crate) fn any(self) -> bool {
        self.check || self.count
    }

    /// Refuses to watch where there is nothing that can be watched.
    pub(crate) fn refuse_without_devices(self, watched: &Watched) -> Result<(), Failure> {
        let option = if self.check { "--check" } else { "--mem-counts" };
        match self.any() && watched.0.is_empty() {
            true => Err(Failure::Usage(format!("{option} watches simulated devices, and none of them is used"))),
            false => Ok(()),
        }
    }
}

/// The simulated devices of a runtime, with what is written down of each.
#[derive(Debug, Default)]
pub(crate) struct Watched(Vec<Device>);

#[derive(Debug)]
struct Device {
    name: &'static str,
    findings: Findings,
    counters: Counters,
}

impl Watched {
    /// The device, watched as is asked for.
    pub(crate) fn sim(&mut self, watching: Watching, name: &'static str, sim: Sim) -> Sim {
        let device = Device { name, findings: Findings::default(), counters: Counters::new() };
        let sim = if watching.check { sim.checked(&device.findings) } else { sim };
        let sim = if watching.count { sim.counted(&device.counters) } else { sim };
        self.0.push(device);
        sim
    }

    /// Takes what was found.
    pub(crate) fn found(&self) -> Vec<Found> {
        let of = |device: &Device| {
            let found = device.findings.take();
            found.into_iter().map(|finding| Found::new(device.name, &finding)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> Vec<MemCounts> {
        self.0.iter().flat_map(|device| of_device(device.name, &device.counters)).collect()
    }
}

/// A finding as the command's JSON has it.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    device: &'static str,
    kind: &'static str,
    /// Null for the host.
    kernel: Option<String>,
    /// Null where the buffer has no name.
    buffer: Option<String>,
    /// Null where it is of no place.
    space: Option<String>,
    offset: Option<u64>,
    size: Option<u64>,
    message: String,
}

impl Found {
    fn new(device: &'static str, finding: &Finding) -> Self {
        let kind = match finding.problem.check() {
            Check::Fault => "fault",
            Check::MisalignedAtomic => "misaligned-atomic",
            Check::Mapped => "mapped",
            Check::Uninitialised => "uninitialised",
            Check::Race => "race",
            Check::MixedAtomics => "mixed-atomics",
            Check::Divergence => "divergence",
            Check::Unchecked => "unchecked",
        };
        Self {
            device,
            kind,
            kernel: finding.who.kernel().map(ToString::to_string),
            buffer: finding.name.as_deref().map(str::to_owned),
            space: finding.place.map(|place| place.space.to_string()),
            offset: finding.place.map(|place| place.offset),
            size: finding.place.map(|place| place.size),
            message: finding.to_string(),
        }
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}: {}", self.device, self.kind, self.message)
    }
}

/// What a kernel, or the host, did in one space of a device.
#[derive(Debug, Serialize)]
pub(crate) struct MemCounts {
    device: &'static str,
    /// Null for the host.
    kernel: Option<String>,
    space: String,
    loads: u64,
    load_bytes: u64,
    stores: u64,
    store_bytes: u64,
    atomics: u64,
    atomic_bytes: u64,
}

fn of_device(device: &'static str, counters: &Counters) -> Vec<MemCounts> {
    let row = |kernel: Option<&str>, space: AddressSpace, counts: Counts| MemCounts {
        device,
        kernel: kernel.map(str::to_owned),
        space: space.to_string(),
        loads: counts.loads.operations,
        load_bytes: counts.loads.bytes,
        stores: counts.stores.operations,
        store_bytes: counts.stores.bytes,
        atomics: counts.atomics.operations,
        atomic_bytes: counts.atomics.bytes,
    };
    let host = row(None, AddressSpace::Global, counters.of_host(AddressSpace::Global));
    let kernels = counters.kernels();
    let of_kernels = kernels.iter().flat_map(|kernel| {
        kernel.spaces.iter().map(|(space, counts)| row(Some(&kernel.name), *space, *counts)).collect::<Vec<_>>()
    });
    std::iter::once(host).chain(of_kernels).collect()
}

/// The counts for people.
pub(crate) fn table(counts: &[MemCounts]) -> String {
    let mut table =
        output::table(["device", "kernel", "space", "loads", "bytes", "stores", "bytes", "atomics", "bytes"]);
    for of in counts {
        let numbers = [of.loads, of.load_bytes, of.stores, of.store_bytes, of.atomics, of.atomic_bytes];
        let words = [of.device.to_owned(), of.kernel.clone().unwrap_or_else(|| "(host)".to_owned()), of.space.clone()];
        table.add_row(words.into_iter().chain(numbers.map(|number| number.to_string())));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

#[cfg(test)]
mod tests;
