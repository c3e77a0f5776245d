//! 2FFT: a transform there and back, the smallest application of the paper. The output is the input again.
//!
//! | stage | call |
//! | --- | --- |
//! | `fft` | the forward transform |
//! | `ifft` | the inverse transform, scaled by 1/n |
//!
//! Paper style has three data, one for each edge; best style one, which is transformed in place.

use std::f64::consts::PI;

use rimms::{Complex32, Runtime};

pub use super::Config;
use super::measure::{Regions, copied, largest, measure};
use super::rows::Rows;
use super::{Alloc, Outcome, Style};
use crate::Result;

/// The stages' names.
pub const STAGES: &[&str] = &["fft", "ifft"];

/// `n` samples to run it on: a chirp that sweeps 0.8 of the band.
///
/// ```
/// assert_eq!(rimms_radar::apps::two_fft::samples(1024)?.len(), 1024);
/// # Ok::<(), rimms_radar::Error>(())
/// ```
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory).
pub fn samples(n: usize) -> Result<Vec<Complex32>> {
    let mut samples = crate::reserve::reserve(n, "the samples")?;
    samples.extend((0..n).map(|i| {
        let time = i as f64;
        let (im, re) = (PI * 0.8 * time * time / n as f64).sin_cos();
        Complex32::new(re as f32, im as f32)
    }));
    Ok(samples)
}

/// Runs 2FFT on `samples`. The outcome's `max_error` is the largest difference from them.
///
/// ```
/// use rimms::{Complex32, Runtime, device::sim::Sim};
/// use rimms_radar::apps::two_fft;
///
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let outcome = two_fft::run(&rt, &[Complex32::ONE; 64], &Default::default())?;
/// assert_eq!(outcome.result[63], Complex32::ONE);
/// // Copied in once; what lies between the transforms stays where it is; read once.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a placement on stages or PEs that are not there;
/// [`Error::Runtime`](crate::Error::Runtime).
pub fn run(rt: &Runtime, samples: &[Complex32], config: &Config) -> Result<Outcome<Vec<Complex32>>> {
    config.placement.check(STAGES)?;
    let on = On { fft: config.placement.on(rt, "fft")?, ifft: config.placement.on(rt, "ifft")? };
    let app = TwoFft { rt, on, samples, alloc: config.alloc };
    let mut outcome = match config.style {
        Style::Paper => measure(rt, config.repeat, &Paper(app)),
        Style::Best => measure(rt, config.repeat, &Best(app)),
    }?;
    let error = |(found, sample): (&Complex32, &Complex32)| f64::from((found - sample).norm());
    outcome.max_error = Some(largest(outcome.result.iter().zip(samples).map(error)));
    Ok(outcome)
}

struct TwoFft<'a> {
    rt: &'a Runtime,
    on: On,
    samples: &'a [Complex32],
    alloc: Alloc,
}

/// The runtime as each stage sees it.
struct On {
    fft: Runtime,
    ifft: Runtime,
}

impl TwoFft<'_> {
    fn rows(&self, name: &str) -> Result<Rows<Complex32>> {
        Ok(Rows::alloc(self.rt, name, self.alloc, 1, self.samples.len())?)
    }
}

struct Paper<'a>(TwoFft<'a>);

struct Data {
    x: Rows<Complex32>,
    spectrum: Rows<Complex32>,
    y: Rows<Complex32>,
}

impl Regions for Paper<'_> {
    type Data = Data;
    type Answer = Vec<Complex32>;

    fn allocate(&self) -> Result<Data> {
        Ok(Data { x: self.0.rows("x")?, spectrum: self.0.rows("spectrum")?, y: self.0.rows("y")? })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        d.x.fragment()?;
        d.spectrum.fragment()?;
        Ok(d.y.fragment()?)
    }

    fn compute(&self, Data { x, spectrum, y }: &mut Data) -> Result<()> {
        x[0].overwrite()?.copy_from_slice(self.0.samples)?;
        self.0.on.fft.fft(&x[0], &mut spectrum[0])?;
        self.0.on.ifft.ifft(&spectrum[0], &mut y[0])?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Vec<Complex32>> {
        copied(&d.y[0])
    }
}

struct Best<'a>(TwoFft<'a>);

impl Regions for Best<'_> {
    type Data = Rows<Complex32>;
    type Answer = Vec<Complex32>;

    fn allocate(&self) -> Result<Self::Data> {
        self.0.rows("x")
    }

    fn fragment(&self, x: &mut Self::Data) -> Result<()> {
        Ok(x.fragment()?)
    }

    fn compute(&self, x: &mut Self::Data) -> Result<()> {
        x[0].overwrite()?.copy_from_slice(self.0.samples)?;
        self.0.on.fft.fft_in_place(&mut x[0])?;
        self.0.on.ifft.ifft_in_place(&mut x[0])?;
        Ok(())
    }

    fn relay(&self, x: &Self::Data) -> Result<Vec<Complex32>> {
        copied(&x[0])
    }
}
