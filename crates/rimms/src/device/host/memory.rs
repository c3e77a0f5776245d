//! Blocks that are asked of the host as of any device.
//!
//! Data do not use these (their host storage is their own); they exist so that
//! the host keeps the whole contract, e.g. as a staging place. Every block is
//! known by its address, so what does not lie in a live block is refused.

use super::raw::{self, RawBlock};
use crate::device::{DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Operation, Span, Usage};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;

type Blocks = BTreeMap<u64, RawBlock>;

/// The live blocks by address.
#[derive(Default, Debug)]
pub(super) struct HostMemory(Mutex<Blocks>);

fn invalid(info: &DeviceInfo, operation: Operation, address: u64) -> DeviceError {
    let message = format!("no live block of the host holds all of what starts at {address:#x}");
    DeviceError::new(info, operation, DeviceErrorKind::Invalid, message)
}

impl HostMemory {
    pub(super) fn allocate(&self, info: &DeviceInfo, bytes: u64) -> Result<u64, DeviceError> {
        let block = usize::try_from(bytes).ok().and_then(RawBlock::new).ok_or_else(|| {
            let kind = DeviceErrorKind::Full { wanted: bytes, free: 0, capacity: 0 };
            DeviceError::new(info, Operation::Allocate, kind, format!("the system has no room for {bytes} bytes"))
        })?;
        let address = block.address();
        self.0.lock().insert(address, block);
        Ok(address)
    }

    pub(super) fn free(&self, info: &DeviceInfo, address: u64) -> Result<(), DeviceError> {
        let block = self.0.lock().remove(&address);
        block.map(drop).ok_or_else(|| invalid(info, Operation::Free, address))
    }

    pub(super) fn usage(&self) -> Usage {
        let blocks = self.0.lock();
        let used = blocks.values().map(|b| b.bytes() as u64).sum();
        Usage { used, blocks: blocks.len() as u64, ..Usage::default() }
    }

    /// The blocks, locked, once `span` is known to lie in one of them: a block
    /// cannot be freed while its bytes move.
    fn holding(
        &self,
        info: &DeviceInfo,
        operation: Operation,
        spans: &[&Span],
    ) -> Result<MutexGuard<'_, Blocks>, DeviceError> {
        let blocks = self.0.lock();
        for span in spans {
            let end = (span.rows.extent() as u64).checked_add(span.address);
            let inside = blocks
                .range(..=span.address)
                .next_back()
                .is_some_and(|(start, block)| end.is_some_and(|end| end <= start + block.bytes() as u64));
            if !inside {
                return Err(invalid(info, operation, span.address));
            }
        }
        Ok(blocks)
    }

    pub(super) fn write(&self, info: &DeviceInfo, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Upload, from.rows(), &to.rows)?;
        let _blocks = self.holding(info, Operation::Upload, &[to])?;
        for i in 0..to.rows.rows {
            raw::write(to.row(i), from.row(i));
        }
        Ok(())
    }

    pub(super) fn read(&self, info: &DeviceInfo, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Download, &from.rows, to.rows())?;
        let _blocks = self.holding(info, Operation::Download, &[from])?;
        for i in 0..from.rows.rows {
            raw::read(from.row(i), to.row(i));
        }
        Ok(())
    }

    pub(super) fn copy(&self, info: &DeviceInfo, from: &Span, to: &Span) -> Result<(), DeviceError> {
        DeviceError::check_shapes(info, Operation::Copy, &from.rows, &to.rows)?;
        let _blocks = self.holding(info, Operation::Copy, &[from, to])?;
        for i in 0..from.rows.rows {
            raw::copy(from.row(i), to.row(i), from.rows.row_bytes);
        }
        Ok(())
    }
}
