//! The paper's Listing 4: M transforms of N points, with nothing said about where they run.
//!
//! Compare with what a program without RIMMS writes: an allocation a device, a copy in and out around each
//! call, and a decision which device does what.
//!
//! `cargo run --release --example listing4`

use rimms::device::sim::Sim;
use rimms::{Complex32, Result, Runtime};

const M: usize = 128;
const N: usize = 1024;

/// Runs the example; its assertions are the test.
pub fn main() -> Result<()> {
    // A simulated FFT accelerator with a 4 MiB DMA buffer, beside the CPU.
    let rt = Runtime::builder().device(Sim::fft("fft0", 4 << 20, Default::default())?).build()?;

    let mut input = rt.alloc::<Complex32>(M * N)?; // hete_Malloc
    let mut output = rt.alloc::<Complex32>(M * N)?;
    input.overwrite()?.write_with(|i| Complex32::cis(0.1 * (i % N) as f32))?;
    input.fragment(M)?; // O(M): no heap of a device is touched
    output.fragment(M)?;

    for i in 0..M {
        rt.fft(&input[i], &mut output[i])?; // runs where it is best; copies only what is stale
    }

    let spectrum = output.read()?; // hete_Sync: brings back what the accelerator holds
    let peak = (0..N).max_by(|&a, &b| spectrum[a].norm().total_cmp(&spectrum[b].norm())).unwrap_or(0);
    assert_eq!(peak, 16, "a tone of 0.1 rad a sample lies in bin 0.1·1024/2π");

    let counters = rt.counters();
    println!("{M} transforms of {N} points; the tone is in bin {peak}");
    for (pe, calls) in &counters.calls_by_pe {
        println!("  {pe}: {calls} calls");
    }
    println!("  {} copies, {} bytes", counters.copies(), counters.bytes());
    Ok(())
}
