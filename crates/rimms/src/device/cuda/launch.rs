//! Execution: which kernel does a call, and with which arguments.
//!
//! Owns [`Job`], the operands of one call as places on the device. Operands in the host's memory have to lie in memory that this device
//! lends; such launches are waited for.
#![allow(unsafe_code)]

use super::program::{BLOCK, Family, GROUP};
use super::queue::{Arg, Range, arg, packed};
use super::scratch::Use;
use super::{Code, Cuda, fft, gemm, user};
use crate::device::{Device, DeviceError, DeviceErrorKind, Operand, Operation, Rows, Span};
use crate::op::{
    Call, Constellation, Convolve, CuKernel, CuSource, Decide, Fill, SampleType, Transpose, UserOp, Zip, ZipOp,
};
use smallvec::SmallVec;

/// The arguments of a kernel.
pub(super) type Args = SmallVec<[Arg; 12]>;

/// Blocks that look for the largest of a long row side by side.
const PARTS: usize = 256;
/// Elements that a thread of them looks through before there are more blocks.
const SEARCHED: usize = 16;
/// Blocks in all dimensions but the first.
const MOST_BLOCKS: usize = 0xffff;

/// Where an operand is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) address: u64,
    pub(super) rows: Rows,
}

impl Place {
    /// So many bytes without gaps.
    pub(super) fn run(address: u64, bytes: usize) -> Self {
        Self { address, rows: Rows::run(bytes) }
    }

    /// Does it begin, and does each of its rows, at a multiple of so many bytes?
    fn is_of(&self, size: usize) -> bool {
        let Rows { row_bytes, pitch, .. } = self.rows;
        self.address.is_multiple_of(size as u64) && [row_bytes, pitch].iter().all(|bytes| bytes.is_multiple_of(size))
    }
}

pub(super) struct Job<'a> {
    pub(super) device: &'a Cuda,
    pub(super) places: SmallVec<[Place; 4]>,
}

/// Runs the call: queues it, and waits for it if it works on the host's memory.
pub(super) fn run(device: &Cuda, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let mut job = Job { device, places: SmallVec::new() };
    let done = operands.iter().try_for_each(|operand| job.add(operand)).and_then(|()| job.start(call, operands));
    if !operands.iter().any(Operand::is_host_memory) {
        return done;
    }
    done.and(device.driver.queue.finish().map_err(|code| device.lost(Operation::Launch, code)))
}

/// Threads for so many elements, in blocks.
fn threads(count: usize, block: usize) -> Option<([u32; 3], [u32; 3])> {
    let blocks = u32::try_from(count.div_ceil(block)).ok().filter(|blocks| *blocks <= i32::MAX as u32)?;
    Some(([blocks.max(1), 1, 1], [block as u32, 1, 1]))
}

impl<'a> Job<'a> {
    fn add(&mut self, operand: &Operand<'_>) -> Result<(), DeviceError> {
        let Span { address, rows } = *operand.span();
        let memory = &self.device.memory;
        let address = if operand.is_host_memory() {
            memory.on_device(operand.span()).ok_or_else(|| {
                let message = "an operand lies in host memory that the device does not reach";
                self.refuse(DeviceErrorKind::Unsupported, message.into())
            })?
        } else {
            memory.check(&self.device.info, Operation::Launch, operand.span())?;
            address
        };
        self.places.push(Place { address, rows });
        Ok(())
    }

    pub(super) fn failed(&self, code: Code) -> DeviceError {
        super::failed(&self.device.info, Operation::Launch, code)
    }

    pub(super) fn refuse(&self, kind: DeviceErrorKind, message: String) -> DeviceError {
        DeviceError::new(&self.device.info, Operation::Launch, kind, message)
    }

    pub(super) fn place(&self, i: usize) -> Result<Place, DeviceError> {
        let missing = || self.refuse(DeviceErrorKind::Invalid, format!("operand {i} is missing"));
        self.places.get(i).copied().ok_or_else(missing)
    }

    /// A place as two arguments: its address, and its layout in elements of `size` bytes.
    pub(super) fn push(&self, args: &mut Args, place: Place, size: usize) -> Result<(), DeviceError> {
        let Rows { rows, row_bytes, pitch } = place.rows;
        let (row, pitch) = if place.rows.is_run() || rows == 0 { (0, 0) } else { (row_bytes, pitch) };
        let is_odd = |bytes: &u64| !bytes.is_multiple_of(size as u64);
        if let Some(bytes) = [place.address, row as u64, pitch as u64].into_iter().find(is_odd) {
            let message = format!("an operand lies at {bytes} bytes, which is no multiple of an element's {size}");
            return Err(self.refuse(DeviceErrorKind::Invalid, message));
        }
        args.push(arg(place.address));
        args.push(arg([0, row, pitch, 0].map(|bytes| (bytes / size) as u64)));
        Ok(())
    }

    /// The first operands, of elements of these sizes.
    pub(super) fn args(&self, sizes: &[usize]) -> Result<Args, DeviceError> {
        let mut args = Args::new();
        for (i, size) in sizes.iter().enumerate() {
            self.push(&mut args, self.place(i)?, *size)?;
        }
        Ok(args)
    }

    fn start(&self, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        match call {
            Call::Fft(f) => fft::run(self, f),
            Call::Zip(zip) => self.zip(zip),
            Call::FftShift(s) => {
                let (kernel, size) = by_sample(s.sample, ["shift_real", "shift_complex"]);
                let count = s.n.saturating_mul(s.rows);
                let mut args = self.args(&[size, size])?;
                args.extend([count, s.n].map(count_of));
                self.each(Family::Rows, kernel, &args, count)
            }
            Call::Transpose(t) => self.transpose(t),
            Call::Scale(scale) => {
                let (kernel, size) = by_sample(scale.sample, ["scale_real", "scale_complex"]);
                let (x, out) = (self.place(0)?, self.place(usize::from(!scale.in_place))?);
                self.map(kernel, (x, size), (out, size), scale.len, [scale.factor.re, scale.factor.im])
            }
            Call::Magnitude(len) => self.map("magnitude", (self.place(0)?, 8), (self.place(1)?, 4), *len, [0.0; 2]),
            Call::Decide(Decide { constellation, len }) => {
                let kernel = match constellation {
                    Constellation::Bpsk => "bpsk",
                    Constellation::Qam16 => "qam16",
                };
                let limit = [Constellation::QAM16_LIMIT, 0.0];
                self.map(kernel, (self.place(0)?, 8), (self.place(1)?, 4), *len, limit)
            }
            Call::ArgMax(len) => self.arg_max(*len),
            Call::Gemm(g) => gemm::run(self, g),
            Call::Convolve(convolve) => self.convolve(convolve),
            Call::Copy(_) => self.copy_operand(),
            Call::Fill(fill) => self.fill(fill),
            Call::User(call) => user::run(self, call, operands),
        }
    }

    fn zip(&self, zip: &Zip) -> Result<(), DeviceError> {
        let (kernel, size) = match (zip.op, zip.sample) {
            (ZipOp::Add, sample) => by_sample(sample, ["add_real", "add_complex"]),
            (ZipOp::Sub, sample) => by_sample(sample, ["sub_real", "sub_complex"]),
            (ZipOp::Mul, sample) => by_sample(sample, ["mul_real", "mul_complex"]),
            (ZipOp::Div, sample) => by_sample(sample, ["div_real", "div_complex"]),
            (ZipOp::ConjMul, sample) => by_sample(sample, ["mul_real", "conj_mul_complex"]),
        };
        let mut args = self.args(&[size; 3])?;
        args.extend([zip.len, zip.row].map(count_of));
        self.each(Family::Elements, kernel, &args, zip.len)
    }

    /// One place to another, element by element. Both may be the same.
    pub(super) fn map(
        &self,
        kernel: &'static str,
        (x, size): (Place, usize),
        (out, out_size): (Place, usize),
        len: usize,
        factor: [f32; 2],
    ) -> Result<(), DeviceError> {
        let mut args = Args::new();
        self.push(&mut args, x, size)?;
        self.push(&mut args, out, out_size)?;
        args.extend([count_of(len), arg(factor)]);
        self.each(Family::Elements, kernel, &args, len)
    }

    fn transpose(&self, t: &Transpose) -> Result<(), DeviceError> {
        /// Of the tiles that the kernel turns.
        const SIDE: usize = 8;
        let complex = if t.conjugate { "transpose_conjugate" } else { "transpose_complex" };
        let (kernel, size) = by_sample(t.sample, ["transpose_real", complex]);
        let mut args = self.args(&[size; 2])?;
        args.extend([t.rows, t.cols].map(count_of));
        self.tiled(Family::Rows, kernel, &args, [t.cols.div_ceil(SIDE), t.rows.div_ceil(SIDE)], [SIDE, SIDE])
    }

    fn arg_max(&self, len: usize) -> Result<(), DeviceError> {
        let blocks = len.div_ceil(GROUP * SEARCHED).clamp(1, PARTS);
        let (parts, largest) = (self.scratch(Use::Places, PARTS * 8)?, self.scratch(Use::Values, PARTS * 4)?);
        let mut args = self.args(&[4])?;
        args.extend([count_of(len), arg(parts), arg(largest)]);
        self.tiled(Family::ArgMax, "arg_max_parts", &args, [blocks, 1], [GROUP, 1])?;
        let mut args = Args::from_iter([arg(parts), arg(largest), arg(blocks as u32)]);
        self.push(&mut args, self.place(1)?, 8)?;
        self.tiled(Family::ArgMax, "arg_max", &args, [1, 1], [GROUP, 1])
    }

    fn convolve(&self, c: &Convolve) -> Result<(), DeviceError> {
        let (kernel, size) = by_sample(c.sample, ["convolve_real", "convolve_complex"]);
        let mut args = self.args(&[size; 3])?;
        args.extend([c.rows, c.cols, c.mask_rows, c.mask_cols].map(count_of));
        self.each(Family::Sums, kernel, &args, c.rows.saturating_mul(c.cols))
    }

    fn copy_operand(&self) -> Result<(), DeviceError> {
        let (from, to) = (self.place(0)?, self.place(1)?);
        if from.rows.is_run() && to.rows.is_run() {
            return self.copy(from, to);
        }
        // Rows of one may be of another length than those of the other.
        let (kernel, unit) = if from.is_of(4) && to.is_of(4) { ("copy_words", 4) } else { ("copy_bytes", 1) };
        let count = from.rows.bytes() / unit;
        let mut args = self.args(&[unit; 2])?;
        args.push(count_of(count));
        self.each(Family::Rows, kernel, &args, count)
    }

    fn fill(&self, fill: &Fill) -> Result<(), DeviceError> {
        let place = self.place(0)?;
        let bytes = place.rows.bytes();
        if fill.pattern.is_empty() || bytes == 0 {
            return Ok(());
        }
        let are_words = place.is_of(4) && fill.pattern.len().is_multiple_of(4);
        let (kernel, unit) = if are_words { ("fill_words", 4) } else { ("fill_bytes", 1) };
        let pattern = self.scratch(Use::Pattern, fill.pattern.len())?;
        let given = self.device.memory.give(&self.device.driver, &fill.pattern, pattern);
        given.map_err(|code| self.failed(code))?;
        let mut args = self.args(&[unit])?;
        let size = (fill.pattern.len() / unit) as u32;
        args.extend([arg(pattern), arg(size), count_of(bytes / unit)]);
        self.each(Family::Rows, kernel, &args, bytes / unit)
    }

    /// Places of the same shape, or without gaps.
    pub(super) fn copy(&self, from: Place, to: Place) -> Result<(), DeviceError> {
        let queue = &self.device.driver.queue;
        queue.copy((from.address, &from.rows), (to.address, &to.rows)).map_err(|code| self.failed(code))
    }

    /// A place's rows without gaps, in scratch; it is filled if that is what it is for.
    pub(super) fn packed(&self, place: Place, usage: Use, is_read: bool) -> Result<Place, DeviceError> {
        let address = self.scratch(usage, place.rows.bytes())?;
        if is_read {
            self.copy(place, Place { address, rows: packed(&place.rows) })?;
        }
        Ok(Place::run(address, place.rows.bytes()))
    }

    /// The way back.
    pub(super) fn unpacked(&self, from: Place, to: Place) -> Result<(), DeviceError> {
        self.copy(Place { rows: packed(&to.rows), ..from }, to)
    }

    /// Queues a built-in kernel with a thread for each of `count` elements.
    pub(super) fn each(&self, family: Family, kernel: &str, args: &[Arg], count: usize) -> Result<(), DeviceError> {
        let (grid, block) = threads(count, BLOCK).ok_or_else(|| {
            self.refuse(DeviceErrorKind::Unsupported, format!("{count} elements are more than it counts to"))
        })?;
        self.submit(family, kernel, args, Range { grid, block, shared: 0 })
    }

    /// Queues a built-in kernel with so many blocks of so many threads in two dimensions.
    pub(super) fn tiled(
        &self,
        family: Family,
        kernel: &str,
        args: &[Arg],
        blocks: [usize; 2],
        threads: [usize; 2],
    ) -> Result<(), DeviceError> {
        if blocks[0] > i32::MAX as usize || blocks[1] > MOST_BLOCKS {
            let message = format!("{} x {} blocks are more than it has in one kernel", blocks[1], blocks[0]);
            return Err(self.refuse(DeviceErrorKind::Unsupported, message));
        }
        let grid = [blocks[0] as u32, blocks[1] as u32, 1];
        let block = [threads[0] as u32, threads[1] as u32, 1];
        self.submit(family, kernel, args, Range { grid, block, shared: 0 })
    }

    fn submit(&self, family: Family, kernel: &str, args: &[Arg], range: Range) -> Result<(), DeviceError> {
        // SAFETY: the built-in kernels reach their operands by the layouts that `push` makes, of elements below the counts of the
        // call, which has been checked to fit its operands; scratch has the size that its user says. All of that lies in live
        // blocks (`add`, `scratch`).
        unsafe { self.queue(family, &CuSource::C(family.source()), kernel, args, range) }
    }

    /// Queues a kernel of the user's, who has vouched for it (`on_cuda`).
    pub(super) fn submit_user(
        &self,
        op: &UserOp,
        kernel: &CuKernel,
        args: &[Arg],
        range: Range,
    ) -> Result<(), DeviceError> {
        let gone = self.device.programs.lock().expect(op);
        if !gone.is_empty() {
            self.device.finish()?;
            drop(gone);
        }
        // SAFETY: the user's, for operands that the op's shape rule lets pass; each lies in a live block (`add`, `packed`).
        unsafe { self.queue(Family::User(op.id()), &kernel.source(), &kernel.name, args, range) }
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// As [`Queue::run`](super::queue::Queue::run).
    unsafe fn queue(
        &self,
        family: Family,
        source: &CuSource<'_>,
        kernel: &str,
        args: &[Arg],
        range: Range,
    ) -> Result<(), DeviceError> {
        let driver = &self.device.driver;
        let built = self.device.programs.lock().kernel(&driver.context, family, source, kernel);
        // It would not do elsewhere what its author meant; a built-in one that does not build here has others.
        let kind = if let Family::User(_) = family { DeviceErrorKind::Kernel } else { DeviceErrorKind::Failed };
        let built = built.map_err(|why| self.refuse(kind.clone(), format!("kernel {kernel}: {why}")))?;
        // SAFETY: the caller's.
        let queued = unsafe { driver.queue.run(built, args, range) };
        queued.map_err(|code| match code.number {
            1 | 701 => self.refuse(kind, format!("kernel {kernel} cannot run in such blocks, {range:?}: {code}")),
            _ => self.failed(code),
        })
    }

    /// Room for what a call needs beside its operands, of `bytes` bytes at least.
    pub(super) fn scratch(&self, usage: Use, bytes: usize) -> Result<u64, DeviceError> {
        let made = self.device.scratch.lock().room(&self.device.driver.context, usage, bytes);
        made.map_err(|code| match self.failed(code) {
            lost @ DeviceError { kind: DeviceErrorKind::Lost, .. } => lost,
            _ => {
                let message = format!("no room for {bytes} bytes beside the operands: {code}");
                self.refuse(DeviceErrorKind::Failed, message)
            }
        })
    }
}

fn count_of(count: usize) -> Arg {
    arg(count as u64)
}

/// The kernel for a type of samples, and the bytes of one.
pub(super) fn by_sample(sample: SampleType, [real, complex]: [&'static str; 2]) -> (&'static str, usize) {
    match sample {
        SampleType::Real => (real, 4),
        SampleType::Complex => (complex, 8),
    }
}
