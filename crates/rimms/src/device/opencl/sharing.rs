//! Whether copies pay: what it costs to work on the host's memory where it lies, beside copying in and out.
//!
//! Owns [`Sharing`], measured when first asked for, in some milliseconds: no kernel is built or run for that, only what
//! comes before and after kernels is compared. That is for two calls, one after the other, as in `rimms bench chain`.
#![allow(unsafe_code)] // for a buffer over the host's memory

use super::OpenCl;
use super::raw::Result as Raw;
use crate::device::{Device, DeviceError, HostSource, HostTarget, Operation, Span};
use std::ptr::NonNull;
use std::time::Instant;

/// What is measured.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// How often. The median counts.
const ROUNDS: usize = 5;

/// What copying and mapping cost on a device that shares the host's memory. Made by [`OpenCl::sharing`].
///
/// ```
/// use rimms::device::opencl;
/// for device in opencl::find().devices {
///     if let Some(sharing) = device.sharing() {
///         println!("mapping pays from {:?} bytes on", sharing.mapping_pays_from());
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Sharing {
    /// By size.
    pub costs: Vec<SharingCost>,
}

/// What one size costs, for a chain of two calls: one operand in, one between, one out.
#[derive(Debug, Clone, Copy)]
pub struct SharingCost {
    /// Bytes of each operand.
    pub bytes: usize,
    /// Nanoseconds to copy the first one in and the last one out.
    pub copied_ns: f64,
    /// Nanoseconds to give the driver the operands where they lie, and to map what was written.
    pub mapped_ns: f64,
}

impl Sharing {
    /// From how many bytes on mapping costs less than copying, if it does for the largest that were measured. (Memory that the
    /// device has lent costs neither.)
    pub fn mapping_pays_from(&self) -> Option<usize> {
        let pays = |cost: &&SharingCost| cost.mapped_ns < cost.copied_ns;
        self.costs.iter().rev().take_while(pays).last().map(|cost| cost.bytes)
    }

    /// # Errors
    /// Where an operation fails.
    pub(super) fn measure(device: &OpenCl) -> Result<Self, DeviceError> {
        let costs = SIZES.iter().map(|bytes| SharingCost::measure(device, *bytes));
        Ok(Self { costs: costs.collect::<Result<_, _>>()? })
    }
}

impl SharingCost {
    fn measure(device: &OpenCl, bytes: usize) -> Result<Self, DeviceError> {
        let (mut from, mut to) = (vec![0_u64; bytes / 8], vec![1_u64; bytes / 8]);
        let address = device.allocate(bytes as u64)?;
        let span = Span::run(address, bytes);
        let copied = median(|| {
            device.upload(&HostSource::from_slice(bytemuck::cast_slice(&from)), &span)?;
            device.download(&span, &mut HostTarget::from_slice(bytemuck::cast_slice_mut(&mut to)))
        });
        device.free(address)?;
        let mapped = median(|| {
            let done = [&mut from, &mut to].into_iter().try_for_each(|x| map(device, bytemuck::cast_slice_mut(x)));
            done.map_err(|code| super::failed(&device.info, Operation::Launch, code))
        });
        Ok(Self { bytes, copied_ns: copied?, mapped_ns: mapped? })
    }
}

/// What a call on the host's memory asks of the driver beside its kernel: two operands, one of them written.
fn map(device: &OpenCl, bytes: &mut [u8]) -> Raw<()> {
    let (context, queue) = (&device.driver.context, &device.driver.queue);
    let (start, len) = (NonNull::from(&mut *bytes).cast(), bytes.len());
    // SAFETY: the bytes are borrowed until all commands are over, whatever fails; none of these writes any.
    let [read, written] = [(); 2].map(|()| unsafe { context.buffer_over(start, len) });
    let (_read, written) = (read?, written?);
    queue.show(&written, len).and(queue.finish())
}

/// Nanoseconds.
fn median(mut operation: impl FnMut() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    let mut times = [0.0; ROUNDS];
    operation()?; // what is made on first use
    for time in &mut times {
        let start = Instant::now();
        operation()?;
        *time = start.elapsed().as_nanos() as f64;
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(ROUNDS / 2).copied().unwrap_or_default())
}
