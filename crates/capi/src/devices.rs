//! Simulated devices, as a setting names them: `acc0`, `fft0:64KiB`, `zip0:1MiB:next-fit`.

use crate::error::Result;
use rimms::device::sim::{ACC_MEMORY, DMA_BUFFER, HeapKind, Sim};
use rimms_heap::parse_size;

/// A simulated device that was asked for.
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

/// A list of devices: `NAME[:MEMORY[:HEAP]]`, with commas between. The name's letters say the kind.
pub(crate) fn parse(list: &str) -> Result<Vec<Simulated>, String> {
    list.split(',').map(str::trim).filter(|spec| !spec.is_empty()).map(one).collect()
}

fn one(spec: &str) -> Result<Simulated, String> {
    let mut parts = spec.splitn(3, ':').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let kind = KINDS.iter().find(|kind| kind.name == letters && letters.len() < name.len()).ok_or_else(|| {
        format!("no device is called `{name}`: wanted is acc, fft or zip and a number, such as acc0:16MiB:next-fit")
    })?;
    let memory = parts
        .next()
        .map(|size| parse_size(size).map_err(|e| format!("{name}: {e}")))
        .transpose()?
        .unwrap_or(kind.memory);
    let heap = parts.next().map(|heap| heap.parse().map_err(|e| format!("{name}: {e}"))).transpose()?;
    Ok(Simulated { name: name.into(), kind, memory, heap })
}

impl Simulated {
    /// The device, under `heap` unless it was asked for with another.
    pub(crate) fn make(&self, heap: HeapKind) -> Result<Sim> {
        Ok((self.kind.make)(&self.name, self.memory, self.heap.unwrap_or(heap))?)
    }
}
