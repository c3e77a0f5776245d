//! The chains of calls: their signals with known results, and their data on one runtime.
//!
//! A lap is in three parts, of which the caller times what it likes: the host writes the inputs, the calls, and the host
//! reads the result. Calls are made one after the other by the calling thread: what is measured is calls and copies, not
//! threads that wake each other.

use clap::ValueEnum;
use rimms::{Complex32, HeteData, Runtime, ZipOp};
use rimms_radar::apps::{three_zip, two_fft, two_fzf};

use crate::output::Failure;

/// Which chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dataflow {
    /// An FFT; its inverse
    #[value(name = "2fft")]
    TwoFft,
    /// Two FFTs; their product and its inverse FFT
    #[value(name = "2fzf")]
    TwoFzf,
    /// Two products; their product
    #[value(name = "3zip")]
    ThreeZip,
}

impl Dataflow {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TwoFft => "2fft",
            Self::TwoFzf => "2fzf",
            Self::ThreeZip => "3zip",
        }
    }

    /// Its inputs of `points` samples, with what comes of them.
    pub(super) fn signals(self, points: usize) -> Result<Signals, Failure> {
        let none = || anyhow::anyhow!("{} has no known result", self.name());
        let (inputs, known) = match self {
            Self::TwoFft => {
                let x = two_fft::samples(points)?;
                (vec![x.clone()], x)
            }
            Self::TwoFzf => {
                let input = two_fzf::Input::synthetic(points)?;
                (vec![input.a().to_vec(), input.b().to_vec()], input.known().ok_or_else(none)?.to_vec())
            }
            Self::ThreeZip => {
                let input = three_zip::Input::synthetic(points)?;
                (input.signals().to_vec(), input.known().ok_or_else(none)?.to_vec())
            }
        };
        let largest = known.iter().map(|x| f64::from(x.norm())).fold(0.0, f64::max);
        Ok(Signals { inputs, known, largest })
    }
}

/// What goes into a chain, and what must come out.
pub(super) struct Signals {
    inputs: Vec<Vec<Complex32>>,
    known: Vec<Complex32>,
    /// The largest magnitude of `known`.
    largest: f64,
}

impl Signals {
    /// The first input.
    pub(super) fn first(&self) -> &[Complex32] {
        self.inputs.first().map_or(&[], Vec::as_slice)
    }

    /// The largest difference from the known result, over its largest magnitude.
    pub(super) fn error(&self, found: &[Complex32]) -> f64 {
        let differences = found.iter().zip(&self.known).map(|(found, known)| f64::from((found - known).norm()));
        // NaN is larger than any.
        let largest = differences.fold(0.0, |a, b| if b.is_nan() || b > a { b } else { a });
        largest / self.largest
    }
}

/// A chain with its data, on PEs of its own choice.
pub(super) struct Chain<'a> {
    signals: &'a Signals,
    /// Makes the first calls.
    first: Runtime,
    /// Makes the rest.
    second: Runtime,
    data: Data,
}

type Datum = HeteData<Complex32>;

/// Inputs, what lies between, and last the result.
enum Data {
    TwoFft([Datum; 3]),
    TwoFzf([Datum; 6]),
    ThreeZip([Datum; 7]),
}

impl<'a> Chain<'a> {
    pub(super) fn new(flow: Dataflow, signals: &'a Signals, first: Runtime, second: Runtime) -> rimms::Result<Self> {
        let new = || first.alloc(signals.known.len());
        let data = match flow {
            Dataflow::TwoFft => Data::TwoFft([new()?, new()?, new()?]),
            Dataflow::TwoFzf => Data::TwoFzf([new()?, new()?, new()?, new()?, new()?, new()?]),
            Dataflow::ThreeZip => Data::ThreeZip([new()?, new()?, new()?, new()?, new()?, new()?, new()?]),
        };
        Ok(Self { signals, first: first.blocking(), second: second.blocking(), data })
    }

    /// The runtime that the calls are made on.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.first
    }

    /// The host writes the inputs, so that no other place has them.
    pub(super) fn write(&mut self) -> rimms::Result<()> {
        let data = match &mut self.data {
            Data::TwoFft(data) => &mut data[..],
            Data::TwoFzf(data) => &mut data[..],
            Data::ThreeZip(data) => &mut data[..],
        };
        for (datum, samples) in data.iter_mut().zip(&self.signals.inputs) {
            datum.overwrite()?.copy_from_slice(samples)?;
        }
        Ok(())
    }

    /// The calls.
    pub(super) fn call(&mut self) -> rimms::Result<()> {
        let (first, second) = (&self.first, &self.second);
        match &mut self.data {
            Data::TwoFft([x, spectrum, y]) => {
                first.fft(x, spectrum)?;
                second.ifft(spectrum, y)?;
            }
            Data::TwoFzf([a, b, spectrum_a, spectrum_b, product, y]) => {
                first.fft(a, spectrum_a)?;
                first.fft(b, spectrum_b)?;
                second.zip(ZipOp::Mul, spectrum_a, spectrum_b, product)?;
                second.ifft(product, y)?;
            }
            Data::ThreeZip([a0, b0, a1, b1, first_product, second_product, y]) => {
                first.zip(ZipOp::Mul, a0, b0, first_product)?;
                first.zip(ZipOp::Mul, a1, b1, second_product)?;
                second.zip(ZipOp::Mul, first_product, second_product, y)?;
            }
        }
        // What a device has queued is no result yet.
        first.finish()
    }

    /// The host takes the result: brought to it, and left where it is.
    pub(super) fn read(&self) -> rimms::Result<()> {
        self.result().read().map(drop)
    }

    /// How far the result is from the known one, relative to that one's largest magnitude.
    pub(super) fn error(&self) -> rimms::Result<f64> {
        Ok(self.signals.error(&self.result().read()?))
    }

    fn result(&self) -> &Datum {
        let (Data::TwoFft([.., y]) | Data::TwoFzf([.., y]) | Data::ThreeZip([.., y])) = &self.data;
        y
    }
}
