//! Best style: everything on the PEs, in place. The host writes the signals, without the zeros, and reads the peak.

use rimms::{Complex32, HeteData, Peak, Runtime};

use super::{Config, Lag};
use crate::Result;
use crate::apps::Conj;
use crate::apps::matched::{product, reference};
use crate::apps::measure::Regions;
use crate::reception::Reception;

pub(super) const STAGES: &[&str] = &["pad", "fft-received", "fft-reference", "zip", "ifft", "magnitude", "arg-max"];

pub(super) struct RadarCorrelator<'a> {
    rt: &'a Runtime,
    on: On,
    reception: &'a Reception,
    conj: Conj,
}

/// The runtime as each stage sees it.
struct On {
    pad: Runtime,
    fft_received: Runtime,
    fft_reference: Runtime,
    zip: Runtime,
    ifft: Runtime,
    magnitude: Runtime,
    arg_max: Runtime,
}

pub(super) struct Data {
    /// Two halves: the signal, and the zeros behind it.
    received: HeteData<Complex32>,
    /// The same; but turned round by the host it begins with its first sample and ends with the others, so that no half
    /// of it is zero: then it is written whole.
    reference: HeteData<Complex32>,
    correlation: HeteData<Complex32>,
    magnitudes: HeteData<f32>,
    peak: HeteData<Peak>,
}

impl<'a> RadarCorrelator<'a> {
    pub(super) fn new(rt: &'a Runtime, reception: &'a Reception, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            pad: on("pad")?,
            fft_received: on("fft-received")?,
            fft_reference: on("fft-reference")?,
            zip: on("zip")?,
            ifft: on("ifft")?,
            magnitude: on("magnitude")?,
            arg_max: on("arg-max")?,
        };
        Ok(Self { rt, on, reception, conj: config.conj })
    }
}

impl Regions for RadarCorrelator<'_> {
    type Data = Data;
    type Answer = Lag;

    fn allocate(&self) -> Result<Data> {
        let lags = 2 * self.reception.received().len();
        let signal = |name| self.rt.alloc_named(name, lags);
        Ok(Data {
            received: signal("received")?,
            reference: signal("reference")?,
            correlation: signal("correlation")?,
            magnitudes: self.rt.alloc_named("magnitudes", lags)?,
            peak: self.rt.alloc_named("peak", 1)?,
        })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        d.received.fragment(2)?;
        if self.conj == Conj::Device {
            d.reference.fragment(2)?;
        }
        Ok(())
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let on = &self.on;
        d.received[0].overwrite()?.copy_from_slice(self.reception.received())?;
        on.pad.fill(Complex32::ZERO, &mut d.received[1])?;
        match self.conj {
            Conj::Device => {
                d.reference[0].overwrite()?.copy_from_slice(self.reception.reference())?;
                on.pad.fill(Complex32::ZERO, &mut d.reference[1])?;
            }
            Conj::Host => {
                let lags = d.reference.len();
                d.reference.overwrite()?.write_with(reference(self.reception.reference(), lags, self.conj))?;
            }
        }
        on.fft_received.fft_in_place(&mut d.received)?;
        on.fft_reference.fft_in_place(&mut d.reference)?;
        on.zip.zip(product(self.conj), &d.received, &d.reference, &mut d.correlation)?;
        on.ifft.ifft_in_place(&mut d.correlation)?;
        on.magnitude.magnitude(&d.correlation, &mut d.magnitudes)?;
        on.arg_max.arg_max(&d.magnitudes, &mut d.peak)?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Lag> {
        let Peak { index, value } = d.peak.read()?[0];
        Ok(Lag::at(index as usize, value, self.reception.received().len(), self.reception.rate_hz()))
    }
}
