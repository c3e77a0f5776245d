//! A kernel with a mistake, and what the checkers say about it: each item of a group adds its neighbour's value to its own
//! with no barrier in between, and the last one reaches beyond the buffer.
//!
//! `cargo run -p rimms-devmem --example broken`. The exit status is 1, since there are findings.

use std::process::ExitCode;

use rimms_devmem::check::Checkers;
use rimms_devmem::{Device, Flags, Init, Launch, NdRange};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let checkers = Checkers::new();
    let device = Device::with_observer(checkers.observer());
    let samples = device.host().allocate_named("samples", 8 * 4, Flags::READ_WRITE, Init::Zeroed)?;

    let launch = Launch::new("smooth", NdRange::linear(8, 8)?).uses(&[samples]);
    let outcome = device.run(&launch, async |item| {
        let (global, me) = (item.global(), item.global_id(0));
        let mine = global.element::<f32>(samples, me);
        let next = global.element::<f32>(samples, me + 1);
        let sum = global.load_value::<f32>(mine)? + global.load_value::<f32>(next)?;
        global.store_value(mine, sum / 2.0)
    })?;

    println!("{} of {} items failed", outcome.failed, outcome.items);
    let found = checkers.findings().take();
    found.iter().for_each(|finding| println!("{finding}"));
    for kernel in checkers.counters().kernels() {
        for (space, counts) in kernel.spaces {
            println!("{}: {} bytes loaded from {space} memory", kernel.name, counts.loads.bytes);
        }
    }
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}
