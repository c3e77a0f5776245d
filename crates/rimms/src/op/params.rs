//! The parameters of the built-in calls: what a call is told beside its operands.

use super::{Element, SampleType};
use num_complex::Complex32;
use smallvec::SmallVec;

/// Element-wise operation of two operands `a` and `b`.
///
/// ```
/// # use rimms::{Complex32, Runtime, ZipOp};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// let (mut a, mut y) = (rt.alloc::<Complex32>(8)?, rt.alloc::<Complex32>(8)?);
/// a.overwrite()?.fill(Complex32::I)?;
/// rt.zip(ZipOp::Mul, &a, &a, &mut y)?;
/// assert_eq!(y.read()?[0].re, -1.0); // i·i
/// rt.zip(ZipOp::ConjMul, &a, &a, &mut y)?;
/// assert_eq!(y.read()?[0].re, 1.0); // i·conj(i)
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ZipOp {
    /// `a + b`
    Add,
    /// `a − b`
    Sub,
    /// `a · b` (the complex product for complex samples)
    Mul,
    /// `a / b`
    Div,
    /// `a · conj(b)`; for real samples the same as `Mul`
    ConjMul,
}

impl ZipOp {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Add, Self::Sub, Self::Mul, Self::Div, Self::ConjMul];
}

/// Fourier transforms of `rows` rows of `n` complex samples each.
///
/// Forward: `X[k] = Σ x[j]·exp(−2πi·jk/n)`; inverse with `+` and scaled by `1/n`, so that one undoes the other.
///
/// ```
/// # use rimms::{Complex32, Runtime, arg_mut, op::{Call, Fft}};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let mut x = rt.alloc::<Complex32>(8)?;
/// # x.overwrite()?.fill(Complex32::ONE)?;
/// let forward = Fft { n: 4, rows: 2, inverse: false, in_place: true };
/// rt.call(&Call::Fft(forward), &mut [arg_mut(&mut x)])?;
/// assert_eq!([x.read()?[0].re, x.read()?[4].re], [4.0, 4.0]); // of two rows of ones
/// rt.call(&Call::Fft(Fft { inverse: true, ..forward }), &mut [arg_mut(&mut x)])?;
/// assert_eq!(x.read()?[7].re, 1.0);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fft {
    /// Samples in a row.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// The inverse transform?
    pub inverse: bool,
    /// One InOut operand in place of In and Out?
    pub in_place: bool,
}

/// `out = a ∘ b`, element by element.
///
/// ```
/// # use rimms::op::{Call, SampleType, Zip, ZipOp};
/// # use rimms::{Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut a, mut b, mut y) = (rt.alloc::<f32>(4)?, rt.alloc::<f32>(2)?, rt.alloc::<f32>(4)?);
/// a.overwrite()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0])?;
/// b.overwrite()?.copy_from_slice(&[10.0, 20.0])?; // one row for both rows of a
/// let add = Zip { op: ZipOp::Add, sample: SampleType::Real, len: 4, row: 2 };
/// rt.call(&Call::Zip(add), &mut [arg(&a), arg(&b), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [11.0, 22.0, 13.0, 24.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zip {
    /// Which operation.
    pub op: ZipOp,
    /// Of what.
    pub sample: SampleType,
    /// Elements of `a` and of the result.
    pub len: usize,
    /// Elements of `b`: `len`, or a divisor of it (one row for all rows of `a`).
    pub row: usize,
}

/// Each row rotated by `n/2` (rounded down) to the right: frequency 0 moves to the middle.
///
/// ```
/// # use rimms::op::{Call, FftShift, SampleType};
/// # use rimms::{Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut x, mut y) = (rt.alloc::<f32>(5)?, rt.alloc::<f32>(5)?);
/// x.overwrite()?.copy_from_slice(&[0.0, 1.0, 2.0, -2.0, -1.0])?; // in the order of an FFT
/// let shift = FftShift { sample: SampleType::Real, n: 5, rows: 1 };
/// rt.call(&Call::FftShift(shift), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [-2.0, -1.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FftShift {
    /// Of what.
    pub sample: SampleType,
    /// Samples in a row.
    pub n: usize,
    /// Rows.
    pub rows: usize,
}

/// `out[c][r] = x[r][c]`, conjugated on request.
///
/// ```
/// # use rimms::op::{Call, SampleType, Transpose};
/// # use rimms::{Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut x, mut y) = (rt.alloc::<f32>(6)?, rt.alloc::<f32>(6)?);
/// x.overwrite()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?; // two rows of three
/// let turn = Transpose { sample: SampleType::Real, rows: 2, cols: 3, conjugate: false };
/// rt.call(&Call::Transpose(turn), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transpose {
    /// Of what.
    pub sample: SampleType,
    /// Rows of the input.
    pub rows: usize,
    /// Columns of the input.
    pub cols: usize,
    /// Conjugate too (no effect on real samples)?
    pub conjugate: bool,
}

/// `out = factor · x`.
///
/// ```
/// # use rimms::op::{Call, SampleType, Scale};
/// # use rimms::{Complex32, Runtime, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let mut x = rt.alloc::<Complex32>(4)?;
/// x.overwrite()?.fill(Complex32::new(3.0, 1.0))?;
/// let turn = Scale { sample: SampleType::Complex, factor: Complex32::I, len: 4, in_place: true };
/// rt.call(&Call::Scale(turn), &mut [arg_mut(&mut x)])?;
/// assert_eq!(x.read()?[0], Complex32::new(-1.0, 3.0));
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Of what. For real samples the factor's imaginary part is 0.
    pub sample: SampleType,
    /// The factor.
    pub factor: Complex32,
    /// Elements.
    pub len: usize,
    /// One InOut operand in place of In and Out?
    pub in_place: bool,
}

/// Every element becomes the pattern.
///
/// ```
/// # use rimms::op::{Call, Element, Fill};
/// # use rimms::{Runtime, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let mut x = rt.alloc::<u16>(3)?;
/// let pattern = 7_u16.to_ne_bytes().as_slice().into();
/// let sevens = Fill { pattern, element: Element::of::<u16>(), len: 3 };
/// rt.call(&Call::Fill(sevens), &mut [arg_mut(&mut x)])?;
/// assert_eq!(x.read()?[..], [7, 7, 7]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Fill {
    /// The element's bytes.
    pub pattern: SmallVec<[u8; 16]>,
    /// Of what.
    pub element: Element,
    /// Elements.
    pub len: usize,
}

/// The matrix product `c = a · b`, all three row after row.
///
/// ```
/// # use rimms::op::{Call, Gemm, SampleType};
/// # use rimms::{Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut a, mut b, mut c) = (rt.alloc::<f32>(2)?, rt.alloc::<f32>(6)?, rt.alloc::<f32>(3)?);
/// a.overwrite()?.copy_from_slice(&[1.0, 10.0])?; // one row
/// b.overwrite()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?; // two rows of three
/// let product = Gemm { sample: SampleType::Real, rows: 1, inner: 2, cols: 3 };
/// rt.call(&Call::Gemm(product), &mut [arg(&a), arg(&b), arg_mut(&mut c)])?;
/// assert_eq!(c.read()?[..], [41.0, 52.0, 63.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gemm {
    /// Of what.
    pub sample: SampleType,
    /// Rows of `a` and of `c`.
    pub rows: usize,
    /// Columns of `a`, rows of `b`: products that are summed.
    pub inner: usize,
    /// Columns of `b` and of `c`.
    pub cols: usize,
}

/// A mask slid over a picture: `out[r][c] = Σ mask[i][j]·x[r + i − I/2][c + j − J/2]` for a mask of `I` × `J`
/// (divisions rounded down), where `x` is zero beyond its edges. The result has the size of `x`.
///
/// The mask is taken as it stands, as image processing and CEDR do; for the convolution of mathematics, which turns
/// it round, give it turned round. A mask of one row is the one-dimensional convolution of each row.
///
/// ```
/// # use rimms::op::{Call, Convolve, SampleType};
/// # use rimms::{Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut x, mut mask, mut y) = (rt.alloc::<f32>(4)?, rt.alloc::<f32>(3)?, rt.alloc::<f32>(4)?);
/// x.overwrite()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0])?;
/// mask.overwrite()?.copy_from_slice(&[-1.0, 0.0, 1.0])?; // what comes after less what was before
/// let slope = Convolve { sample: SampleType::Real, rows: 1, cols: 4, mask_rows: 1, mask_cols: 3 };
/// rt.call(&Call::Convolve(slope), &mut [arg(&x), arg(&mask), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [2.0, 2.0, 2.0, -3.0]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Convolve {
    /// Of what.
    pub sample: SampleType,
    /// Rows of the input and of the result.
    pub rows: usize,
    /// Columns of the input and of the result.
    pub cols: usize,
    /// Rows of the mask.
    pub mask_rows: usize,
    /// Columns of the mask.
    pub mask_cols: usize,
}

/// How symbols lie in the complex plane.
///
/// ```
/// use rimms::Complex32;
/// use rimms::op::Constellation;
/// assert_eq!(Constellation::Bpsk.point(1), Some(Complex32::new(1.0, 0.0)));
/// assert_eq!(Constellation::Qam16.point(0).map(|p| p.re < -0.94 && p.im < -0.94), Some(true));
/// assert_eq!(Constellation::Qam16.point(16), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Constellation {
    /// −1 and +1. The decision is that number, an `f32`: +1 where the real part is above 0, else −1.
    Bpsk,
    /// Sixteen in a square: both parts are one of −3, −1, 1, 3, divided by √10. The decision is the nearest symbol's
    /// number, an `i32`: 4·(level of the real part) + (level of the imaginary part), levels from 0 at −3. Half-way
    /// between two levels, it is the lower one.
    Qam16,
}

impl Constellation {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Bpsk, Self::Qam16];

    /// Half-way between two levels of QAM16, on either side of 0: 2/√10.
    pub const QAM16_LIMIT: f32 = 0.632_455_5;

    /// What a decision is made of.
    pub fn decision(self) -> Element {
        match self {
            Self::Bpsk => Element::of::<f32>(),
            Self::Qam16 => Element::of::<i32>(),
        }
    }

    /// The symbol with number `i`: of BPSK −1 has 0 and +1 has 1. `None` where there is none.
    pub fn point(self, i: usize) -> Option<Complex32> {
        // 1/√10, half of the limit: powers of two are exact.
        let level = |i: usize| (2 * i as i32 - 3) as f32 * (Self::QAM16_LIMIT / 2.0);
        match self {
            Self::Bpsk if i < 2 => Some(Complex32::new(2.0 * i as f32 - 1.0, 0.0)),
            Self::Qam16 if i < 16 => Some(Complex32::new(level(i / 4), level(i % 4))),
            _ => None,
        }
    }
}

/// Which symbol each of `len` complex samples stands for.
///
/// ```
/// # use rimms::op::{Call, Constellation, Decide};
/// # use rimms::{Complex32, Runtime, arg, arg_mut};
/// # let rt = Runtime::builder().cpus(1).build()?;
/// # let (mut x, mut y) = (rt.alloc::<Complex32>(2)?, rt.alloc::<i32>(2)?);
/// x.overwrite()?.copy_from_slice(&[Complex32::new(-0.9, 1.1), Complex32::new(0.2, -0.3)])?;
/// let decide = Decide { constellation: Constellation::Qam16, len: 2 };
/// rt.call(&Call::Decide(decide), &mut [arg(&x), arg_mut(&mut y)])?;
/// assert_eq!(y.read()?[..], [3, 9]);
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decide {
    /// Which symbols there are.
    pub constellation: Constellation,
    /// Samples.
    pub len: usize,
}
