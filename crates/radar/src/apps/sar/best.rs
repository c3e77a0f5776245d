//! Best style: whole matrices, one call a stage, everything on the PEs. The host writes the echoes and the references,
//! and reads the image.

use rimms::{Complex32, HeteData, Runtime, ZipOp};

use super::{Config, narrow};
use crate::apps::measure::{Regions, copied};
use crate::sar::{Echoes, azimuth_reference, range_reference};
use crate::{Image, Result};

pub(super) const STAGES: &[&str] = &[
    "fft-reference",
    "fft-range",
    "shift-range",
    "zip-range",
    "ifft-range",
    "transpose",
    "fft-azimuth",
    "shift-azimuth",
    "zip-azimuth",
    "ifft-azimuth",
    "shift-image",
    "magnitude",
    "transpose-image",
];

pub(super) struct Sar<'a> {
    rt: &'a Runtime,
    on: On,
    echoes: &'a Echoes,
    range_reference: Vec<Complex32>,
    azimuth_reference: Vec<Complex32>,
}

/// The runtime as each stage sees it.
struct On {
    fft_reference: Runtime,
    fft_range: Runtime,
    shift_range: Runtime,
    zip_range: Runtime,
    ifft_range: Runtime,
    transpose: Runtime,
    fft_azimuth: Runtime,
    shift_azimuth: Runtime,
    zip_azimuth: Runtime,
    ifft_azimuth: Runtime,
    shift_image: Runtime,
    magnitude: Runtime,
    transpose_image: Runtime,
}

/// What is not done in place goes from one matrix to the other and back.
pub(super) struct Data {
    range_reference: HeteData<Complex32>,
    azimuth_reference: HeteData<Complex32>,
    echoes: HeteData<Complex32>,
    other: HeteData<Complex32>,
    magnitudes: HeteData<f32>,
    image: HeteData<f32>,
}

impl<'a> Sar<'a> {
    pub(super) fn new(rt: &'a Runtime, echoes: &'a Echoes, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            fft_reference: on("fft-reference")?,
            fft_range: on("fft-range")?,
            shift_range: on("shift-range")?,
            zip_range: on("zip-range")?,
            ifft_range: on("ifft-range")?,
            transpose: on("transpose")?,
            fft_azimuth: on("fft-azimuth")?,
            shift_azimuth: on("shift-azimuth")?,
            zip_azimuth: on("zip-azimuth")?,
            ifft_azimuth: on("ifft-azimuth")?,
            shift_image: on("shift-image")?,
            magnitude: on("magnitude")?,
            transpose_image: on("transpose-image")?,
        };
        let shape = echoes.shape();
        let (range, azimuth) = (range_reference(shape.cols()), azimuth_reference(shape.rows()));
        Ok(Self { rt, on, echoes, range_reference: narrow(range), azimuth_reference: narrow(azimuth) })
    }
}

impl Regions for Sar<'_> {
    type Data = Data;
    type Answer = Image;

    fn allocate(&self) -> Result<Data> {
        let shape = self.echoes.shape();
        Ok(Data {
            range_reference: self.rt.alloc_named("range reference", shape.cols())?,
            azimuth_reference: self.rt.alloc_named("azimuth reference", shape.rows())?,
            echoes: self.rt.alloc_named("echoes", shape.len())?,
            other: self.rt.alloc_named("other matrix", shape.len())?,
            magnitudes: self.rt.alloc_named("magnitudes", shape.len())?,
            image: self.rt.alloc_named("image", shape.len())?,
        })
    }

    /// Matrices stay whole.
    fn fragment(&self, _: &mut Data) -> Result<()> {
        Ok(())
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let (rows, cols) = (self.echoes.shape().rows(), self.echoes.shape().cols());
        let (on, a, b) = (&self.on, &mut d.echoes, &mut d.other);
        d.range_reference.overwrite()?.copy_from_slice(&self.range_reference)?;
        d.azimuth_reference.overwrite()?.copy_from_slice(&self.azimuth_reference)?;
        a.overwrite()?.copy_from_slice(self.echoes.samples())?;

        on.fft_reference.fft_in_place(&mut d.range_reference)?;
        on.fft_range.fft_rows_in_place(cols, a)?;
        on.shift_range.fftshift_rows(cols, a, b)?;
        on.zip_range.zip(ZipOp::Mul, b, &d.range_reference, a)?;
        on.ifft_range.ifft_rows_in_place(cols, a)?;
        on.transpose.transpose(rows, cols, a, b)?;
        on.fft_azimuth.fft_rows_in_place(rows, b)?;
        on.shift_azimuth.fftshift_rows(rows, b, a)?;
        on.zip_azimuth.zip(ZipOp::Mul, a, &d.azimuth_reference, b)?;
        on.ifft_azimuth.ifft_rows_in_place(rows, b)?;
        on.shift_image.fftshift_rows(rows, b, a)?;
        on.magnitude.magnitude(a, &mut d.magnitudes)?;
        on.transpose_image.transpose(cols, rows, &d.magnitudes, &mut d.image)?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Image> {
        Image::new(self.echoes.shape(), copied(&d.image)?)
    }
}
