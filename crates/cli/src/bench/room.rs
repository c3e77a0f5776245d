//! Calls that have to make room.

use super::subject::Prepared;
use anyhow::{Context, Result};
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::gated::{Gate, Gated};
use rimms::device::sim::Sim;
use rimms::op::UserOp;
use rimms::{HeteData, Runtime, arg_mut};
use std::time::{Duration, Instant};

/// What each operation of a slow device takes longer.
const SLOW: Duration = Duration::from_micros(250);

/// Calls of one run.
pub(super) const CALLS: u32 = 8;

/// Calls that each write a datum which is not on the device, so that another one, which was written there and nobody is known to need, has to go.
/// There is room for 4, and the device takes its time for everything; what has to go is written back while the call
/// before is running, or when it has to go.
pub(super) fn calls_that_drive_out(ahead: bool) -> Result<Prepared> {
    const BYTES: usize = 4096;
    let sim = Sim::acc("acc0", 4 * BYTES as u64, Default::default())?;
    let slow = Faulty::new(sim, Plan::none().and(0..u64::MAX, Fault::Delay(SLOW)));
    let builder = Runtime::builder().cpus(0).device(slow);
    let rt = if ahead { builder } else { builder.write_back_ahead_from(Duration::MAX) }.build()?;
    let alloc = || (0..CALLS).map(|_| rt.alloc(BYTES)).collect::<rimms::Result<Vec<HeteData<u8>>>>();
    let (mut these, mut others) = (alloc()?, alloc()?);
    Ok(Box::new(move |times| {
        let start = Instant::now();
        for _ in 0..times {
            for block in &mut these {
                let _ = rt.fill(1_u8, block);
            }
            let _ = rt.finish();
            std::mem::swap(&mut these, &mut others);
        }
        start.elapsed()
    }))
}

/// Copies to a device with room for 4 of 12 equal blocks, which calls use in turn, three times round. All calls are
/// known before the first one runs; 28 copies are the fewest that their order allows.
pub(super) fn loads_of_a_cycle() -> Result<u64> {
    const BYTES: usize = 1024;
    let gate = Gate::default();
    let acc = Gated::new(Sim::acc("acc0", 4 * BYTES as u64, Default::default())?, gate.clone());
    let rt = Runtime::builder().cpus(0).device(acc).build()?;
    let mut blocks: Vec<HeteData<u8>> = (0..12).map(|_| rt.alloc(BYTES)).collect::<rimms::Result<_>>()?;
    for block in &mut blocks {
        block.overwrite()?.fill(1)?;
    }
    let op = UserOp::builder("count up").inout::<u8>().on_sim(|k| {
        k.output::<u8>(0)?.iter_mut().for_each(|v| *v += 1);
        Ok(())
    });
    let call = op.build()?.call();
    for _ in 0..3 {
        for block in &mut blocks {
            rt.call(&call, &mut [arg_mut(block)])?;
        }
    }
    gate.open();
    rt.finish()?;
    let loads = rt.counters().host_to_device().copies;
    let is_right = |block: &HeteData<u8>| block.read().is_ok_and(|v| v.iter().all(|v| *v == 4));
    blocks.iter().all(is_right).then_some(loads).context("a block that was evicted came back wrong")
}
