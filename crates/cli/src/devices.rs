//! `rimms devices`: what there is, what it can do, and why there is no more.

use rimms::Runtime;
use rimms::device::{Lengths, OpSupport};
use rimms::runtime::Pe;
use serde::Serialize;

use crate::cli::DevicesArgs;
use crate::machine::{self, Machine, Real};
use crate::output::{self, Failure};

/// The keys of `--json`.
#[derive(Serialize)]
struct Listing {
    resources: Vec<Resource>,
    pes: Vec<PeEntry>,
    /// What cannot be used, and why.
    missing: Vec<String>,
}

#[derive(Serialize)]
struct Resource {
    name: String,
    description: String,
    /// Bytes; null where only the operating system knows.
    capacity: Option<u64>,
    simulated: bool,
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
    let (rt, _) = machine.runtime(None, Default::default(), rimms::sched::by_name("eft")?)?;
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
            })
            .collect(),
        missing: real.missing.clone(),
    }
}

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
    if listing.resources.iter().any(|resource| resource.simulated) {
        text += "no real accelerator was found; simulated ones are used instead.\n";
    }
    listing.missing.iter().for_each(|why| text += &format!("{why}\n"));
    text
}
