//! The meaning of every built-in op, in double precision.
//!
//! [`expected`] computes what a call makes of its inputs, as plainly as the
//! formulas in the calls' own documentation are written: a Fourier transform is
//! the sum over all samples, n² products a row, good for rows of a few thousand.
//! [`Values::compare`] holds a device's answer against it.
//!
//! How far an answer may be off ([`Bound`]) is one rule for all devices:
//!
//! | op | bound |
//! |---|---|
//! | copy, fill, fftshift, transpose, arg-max, decide | exact, bit by bit |
//! | zip (add, sub, mul, conj-mul), scale | 3·10⁻⁷ of each element's magnitude |
//! | zip (div), magnitude | 10⁻⁶ of each element's magnitude |
//! | gemm, convolve | 2·10⁻⁷ · (2 + K) of each element's Σ of K magnitudes of products |
//! | fft, ifft | 10⁻⁷ · (2 + log₂ n) of each row's 2-norm, 10⁻⁵ at most |
//!
//! Half a unit in the last place of an `f32` is 6·10⁻⁸: one operation is off by at most that much, a
//! complex product by √5 of it (Brent, Percival, Zimmermann, *Error bounds on complex floating-point
//! multiplication*, 2007); a transform's error grows with its log₂ n steps (Higham, *Accuracy and Stability
//! of Numerical Algorithms*, §24). A sum of K products in whatever order is off by K units at most, of the sum of the
//! magnitudes and not of its own, which may be small (the same, §3.1); a complex product is two for each part.

use super::{Call, Constellation, Element, Peak, SampleType, Zip, ZipOp};
use num_complex::{Complex32, Complex64};
use std::f64::consts::TAU;

/// What a call writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Complex samples.
    Complex(Vec<Complex64>),
    /// Real samples.
    Real(Vec<f64>),
    /// Sums of products, real ones with imaginary part 0, each with the sum of the products' magnitudes.
    Sums(SampleType, Vec<(Complex64, f64)>),
    /// Decisions on symbols.
    Symbols(Vec<i32>),
    /// The answer of arg-max.
    Peak(Peak),
    /// Bytes that are moved, not computed.
    Bytes(Vec<u8>),
}

/// How far from the reference an answer may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Not at all.
    Exact,
    /// Each element by this fraction of its magnitude.
    Element(f64),
    /// Each element, a sum, by this fraction of the sum of its terms' magnitudes.
    Sum(f64),
    /// Each row of `n` by this fraction of its 2-norm.
    Row {
        /// Samples in a row.
        n: usize,
        /// The fraction.
        fraction: f64,
    },
}

impl Bound {
    /// The bound of a call.
    pub fn of(call: &Call) -> Self {
        match call {
            Call::Fft(f) => Self::Row { n: f.n, fraction: (1e-7 * (2.0 + (f.n as f64).max(1.0).log2())).min(1e-5) },
            Call::Zip(Zip { op: ZipOp::Div, .. }) | Call::Magnitude(_) => Self::Element(1e-6),
            Call::Zip(_) | Call::Scale(_) => Self::Element(3e-7),
            Call::Gemm(g) => Self::Sum(2e-7 * (2.0 + g.inner as f64)),
            Call::Convolve(c) => Self::Sum(2e-7 * (2.0 + c.mask_rows as f64 * c.mask_cols as f64)),
            Call::FftShift(_)
            | Call::Transpose(_)
            | Call::ArgMax(_)
            | Call::Decide(_)
            | Call::Copy(_)
            | Call::Fill(_)
            | Call::User(_) => Self::Exact,
        }
    }
}

/// What the one operand that `call` writes has to hold afterwards. `inputs` are the bytes of the operands
/// that it reads, in order, at any alignment.
///
/// ```
/// use rimms::op::reference::{Values, expected};
/// use rimms::op::{Call, Fft};
/// use rimms::Complex32;
/// let x = [Complex32::new(1.0, 0.0), Complex32::new(3.0, 0.0)];
/// let call = Call::Fft(Fft { n: 2, rows: 1, inverse: false, in_place: false });
/// let want = expected(&call, &[bytemuck::cast_slice(&x)])?;
/// // A device's answer, a little off:
/// let found = [Complex32::new(4.0, 0.0), Complex32::new(-2.0000002, 0.0)];
/// assert!(want.compare(&call, bytemuck::cast_slice(&found))? < 1.0);
/// assert!(want.compare(&call, bytemuck::cast_slice(&x)).is_err());
/// # Ok::<(), Box<str>>(())
/// ```
///
/// # Errors
/// For a user-defined op, whose meaning only its author knows, and for inputs that do not fit the call.
pub fn expected(call: &Call, inputs: &[&[u8]]) -> Result<Values, Box<str>> {
    let input = |i: usize, len: usize, element: Element| -> Result<&[u8], Box<str>> {
        match inputs.get(i) {
            Some(bytes) if Some(bytes.len()) == len.checked_mul(element.size()) => Ok(bytes),
            Some(bytes) => {
                Err(format!("input {i} has {} bytes, {len} x {} are wanted", bytes.len(), element.name()).into())
            }
            None => Err(format!("input {i} is missing").into()),
        }
    };
    let product = |a: usize, b: usize| a.checked_mul(b).ok_or("more elements than an address can count");
    let complex = |i, len| input(i, len, SampleType::Complex.element()).map(complex);
    let real = |i, len| input(i, len, SampleType::Real.element()).map(real);
    let samples = |i, sample: SampleType, len| match sample {
        SampleType::Real => Ok(real(i, len)?.into_iter().map(Complex64::from).collect()),
        SampleType::Complex => complex(i, len),
    };
    Ok(match call {
        Call::Fft(f) => {
            let x = complex(0, product(f.n, f.rows)?)?;
            Values::Complex(x.chunks(f.n.max(1)).flat_map(|row| dft(row, f.inverse)).collect())
        }
        Call::Zip(z) => match z.sample {
            SampleType::Real => {
                let (a, b) = (real(0, z.len)?, real(1, z.row)?);
                let f = |a: f64, b: f64| match z.op {
                    ZipOp::Add => a + b,
                    ZipOp::Sub => a - b,
                    ZipOp::Mul | ZipOp::ConjMul => a * b,
                    ZipOp::Div => a / b,
                };
                Values::Real(a.iter().zip(b.iter().cycle()).map(|(a, b)| f(*a, *b)).collect())
            }
            SampleType::Complex => {
                let (a, b) = (complex(0, z.len)?, complex(1, z.row)?);
                let f = |a: Complex64, b: Complex64| match z.op {
                    ZipOp::Add => a + b,
                    ZipOp::Sub => a - b,
                    ZipOp::Mul => a * b,
                    ZipOp::ConjMul => a * b.conj(),
                    ZipOp::Div => a / b,
                };
                Values::Complex(a.iter().zip(b.iter().cycle()).map(|(a, b)| f(*a, *b)).collect())
            }
        },
        Call::FftShift(s) => {
            let size = s.sample.element().size();
            let x = input(0, product(s.n, s.rows)?, s.sample.element())?;
            let from = |i: usize| (i / s.n) * s.n + (i % s.n + s.n - s.n / 2) % s.n;
            Values::Bytes(permuted(x, size, from))
        }
        Call::Transpose(t) => {
            let size = t.sample.element().size();
            let x = input(0, product(t.rows, t.cols)?, t.sample.element())?;
            let mut moved = permuted(x, size, |i| (i % t.rows) * t.cols + i / t.rows);
            if t.conjugate && t.sample == SampleType::Complex {
                // The last byte of an element's imaginary part has the sign, or the first, as the machine has it.
                let sign = if cfg!(target_endian = "little") { size - 1 } else { size / 2 };
                moved.chunks_exact_mut(size).filter_map(|x| x.get_mut(sign)).for_each(|byte| *byte ^= 0x80);
            }
            Values::Bytes(moved)
        }
        Call::Scale(s) => match s.sample {
            SampleType::Real => Values::Real(real(0, s.len)?.iter().map(|x| f64::from(s.factor.re) * x).collect()),
            SampleType::Complex => Values::Complex(complex(0, s.len)?.iter().map(|x| wide(s.factor) * x).collect()),
        },
        Call::Magnitude(len) => Values::Real(complex(0, *len)?.iter().map(|x| x.norm_sqr().sqrt()).collect()),
        Call::ArgMax(len) => Values::Peak(arg_max(&real(0, *len)?)),
        Call::Gemm(g) => {
            let (a, b) =
                (samples(0, g.sample, product(g.rows, g.inner)?)?, samples(1, g.sample, product(g.inner, g.cols)?)?);
            let element = |i: usize| {
                let (row, col) = (i / g.cols, i % g.cols);
                sum((0..g.inner).map(|k| a[row * g.inner + k] * b[k * g.cols + col]))
            };
            Values::Sums(g.sample, (0..product(g.rows, g.cols)?).map(element).collect())
        }
        Call::Convolve(c) => {
            let len = product(c.rows, c.cols)?;
            let (x, mask) = (samples(0, c.sample, len)?, samples(1, c.sample, product(c.mask_rows, c.mask_cols)?)?);
            let inside = |at: usize, offset: usize, half: usize, end: usize| {
                (at + offset).checked_sub(half).filter(|at| *at < end)
            };
            let element = |at: usize| {
                sum(mask.iter().enumerate().filter_map(|(m, factor)| {
                    let row = inside(at / c.cols, m / c.mask_cols, c.mask_rows / 2, c.rows)?;
                    let col = inside(at % c.cols, m % c.mask_cols, c.mask_cols / 2, c.cols)?;
                    Some(factor * x[row * c.cols + col])
                }))
            };
            Values::Sums(c.sample, (0..len).map(element).collect())
        }
        Call::Decide(d) => {
            let x = complex(0, d.len)?;
            match d.constellation {
                Constellation::Bpsk => Values::Real(x.iter().map(|x| if x.re > 0.0 { 1.0 } else { -1.0 }).collect()),
                Constellation::Qam16 => {
                    let limit = f64::from(Constellation::QAM16_LIMIT);
                    let level = |x: f64| [-limit, 0.0, limit].iter().filter(|limit| x > **limit).count() as i32;
                    Values::Symbols(x.iter().map(|x| 4 * level(x.re) + level(x.im)).collect())
                }
            }
        }
        Call::Copy(shape) => Values::Bytes(input(0, shape.len, shape.element)?.to_vec()),
        Call::Fill(f) => {
            Values::Bytes(f.pattern.iter().copied().cycle().take(product(f.len, f.element.size())?).collect())
        }
        Call::User(_) => return Err(format!("{} is the user's: it has no reference here", call.name()).into()),
    })
}

/// `X[k] = Σ x[j]·exp(∓2πi·jk/n)`, the inverse scaled by `1/n`: the definition, in n² steps.
pub fn dft(x: &[Complex64], inverse: bool) -> Vec<Complex64> {
    let n = x.len();
    let (sign, scale) = if inverse { (1.0, 1.0 / n as f64) } else { (-1.0, 1.0) };
    // The factors repeat after n: jk counts modulo n.
    let factors: Vec<_> = (0..n).map(|i| Complex64::cis(sign * TAU * i as f64 / n as f64)).collect();
    let line = |k: usize| {
        let (mut sum, mut at) = (Complex64::ZERO, 0);
        for x in x {
            sum += x * factors[at];
            at += k;
            if at >= n {
                at -= n;
            }
        }
        sum * scale
    };
    (0..n).map(line).collect()
}

/// The first of the largest; a NaN is none, unless there is nothing else.
fn arg_max(x: &[f64]) -> Peak {
    let mut peak = Peak { index: 0, value: f64::NAN };
    for (i, &value) in x.iter().enumerate() {
        if value > peak.value || (peak.value.is_nan() && !value.is_nan()) {
            peak = Peak { index: i as u64, value };
        }
    }
    peak
}

/// The sum, and that of the magnitudes.
fn sum(products: impl Iterator<Item = Complex64>) -> (Complex64, f64) {
    products.fold((Complex64::ZERO, 0.0), |(sum, magnitudes), x| (sum + x, magnitudes + x.norm()))
}

/// Element `i` of the result is element `from(i)` of `x`.
fn permuted(x: &[u8], size: usize, from: impl Fn(usize) -> usize) -> Vec<u8> {
    (0..x.len() / size).map(|i| &x[from(i) * size..][..size]).collect::<Vec<_>>().concat()
}

fn wide(x: Complex32) -> Complex64 {
    Complex64::new(x.re.into(), x.im.into())
}

fn real(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b).into()).collect()
}

fn real_as_complex(bytes: &[u8]) -> Vec<Complex64> {
    real(bytes).into_iter().map(Into::into).collect()
}

fn complex(bytes: &[u8]) -> Vec<Complex64> {
    real(bytes).as_chunks().0.iter().map(|&[re, im]| Complex64::new(re, im)).collect()
}

impl Values {
    /// Holds the bytes that a device left in the written operand against these values.
    ///
    /// Gives the largest error found, as a fraction of the call's [`Bound`]: 0 is exact, 1 just good enough.
    ///
    /// # Errors
    /// Where it is beyond the bound: the place, what was found there, and what was wanted.
    pub fn compare(&self, call: &Call, found: &[u8]) -> Result<f64, Box<str>> {
        let bound = Bound::of(call);
        match self {
            Self::Bytes(want) => {
                same_length(found.len(), want.len(), "bytes")?;
                // The whole first: a search byte by byte is slow.
                if found == want {
                    return Ok(0.0);
                }
                let differs = found.iter().zip(want).enumerate().find(|(_, (found, want))| found != want);
                differs.map_or(Ok(0.0), |(i, (found, want))| {
                    Err(format!("byte {i} is {found:#04x}, {want:#04x} is wanted").into())
                })
            }
            Self::Peak(want) => {
                same_length(found.len(), size_of::<Peak>(), "bytes")?;
                let found: Peak = bytemuck::pod_read_unaligned(found);
                let same = found.index == want.index && error(found.value.into(), want.value.into()) == 0.0;
                if same { Ok(0.0) } else { Err(format!("{found:?} was found, {want:?} is wanted").into()) }
            }
            Self::Real(want) => {
                let want: Vec<Complex64> = want.iter().map(Into::into).collect();
                within(bound, &real_as_complex(found), &want, |i| want[i].norm())
            }
            Self::Complex(want) => within(bound, &complex(found), want, |i| want[i].norm()),
            Self::Sums(sample, sums) => {
                let found = match sample {
                    SampleType::Real => real_as_complex(found),
                    SampleType::Complex => complex(found),
                };
                let want: Vec<Complex64> = sums.iter().map(|(sum, _)| *sum).collect();
                within(bound, &found, &want, |i| sums[i].1)
            }
            Self::Symbols(want) => {
                let found: Vec<i32> = found.as_chunks().0.iter().map(|b| i32::from_ne_bytes(*b)).collect();
                same_length(found.len(), want.len(), "symbols")?;
                let differs = found.iter().zip(want).enumerate().find(|(_, (found, want))| found != want);
                differs.map_or(Ok(0.0), |(i, (found, want))| {
                    Err(format!("element {i} is symbol {found}, {want} is wanted").into())
                })
            }
        }
    }
}

fn same_length(found: usize, wanted: usize, what: &str) -> Result<(), Box<str>> {
    if found == wanted { Ok(()) } else { Err(format!("{found} {what} were found, {wanted} are wanted").into()) }
}

/// Each row of elements within the bound, which is a fraction of the elements' sizes.
fn within(bound: Bound, found: &[Complex64], want: &[Complex64], size: impl Fn(usize) -> f64) -> Result<f64, Box<str>> {
    same_length(found.len(), want.len(), "elements")?;
    let (n, fraction) = match bound {
        Bound::Exact => (1, 0.0),
        Bound::Element(fraction) | Bound::Sum(fraction) => (1, fraction),
        Bound::Row { n, fraction } => (n.max(1), fraction),
    };
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let mut worst = 0.0_f64;
    for (row, (found, want)) in found.chunks(n).zip(want.chunks(n)).enumerate() {
        let off = norm(&mut found.iter().zip(want).map(|(found, want)| error(*found, *want)));
        // Below the smallest normal number an f32 has no relative precision, and a device may have only 0.
        let allowed = fraction * norm(&mut (row * n..row * n + want.len()).map(&size)) + f64::from(f32::MIN_POSITIVE);
        if off == 0.0 {
            continue;
        }
        if off <= allowed {
            worst = worst.max(off / allowed);
            continue;
        }
        let at = (0..want.len()).max_by(|a, b| error(found[*a], want[*a]).total_cmp(&error(found[*b], want[*b])));
        let at = at.unwrap_or(0);
        return Err(format!(
            "element {} is {}, {} is wanted; the error over {} elements is {off:.3e}, {allowed:.3e} is allowed",
            row * n + at,
            found[at],
            want[at],
            want.len(),
        )
        .into());
    }
    Ok(worst)
}

/// The distance; 0 where both are NaN or are the same infinity as an `f32`, infinite where only one is.
fn error(found: Complex64, want: Complex64) -> f64 {
    let part = |found: f64, want: f64| {
        if found == want || (found.is_nan() && want.is_nan()) || found == f64::from(want as f32) && found.is_infinite()
        {
            0.0
        } else if found.is_finite() && want.is_finite() {
            (found - want).abs()
        } else {
            f64::INFINITY
        }
    };
    part(found.re, want.re).hypot(part(found.im, want.im))
}
