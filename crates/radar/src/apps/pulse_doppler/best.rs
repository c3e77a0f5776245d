//! Best style: whole matrices, one call a stage, everything on the PEs. The host writes the samples
//! and reads the peak.

use rimms::{Complex32, HeteData, Peak, Runtime};

use super::{Config, picture};
use crate::apps::Conj;
use crate::apps::matched::{product, reference};
use crate::apps::measure::Regions;
use crate::{Detection, Image, Recording, Result};

pub(super) const STAGES: &[&str] =
    &["pad", "fft-pulse", "fft-reference", "zip", "ifft", "transpose", "fft-doppler", "shift", "magnitude", "arg-max"];

pub(super) struct PulseDoppler<'a> {
    rt: &'a Runtime,
    on: On,
    recording: &'a Recording,
    conj: Conj,
    picture: bool,
}

/// The runtime as each stage sees it.
struct On {
    pad: Runtime,
    fft_pulse: Runtime,
    fft_reference: Runtime,
    zip: Runtime,
    ifft: Runtime,
    transpose: Runtime,
    fft_doppler: Runtime,
    shift: Runtime,
    magnitude: Runtime,
    arg_max: Runtime,
}

pub(super) struct Data {
    pulses: HeteData<Complex32>,
    reference: HeteData<Complex32>,
    /// Three tiles: the zeros before the pulses, the pulses, the zeros behind them.
    padded: HeteData<Complex32>,
    spectra: HeteData<Complex32>,
    filtered: HeteData<Complex32>,
    columns: HeteData<Complex32>,
    map: HeteData<Complex32>,
    magnitudes: HeteData<f32>,
    peak: HeteData<Peak>,
}

impl<'a> PulseDoppler<'a> {
    pub(super) fn new(rt: &'a Runtime, recording: &'a Recording, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            pad: on("pad")?,
            fft_pulse: on("fft-pulse")?,
            fft_reference: on("fft-reference")?,
            zip: on("zip")?,
            ifft: on("ifft")?,
            transpose: on("transpose")?,
            fft_doppler: on("fft-doppler")?,
            shift: on("shift")?,
            magnitude: on("magnitude")?,
            arg_max: on("arg-max")?,
        };
        Ok(Self { rt, on, recording, conj: config.conj, picture: config.picture })
    }
}

impl Regions for PulseDoppler<'_> {
    type Data = Data;
    type Answer = Detection;

    fn allocate(&self) -> Result<Data> {
        let geometry = self.recording.geometry();
        let (pulses, ranges) = (geometry.shape().rows(), geometry.map_cols());
        let matrix = |name| self.rt.alloc_named(name, pulses * ranges);
        Ok(Data {
            pulses: self.rt.alloc_named("pulses", geometry.shape().len())?,
            reference: self.rt.alloc_named("reference", ranges)?,
            padded: matrix("padded")?,
            spectra: matrix("spectra")?,
            filtered: matrix("filtered")?,
            columns: matrix("columns")?,
            map: matrix("map")?,
            magnitudes: self.rt.alloc_named("magnitudes", pulses * ranges)?,
            peak: self.rt.alloc_named("peak", 1)?,
        })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        let shape = self.recording.geometry().shape();
        Ok(d.padded.tile_sizes(&[shape.rows()], &[shape.cols() - 1, shape.cols(), 1])?)
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let geometry = self.recording.geometry();
        let (pulses, ranges) = (geometry.shape().rows(), geometry.map_cols());
        let on = &self.on;

        d.pulses.overwrite()?.copy_from_slice(self.recording.pulses())?;
        d.reference.overwrite()?.write_with(reference(self.recording.reference(), ranges, self.conj))?;

        on.pad.fill(Complex32::ZERO, &mut d.padded)?;
        on.pad.copy(&d.pulses, &mut d.padded[1])?;
        on.fft_pulse.fft_rows(ranges, &d.padded, &mut d.spectra)?;
        on.fft_reference.fft_in_place(&mut d.reference)?;
        on.zip.zip(product(self.conj), &d.spectra, &d.reference, &mut d.filtered)?;
        on.ifft.ifft_rows_in_place(ranges, &mut d.filtered)?;
        on.transpose.transpose(pulses, ranges, &d.filtered, &mut d.columns)?;
        on.fft_doppler.fft_rows_in_place(pulses, &mut d.columns)?;
        on.shift.fftshift_rows(pulses, &d.columns, &mut d.map)?;
        on.magnitude.magnitude(&d.map, &mut d.magnitudes)?;
        on.arg_max.arg_max(&d.magnitudes, &mut d.peak)?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Detection> {
        let geometry = self.recording.geometry();
        let pulses = geometry.shape().rows();
        let Peak { index, value } = d.peak.read()?[0];
        // The magnitudes lie range by range.
        let index = index as usize;
        Ok(geometry.detection(index % pulses, index / pulses, value))
    }
    fn picture(&self, d: &Data) -> Result<Option<Image>> {
        if !self.picture {
            return Ok(None);
        }
        let geometry = self.recording.geometry();
        picture(geometry.shape().rows(), geometry.map_cols(), &d.magnitudes.read()?).map(Some)
    }
}
