//! An op of your own: declared once, with a kernel for each kind of device, and then called like a built-in one.
//!
//! The op is a threshold detector: out[i] = 1 where |x[i]|² exceeds `factor` times the mean power of the row.
//!
//! `cargo run --release --example user_op`

use rimms::device::sim::Sim;
use rimms::op::{KernelArgs, KernelError, UserOp};
use rimms::{Complex32, Result, Runtime, arg, arg_mut};

/// The op's parameters: what differs from call to call and is no data.
struct Threshold {
    factor: f32,
}

/// The kernel. The same code serves both kinds of device here: on the CPU it works on the data's own memory, on the
/// simulated accelerator on what is in the accelerator's memory.
fn detect(k: &mut KernelArgs<'_>) -> Result<(), KernelError> {
    let threshold = k.params::<Threshold>()?;
    let x = k.input::<Complex32>(0)?;
    let out = k.output::<u8>(1)?;
    let mean = x.iter().map(|v| v.norm_sqr()).sum::<f32>() / x.len() as f32;
    for (out, x) in out.iter_mut().zip(x) {
        *out = u8::from(x.norm_sqr() > threshold.factor * mean);
    }
    Ok(())
}

/// Runs the example; its assertions are the test.
pub fn main() -> Result<()> {
    let detector = UserOp::builder("detect")
        .input::<Complex32>()
        .output::<u8>()
        .shape(|len| match len {
            [x, out] if x == out => Ok(()),
            _ => Err(format!("one flag a sample is wanted: lengths are {len:?}")),
        })
        .on_cpu(detect)
        .on_sim(detect)
        .build()?;

    let rt = Runtime::builder().cpus(1).device(Sim::acc("acc0", 1 << 20, Default::default())?).build()?;
    let mut x = rt.alloc::<Complex32>(512)?;
    let mut flags = rt.alloc::<u8>(512)?;
    x.overwrite()?.write_with(|i| if i == 100 || i == 300 { Complex32::new(9.0, 0.0) } else { Complex32::ONE })?;

    for pe in ["cpu0", "acc0"] {
        rt.on(pe)?.call(&detector.with(Threshold { factor: 4.0 }), &mut [arg(&x), arg_mut(&mut flags)])?;
        let found: Vec<usize> = flags.read()?.iter().enumerate().filter(|(_, f)| **f == 1).map(|(i, _)| i).collect();
        println!("{pe} finds {found:?}");
        assert_eq!(found, [100, 300]);
    }
    Ok(())
}
