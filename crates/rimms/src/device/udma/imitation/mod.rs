//! A system with a DMA buffer, an AXI DMA and a block for FFTs, all in software: for tests, and for a look before there is
//! a board.
//!
//! Files stand for the device and its attributes ([`System::root`]). Memory and the CPU's caches are two ([`caches`]): what
//! the CPU writes gets to memory when it is written back, and an accelerator's results get to the CPU when its caches
//! forget what they had. A request that is missing shows as a wrong result, and each is counted. The [`engine`] is a model at the level
//! of registers, in which any access may go wrong.

mod caches;
mod engine;

pub use caches::{Maintained, Request};
pub use engine::{Engine, Fault, FftControl};

use super::axi::AxiFft;
use super::{Caching, DmaBuffer, Udma, UdmaError, UdmaRoot};
use caches::Caches;
use rimms_heap::HeapKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the buffer lies in the imitated memory: beyond what 32 bits say.
const PHYSICAL: u64 = 0x8_7000_0000;

/// The buffer's name.
const NAME: &str = "udmabuf0";

/// An imitated system.
///
/// ```
/// use rimms::{Complex32, Runtime};
/// use rimms::device::udma::imitation::System;
/// # let folder = tempfile::tempdir().unwrap();
/// let system = System::new(folder.path(), 1 << 20)?;
/// let rt = Runtime::builder().cpus(0).device(system.device("two-level".parse()?)?).build()?;
/// let (mut x, mut y) = (rt.alloc::<Complex32>(64)?, rt.alloc(64)?);
/// x.overwrite()?.fill(Complex32::ONE)?;
/// rt.fft(&x, &mut y)?;
/// assert_eq!(y.read()?[0].re, 64.0);
/// // x was written back for the accelerator, y forgotten for the CPU: 512 bytes each, and nothing else.
/// assert_eq!(system.maintained().iter().map(|r| r.range.end - r.range.start).sum::<u64>(), 1024);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct System {
    root: PathBuf,
    caches: Arc<Caches>,
    engine: Arc<Engine>,
}

impl System {
    /// A system with its files in this folder, and a buffer of so many bytes.
    ///
    /// # Errors
    /// Where the files cannot be written or mapped.
    pub fn new(folder: &Path, bytes: u64) -> Result<Self, UdmaError> {
        let class = folder.join("sys/class/u-dma-buf").join(NAME);
        let make = |path: &Path, text: &str| {
            let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            folder.and_then(|()| std::fs::write(path, text)).map_err(|e| UdmaError::io("write", path, e))
        };
        for (name, text) in [
            ("phys_addr", format!("{PHYSICAL:#018x}\n")),
            ("size", format!("{bytes}\n")),
            ("sync_mode", "1\n".into()),
            ("dma_coherent", "0\n".into()),
            ("sync_for_cpu", String::new()),
            ("sync_for_device", String::new()),
        ] {
            make(&class.join(name), &text)?;
        }
        let device = folder.join("dev").join(NAME);
        make(&device, "")?;
        let sized = std::fs::OpenOptions::new().write(true).open(&device).and_then(|file| file.set_len(bytes));
        sized.map_err(|e| UdmaError::io("size", &device, e))?;
        let caches = Arc::new(Caches::new(UdmaRoot::at(folder).open(NAME, Caching::Cached)?));
        let engine = Arc::new(Engine::new(caches.clone(), PHYSICAL));
        Ok(Self { root: folder.into(), caches, engine })
    }

    /// Its files.
    pub fn root(&self) -> UdmaRoot {
        UdmaRoot::at(&self.root)
    }

    /// Its buffer, whose caches are the imitated ones.
    ///
    /// # Errors
    /// As [`UdmaRoot::open`].
    pub fn buffer(&self) -> Result<DmaBuffer, UdmaError> {
        Ok(self.root().open(NAME, Caching::Cached)?.maintained(Maintained(self.caches.clone())))
    }

    /// The buffer under this marking system, with the block for FFTs as `fft0`.
    ///
    /// # Errors
    /// As [`UdmaRoot::open`] and [`Udma::new`].
    pub fn device(&self, heap: HeapKind) -> Result<Udma, UdmaError> {
        let fft = AxiFft::new(self.dma_registers(), self.fft_registers()).with_length_bits(23);
        Ok(Udma::new(self.buffer()?, heap)?.with("fft0", fft))
    }

    /// The DMA engine's registers.
    pub fn dma_registers(&self) -> Arc<Engine> {
        self.engine.clone()
    }

    /// The block's own.
    pub fn fft_registers(&self) -> FftControl {
        FftControl(self.engine.clone())
    }

    /// All requests for cache maintenance until now.
    pub fn maintained(&self) -> Vec<Request> {
        self.caches.requests()
    }
}
