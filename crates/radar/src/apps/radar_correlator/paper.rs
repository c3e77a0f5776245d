//! Paper style: four calls. Padding, magnitude and the largest lag are host code.

use rimms::{Complex32, Runtime};

use super::{Config, Lag};
use crate::Result;
use crate::apps::matched::{conjugate, padded, product};
use crate::apps::measure::Regions;
use crate::apps::rows::Rows;
use crate::apps::{Alloc, Conj};
use crate::reception::Reception;

pub(super) const STAGES: &[&str] = &["fft-received", "fft-reference", "zip", "ifft"];

pub(super) struct RadarCorrelator<'a> {
    rt: &'a Runtime,
    on: On,
    reception: &'a Reception,
    conj: Conj,
    alloc: Alloc,
}

/// The runtime as each stage sees it.
struct On {
    fft_received: Runtime,
    fft_reference: Runtime,
    zip: Runtime,
    ifft: Runtime,
}

/// The data: one for each edge of the application's graph.
pub(super) struct Data {
    received: Rows<Complex32>,
    reference: Rows<Complex32>,
    spectrum: Rows<Complex32>,
    reference_spectrum: Rows<Complex32>,
    /// Only where the host conjugates.
    conjugate: Option<Rows<Complex32>>,
    product: Rows<Complex32>,
    correlation: Rows<Complex32>,
}

impl<'a> RadarCorrelator<'a> {
    pub(super) fn new(rt: &'a Runtime, reception: &'a Reception, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            fft_received: on("fft-received")?,
            fft_reference: on("fft-reference")?,
            zip: on("zip")?,
            ifft: on("ifft")?,
        };
        Ok(Self { rt, on, reception, conj: config.conj, alloc: config.alloc })
    }
}

impl Regions for RadarCorrelator<'_> {
    type Data = Data;
    type Answer = Lag;

    fn allocate(&self) -> Result<Data> {
        let row = |name| Rows::alloc(self.rt, name, self.alloc, 1, 2 * self.reception.received().len());
        Ok(Data {
            received: row("received")?,
            reference: row("reference")?,
            spectrum: row("spectrum")?,
            reference_spectrum: row("reference spectrum")?,
            conjugate: if self.conj == Conj::Host { Some(row("conjugate")?) } else { None },
            product: row("product")?,
            correlation: row("correlation")?,
        })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        let rows = [&mut d.received, &mut d.reference, &mut d.spectrum, &mut d.reference_spectrum, &mut d.product];
        let rows = rows.into_iter().chain(&mut d.conjugate).chain([&mut d.correlation]);
        Ok(rows.into_iter().try_for_each(Rows::fragment)?)
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let on = &self.on;
        d.received[0].overwrite()?.write_with(padded(self.reception.received(), 0))?;
        d.reference[0].overwrite()?.write_with(padded(self.reception.reference(), 0))?;
        on.fft_received.fft(&d.received[0], &mut d.spectrum[0])?;
        on.fft_reference.fft(&d.reference[0], &mut d.reference_spectrum[0])?;
        let mut factor = &d.reference_spectrum[0];
        if let Some(conjugates) = &mut d.conjugate {
            conjugate(factor, &mut conjugates[0])?;
            factor = &conjugates[0];
        }
        on.zip.zip(product(self.conj), &d.spectrum[0], factor, &mut d.product[0])?;
        on.ifft.ifft(&d.product[0], &mut d.correlation[0])?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Lag> {
        let (mut at, mut largest) = (0, f64::NEG_INFINITY);
        for (i, value) in d.correlation[0].read()?.iter().enumerate() {
            let magnitude = f64::from(value.norm());
            if magnitude > largest {
                (at, largest) = (i, magnitude);
            }
        }
        Ok(Lag::at(at, largest, self.reception.received().len(), self.reception.rate_hz()))
    }
}
