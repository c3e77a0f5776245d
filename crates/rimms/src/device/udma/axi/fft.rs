//! A block for FFTs behind the DMA engine.

use super::AxiDma;
use crate::device::udma::{Accelerator, AcceleratorError, PhysicalRange, Registers};
use crate::device::{Capability, Lengths, OpSupport};
use crate::op::{Call, Fft, OpKind};
use num_complex::Complex32;
use std::time::Instant;

/// The block's one register.
pub(in crate::device::udma) mod config {
    /// Where it is.
    pub(in crate::device::udma) const OFFSET: usize = 0;
    /// The logarithm of the number of points is in the lowest five bits.
    pub(in crate::device::udma) const POINTS: u32 = 0x1f;
    /// Set for a forward transform.
    pub(in crate::device::udma) const FORWARD: u32 = 1 << 8;
}

/// The fewest points the block does.
const FEWEST: usize = 8;

/// A streaming block for single-precision FFTs: complex samples in their natural order in and out, powers of two from 8
/// points on, the inverse without its division by n (which the CPU does).
///
/// Its register at offset 0 is the word of the FFT core's configuration channel (product guide PG109): the number of
/// points, as a power of two, in bits 0 to 4; bit 8 set for a forward transform.
///
/// ```
/// use rimms::device::udma::{Accelerator, axi::AxiFft, imitation::System};
/// # let folder = tempfile::tempdir().unwrap();
/// let system = System::new(folder.path(), 1 << 16)?;
/// let fft = AxiFft::new(system.dma_registers(), system.fft_registers());
/// assert_eq!(fft.capability().ops().unwrap()[0].lengths.max, 1024); // 8 KiB: twice that is more than 14 bits say
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug)]
pub struct AxiFft<D, C> {
    dma: AxiDma<D>,
    control: C,
    /// The largest transform the block was built for.
    points: usize,
}

impl<D: Registers, C: Registers> AxiFft<D, C> {
    /// The block behind the engine with these registers, and its own. It does all lengths that the engine can transfer.
    pub fn new(dma: D, control: C) -> Self {
        Self { dma: AxiDma::new(dma), control, points: usize::MAX }
    }

    /// With a DMA engine whose length register has so many bits.
    #[must_use]
    pub fn with_length_bits(self, bits: u32) -> Self {
        Self { dma: self.dma.with_length_bits(bits), ..self }
    }

    /// With a block that was built for so many points at most.
    #[must_use]
    pub fn with_points(self, points: usize) -> Self {
        Self { points, ..self }
    }

    fn most(&self) -> usize {
        let transferable = self.dma.most() as usize / size_of::<Complex32>();
        // The power of two at or below it.
        1 << transferable.min(self.points).max(1).ilog2()
    }
}

impl<D: Registers, C: Registers> Accelerator for AxiFft<D, C> {
    fn capability(&self) -> Capability {
        let lengths = Lengths { min: FEWEST, max: self.most(), power_of_two: true };
        Capability::only([OpSupport { kind: OpKind::Fft, sample: None, lengths }])
    }

    fn pieces(&self, call: &Call) -> usize {
        match call {
            Call::Fft(fft) => fft.rows,
            _ => 1,
        }
    }

    fn start(&mut self, call: &Call, ranges: &[PhysicalRange]) -> Result<(), AcceleratorError> {
        // In place there is one operand, which the block has read when it writes its first sample.
        let (Call::Fft(Fft { n, inverse, .. }), Some(from), Some(to)) = (call, ranges.first(), ranges.last()) else {
            return Err(AcceleratorError::stopped("the block does FFTs alone"));
        };
        let forward = if *inverse { 0 } else { config::FORWARD };
        let word = n.max(&1).ilog2() & config::POINTS | forward;
        self.control.write(config::OFFSET, word);
        let found = self.control.read(config::OFFSET);
        if found != word {
            let message =
                format!("the block does not take its configuration: {word:#x} was written, it says {found:#x}");
            return Err(AcceleratorError::stopped(message));
        }
        self.dma.start(from.address, to.address, from.bytes)
    }

    fn wait(&mut self, until: Instant) -> Result<(), AcceleratorError> {
        self.dma.wait(until)
    }

    fn factor_left(&self, call: &Call) -> Option<f32> {
        match call {
            Call::Fft(Fft { n, inverse: true, .. }) => Some(1.0 / *n as f32),
            _ => None,
        }
    }
}
