//! Execution: which kernel does a call, and with which arguments.
//!
//! Owns [`Job`], the operands of one call as buffers. Operands on the device are blocks of its
//! own, and those in memory that it or a [peer](super::peers) has lent are of one of theirs; others in the host's memory get a
//! buffer over them, which is shown to the host when the kernel is over.
#![allow(unsafe_code)]

use super::blocks::{self, Storage};
use super::commands::{Arg, Range};
use super::program::{Family, GROUP};
use super::raw::Buffer;
use super::{OpenCl, fft, memory, user};
use crate::device::{DeviceError, DeviceErrorKind, Operand, Operation, Rows, Span};
use crate::op::{
    Call, ClKernel, Constellation, Convolve, Decide, Fill, Gemm, SampleType, Transpose, UserOp, Zip, ZipOp,
};
use cl3::error_codes::{
    CL_INVALID_ARG_INDEX, CL_INVALID_ARG_SIZE, CL_INVALID_ARG_VALUE, CL_INVALID_KERNEL_ARGS, CL_INVALID_WORK_GROUP_SIZE,
};
use smallvec::SmallVec;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The arguments of a kernel.
pub(super) type Args<'a> = SmallVec<[Arg<'a>; 12]>;

/// Groups that look for the largest of a long row side by side.
const PARTS: usize = 64;
/// Elements that an item of them looks through before there are more groups.
const SEARCHED: usize = 16;

/// Where an operand is.
pub(super) struct Place {
    pub(super) first: blocks::Place,
    pub(super) rows: Rows,
    /// Is it the host's memory, and written?
    is_to_be_shown: bool,
}

impl Place {
    /// A buffer without gaps.
    pub(super) fn whole(buffer: Arc<Buffer>) -> Self {
        Self { first: blocks::Place::of(&Arc::new(Storage::of(buffer)), 0), rows: Rows::run(0), is_to_be_shown: false }
    }

    /// Does it begin, and does each of its rows, at a multiple of so many bytes?
    fn is_of(&self, size: usize) -> bool {
        let Rows { row_bytes, pitch, .. } = self.rows;
        [self.first.offset, row_bytes, pitch].iter().all(|bytes| bytes.is_multiple_of(size))
    }

    /// Some of its bytes, from here on.
    pub(super) fn part(&self, offset: usize, rows: Rows) -> Self {
        let first = blocks::Place { offset: self.first.offset + offset, ..self.first.clone() };
        Self { first, rows, is_to_be_shown: false }
    }
}

pub(super) struct Job<'a> {
    pub(super) device: &'a OpenCl,
    pub(super) places: SmallVec<[Place; 4]>,
    is_waited_for: bool,
}

/// Runs the call: queues it, and waits for it if it works on memory of the host that is no device's of this context.
pub(super) fn run(device: &OpenCl, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
    let mut job = Job { device, places: SmallVec::new(), is_waited_for: false };
    let done = operands.iter().try_for_each(|operand| job.add(operand)).and_then(|()| job.start(call, operands));
    let last = device.driver.queue.given();
    job.places.iter().for_each(|place| place.first.storage.last_use.note(last));
    // A part of what failed may be queued, and others may be given the operands next.
    let is_to_end = job.is_waited_for || done.is_err() && operands.iter().any(Operand::is_host_memory);
    done.and(if is_to_end { job.end() } else { job.flush() })
}

impl<'a> Job<'a> {
    fn add(&mut self, operand: &Operand<'_>) -> Result<(), DeviceError> {
        let Span { address, rows } = *operand.span();
        let lent = || self.device.driver.peers.locate(address, rows.extent());
        let place = if !operand.is_host_memory() {
            let first = self.device.memory.locate(&self.device.info, Operation::Launch, operand.span())?;
            Place { first, rows, is_to_be_shown: false }
        } else if let Some(first) = lent() {
            Place { first, rows, is_to_be_shown: false }
        } else {
            let most = self.device.driver.facts.largest_buffer;
            memory::check_size(&self.device.info, Operation::Launch, rows.extent() as u64, most)?;
            self.is_waited_for = true;
            let start = NonNull::new(ptr::with_exposed_provenance_mut(address as usize)).unwrap_or(NonNull::dangling());
            // SAFETY: the operand's maker vouches for its rows until the launch has returned, and `end` waits for all that was
            // queued. Kernels touch the rows alone, not the gaps between them.
            let buffer = unsafe { self.device.driver.context.buffer_over(start, rows.extent()) };
            let storage = Storage::of(Arc::new(buffer.map_err(|code| self.failed(code))?));
            let first = blocks::Place::of(&Arc::new(storage), 0);
            Place { first, rows, is_to_be_shown: operand.role().writes() }
        };
        self.places.push(place);
        Ok(())
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.device.driver.queue.flush().map_err(|code| self.failed(code))
    }

    /// Waits for what was queued, and shows the host what was written to its memory. Whatever fails, it waits.
    fn end(&self) -> Result<(), DeviceError> {
        let queue = &self.device.driver.queue;
        let mut shown = self.places.iter().filter(|place| place.is_to_be_shown);
        let done = shown.try_for_each(|place| queue.show(place.first.buffer(), place.rows.extent()));
        done.and(queue.finish()).map_err(|code| self.failed(code))?;
        self.device.check(Operation::Launch)
    }

    pub(super) fn failed(&self, code: super::Code) -> DeviceError {
        super::failed(&self.device.info, Operation::Launch, code)
    }

    pub(super) fn refuse(&self, kind: DeviceErrorKind, message: String) -> DeviceError {
        DeviceError::new(&self.device.info, Operation::Launch, kind, message)
    }

    pub(super) fn place(&self, i: usize) -> Result<&Place, DeviceError> {
        let missing = || self.refuse(DeviceErrorKind::Invalid, format!("operand {i} is missing"));
        self.places.get(i).ok_or_else(missing)
    }

    /// A place as two arguments: its buffer, and its layout in elements of `size` bytes.
    pub(super) fn push<'p>(&self, args: &mut Args<'p>, place: &'p Place, size: usize) -> Result<(), DeviceError> {
        let Rows { rows, row_bytes, pitch } = place.rows;
        let (row, pitch) = if place.rows.is_run() || rows == 0 { (0, 0) } else { (row_bytes, pitch) };
        let blocks::Place { storage, offset } = &place.first;
        if let Some(bytes) = [*offset, row, pitch].into_iter().find(|bytes| !bytes.is_multiple_of(size)) {
            let message = format!("an operand lies at {bytes} bytes, which is no multiple of an element's {size}");
            return Err(self.refuse(DeviceErrorKind::Invalid, message));
        }
        args.push(storage.shared.as_ref().map_or(Arg::Buffer(&storage.buffer), |shared| Arg::Shared(shared, 0)));
        args.push(Arg::of([*offset, row, pitch, 0].map(|bytes| (bytes / size) as u64)));
        Ok(())
    }

    /// The first operands, of elements of these sizes.
    fn args(&self, sizes: &[usize]) -> Result<Args<'_>, DeviceError> {
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
                let out = usize::from(!scale.in_place);
                self.map(kernel, (0, size), (out, size), scale.len, [scale.factor.re, scale.factor.im])
            }
            Call::Magnitude(len) => self.map("magnitude", (0, 8), (1, 4), *len, [0.0; 2]),
            Call::Decide(Decide { constellation, len }) => {
                let kernel = match constellation {
                    Constellation::Bpsk => "bpsk",
                    Constellation::Qam16 => "qam16",
                };
                self.map(kernel, (0, 8), (1, 4), *len, [Constellation::QAM16_LIMIT, 0.0])
            }
            Call::ArgMax(len) => self.arg_max(*len),
            Call::Gemm(gemm) => self.gemm(gemm),
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

    /// One operand to another, element by element. Both may be the same.
    fn map(
        &self,
        kernel: &'static str,
        (x, size): (usize, usize),
        (out, out_size): (usize, usize),
        len: usize,
        factor: [f32; 2],
    ) -> Result<(), DeviceError> {
        let mut args = Args::new();
        self.push(&mut args, self.place(x)?, size)?;
        self.push(&mut args, self.place(out)?, out_size)?;
        args.extend([count_of(len), Arg::of(factor)]);
        self.each(Family::Elements, kernel, &args, len)
    }

    fn transpose(&self, t: &Transpose) -> Result<(), DeviceError> {
        let complex = if t.conjugate { "transpose_conjugate" } else { "transpose_complex" };
        let (kernel, size) = by_sample(t.sample, ["transpose_real", complex]);
        let mut args = self.args(&[size; 2])?;
        args.extend([t.rows, t.cols].map(count_of));
        let range = Range { global: &[t.cols.next_multiple_of(8), t.rows.next_multiple_of(8)], local: Some(&[8, 8]) };
        self.submit(Family::Rows, kernel, &args, range)
    }

    fn arg_max(&self, len: usize) -> Result<(), DeviceError> {
        let groups = len.div_ceil(GROUP * SEARCHED).clamp(1, PARTS);
        let [parts, largest] = [(0, PARTS * 8), (1, PARTS * 4)].map(|(i, bytes)| self.scratch(i, bytes));
        let (parts, largest) = (parts?, largest?);
        let mut args = self.args(&[4])?;
        args.extend([count_of(len), Arg::Buffer(&parts), Arg::Buffer(&largest)]);
        let range = Range { global: &[groups * GROUP], local: Some(&[GROUP]) };
        self.submit(Family::ArgMax, "arg_max_parts", &args, range)?;
        let mut args = Args::from_iter([Arg::Buffer(&parts), Arg::Buffer(&largest), Arg::of(groups as u32)]);
        self.push(&mut args, self.place(1)?, 8)?;
        self.submit(Family::ArgMax, "arg_max", &args, Range { global: &[GROUP], local: Some(&[GROUP]) })
    }

    fn gemm(&self, g: &Gemm) -> Result<(), DeviceError> {
        let (kernel, size) = by_sample(g.sample, ["gemm_real", "gemm_complex"]);
        let mut args = self.args(&[size; 3])?;
        args.extend([g.rows, g.inner, g.cols].map(count_of));
        let range = Range { global: &[g.cols.next_multiple_of(GROUP), g.rows.div_ceil(4)], local: Some(&[GROUP, 1]) };
        self.submit(Family::Sums, kernel, &args, range)
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
            return self.copy(
                (from.first.buffer(), from.first.offset, &from.rows),
                (to.first.buffer(), to.first.offset, &to.rows),
            );
        }
        // Rows of one may be of another length than those of the other.
        let are_words = from.is_of(4) && to.is_of(4);
        let (kernel, unit) = if are_words { ("copy_words", 4) } else { ("copy_bytes", 1) };
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
        let pattern = self.device.driver.context.buffer_of(&fill.pattern).map_err(|code| self.failed(code))?;
        let mut args = self.args(&[unit])?;
        let size = (fill.pattern.len() / unit) as u32;
        args.extend([Arg::Buffer(&pattern), Arg::of(size), count_of(bytes / unit)]);
        self.each(Family::Rows, kernel, &args, bytes / unit)
    }

    pub(super) fn copy(&self, from: (&Buffer, usize, &Rows), to: (&Buffer, usize, &Rows)) -> Result<(), DeviceError> {
        memory::copy(&self.device.driver, from, to).map_err(|code| self.failed(code))
    }

    /// Queues a built-in kernel with an item for each of `count` elements.
    pub(super) fn each(&self, family: Family, kernel: &str, args: &[Arg<'_>], count: usize) -> Result<(), DeviceError> {
        let range = Range { global: &[count.next_multiple_of(GROUP)], local: Some(&[GROUP]) };
        self.submit(family, kernel, args, range)
    }

    /// Queues a built-in kernel.
    pub(super) fn submit(
        &self,
        family: Family,
        kernel: &str,
        args: &[Arg<'_>],
        range: Range<'_>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the kernels in `kernels/` reach their operands by the layouts that `push` makes, of elements below the counts
        // of the call, which has been checked to fit its operands; scratch has the size that its user says. All of that
        // lies in buffers that hold it (`locate`, `add`, `scratch`).
        unsafe { self.queue(family, family.source(), kernel, args, range) }
    }

    /// Queues a kernel of the user's, who has vouched for it (`on_opencl`).
    pub(super) fn submit_user(
        &self,
        op: &UserOp,
        ClKernel { source, name, .. }: &ClKernel,
        args: &[Arg<'_>],
        range: Range<'_>,
    ) -> Result<(), DeviceError> {
        self.device.programs.lock().expect(op);
        // SAFETY: the user's, for operands that the op's shape rule lets pass; each is in a buffer that holds all of it (`user`).
        unsafe { self.queue(Family::User(op.id()), source, name, args, range) }
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// As [`Queue::run`](super::queue::Queue::run).
    unsafe fn queue(
        &self,
        family: Family,
        source: &str,
        kernel: &str,
        args: &[Arg<'_>],
        range: Range<'_>,
    ) -> Result<(), DeviceError> {
        let driver = &self.device.driver;
        let mut programs = self.device.programs.lock();
        let built = programs.kernel(driver, family, source, kernel);
        // It would not do elsewhere what its author meant; a built-in one that does not build here has others.
        let kind = if let Family::User(_) = family { DeviceErrorKind::Kernel } else { DeviceErrorKind::Failed };
        let built = built.map_err(|why| self.refuse(kind.clone(), format!("kernel {kernel}: {why}")))?;
        // SAFETY: the caller's.
        let queued = unsafe { driver.queue.run(built, args, range) };
        queued.map_err(|code| match code.0 {
            CL_INVALID_KERNEL_ARGS | CL_INVALID_ARG_INDEX | CL_INVALID_ARG_SIZE | CL_INVALID_ARG_VALUE => {
                self.refuse(kind.clone(), format!("kernel {kernel} takes other arguments than it is given: {code}"))
            }
            CL_INVALID_WORK_GROUP_SIZE => {
                self.refuse(kind.clone(), format!("kernel {kernel} cannot run in such groups: {code}"))
            }
            _ => self.failed(code),
        })?;
        Ok(())
    }

    /// The `i`-th room for what a call needs beside its operands, of `bytes` bytes at least.
    pub(super) fn scratch(&self, i: usize, bytes: usize) -> Result<Arc<Buffer>, DeviceError> {
        let made = self.device.scratch.lock().room(i, bytes, |bytes| self.device.driver.context.buffer(bytes));
        made.map_err(|code| {
            let message = format!("no room for {bytes} bytes beside the operands: the OpenCL driver says {code}");
            self.refuse(DeviceErrorKind::Failed, message)
        })
    }
}

fn count_of(count: usize) -> Arg<'static> {
    Arg::of(count as u64)
}

/// The kernel for a type of samples, and the bytes of one.
fn by_sample(sample: SampleType, [real, complex]: [&'static str; 2]) -> (&'static str, usize) {
    match sample {
        SampleType::Real => (real, 4),
        SampleType::Complex => (complex, 8),
    }
}
