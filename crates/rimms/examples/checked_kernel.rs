//! A kernel with two mistakes, on a simulated accelerator whose memory is checked: what is said leads to them.
//!
//! The op is to smooth a signal: each work-item replaces its sample with the mean of it and its right neighbour. But the
//! last item has no such neighbour, and no item waits until its own sample has been read by the one to its left.
//!
//! `cargo run --release --example checked_kernel`. The exit status is 1, since there are findings.

use rimms::device::sim::Sim;
use rimms::device::sim::devmem::check::{Finding, Findings};
use rimms::device::sim::devmem::{Fault, Launch, NdRange};
use rimms::op::{UserOp, WorkItem};
use rimms::{Error, Result, Runtime, arg_mut};
use std::process::ExitCode;

/// The kernel, written for one work-item.
async fn smooth(item: WorkItem<'_>) -> std::result::Result<(), Fault> {
    let me = item.global_id(0);
    let sum = item.load::<f32>(0, me)? + item.load::<f32>(0, me + 1)?;
    item.store(0, me, sum / 2.0)
}

/// Runs it once: how the call failed, and what was found.
pub fn run() -> Result<(Option<Error>, Vec<Finding>)> {
    let op = UserOp::builder("smooth")
        .inout::<f32>()
        .named("signal")
        .on_sim_items(|len| Ok(Launch::new("smooth", NdRange::linear(len[0] as u64, 8)?)), smooth)
        .build()?;

    let findings = Findings::default();
    let acc = Sim::acc("acc0", 1 << 20, Default::default())?.checked(&findings);
    let rt = Runtime::builder().cpus(1).device(acc).build()?;
    let mut signal = rt.alloc::<f32>(8)?;
    signal.overwrite()?.write_with(|i| i as f32)?;
    let error = rt.blocking().call(&op.call(), &mut [arg_mut(&mut signal)]).err();
    Ok((error, findings.take()))
}

/// Runs it and prints what is wrong.
pub fn main() -> Result<ExitCode> {
    let (error, found) = run()?;
    if let Some(error) = error {
        println!("{error}\n");
    }
    for finding in &found {
        println!("{finding}");
    }
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}
