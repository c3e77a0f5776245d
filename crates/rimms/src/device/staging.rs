//! Staging: plain, aligned host memory for the operands of one launch.
//!
//! For kernels that cannot work where the operands lie: on tiles, or in a
//! memory that is reached by load and store only.

use super::{DeviceError, DeviceErrorKind, DeviceInfo, Operand, Operation};
use crate::op::KernelArgs;
use bytemuck::{Pod, Zeroable};

/// A cache line: staged operands start on one, so they are aligned for every element type.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// What no kernel has written reads as NaN.
const POISON: Line = Line([u64::MAX; 8]);

/// Room for each operand, poisoned.
pub(super) struct Staged<'a> {
    operands: &'a [Operand<'a>],
    room: Vec<Vec<Line>>,
}

impl<'a> Staged<'a> {
    /// # Errors
    /// Where the host has no room.
    pub(super) fn new(info: &DeviceInfo, operands: &'a [Operand<'a>]) -> Result<Self, DeviceError> {
        let mut room = Vec::with_capacity(operands.len());
        for operand in operands {
            let bytes = operand.span().rows.bytes();
            let lines = bytes.div_ceil(size_of::<Line>());
            let mut block = Vec::new();
            block.try_reserve_exact(lines).map_err(|_| {
                let message = format!("the host has no room to stage {bytes} bytes");
                DeviceError::new(info, Operation::Launch, DeviceErrorKind::Failed, message)
            })?;
            block.resize(lines, POISON);
            room.push(block);
        }
        Ok(Self { operands, room })
    }

    /// Each operand with its bytes here.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&'a Operand<'a>, &mut [u8])> {
        self.operands.iter().zip(&mut self.room).map(|(operand, block)| {
            let bytes = bytemuck::cast_slice_mut::<Line, u8>(block);
            (operand, &mut bytes[..operand.span().rows.bytes()])
        })
    }

    /// As a kernel takes them.
    pub(super) fn args(&mut self) -> KernelArgs<'_> {
        let mut args = KernelArgs::new();
        for (operand, bytes) in self.iter_mut() {
            args.push(operand.role(), bytes);
        }
        args
    }
}
