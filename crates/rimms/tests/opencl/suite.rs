//! What every driver has to pass. Run by the tests in `main`, one driver at a time.

use num_complex::Complex64;
use rimms::device::opencl::{self, Memory, OpenCl};
use rimms::device::{
    Capability, Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lengths, OpSupport, Operand,
    Operation, Span, Usage, conformance,
};
use rimms::op::{Call, OpKind};
use rimms::{Complex32, Runtime, RuntimeBuilder};

const SLAB: Memory = Memory::Slab { bytes: 1 << 20, heap: rimms::device::sim::HeapKind::TwoLevel };

pub(crate) fn devices(memory: Memory) -> Vec<OpenCl> {
    let found = opencl::find_with(memory);
    assert!(!found.devices.is_empty(), "{:?}", found.missing);
    found.devices
}

#[test]
#[ignore = "run once a driver"]
fn conformance() {
    for memory in [Memory::Driver, SLAB] {
        for device in devices(memory) {
            println!("{}", device.info().description);
            conformance::memory(&device);
            conformance::transfers(&device);
            conformance::exhaustion(&device);
            conformance::threads(&device);
            conformance::order(&device);
        }
    }
}

#[test]
#[ignore = "run once a driver"]
fn ops() {
    for device in devices(Memory::Driver) {
        let start = std::time::Instant::now();
        let report = conformance::ops(&device);
        println!("{} in {:?}: {report}", device.info().description, start.elapsed());
        assert!(report.untested.is_empty());
    }
}

/// Lengths that need every kind of stage: primes, their powers and products, large primes (convolution), up to 2²⁰.
#[test]
#[ignore = "run once a driver"]
fn transforms() {
    let lengths =
        [6, 9, 49, 61, 67, 77, 211, 3 * 64, 4096, 4099, 5000, 6561, 8192, 65_536, 65_537, 1 << 20, (1 << 19) + 21];
    let devices = devices(Memory::Driver);
    let name = devices[0].info().name.clone();
    let rt = devices.into_iter().fold(Runtime::builder().cpus(0), RuntimeBuilder::device).build().unwrap();
    let rt = rt.on(&name).unwrap();
    for n in lengths {
        for rows in if n < 10_000 { 1..4 } else { 1..2 } {
            let mut x = rt.alloc::<Complex32>(n * rows).unwrap();
            x.overwrite().unwrap().write_with(|i| Complex32::new(noise(2 * i), noise(2 * i + 1))).unwrap();
            let mut y = rt.alloc::<Complex32>(n * rows).unwrap();
            rt.fft_rows(n, &x, &mut y).unwrap();
            let mut wanted: Vec<_> =
                x.read().unwrap().iter().map(|x| Complex64::new(x.re.into(), x.im.into())).collect();
            let plan = rimms_fft::plan_f64(n, false);
            wanted.chunks_mut(n).for_each(|row| plan.process(row));
            let off = error(&y.read().unwrap(), &wanted);
            rt.ifft_rows_in_place(n, &mut y).unwrap();
            let start: Vec<_> = x.read().unwrap().iter().map(|x| Complex64::new(x.re.into(), x.im.into())).collect();
            let back = error(&y.read().unwrap(), &start);
            println!("{rows} x {n}: {off:.1e} {back:.1e}");
            assert!(off < 1e-5 && back < 1e-5, "{rows} rows of {n}: {off:.3e}, and back {back:.3e}");
        }
    }
}

/// The distance as a fraction of the norm.
fn error(found: &[Complex32], wanted: &[Complex64]) -> f64 {
    let (mut off, mut norm) = (0.0, 0.0);
    for (found, wanted) in found.iter().zip(wanted) {
        off += (Complex64::new(found.re.into(), found.im.into()) - wanted).norm_sqr();
        norm += wanted.norm_sqr();
    }
    (off / norm).sqrt()
}

/// Between -1 and 1, different for each `i`.
fn noise(i: usize) -> f32 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
}

/// All ops, in small sizes: for a driver that takes its time.
#[test]
#[ignore = "run once a driver"]
fn small_ops() {
    for device in devices(Memory::Driver) {
        let lengths = Lengths { max: 24, ..Lengths::ANY };
        let ops = OpKind::BUILT_IN.map(|kind| OpSupport { kind, sample: None, lengths });
        let mut info = device.info().clone();
        info.units[0].capability = Capability::only(ops);
        let report = conformance::ops(&Small { device, info, room: u64::MAX });
        println!("{report}");
        assert!(report.untested.is_empty());
    }
}

/// A device that declares less than it can do, or has.
#[derive(Debug)]
pub(crate) struct Small {
    pub(crate) device: OpenCl,
    pub(crate) info: DeviceInfo,
    /// Bytes that may be used.
    pub(crate) room: u64,
}

impl Device for Small {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let free = self.usage().free;
        if bytes > free {
            let kind = DeviceErrorKind::Full { wanted: bytes, free, capacity: self.room };
            return Err(DeviceError::new(&self.info, Operation::Allocate, kind, "small"));
        }
        self.device.allocate(bytes)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.device.free(address)
    }

    fn usage(&self) -> Usage {
        let usage = self.device.usage();
        Usage { free: usage.free.min(self.room.saturating_sub(usage.used)), ..usage }
    }

    fn queues_launches(&self) -> bool {
        self.device.queues_launches()
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.device.finish()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.device.upload(from, to)
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.device.download(from, to)
    }

    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.device.copy_within(from, to)
    }

    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.device.launch(unit, call, operands)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
