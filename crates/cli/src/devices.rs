//! `rimms devices`: what there is, what it can do, and why there is no more.

use std::sync::Arc;

use rimms::device::opencl::OpenCl;
use rimms::device::{Device, Lengths, OpSupport};
use rimms::runtime::Pe;
use rimms::{MemoryMode, ResourceId, Runtime};
use serde::Serialize;

use crate::cli::DevicesArgs;
use crate::machine::{self, Machine, Real};
use crate::output::{self, Failure};

/// The keys of `--json`.
#[derive(Serialize)]
struct Listing {
    resources: Vec<Resource>,
    pes: Vec<PeEntry>,
    /// From how many bytes on data are in mode zero-copy by default, with all of these devices; null where none are.
    zero_copy_from: Option<usize>,
    /// What cannot be used, and why.
    missing: Vec<String>,
    /// For people: what keeps data from being in mode zero-copy, and on which devices.
    #[serde(skip)]
    copied: Vec<(&'static str, Vec<String>)>,
}

/// What it costs not to copy, for two calls one after the other.
#[derive(Serialize)]
struct Sharing {
    /// Does it lend memory in which nothing is copied or mapped?
    lends: bool,
    /// From how many bytes on mapping the host's memory costs less than copies; null where it never does.
    mapping_pays_from: Option<usize>,
    costs: Vec<SharingCost>,
}

#[derive(Serialize)]
struct SharingCost {
    bytes: usize,
    copied_s: f64,
    mapped_s: f64,
}

impl Sharing {
    fn of(device: &OpenCl) -> Option<Self> {
        let sharing = device.sharing()?;
        let cost = |cost: &rimms::device::opencl::SharingCost| SharingCost {
            bytes: cost.bytes,
            copied_s: cost.copied_ns * 1e-9,
            mapped_s: cost.mapped_ns * 1e-9,
        };
        Some(Self {
            lends: device.lends_memory(),
            mapping_pays_from: sharing.mapping_pays_from(),
            costs: sharing.costs.iter().map(cost).collect(),
        })
    }

    fn text(&self, name: &str) -> String {
        let lends = if self.lends { "lends memory in which nothing is copied; mapping" } else { "mapping" };
        let pays = match self.mapping_pays_from {
            Some(bytes) => format!("pays from {} on", output::bytes(bytes as u64)),
            None => "never pays".to_owned(),
        };
        let cost = |cost: &SharingCost| {
            let SharingCost { bytes, copied_s, mapped_s } = *cost;
            let (copied, mapped) = (output::seconds(copied_s), output::seconds(mapped_s));
            format!("{} {copied} / {mapped}", output::bytes(bytes as u64))
        };
        let costs: Vec<String> = self.costs.iter().map(cost).collect();
        format!("{name} {lends} the host's memory {pays} (copies / mapping: {})\n", costs.join(", "))
    }
}

#[derive(Serialize)]
struct Resource {
    name: String,
    description: String,
    /// Bytes; null where only the operating system knows.
    capacity: Option<u64>,
    simulated: bool,
    /// Null where nothing is shared with the host, or known of it.
    sharing: Option<Sharing>,
}

#[derive(Serialize)]
struct PeEntry {
    name: String,
    kind: String,
    resource: String,
    /// One line an op, or `every op`.
    can: Vec<String>,
    simulated: bool,
}

pub(crate) fn run(args: &DevicesArgs) -> Result<String, Failure> {
    let machine = Machine::default();
    let (rt, _) = machine.runtime(None, None, rimms::sched::by_name("eft")?)?;
    let listing = listing(&rt, machine.real());
    if args.json {
        return output::json(&listing);
    }
    Ok(text(&listing))
}

fn listing(rt: &Runtime, real: &Real) -> Listing {
    let resources = rt.resources();
    let resource_of = |pe: &Pe| {
        let resource = resources.iter().find(|resource| resource.id == pe.resource());
        resource.map_or_else(String::new, |resource| resource.name.to_string())
    };
    Listing {
        pes: rt
            .pes()
            .iter()
            .map(|pe| PeEntry {
                name: pe.name().to_owned(),
                kind: pe.kind().to_owned(),
                resource: resource_of(pe),
                can: can(pe),
                simulated: machine::is_simulated(&resource_of(pe)),
            })
            .collect(),
        resources: resources
            .iter()
            .map(|resource| Resource {
                name: resource.name.to_string(),
                description: resource.description.to_string(),
                capacity: resource.capacity,
                simulated: machine::is_simulated(&resource.name),
                sharing: real
                    .devices()
                    .iter()
                    .find(|device| device.info().name == resource.name)
                    .and_then(|device| Sharing::of(device.as_any().downcast_ref()?)),
            })
            .collect(),
        zero_copy_from: rt.zero_copy_from(),
        missing: real.missing().map(str::to_owned).collect(),
        copied: copied(rt, real),
    }
}

/// Why data are copied by default, if they are: the devices without which they were not.
fn copied(rt: &Runtime, real: &Real) -> Vec<(&'static str, Vec<String>)> {
    let lender = real.devices().iter().find(|device| device.lends_memory()).map(Arc::as_ref);
    let why = |name: &str| {
        let Some(device) = real.devices().iter().find(|device| *device.info().name == *name) else { return Some(OWN) };
        let sharing = || device.as_any().downcast_ref::<OpenCl>()?.sharing();
        match device.zero_copy_from(lender) {
            Some(_) => None,
            None if !device.info().shares_host_memory => Some(OWN),
            None if sharing().is_some() => Some("mapping the host's memory never pays"),
            None => Some("what mapping costs is not known"),
        }
    };
    let mut reasons: Vec<(&'static str, Vec<String>)> = Vec::new();
    for resource in rt.resources().iter().filter(|resource| resource.id != ResourceId::HOST) {
        let name = resource.name.to_string();
        let Some(why) = why(&name) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons
}

const OWN: &str = "no memory shared with the host";

fn can(pe: &Pe) -> Vec<String> {
    let Some(ops) = pe.capability().ops() else { return vec!["every op".to_owned()] };
    let one = |op: &OpSupport| {
        let Lengths { min, max, power_of_two } = op.lengths;
        let powers = if power_of_two { ", powers of two" } else { "" };
        let sample = op
            .sample
            .map_or_else(String::new, |sample| format!(" of {} samples", format!("{sample:?}").to_lowercase()));
        format!("{}{sample}, {min} to {max}{powers}", op.kind.name())
    };
    ops.iter().map(one).collect()
}

fn text(listing: &Listing) -> String {
    let mut pes = output::table(["PE", "kind", "memory", "can do"]);
    for pe in &listing.pes {
        pes.add_row([&pe.name, &pe.kind, &pe.resource, &pe.can.join("; ")]);
    }
    let mut resources = output::table(["memory", "bytes", "what it is"]);
    for resource in &listing.resources {
        let bytes = resource.capacity.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        resources.add_row([&resource.name, &bytes, &resource.description]);
    }
    let mut text = format!("{pes}\n{resources}\n");
    let sharing = listing.resources.iter().filter_map(|r| Some((&r.name, r.sharing.as_ref()?)));
    sharing.for_each(|(name, sharing)| text += &sharing.text(name));
    text += &match listing.zero_copy_from {
        Some(bytes) => {
            format!("data are in mode zero-copy from {} on, unless told otherwise.\n", output::bytes(bytes as u64))
        }
        None => {
            let why = listing.copied.iter().map(|(why, on)| format!("{why} ({})", on.join(", ")));
            let why = why.collect::<Vec<_>>().join("; ");
            format!("data are copied by default (mode {}): {why}.\n", MemoryMode::default())
        }
    };
    if listing.resources.iter().any(|resource| resource.simulated) {
        text += "no real accelerator was found; simulated ones are used instead.\n";
    }
    listing.missing.iter().for_each(|why| text += &format!("{why}\n"));
    text
}
