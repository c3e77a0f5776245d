//! FFTs on a block in programmable logic, by a DMA buffer that the CPU shares: no byte is copied.
//!
//! Without arguments on an imitated system. On a board (`docs/zynq.md`): `axi_fft BUFFER DMA CONTROL`, such as
//! `axi_fft udmabuf0 /dev/uio0 /dev/uio1`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(unix)]
pub(crate) fn run(arguments: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    use rimms::device::udma::axi::AxiFft;
    use rimms::device::udma::imitation::System;
    use rimms::device::udma::{Caching, MappedRegisters, Udma, UdmaRoot};
    use rimms::{Complex32, MemoryMode, Runtime};

    const N: usize = 1024;
    const ROWS: usize = 16;
    /// Registers of one block in the logic.
    const REGISTERS: usize = 0x1000;

    let folder = std::env::temp_dir().join(format!("axi-fft-{}", std::process::id()));
    let device = match arguments {
        [] => System::new(&folder, 1 << 20)?.device("two-level".parse()?)?,
        [buffer, dma, control] => {
            let buffer = UdmaRoot::system().open(buffer, Caching::Cached)?;
            let registers = |path: &str| MappedRegisters::open(path, 0, REGISTERS);
            // The widths that were chosen when the logic was built.
            let fft = AxiFft::new(registers(dma)?, registers(control)?).with_length_bits(23).with_points(8192);
            Udma::new(buffer, "two-level".parse()?)?.with("fft0", fft)
        }
        _ => return Err("no arguments, or three are wanted: BUFFER DMA CONTROL".into()),
    };
    let rt = Runtime::builder().cpus(1).device(device).memory_mode(MemoryMode::ZeroCopy).build()?;
    let block = rt.on("fft0")?;

    // A tone in each row, at the row's own frequency.
    let mut x = rt.alloc::<Complex32>(ROWS * N)?;
    let mut y = rt.alloc::<Complex32>(ROWS * N)?;
    let tone = |row: usize, i: usize| (std::f32::consts::TAU * (row * i) as f32 / N as f32).sin_cos();
    x.overwrite()?.write_with(|i| {
        let (im, re) = tone(i / N, i % N);
        Complex32::new(re, im)
    })?;
    block.fft_rows(N, &x, &mut y)?;
    for (row, spectrum) in y.read()?.chunks(N).enumerate() {
        let peak = spectrum[row].norm() / N as f32;
        let rest = spectrum.iter().enumerate().filter(|(i, _)| *i != row).map(|(_, z)| z.norm()).fold(0.0, f32::max);
        assert!((peak - 1.0).abs() < 1e-3 && rest < 1.0, "row {row}: {peak}, and {rest} beside it");
    }
    let counters = rt.counters();
    println!("{ROWS} FFTs of {N} points on fft0: right, {} bytes copied", counters.bytes());
    drop((x, y, block, rt));
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn run(_: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    Err("DMA buffers are device files, which this system does not have".into())
}
