//! Where the system keeps DMA buffers: device files, and what sysfs says of them.
//!
//! The convention is u-dma-buf's: `/dev/NAME` is mapped; its class in sysfs, which is spelt `u-dma-buf` or, in older
//! drivers, `udmabuf`, says where it lies in physical memory, how large it is, and takes requests for cache maintenance.
//! All paths begin at a root, so that tests can have a system of their own.

use super::maintenance::Sysfs;
use super::mapping::Mapping;
use super::{DmaBuffer, UdmaError};
use rustix::fs::{Mode, OFlags, open};
use std::path::{Path, PathBuf};

/// The spellings of the class.
const CLASSES: [&str; 2] = ["sys/class/u-dma-buf", "sys/class/udmabuf"];

/// How the CPU reaches a buffer.
///
/// ```
/// use rimms::device::udma::Caching;
/// assert_eq!(Caching::default(), Caching::Cached);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// Through its caches, which are maintained where bytes change hands.
    #[default]
    Cached,
    /// Past them: nothing has to be maintained, and each access goes to memory. Needs a driver whose `sync_mode` lets
    /// it (1, 2, 3, 5, 6 or 7).
    Uncached,
}

/// A system's files.
///
/// ```no_run
/// use rimms::device::udma::{Caching, UdmaRoot};
/// let root = UdmaRoot::system();
/// for name in root.buffers() {
///     let buffer = root.open(&name, Caching::Cached)?;
///     println!("{name}: {} bytes at {:#x}", buffer.bytes(), buffer.physical());
/// }
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug, Clone)]
pub struct UdmaRoot(PathBuf);

impl UdmaRoot {
    /// This system's.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A system whose root is there.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    /// Names of the buffers there are, in order. None where the driver is not loaded.
    pub fn buffers(&self) -> Vec<String> {
        let entries = CLASSES.iter().filter_map(|class| std::fs::read_dir(self.0.join(class)).ok()).flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Opens a buffer.
    ///
    /// # Errors
    /// [`UdmaError`]: no such buffer; a file that cannot be opened (mostly for want of rights) or mapped; an attribute that
    /// makes no sense; a driver whose `sync_mode` has the caches on whatever one asks for.
    pub fn open(&self, name: &str, caching: Caching) -> Result<DmaBuffer, UdmaError> {
        let class =
            CLASSES.iter().map(|class| self.0.join(class).join(name)).find(|class| plain_name(name) && class.is_dir());
        let class = class
            .ok_or_else(|| UdmaError::NoSuchBuffer { name: name.into(), known: self.buffers().join(", ").into() })?;
        let physical = number(&class.join("phys_addr"))?;
        let size_file = class.join("size");
        let bytes = usize::try_from(number(&size_file)?).ok().filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or_else(|| UdmaError::odd(&size_file, "a size above 0 is wanted"))?;
        let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
        if caching == Caching::Uncached {
            let file = class.join("sync_mode");
            let mode = number(&file)?;
            if !matches!(mode, 1..=3 | 5..=7) {
                let why = format!("it is {mode}, which keeps the caches on: write 1 to it, or open the buffer cached");
                return Err(UdmaError::odd(&file, why));
            }
            flags |= OFlags::SYNC;
        }
        let path = self.0.join("dev").join(name);
        let file = open(&path, flags, Mode::empty()).map_err(|e| UdmaError::io("open", &path, e.into()))?;
        let mapping = Mapping::new(&path, file, 0, bytes)?;
        // Older drivers do not say, since they have none that is.
        let is_coherent = number(&class.join("dma_coherent")).is_ok_and(|n| n != 0);
        let buffer = DmaBuffer::new(name, mapping, physical);
        Ok(match is_coherent || caching == Caching::Uncached {
            true => buffer,
            false => buffer.maintained(Sysfs::open(&class)?),
        })
    }
}

/// No path to somewhere else.
pub(super) fn plain_name(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

/// A number in a file, in decimal, or in hexadecimal after 0x.
fn number(path: &Path) -> Result<u64, UdmaError> {
    let text = std::fs::read_to_string(path).map_err(|e| UdmaError::io("read", path, e))?;
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| UdmaError::odd(path, format!("a number is wanted, it says {text:?}")))
}
