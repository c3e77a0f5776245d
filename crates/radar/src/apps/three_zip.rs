//! 3ZIP: two products of two signals each, and the product of these.
//!
//! | stage | call |
//! | --- | --- |
//! | `zip-0` | a0 · b0 |
//! | `zip-1` | a1 · b1 |
//! | `zip-2` | the product of both |
//!
//! There is nothing between the calls, nothing to batch and nothing to do in place, so both styles are this program.

use std::array;

use rimms::{Complex32, Runtime, ZipOp};

pub use super::Config;
use super::measure::{Regions, copied, largest, measure};
use super::rows::Rows;
use super::{Alloc, Outcome};
use crate::reserve::reserve;
use crate::{Error, Result};

/// The stages' names.
pub const STAGES: &[&str] = &["zip-0", "zip-1", "zip-2"];

/// The four signals a0, b0, a1, b1 of one length, and their product where it is known.
///
/// ```
/// use rimms_radar::apps::three_zip::Input;
/// use rimms::Complex32;
///
/// let input = Input::synthetic(4)?;
/// assert_eq!(input.signals()[3][1], Complex32::new(1.5, 2.0)); // t = 2/4
/// assert_eq!(input.known().map(|d| d[3]), Some(Complex32::new(-75.0, -100.0)));
/// # Ok::<(), rimms_radar::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Input {
    signals: [Vec<Complex32>; 4],
    known: Option<Vec<Complex32>>,
}

impl Input {
    /// Signals from elsewhere.
    ///
    /// # Errors
    /// [`Error::Argument`] if they are empty, or of different lengths.
    pub fn new(signals: [Vec<Complex32>; 4]) -> Result<Self> {
        let lens = signals.each_ref().map(Vec::len);
        if lens[0] == 0 || lens != [lens[0]; 4] {
            let given = format!("{lens:?} samples");
            return Err(Error::argument("signals", given, "four of one length, at least 1, wanted"));
        }
        Ok(Self { signals, known: None })
    }

    /// a0 = b0 = t·(1 + 2i) and a1 = b1 = t·(3 + 4i) for t = 1/n, 2/n … 1. The product is t⁴·(−75 − 100i).
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Argument`] for 0 samples.
    pub fn synthetic(n: usize) -> Result<Self> {
        let along = |power: i32, re: f64, im: f64| {
            let mut samples = reserve(n, "the samples")?;
            samples.extend((1..=n).map(|i| (i as f64 / n as f64).powi(power)).map(|t| {
                let (re, im) = (t * re, t * im);
                Complex32::new(re as f32, im as f32)
            }));
            Ok::<_, Error>(samples)
        };
        let (first, second) = (along(1, 1.0, 2.0)?, along(1, 3.0, 4.0)?);
        let known = Some(along(4, -75.0, -100.0)?);
        Ok(Self { known, ..Self::new([first.clone(), first, second.clone(), second])? })
    }

    /// The four signals: a0, b0, a1, b1.
    #[must_use]
    pub fn signals(&self) -> &[Vec<Complex32>; 4] {
        &self.signals
    }

    /// Their product, if it is known.
    #[must_use]
    pub fn known(&self) -> Option<&[Complex32]> {
        self.known.as_deref()
    }
}

/// Runs 3ZIP. Where the product is known, the outcome's `max_error` is the largest difference from it.
///
/// ```
/// use rimms::{Runtime, device::sim::Sim};
/// use rimms_radar::apps::three_zip::{self, Input};
///
/// let acc = Sim::acc("acc0", 1 << 20, Default::default())?;
/// let rt = Runtime::builder().cpus(0).device(acc).build()?;
/// let outcome = three_zip::run(&rt, &Input::synthetic(256)?, &Default::default())?;
/// assert!(outcome.max_error < Some(1e-4)); // of 125
/// // Four signals in, one out.
/// assert_eq!((outcome.traffic.copies(), outcome.traffic.last.copies), (4, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] for a placement on stages or PEs that are not there; [`Error::Runtime`].
pub fn run(rt: &Runtime, input: &Input, config: &Config) -> Result<Outcome<Vec<Complex32>>> {
    config.placement.check(STAGES)?;
    let on = |stage| config.placement.on(rt, stage);
    let on = [on("zip-0")?, on("zip-1")?, on("zip-2")?];
    let app = ThreeZip { rt, on, input, alloc: config.alloc };
    let mut outcome = measure(rt, config.repeat, &app)?;
    let error = |(found, known): (&Complex32, &Complex32)| f64::from((found - known).norm());
    outcome.max_error = input.known().map(|known| largest(outcome.result.iter().zip(known).map(error)));
    Ok(outcome)
}

struct ThreeZip<'a> {
    rt: &'a Runtime,
    /// The runtime as each stage sees it.
    on: [Runtime; 3],
    input: &'a Input,
    alloc: Alloc,
}

struct Data {
    inputs: [Rows<Complex32>; 4],
    products: [Rows<Complex32>; 3],
}

impl Regions for ThreeZip<'_> {
    type Data = Data;
    type Answer = Vec<Complex32>;

    fn allocate(&self) -> Result<Data> {
        let len = self.input.signals[0].len();
        let row = |name| Rows::alloc(self.rt, name, self.alloc, 1, len);
        let inputs = [row("a0")?, row("b0")?, row("a1")?, row("b1")?];
        Ok(Data { inputs, products: [row("product 0")?, row("product 1")?, row("product of both")?] })
    }

    fn fragment(&self, d: &mut Data) -> Result<()> {
        Ok(d.inputs.iter_mut().chain(&mut d.products).try_for_each(Rows::fragment)?)
    }

    fn compute(&self, Data { inputs, products }: &mut Data) -> Result<()> {
        for (row, signal) in inputs.iter_mut().zip(&self.input.signals) {
            row[0].overwrite()?.copy_from_slice(signal)?;
        }
        let [a0, b0, a1, b1] = array::from_fn(|i| &inputs[i][0]);
        let [first, second, both] = products;
        self.on[0].zip(ZipOp::Mul, a0, b0, &mut first[0])?;
        self.on[1].zip(ZipOp::Mul, a1, b1, &mut second[0])?;
        self.on[2].zip(ZipOp::Mul, &first[0], &second[0], &mut both[0])?;
        Ok(())
    }

    fn relay(&self, d: &Data) -> Result<Vec<Complex32>> {
        copied(&d.products[2][0])
    }
}
