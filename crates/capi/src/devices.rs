//! Devices, as a setting names them: `opencl`, `cuda`, and simulated ones as `acc0`, `fft0:64KiB`, `zip0:1MiB:next-fit`.

use crate::error::{Fault, Result, hete_Error::HETE_ERROR_CONFIG};
use rimms::RuntimeBuilder;
use rimms::device::sim::{ACC_MEMORY, DMA_BUFFER, HeapKind, Sim};
use rimms::device::{Device, cuda, opencl};
use rimms_heap::parse_size;

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Simulated(Simulated),
    /// All that have an OpenCL driver.
    OpenCl,
    /// All that have a CUDA driver.
    Cuda,
}

/// A simulated device.
#[derive(Debug, Clone)]
pub(crate) struct Simulated {
    name: String,
    kind: &'static Kind,
    memory: u64,
    heap: Option<HeapKind>,
}

#[derive(Debug)]
struct Kind {
    name: &'static str,
    memory: u64,
    make: fn(&str, u64, HeapKind) -> rimms::Result<Sim>,
}

const KINDS: [Kind; 3] = [
    Kind { name: "acc", memory: ACC_MEMORY, make: Sim::acc },
    Kind { name: "fft", memory: DMA_BUFFER, make: Sim::fft },
    Kind { name: "zip", memory: DMA_BUFFER, make: Sim::zip },
];

/// A list of devices: `opencl`, `cuda`, or `NAME[:MEMORY[:HEAP]]`, with commas between. The name's letters say the kind.
pub(crate) fn parse(list: &str) -> Result<Vec<Wanted>, String> {
    list.split(',').map(str::trim).filter(|spec| !spec.is_empty()).map(one).collect()
}

fn one(spec: &str) -> Result<Wanted, String> {
    match spec {
        "opencl" => return Ok(Wanted::OpenCl),
        "cuda" => return Ok(Wanted::Cuda),
        _ => {}
    }
    let mut parts = spec.splitn(3, ':').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind = KINDS.iter().find(|kind| kind.name == letters && letters.len() < name.len()).ok_or_else(|| {
        format!(
            "no device is called `{name}`: wanted is opencl, cuda, or acc, fft or zip and a number, such as acc0:16MiB:next-fit"
        )
    })?;
    let memory = parts
        .next()
        .map(|size| parse_size(size).map_err(|e| format!("{name}: {e}")))
        .transpose()?
        .unwrap_or(kind.memory);
    let heap = parts.next().map(|heap| heap.parse().map_err(|e| format!("{name}: {e}"))).transpose()?;
    Ok(Wanted::Simulated(Simulated { name: name.into(), kind, memory, heap }))
}

impl Wanted {
    /// Adds the devices to a runtime.
    pub(crate) fn add(&self, builder: RuntimeBuilder, heap: HeapKind) -> Result<RuntimeBuilder> {
        match self {
            Self::Simulated(device) => Ok(builder.device(device.make(heap)?)),
            Self::OpenCl => {
                let opencl::Found { devices, missing } = opencl::find();
                add_all("opencl", builder, devices, &missing)
            }
            Self::Cuda => {
                let cuda::Found { devices, missing } = cuda::find();
                add_all("cuda", builder, devices, &missing)
            }
        }
    }
}

fn add_all<D: Device + 'static>(
    name: &str,
    builder: RuntimeBuilder,
    devices: Vec<D>,
    missing: &[String],
) -> Result<RuntimeBuilder> {
    if devices.is_empty() {
        return Err(Fault::new(HETE_ERROR_CONFIG, format!("devices = `{name}`: {}", missing.join("; "))));
    }
    Ok(devices.into_iter().fold(builder, RuntimeBuilder::device))
}

impl Simulated {
    /// The device, under `heap` unless it was asked for with another.
    fn make(&self, heap: HeapKind) -> Result<Sim> {
        Ok((self.kind.make)(&self.name, self.memory, self.heap.unwrap_or(heap))?)
    }
}
