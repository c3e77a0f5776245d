//! An op of your own: declared once, with a kernel for each kind of device, and then called like a built-in one.
//!
//! The op is a threshold detector: out[i] = 1 where |x[i]|² exceeds `factor` times the mean power of the row.
//!
//! `cargo run --release --example user_op`
#![allow(unsafe_code)] // for the kernels in OpenCL C and CUDA C, which nobody checks

use rimms::device::sim::Sim;
use rimms::device::{Device, cuda, opencl};
use rimms::op::{ClLaunch, CuLaunch, KernelArgs, KernelError, UserOp};
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

/// The same in OpenCL C. One group does it all: first each of its items adds up a part of the powers.
const DETECT: &str = "
    kernel void detect(global const float2 *x, global uchar *out, local float *power, float factor, uint n) {
        size_t me = get_local_id(0), items = get_local_size(0);
        float sum = 0.0f;
        for (size_t i = me; i < n; i += items) sum += dot(x[i], x[i]);
        power[me] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        float mean = 0.0f;
        for (size_t i = 0; i < items; i++) mean += power[i] / n;
        for (size_t i = me; i < n; i += items) out[i] = dot(x[i], x[i]) > factor * mean;
    }";
/// And in CUDA C, by one block.
const DETECT_CUDA: &str = r#"
    extern "C" __global__ void detect(const float2 *x, unsigned char *out, float factor, unsigned n) {
        extern __shared__ float power[];
        unsigned me = threadIdx.x, threads = blockDim.x;
        float sum = 0.0f;
        for (unsigned i = me; i < n; i += threads) sum += x[i].x * x[i].x + x[i].y * x[i].y;
        power[me] = sum;
        __syncthreads();
        float mean = 0.0f;
        for (unsigned i = 0; i < threads; i++) mean += power[i] / n;
        for (unsigned i = me; i < n; i += threads) out[i] = x[i].x * x[i].x + x[i].y * x[i].y > factor * mean;
    }"#;
/// Items of the group, and threads of the block.
const ITEMS: usize = 64;

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
        .on_sim(detect);
    // SAFETY: items touch elements below n of both operands, which the shape rule holds to one length.
    let detector = unsafe {
        detector.on_opencl(DETECT, "detect", |c| {
            let launch = ClLaunch::over([ITEMS]).groups_of([ITEMS]).local_memory(ITEMS * 4);
            Ok(launch.value(c.params::<Threshold>()?.factor).value(c.len(0) as u32))
        })
    };
    // SAFETY: as above.
    let detector = unsafe {
        detector.on_cuda(DETECT_CUDA, "detect", |c| {
            let launch = CuLaunch::over([ITEMS]).blocks_of([ITEMS as u32]).shared_memory(ITEMS as u32 * 4);
            Ok(launch.value(c.params::<Threshold>()?.factor).value(c.len(0) as u32))
        })
    };
    let detector = detector.build()?;

    let mut builder = Runtime::builder().cpus(1).device(Sim::acc("acc0", 1 << 20, Default::default())?);
    let mut pes = vec!["cpu0", "acc0"];
    // Where there is a device with an OpenCL driver, or with a CUDA driver and its compiler, it has a turn too.
    if let Some(device) = opencl::find().devices.into_iter().next() {
        pes.push("opencl0");
        builder = builder.device(device);
    }
    let found = cuda::find().devices.into_iter().next();
    if let Some(device) = found.filter(|device| device.info().units[0].capability.ops() != Some(&[])) {
        pes.push("cuda0");
        builder = builder.device(device);
    }
    let rt = builder.build()?;
    let mut x = rt.alloc::<Complex32>(512)?;
    let mut flags = rt.alloc::<u8>(512)?;
    x.overwrite()?.write_with(|i| if i == 100 || i == 300 { Complex32::new(9.0, 0.0) } else { Complex32::ONE })?;

    for pe in pes {
        rt.on(pe)?.call(&detector.with(Threshold { factor: 4.0 }), &mut [arg(&x), arg_mut(&mut flags)])?;
        let found: Vec<usize> = flags.read()?.iter().enumerate().filter(|(_, f)| **f == 1).map(|(i, _)| i).collect();
        println!("{pe} finds {found:?}");
        assert_eq!(found, [100, 300]);
    }
    Ok(())
}
