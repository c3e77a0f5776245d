//! The DMA engine's register sequence.

use crate::device::udma::{AcceleratorError, Registers};
use std::time::{Duration, Instant};

/// Where the registers are: of the channel that reads memory, and of the one that writes it.
pub(in crate::device::udma) mod offset {
    pub(in crate::device::udma) const READER: usize = 0x00;
    pub(in crate::device::udma) const WRITER: usize = 0x30;
    pub(in crate::device::udma) const CONTROL: usize = 0x00;
    pub(in crate::device::udma) const STATUS: usize = 0x04;
    pub(in crate::device::udma) const ADDRESS: usize = 0x18;
    pub(in crate::device::udma) const ADDRESS_HIGH: usize = 0x1c;
    pub(in crate::device::udma) const LENGTH: usize = 0x28;
}

/// Bits of a control register.
pub(in crate::device::udma) mod control {
    pub(in crate::device::udma) const RUN: u32 = 1;
    pub(in crate::device::udma) const RESET: u32 = 1 << 2;
}

/// Bits of a status register.
pub(in crate::device::udma) mod status {
    pub(in crate::device::udma) const HALTED: u32 = 1;
    pub(in crate::device::udma) const IDLE: u32 = 1 << 1;
    pub(in crate::device::udma) const INTERNAL: u32 = 1 << 4;
    pub(in crate::device::udma) const SLAVE: u32 = 1 << 5;
    pub(in crate::device::udma) const DECODE: u32 = 1 << 6;
    pub(in crate::device::udma) const COMPLETE: u32 = 1 << 12;
    pub(in crate::device::udma) const ERRORS: u32 = INTERNAL | SLAVE | DECODE;
}

/// How long a reset may take: a few bus cycles, in truth.
const RESET_LIMIT: Duration = Duration::from_millis(100);

/// Width of the length register where nothing else was chosen.
const LENGTH_BITS: u32 = 14;

/// An AXI DMA in direct register mode, with both channels.
///
/// ```
/// use rimms::device::udma::{axi::AxiDma, imitation::System};
/// # let folder = tempfile::tempdir().unwrap();
/// let system = System::new(folder.path(), 1 << 16)?;
/// let dma = AxiDma::new(system.dma_registers()).with_length_bits(23);
/// assert_eq!(dma.most(), (1 << 23) - 1);
/// # Ok::<(), rimms::device::udma::UdmaError>(())
/// ```
#[derive(Debug)]
pub struct AxiDma<R> {
    registers: R,
    most: u32,
    /// Was it reset since something went wrong, so that it stands still?
    is_ready: bool,
    /// Bytes that are to come back.
    expected: u32,
}

impl<R: Registers> AxiDma<R> {
    /// The engine with these registers.
    pub fn new(registers: R) -> Self {
        Self { registers, most: (1 << LENGTH_BITS) - 1, is_ready: false, expected: 0 }
    }

    /// With a length register of so many bits: what was chosen when the logic was built, 8 to 26.
    #[must_use]
    pub fn with_length_bits(self, bits: u32) -> Self {
        Self { most: (1 << bits.clamp(8, 26)) - 1, ..self }
    }

    /// The most bytes of a transfer.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Starts a transfer of `bytes` bytes from one address to the block behind it, and of as many from there to another.
    ///
    /// What was written to a register is read back before anything moves: a transfer to a wrong place is not to be undone.
    ///
    /// # Errors
    /// More bytes than it can count; an engine that does not come out of its reset, does not run, or does not take an address.
    pub fn start(&mut self, from: u64, to: u64, bytes: usize) -> Result<(), AcceleratorError> {
        let bytes = u32::try_from(bytes).ok().filter(|bytes| (1..=self.most).contains(bytes));
        let bytes =
            bytes.ok_or_else(|| AcceleratorError::stopped(format!("a transfer has 1 to {} bytes", self.most)))?;
        if !self.is_ready {
            self.reset()?;
        }
        // Whatever happens now, it has to be reset before it is used again, unless `wait` finds that all went well.
        self.is_ready = false;
        self.expected = bytes;
        // Nothing moves yet. What went wrong since the last transfer is known only now, and mended by a reset.
        if self.prepare(from, to).is_err() {
            self.reset()?;
            self.is_ready = false;
            self.prepare(from, to).map_err(AcceleratorError::stopped)?;
        }
        // The one that writes first, so that nothing comes before it is ready. A length starts its channel.
        for channel in [offset::WRITER, offset::READER] {
            self.registers.write(channel + offset::LENGTH, bytes);
        }
        Ok(())
    }

    /// Both channels run, and know where.
    fn prepare(&self, from: u64, to: u64) -> Result<(), String> {
        for (channel, address) in [(offset::WRITER, to), (offset::READER, from)] {
            // Writing the bit for "complete" clears it: whoever finds it set later finds that of this transfer.
            self.registers.write(channel + offset::STATUS, status::COMPLETE);
            self.registers.write(channel + offset::CONTROL, control::RUN);
            let found = self.registers.read(channel + offset::STATUS);
            if found & (status::HALTED | status::COMPLETE | status::ERRORS) != 0 {
                return Err(format!("the DMA engine's {} does not run: status {found:#x}", name(channel)));
            }
            let words = [(offset::ADDRESS, address as u32), (offset::ADDRESS_HIGH, (address >> 32) as u32)];
            for (register, word) in words {
                self.registers.write(channel + register, word);
                let found = self.registers.read(channel + register);
                if found != word {
                    let name = name(channel);
                    return Err(format!(
                        "the DMA engine's {name} does not take its address: {found:#x}, not {word:#x}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns when the transfer is done.
    ///
    /// # Errors
    /// What the engine reports; fewer bytes than expected; not done by then. The engine is reset, and has stopped, unless
    /// the error says otherwise.
    pub fn wait(&mut self, until: Instant) -> Result<(), AcceleratorError> {
        match self.finish(until) {
            Ok(()) => {
                self.is_ready = true;
                Ok(())
            }
            Err(why) => match self.reset() {
                Ok(()) => Err(AcceleratorError::stopped(why)),
                Err(reset) => Err(AcceleratorError::at_large(format!("{why}; and {}", reset.message))),
            },
        }
    }

    fn finish(&self, until: Instant) -> Result<(), String> {
        for channel in [offset::READER, offset::WRITER] {
            self.complete(channel, until)?;
        }
        // The register says how many bytes really came.
        let came = self.registers.read(offset::WRITER + offset::LENGTH);
        if came == self.expected {
            return Ok(());
        }
        Err(format!("{came} bytes came back from the accelerator, {} were expected", self.expected))
    }

    fn complete(&self, channel: usize, until: Instant) -> Result<(), String> {
        let mut looks = 0_u32;
        loop {
            let found = self.registers.read(channel + offset::STATUS);
            if found & status::ERRORS != 0 {
                let known = [
                    (status::INTERNAL, "internal error"),
                    (status::SLAVE, "error of the memory's port"),
                    (status::DECODE, "no memory at that address"),
                ];
                let what: Vec<&str> = known.iter().filter(|(bit, _)| found & bit != 0).map(|(_, what)| *what).collect();
                let what = what.join(", ");
                return Err(format!("the DMA engine's {} stopped: {what} (status {found:#x})", name(channel)));
            }
            if found & status::COMPLETE != 0 {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("the DMA engine's {} is not done in time (status {found:#x})", name(channel)));
            }
            looks = looks.saturating_add(1);
            // Most transfers take microseconds: others may have the processor after that.
            if looks > 1_000 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }

    /// Stops whatever is under way. The channels share one reset.
    fn reset(&mut self) -> Result<(), AcceleratorError> {
        self.is_ready = false;
        let until = Instant::now() + RESET_LIMIT;
        loop {
            self.registers.write(offset::READER + offset::CONTROL, control::RESET);
            let is_reset = self.registers.read(offset::READER + offset::CONTROL) & control::RESET == 0;
            // Both stand still after one, and only then.
            let stands = |channel| self.registers.read(channel + offset::STATUS) & status::HALTED != 0;
            if is_reset && stands(offset::READER) && stands(offset::WRITER) {
                self.is_ready = true;
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(AcceleratorError::at_large("the DMA engine does not come out of its reset"));
            }
            std::thread::yield_now();
        }
    }
}

fn name(channel: usize) -> &'static str {
    if channel == offset::READER { "reader" } else { "writer" }
}
