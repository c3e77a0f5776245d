//! Paper style: one call a row. Padding, corner turn, shift, magnitude and the largest cell are host code.

use rimms::data::ReadGuard;
use rimms::{Complex32, HeteData, Runtime, View};

use super::{Config, picture};
use crate::apps::matched::{conjugate, padded, product};
use crate::apps::measure::Regions;
use crate::apps::rows::{Rows, fft_rows};
use crate::apps::{Alloc, Conj};
use crate::reserve::reserve;
use crate::{Detection, Image, Recording, Result};

pub(super) const STAGES: &[&str] = &["fft-pulse", "fft-reference", "zip", "ifft", "fft-doppler"];

pub(super) struct PulseDoppler<'a> {
    rt: &'a Runtime,
    on: On,
    recording: &'a Recording,
    conj: Conj,
    alloc: Alloc,
    picture: bool,
}

/// The runtime as each stage sees it.
struct On {
    fft_pulse: Runtime,
    fft_reference: Runtime,
    zip: Runtime,
    ifft: Runtime,
    fft_doppler: Runtime,
}

/// The data: one for each edge of the application's graph.
pub(super) struct Data {
    pulses: Rows<Complex32>,
    reference: HeteData<Complex32>,
    spectra: Rows<Complex32>,
    reference_spectra: Rows<Complex32>,
    /// Only where the host conjugates.
    conjugates: Option<Rows<Complex32>>,
    products: Rows<Complex32>,
    filtered: Rows<Complex32>,
    columns: Rows<Complex32>,
    doppler: Rows<Complex32>,
}

impl<'a> PulseDoppler<'a> {
    pub(super) fn new(rt: &'a Runtime, recording: &'a Recording, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            fft_pulse: on("fft-pulse")?,
            fft_reference: on("fft-reference")?,
            zip: on("zip")?,
            ifft: on("ifft")?,
            fft_doppler: on("fft-doppler")?,
        };
        Ok(Self { rt, on, recording, conj: config.conj, alloc: config.alloc, picture: config.picture })
    }

    /// Pulses, and ranges.
    fn size(&self) -> (usize, usize) {
        let geometry = self.recording.geometry();
        (geometry.shape().rows(), geometry.map_cols())
    }
}

impl Regions for PulseDoppler<'_> {
    type Data = Data;
    type Answer = Detection;

    fn allocate(&self) -> Result<Data> {
        let (pulses, ranges) = self.size();
        let rows = |name| Rows::alloc(self.rt, name, self.alloc, pulses, ranges);
        let columns = |name| Rows::alloc(self.rt, name, self.alloc, ranges, pulses);
        Ok(Data {
            pulses: rows("pulses")?,
            reference: self.rt.alloc_named("reference", ranges)?,
            spectra: rows("spectra")?,
            reference_spectra: rows("reference spectra")?,
            conjugates: if self.conj == Conj::Host { Some(rows("conjugates")?) } else { None },
            products: rows("products")?,
            filtered: rows("filtered")?,
            columns: columns("columns")?,
            doppler: columns("doppler")?,
        })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        let rows = [&mut d.pulses, &mut d.spectra, &mut d.reference_spectra, &mut d.products, &mut d.filtered];
        for rows in rows.into_iter().chain(&mut d.conjugates).chain([&mut d.columns, &mut d.doppler]) {
            rows.fragment()?;
        }
        Ok(())
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let (pulses, ranges) = self.size();
        let samples = self.recording.geometry().shape().cols();
        let on = &self.on;

        d.reference.overwrite()?.write_with(padded(self.recording.reference(), 0))?;
        for (i, pulse) in self.recording.pulses().chunks_exact(samples).enumerate() {
            d.pulses[i].overwrite()?.write_with(padded(pulse, samples - 1))?;
        }
        for i in 0..pulses {
            on.fft_pulse.fft(&d.pulses[i], &mut d.spectra[i])?;
            on.fft_reference.fft(&d.reference, &mut d.reference_spectra[i])?;
            let mut factor = &d.reference_spectra[i];
            if let Some(conjugates) = &mut d.conjugates {
                conjugate(factor, &mut conjugates[i])?;
                factor = &conjugates[i];
            }
            on.zip.zip(product(self.conj), &d.spectra[i], factor, &mut d.products[i])?;
            on.ifft.ifft(&d.products[i], &mut d.filtered[i])?;
        }
        corner_turn(&d.filtered, &mut d.columns, ranges)?;
        Ok(fft_rows(&on.fft_doppler, &d.columns, &mut d.doppler)?)
    }

    fn relay(&self, d: &Data) -> Result<Detection> {
        let (pulses, _) = self.size();
        let (mut row, mut col, mut largest) = (0, 0, f64::NEG_INFINITY);
        for (range, column) in d.doppler.iter().enumerate() {
            for (bin, value) in column.read()?.iter().enumerate() {
                let magnitude = f64::from(value.norm());
                let shifted = (bin + pulses / 2) % pulses;
                // Of equal cells the first, row after row.
                if magnitude > largest || magnitude == largest && (shifted, range) < (row, col) {
                    (row, col, largest) = (shifted, range, magnitude);
                }
            }
        }
        Ok(self.recording.geometry().detection(row, col, largest))
    }

    fn picture(&self, d: &Data) -> Result<Option<Image>> {
        if !self.picture {
            return Ok(None);
        }
        let (pulses, ranges) = self.size();
        let mut columns = reserve(pulses * ranges, "the range–Doppler map")?;
        for column in d.doppler.iter() {
            let column = column.read()?;
            columns.extend((0..pulses).map(|row| column[(row + pulses - pulses / 2) % pulses].norm()));
        }
        picture(pulses, ranges, &columns).map(Some)
    }
}

/// Rows become columns.
fn corner_turn(rows: &Rows<Complex32>, columns: &mut Rows<Complex32>, ranges: usize) -> Result<()> {
    let rows: Vec<ReadGuard<'_, Complex32>> = rows.iter().map(View::read).collect::<rimms::Result<_>>()?;
    for range in 0..ranges {
        columns[range].overwrite()?.write_with(|pulse| rows[pulse][range])?;
    }
    Ok(())
}
