//! Commands: copies and kernels, queued on a device's one stream, in order.
//!
//! Device addresses are found to lie in live blocks before they get here ([`memory`](super::memory)); pointers into the host's memory
//! are as the caller vouches.
#![allow(unsafe_code)]

use super::library::{CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUmemorytype, Result};
use super::module::Function;
use super::raw::{Context, Stream, done};
use crate::device::Rows;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// An argument of a kernel: its bytes.
pub(super) type Arg = SmallVec<[u8; 32]>;

/// The argument of this value.
pub(super) fn arg<T: bytemuck::NoUninit>(value: T) -> Arg {
    Arg::from_slice(bytemuck::bytes_of(&value))
}

/// Blocks and threads of a launch, in three dimensions, and bytes of shared memory of each block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
}

/// The longest way from row to row that the driver copies at once.
const LONGEST_PITCH: usize = i32::MAX as usize;

/// What one command copies: so many bytes, or rows, from here on.
struct Part<'r> {
    at: usize,
    /// On the other side.
    other: usize,
    bytes: usize,
    rows: Option<&'r Rows>,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) stream: Stream,
    context: Arc<Context>,
}

impl Queue {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self { stream: Stream::new(context)?, context: context.clone() })
    }

    pub(super) fn finish(&self) -> Result<()> {
        self.stream.finish()
    }

    /// Host → device: rows without gaps, from pinned memory.
    ///
    /// # Safety
    /// `from` holds all rows, unchanged until the command is over.
    pub(super) unsafe fn write_later(&self, from: *const u8, to: u64, rows: &Rows) -> Result<()> {
        self.each(rows, &packed(rows), |Part { at, other, bytes, rows }| {
            // SAFETY: inside what the caller vouches for.
            let (from, to) = (unsafe { from.add(other) }.cast::<c_void>(), to + at as u64);
            let driver = self.context.driver();
            match rows {
                // SAFETY: as above.
                None => unsafe { (driver.cuMemcpyHtoDAsync_v2)(to, from, bytes, self.stream.raw()) },
                // SAFETY: as above.
                Some(rows) => unsafe {
                    let mut copy = description(rows);
                    (copy.srcMemoryType, copy.srcHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, from);
                    (copy.dstDevice, copy.srcPitch) = (to, rows.row_bytes);
                    (driver.cuMemcpy2DAsync_v2)(&copy, self.stream.raw())
                },
            }
        })
    }

    /// Device → host: rows without gaps, to pinned memory.
    ///
    /// # Safety
    /// `to` has room for all rows, which nobody else touches until the command is over.
    pub(super) unsafe fn read_later(&self, from: u64, to: *mut u8, rows: &Rows) -> Result<()> {
        self.each(rows, &packed(rows), |Part { at, other, bytes, rows }| {
            // SAFETY: inside what the caller vouches for.
            let (from, to) = (from + at as u64, unsafe { to.add(other) }.cast::<c_void>());
            let driver = self.context.driver();
            match rows {
                // SAFETY: as above.
                None => unsafe { (driver.cuMemcpyDtoHAsync_v2)(to, from, bytes, self.stream.raw()) },
                // SAFETY: as above.
                Some(rows) => unsafe {
                    let mut copy = description(rows);
                    (copy.dstMemoryType, copy.dstHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, to);
                    (copy.srcDevice, copy.dstPitch) = (from, rows.row_bytes);
                    (driver.cuMemcpy2DAsync_v2)(&copy, self.stream.raw())
                },
            }
        })
    }

    /// From one place of the device to another, of the same shape.
    pub(super) fn copy(&self, from: (u64, &Rows), to: (u64, &Rows)) -> Result<()> {
        let ((from, from_rows), (to, rows)) = (from, to);
        self.each(rows, from_rows, |Part { at, other, bytes, rows }| {
            let (from, to) = (from + other as u64, to + at as u64);
            let driver = self.context.driver();
            match rows {
                // SAFETY: device memory of ours.
                None => unsafe { (driver.cuMemcpyDtoDAsync_v2)(to, from, bytes, self.stream.raw()) },
                // SAFETY: as above.
                Some(rows) => unsafe {
                    let mut copy = description(rows);
                    (copy.srcDevice, copy.srcPitch, copy.dstDevice) = (from, from_rows.pitch, to);
                    (driver.cuMemcpy2DAsync_v2)(&copy, self.stream.raw())
                },
            }
        })
    }

    /// The same from another device's memory.
    pub(super) fn copy_from(&self, peer: &Context, from: (u64, &Rows), to: (u64, &Rows)) -> Result<()> {
        let ((from, from_rows), (to, rows)) = (from, to);
        self.each(rows, from_rows, |Part { at, other, bytes, rows }| {
            let (from, to) = (from + other as u64, to + at as u64);
            let (driver, here) = (self.context.driver(), self.context.raw());
            match rows {
                // SAFETY: memory of both devices, in live blocks.
                None => unsafe { (driver.cuMemcpyPeerAsync)(to, here, from, peer.raw(), bytes, self.stream.raw()) },
                // SAFETY: as above.
                Some(rows) => unsafe {
                    let mut copy = peer_description(rows);
                    (copy.srcDevice, copy.srcContext, copy.srcPitch) = (from, peer.raw(), from_rows.pitch);
                    (copy.dstDevice, copy.dstContext) = (to, here);
                    (driver.cuMemcpy3DPeerAsync)(&copy, self.stream.raw())
                },
            }
        })
    }

    /// One command for all rows, or one for each.
    fn each(&self, rows: &Rows, other: &Rows, copy: impl Fn(Part<'_>) -> u32) -> Result<()> {
        if rows.bytes() == 0 {
            return Ok(());
        }
        let _here = self.context.enter()?;
        if rows.is_run() && other.is_run() {
            return done(copy(Part { at: 0, other: 0, bytes: rows.bytes(), rows: None }));
        }
        if rows.pitch.max(other.pitch) <= LONGEST_PITCH {
            return done(copy(Part { at: 0, other: 0, bytes: rows.bytes(), rows: Some(rows) }));
        }
        let row = |i| Part { at: i * rows.pitch, other: i * other.pitch, bytes: rows.row_bytes, rows: None };
        (0..rows.rows).try_for_each(|i| done(copy(row(i))))
    }

    /// A kernel.
    ///
    /// # Safety
    /// The kernel takes arguments of these sizes, and reads and writes nothing with them but what is in live blocks, or in scratch
    /// that lives until the command is over.
    pub(super) unsafe fn run(&self, function: Function, args: &[Arg], range: Range) -> Result<()> {
        let Range { grid, block, shared } = range;
        let mut params: SmallVec<[*mut c_void; 16]> = args.iter().map(|arg| arg.as_ptr().cast_mut().cast()).collect();
        let _here = self.context.enter()?;
        // SAFETY: the caller's; arguments are copied in the call.
        done(unsafe {
            (self.context.driver().cuLaunchKernel)(
                function.0,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                self.stream.raw(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }
}

/// Rows of as many bytes, without gaps.
pub(super) const fn packed(rows: &Rows) -> Rows {
    Rows { pitch: rows.row_bytes, ..*rows }
}

/// A copy of such rows, from device to device unless it is told otherwise; the rows are the target's.
fn description(rows: &Rows) -> CUDA_MEMCPY2D {
    let mut copy = MaybeUninit::<CUDA_MEMCPY2D>::zeroed();
    let place = copy.as_mut_ptr();
    // SAFETY: inside what is ours.
    unsafe {
        (&raw mut (*place).srcMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
        (&raw mut (*place).dstMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
    }
    // SAFETY: all else is numbers and pointers, which may be 0.
    let copy = unsafe { copy.assume_init() };
    CUDA_MEMCPY2D {
        srcPitch: rows.pitch,
        dstPitch: rows.pitch,
        WidthInBytes: rows.row_bytes,
        Height: rows.rows,
        ..copy
    }
}

/// The same between two devices.
fn peer_description(rows: &Rows) -> CUDA_MEMCPY3D_PEER {
    let mut copy = MaybeUninit::<CUDA_MEMCPY3D_PEER>::zeroed();
    let place = copy.as_mut_ptr();
    // SAFETY: inside what is ours.
    unsafe {
        (&raw mut (*place).srcMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
        (&raw mut (*place).dstMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
    }
    // SAFETY: all else is numbers and pointers, which may be 0.
    let copy = unsafe { copy.assume_init() };
    CUDA_MEMCPY3D_PEER {
        srcHeight: rows.rows,
        dstPitch: rows.pitch,
        dstHeight: rows.rows,
        WidthInBytes: rows.row_bytes,
        Height: rows.rows,
        Depth: 1,
        ..copy
    }
}
