//! 2FZF: two transforms, their product, and back: the circular convolution of two signals, and the core of every
//! matched filter.
//!
//! | stage | call |
//! | --- | --- |
//! | `fft-a` | the spectrum of the first |
//! | `fft-b` | the spectrum of the second |
//! | `zip` | their product |
//! | `ifft` | the convolution |
//!
//! Paper style has a datum for each edge; best style transforms in place. Either way two copies bring the inputs in.

use rimms::{Complex32, Runtime, ZipOp};

pub use super::Config;
use super::measure::{Regions, copied, largest, measure};
use super::rows::Rows;
use super::{Alloc, Outcome, Style, two_fft};
use crate::reserve::reserve;
use crate::{Error, Result};

/// The stages' names.
pub const STAGES: &[&str] = &["fft-a", "fft-b", "zip", "ifft"];

/// Two signals of one length, and their convolution where it is known.
///
/// ```
/// use rimms_radar::apps::two_fzf::Input;
///
/// let input = Input::synthetic(16)?;
/// // The second signal is two echoes: the first one, late by 4 and, at half the strength, by 8.
/// assert_eq!((input.b()[4].re, input.b()[8].re), (1.0, 0.5));
/// assert_eq!(input.known().map(|y| y[10]), Some(input.a()[6] + input.a()[2] * 0.5));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Input {
    a: Vec<Complex32>,
    b: Vec<Complex32>,
    known: Option<Vec<Complex32>>,
}

impl Input {
    /// Signals from elsewhere.
    ///
    /// # Errors
    /// [`Error::Argument`] if they are empty, or of different lengths.
    pub fn new(a: Vec<Complex32>, b: Vec<Complex32>) -> Result<Self> {
        if a.is_empty() || a.len() != b.len() {
            let given = format!("{} and {} samples", a.len(), b.len());
            return Err(Error::argument("signals", given, "two of one length, at least 1, wanted"));
        }
        Ok(Self { a, b, known: None })
    }

    /// A chirp of `n` samples, and two echoes to convolve it with: one of 1 at n/4, one of 0.5 at n/2 (rounded down).
    /// So the convolution is known without a transform: the chirp twice, late by that much.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Argument`] for 0 samples.
    pub fn synthetic(n: usize) -> Result<Self> {
        let a = two_fft::samples(n)?;
        let mut b = reserve(n, "the samples")?;
        b.resize(n, Complex32::ZERO);
        let echoes = [(n / 4, 1.0), (n / 2, 0.5)];
        for (late, strength) in echoes {
            if let Some(sample) = b.get_mut(late) {
                *sample += Complex32::from(strength);
            }
        }
        let mut known = reserve(n, "the known convolution")?;
        known.extend((0..n).map(|i| echoes.map(|(late, s)| a[(i + n - late) % n] * s).iter().sum::<Complex32>()));
        Ok(Self { known: Some(known), ..Self::new(a, b)? })
    }

    /// The first signal.
    #[must_use]
    pub fn a(&self) -> &[Complex32] {
        &self.a
    }

    /// The second.
    #[must_use]
    pub fn b(&self) -> &[Complex32] {
        &self.b
    }

    /// Their convolution, if it is known.
    #[must_use]
    pub fn known(&self) -> Option<&[Complex32]> {
        self.known.as_deref()
    }
}

/// Runs 2FZF. Where the convolution is known, the outcome's `max_error` is the largest difference from it.
///
/// ```
/// use rimms::{Runtime, device::sim::Sim};
/// use rimms_radar::apps::two_fzf::{self, Input};
///
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let outcome = two_fzf::run(&rt, &Input::synthetic(256)?, &Default::default())?;
/// assert!(outcome.max_error < Some(1e-5));
/// // Two signals in, one out; spectra and product stay where they are.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] for a placement on stages or PEs that are not there; [`Error::Runtime`].
pub fn run(rt: &Runtime, input: &Input, config: &Config) -> Result<Outcome<Vec<Complex32>>> {
    config.placement.check(STAGES)?;
    let on = |stage| config.placement.on(rt, stage);
    let on = On { fft_a: on("fft-a")?, fft_b: on("fft-b")?, zip: on("zip")?, ifft: on("ifft")? };
    let app = TwoFzf { rt, on, input, alloc: config.alloc };
    let mut outcome = match config.style {
        Style::Paper => measure(rt, config.repeat, &Paper(app)),
        Style::Best => measure(rt, config.repeat, &Best(app)),
    }?;
    let error = |(found, known): (&Complex32, &Complex32)| f64::from((found - known).norm());
    outcome.max_error = input.known().map(|known| largest(outcome.result.iter().zip(known).map(error)));
    Ok(outcome)
}

struct TwoFzf<'a> {
    rt: &'a Runtime,
    on: On,
    input: &'a Input,
    alloc: Alloc,
}

/// The runtime as each stage sees it.
struct On {
    fft_a: Runtime,
    fft_b: Runtime,
    zip: Runtime,
    ifft: Runtime,
}

impl TwoFzf<'_> {
    fn row(&self, name: &str) -> Result<Rows<Complex32>> {
        Ok(Rows::alloc(self.rt, name, self.alloc, 1, self.input.a.len())?)
    }
}

struct Paper<'a>(TwoFzf<'a>);

struct PaperData {
    a: Rows<Complex32>,
    b: Rows<Complex32>,
    spectrum_a: Rows<Complex32>,
    spectrum_b: Rows<Complex32>,
    product: Rows<Complex32>,
    y: Rows<Complex32>,
}

impl Regions for Paper<'_> {
    type Data = PaperData;
    type Answer = Vec<Complex32>;

    fn allocate(&self) -> Result<PaperData> {
        let row = |name| self.0.row(name);
        let (spectrum_a, spectrum_b) = (row("spectrum of a")?, row("spectrum of b")?);
        Ok(PaperData { a: row("a")?, b: row("b")?, spectrum_a, spectrum_b, product: row("product")?, y: row("y")? })
    }

    fn fragment(&self, d: &mut PaperData) -> Result<()> {
        let rows = [&mut d.a, &mut d.b, &mut d.spectrum_a, &mut d.spectrum_b, &mut d.product, &mut d.y];
        Ok(rows.into_iter().try_for_each(Rows::fragment)?)
    }

    fn compute(&self, d: &mut PaperData) -> Result<()> {
        let TwoFzf { on, input, .. } = &self.0;
        d.a[0].overwrite()?.copy_from_slice(&input.a)?;
        d.b[0].overwrite()?.copy_from_slice(&input.b)?;
        on.fft_a.fft(&d.a[0], &mut d.spectrum_a[0])?;
        on.fft_b.fft(&d.b[0], &mut d.spectrum_b[0])?;
        on.zip.zip(ZipOp::Mul, &d.spectrum_a[0], &d.spectrum_b[0], &mut d.product[0])?;
        on.ifft.ifft(&d.product[0], &mut d.y[0])?;
        Ok(())
    }

    fn relay(&self, d: &PaperData) -> Result<Vec<Complex32>> {
        copied(&d.y[0])
    }
}

struct Best<'a>(TwoFzf<'a>);

struct BestData {
    a: Rows<Complex32>,
    b: Rows<Complex32>,
    y: Rows<Complex32>,
}

impl Regions for Best<'_> {
    type Data = BestData;
    type Answer = Vec<Complex32>;

    fn allocate(&self) -> Result<BestData> {
        Ok(BestData { a: self.0.row("a")?, b: self.0.row("b")?, y: self.0.row("y")? })
    }

    fn fragment(&self, d: &mut BestData) -> Result<()> {
        Ok([&mut d.a, &mut d.b, &mut d.y].into_iter().try_for_each(Rows::fragment)?)
    }

    fn compute(&self, d: &mut BestData) -> Result<()> {
        let TwoFzf { on, input, .. } = &self.0;
        d.a[0].overwrite()?.copy_from_slice(&input.a)?;
        d.b[0].overwrite()?.copy_from_slice(&input.b)?;
        on.fft_a.fft_in_place(&mut d.a[0])?;
        on.fft_b.fft_in_place(&mut d.b[0])?;
        on.zip.zip(ZipOp::Mul, &d.a[0], &d.b[0], &mut d.y[0])?;
        on.ifft.ifft_in_place(&mut d.y[0])?;
        Ok(())
    }

    fn relay(&self, d: &BestData) -> Result<Vec<Complex32>> {
        copied(&d.y[0])
    }
}
