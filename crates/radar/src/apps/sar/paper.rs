//! Paper style: one call a row, or a column. Shifts, the corner turn and the magnitudes are host code.

use rimms::data::ReadGuard;
use rimms::{Complex32, HeteData, Runtime, View, ZipOp};

use super::{Config, narrow};
use crate::apps::Alloc;
use crate::apps::measure::Regions;
use crate::apps::rows::{Rows, fft_rows};
use crate::reserve::reserve;
use crate::sar::{Echoes, azimuth_reference, range_reference};
use crate::{Image, Result};

pub(super) const STAGES: &[&str] =
    &["fft-reference", "fft-range", "zip-range", "ifft-range", "fft-azimuth", "zip-azimuth", "ifft-azimuth"];

pub(super) struct Sar<'a> {
    rt: &'a Runtime,
    on: On,
    echoes: &'a Echoes,
    range_reference: Vec<Complex32>,
    azimuth_reference: Vec<Complex32>,
    alloc: Alloc,
}

/// The runtime as each stage sees it.
struct On {
    fft_reference: Runtime,
    range: Compression,
    azimuth: Compression,
}

struct Compression {
    fft: Runtime,
    zip: Runtime,
    ifft: Runtime,
}

/// The data: one for each edge of the application's graph.
pub(super) struct Data {
    range_reference: HeteData<Complex32>,
    range_spectrum: HeteData<Complex32>,
    azimuth_reference: HeteData<Complex32>,
    range: Filter,
    azimuth: Filter,
}

/// The rows of a compression, from one end to the other.
struct Filter {
    input: Rows<Complex32>,
    spectra: Rows<Complex32>,
    shifted: Rows<Complex32>,
    products: Rows<Complex32>,
    output: Rows<Complex32>,
}

impl<'a> Sar<'a> {
    pub(super) fn new(rt: &'a Runtime, echoes: &'a Echoes, config: &Config) -> Result<Self> {
        let on = |stage| config.placement.on(rt, stage);
        let on = On {
            fft_reference: on("fft-reference")?,
            range: Compression { fft: on("fft-range")?, zip: on("zip-range")?, ifft: on("ifft-range")? },
            azimuth: Compression { fft: on("fft-azimuth")?, zip: on("zip-azimuth")?, ifft: on("ifft-azimuth")? },
        };
        let shape = echoes.shape();
        Ok(Self {
            rt,
            on,
            echoes,
            range_reference: narrow(range_reference(shape.cols())),
            azimuth_reference: narrow(azimuth_reference(shape.rows())),
            alloc: config.alloc,
        })
    }

    fn filter(&self, along: &str, count: usize, len: usize) -> Result<Filter> {
        let rows = |what| Rows::alloc(self.rt, &format!("{along} {what}"), self.alloc, count, len);
        Ok(Filter {
            input: rows("input")?,
            spectra: rows("spectra")?,
            shifted: rows("shifted spectra")?,
            products: rows("products")?,
            output: rows("output")?,
        })
    }
}

impl Filter {
    fn fragment(&mut self) -> Result<()> {
        let Self { input, spectra, shifted, products, output } = self;
        Ok([input, spectra, shifted, products, output].into_iter().try_for_each(Rows::fragment)?)
    }
}

impl Compression {
    /// FFT, shift, the product with the reference, IFFT, row after row.
    fn run(&self, d: &mut Filter, count: usize, reference: &View<Complex32>) -> Result<()> {
        fft_rows(&self.fft, &d.input, &mut d.spectra)?;
        for i in 0..count {
            shift(&d.spectra[i], &mut d.shifted[i])?;
            self.zip.zip(ZipOp::Mul, &d.shifted[i], reference, &mut d.products[i])?;
            self.ifft.ifft(&d.products[i], &mut d.output[i])?;
        }
        Ok(())
    }
}

impl Regions for Sar<'_> {
    type Data = Data;
    type Answer = Image;

    fn allocate(&self) -> Result<Data> {
        let (rows, cols) = (self.echoes.shape().rows(), self.echoes.shape().cols());
        Ok(Data {
            range_reference: self.rt.alloc_named("range reference", cols)?,
            range_spectrum: self.rt.alloc_named("spectrum of the range reference", cols)?,
            azimuth_reference: self.rt.alloc_named("azimuth reference", rows)?,
            range: self.filter("range", rows, cols)?,
            azimuth: self.filter("azimuth", cols, rows)?,
        })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        d.range.fragment()?;
        d.azimuth.fragment()
    }

    fn compute(&self, d: &mut Data) -> Result<()> {
        let (rows, cols) = (self.echoes.shape().rows(), self.echoes.shape().cols());
        d.range_reference.overwrite()?.copy_from_slice(&self.range_reference)?;
        d.azimuth_reference.overwrite()?.copy_from_slice(&self.azimuth_reference)?;
        for (i, echo) in self.echoes.samples().chunks_exact(cols).enumerate() {
            d.range.input[i].overwrite()?.copy_from_slice(echo)?;
        }
        self.on.fft_reference.fft(&d.range_reference, &mut d.range_spectrum)?;
        self.on.range.run(&mut d.range, rows, &d.range_spectrum)?;
        corner_turn(&d.range.output, &mut d.azimuth.input, cols)?;
        self.on.azimuth.run(&mut d.azimuth, cols, &d.azimuth_reference)
    }

    fn relay(&self, d: &Data) -> Result<Image> {
        let shape = self.echoes.shape();
        let (rows, cols) = (shape.rows(), shape.cols());
        let mut magnitudes = reserve(shape.len(), "the image")?;
        magnitudes.resize(shape.len(), 0.0);
        for (col, column) in d.azimuth.output.iter().enumerate() {
            for (row, value) in column.read()?.iter().enumerate() {
                magnitudes[(row + rows / 2) % rows * cols + col] = value.norm();
            }
        }
        Image::new(shape, magnitudes)
    }
}

/// Frequency 0 to the middle.
fn shift(from: &View<Complex32>, to: &mut View<Complex32>) -> Result<()> {
    let from = from.read()?;
    let len = from.len();
    Ok(to.overwrite()?.write_with(|i| from[(i + len - len / 2) % len])?)
}

/// Rows become columns.
fn corner_turn(rows: &Rows<Complex32>, columns: &mut Rows<Complex32>, count: usize) -> Result<()> {
    let rows: Vec<ReadGuard<'_, Complex32>> = rows.iter().map(View::read).collect::<rimms::Result<_>>()?;
    for col in 0..count {
        columns[col].overwrite()?.write_with(|row| rows[row][col])?;
    }
    Ok(())
}
