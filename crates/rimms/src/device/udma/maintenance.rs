//! Cache maintenance: what the CPU wrote is to be in memory before a device reads it, and what a device wrote is to be
//! read from there.
//!
//! | | the CPU's caches |
//! | --- | --- |
//! | for the device, to the device | are written back: it reads what the CPU wrote |
//! | for the device, from the device | forget, so that nothing is written back over what it writes |
//! | for the CPU, from the device | forget: the CPU reads what the device wrote |
//!
//! Who asks for a range asks for the bytes that moved, no more. The driver maintains whole cache lines; of those at the ends
//! it writes back what lies outside the range before it forgets them, so that neighbours lose nothing.

use super::UdmaError;
use parking_lot::Mutex;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Which way bytes go.
///
/// ```
/// use rimms::device::udma::Direction;
/// assert_eq!(Direction::FromDevice as u64, 2); // as the driver counts
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both.
    Both = 0,
    /// The device reads them.
    ToDevice = 1,
    /// The device writes them.
    FromDevice = 2,
}

/// Whose turn it is next.
///
/// ```
/// # use rimms::device::udma::Side;
/// assert_ne!(Side::Cpu, Side::Device);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The CPU's.
    Cpu,
    /// The device's.
    Device,
}

/// Maintains a buffer's caches.
///
/// ```
/// use rimms::device::udma::{Direction, Maintenance, Side};
/// use std::{io, ops::Range, sync::atomic::{AtomicU64, Ordering}};
/// #[derive(Debug, Default)]
/// struct Counted(AtomicU64); // on a coherent system, say
/// impl Maintenance for Counted {
///     fn maintain(&self, _: Side, _: Direction, range: Range<u64>) -> io::Result<()> {
///         self.0.fetch_add(range.end - range.start, Ordering::Relaxed);
///         Ok(())
///     }
/// }
/// Counted::default().maintain(Side::Device, Direction::ToDevice, 0..64)?;
/// # Ok::<(), io::Error>(())
/// ```
pub trait Maintenance: Send + Sync + fmt::Debug {
    /// Maintains these bytes of the buffer, before the other side uses them.
    ///
    /// # Errors
    /// Where the system refuses.
    fn maintain(&self, next: Side, direction: Direction, range: Range<u64>) -> io::Result<()>;
}

/// Bytes come in units of 16 in a request.
const UNIT: u64 = 16;

/// By the driver's attributes: one write of one word a request.
#[derive(Debug)]
pub(super) struct Sysfs {
    class: PathBuf,
    for_cpu: Mutex<File>,
    for_device: Mutex<File>,
}

impl Sysfs {
    pub(super) fn open(class: &Path) -> Result<Self, UdmaError> {
        let attribute = |name| {
            let path = class.join(name);
            let file = OpenOptions::new().write(true).open(&path);
            file.map(Mutex::new).map_err(|e| UdmaError::io("open for writing", &path, e))
        };
        let (for_cpu, for_device) = (attribute("sync_for_cpu")?, attribute("sync_for_device")?);
        Ok(Self { class: class.into(), for_cpu, for_device })
    }
}

impl Maintenance for Sysfs {
    fn maintain(&self, next: Side, direction: Direction, range: Range<u64>) -> io::Result<()> {
        let file = match next {
            Side::Cpu => &self.for_cpu,
            Side::Device => &self.for_device,
        };
        for request in requests(range, direction)? {
            // One system call: the driver takes each for a request of its own.
            let text = format!("{request:#018x}\n");
            file.lock()
                .write_all(text.as_bytes())
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", self.class.display())))?;
        }
        Ok(())
    }
}

/// The words that ask for this range: offset in bits 32 to 63, size in 4 to 31, direction in 2 and 3, and bit 0.
fn requests(range: Range<u64>, direction: Direction) -> io::Result<impl Iterator<Item = u64>> {
    /// The most that one word can say.
    const MOST: u64 = (1 << 32) - UNIT;
    let (start, end) = (range.start / UNIT * UNIT, range.end.next_multiple_of(UNIT));
    if end > 1 << 32 {
        let why = "a request for cache maintenance reaches no further than 4 GiB into a buffer: use several buffers";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let steps = (start..end).step_by(MOST as usize);
    Ok(steps.map(move |at| at << 32 | (end - at).min(MOST) | (direction as u64) << 2 | 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_offset_size_and_direction() {
        let words = |range, direction| requests(range, direction).unwrap().collect::<Vec<_>>();
        assert_eq!(words(0x40..0x140, Direction::ToDevice), [0x40_0000_0105]);
        assert_eq!(words(0x43..0x45, Direction::FromDevice), [0x40_0000_0019], "whole units around it");
        assert_eq!(words(0..0, Direction::Both).len(), 0);
        assert_eq!(words(0..1 << 32, Direction::Both).len(), 2, "what one word cannot say");
        assert!(requests(0..(1 << 32) + 1, Direction::Both).is_err());
    }
}
