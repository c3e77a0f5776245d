//! The calls: parameters, roles, shape rules, amount of work.

use super::{Element, Peak, SampleType, UserCall};
use num_complex::Complex32;
use smallvec::SmallVec;
use std::fmt;

/// What a call does with an operand.
///
/// ```
/// use rimms::op::Role;
/// assert!(Role::In.reads() && !Role::In.writes());
/// assert!(!Role::Out.reads() && Role::Out.writes()); // its old bytes are never copied in
/// assert!(Role::InOut.reads() && Role::InOut.writes());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// Read.
    In,
    /// Every byte is written, none is read.
    Out,
    /// Read, then written.
    InOut,
}

impl Role {
    /// Does the call need the old bytes?
    #[inline]
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Out)
    }

    /// Does the call write?
    #[inline]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::In)
    }
}

/// An operand as a shape rule sees it.
///
/// ```
/// use rimms::op::{Call, Element, Shape};
/// let floats = |len| Shape::new(len, Element::of::<f32>());
/// assert_eq!(floats(8).to_string(), "8 x f32");
/// assert!(Call::Copy(floats(8)).check(&[floats(8), floats(8)]).is_ok());
/// assert!(Call::Copy(floats(8)).check(&[floats(8), floats(4)]).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of elements.
    pub len: usize,
    /// Their type.
    pub element: Element,
}

impl Shape {
    /// `len` elements of type `element`.
    #[inline]
    pub const fn new(len: usize, element: Element) -> Self {
        Self { len, element }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.len, self.element.name())
    }
}

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

/// One unit of work.
///
/// ```
/// use rimms::op::{Call, Element, Role, Shape};
/// # use rimms::Complex32;
/// let call = Call::Magnitude(64);
/// assert_eq!((call.to_string().as_str(), call.roles()), ("magnitude of 64", &[Role::In, Role::Out][..]));
/// let (x, y) = (Shape::new(64, Element::of::<Complex32>()), Shape::new(64, Element::of::<f32>()));
/// assert!(call.check(&[x, y]).is_ok());
/// assert!(call.check(&[y, x]).is_err());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Call {
    /// Fourier transforms.
    Fft(Fft),
    /// Element-wise with two operands.
    Zip(Zip),
    /// Frequency 0 to the middle.
    FftShift(FftShift),
    /// Rows become columns.
    Transpose(Transpose),
    /// Times a factor.
    Scale(Scale),
    /// `out = |x|` of complex samples: `len` of them.
    Magnitude(usize),
    /// Where the largest of `len` real samples is: a [`Peak`].
    ArgMax(usize),
    /// The same elements elsewhere.
    Copy(Shape),
    /// One value everywhere.
    Fill(Fill),
    /// An op of the user's.
    User(UserCall),
}

/// What sort of call, without parameters: the key of capabilities and costs.
///
/// ```
/// use rimms::op::{Call, OpKind};
/// // Sizes are parameters, and not part of it:
/// assert_eq!(Call::ArgMax(8).kind(), Call::ArgMax(1024).kind());
/// assert_eq!(OpKind::ArgMax.name(), "arg-max");
/// assert!(OpKind::BUILT_IN.contains(&OpKind::Fft));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OpKind {
    /// [`Call::Fft`]
    Fft,
    /// [`Call::Zip`]
    Zip,
    /// [`Call::FftShift`]
    FftShift,
    /// [`Call::Transpose`]
    Transpose,
    /// [`Call::Scale`]
    Scale,
    /// [`Call::Magnitude`]
    Magnitude,
    /// [`Call::ArgMax`]
    ArgMax,
    /// [`Call::Copy`]
    Copy,
    /// [`Call::Fill`]
    Fill,
    /// [`Call::User`], by the op's own number.
    User(u32),
}

impl OpKind {
    /// The built-in ones.
    pub const BUILT_IN: [Self; 9] = [
        Self::Fft,
        Self::Zip,
        Self::FftShift,
        Self::Transpose,
        Self::Scale,
        Self::Magnitude,
        Self::ArgMax,
        Self::Copy,
        Self::Fill,
    ];

    /// A small number, different for each: user-defined ops follow the built-in ones.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Fft => 0,
            Self::Zip => 1,
            Self::FftShift => 2,
            Self::Transpose => 3,
            Self::Scale => 4,
            Self::Magnitude => 5,
            Self::ArgMax => 6,
            Self::Copy => 7,
            Self::Fill => 8,
            Self::User(id) => Self::BUILT_IN.len() + id as usize,
        }
    }

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fft => "fft",
            Self::Zip => "zip",
            Self::FftShift => "fftshift",
            Self::Transpose => "transpose",
            Self::Scale => "scale",
            Self::Magnitude => "magnitude",
            Self::ArgMax => "arg-max",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::User(_) => "user-defined",
        }
    }
}

const IN_OUT: &[Role] = &[Role::In, Role::Out];
const IN_PLACE: &[Role] = &[Role::InOut];

impl Call {
    /// What sort of call.
    #[inline]
    pub fn kind(&self) -> OpKind {
        match self {
            Self::Fft(_) => OpKind::Fft,
            Self::Zip(_) => OpKind::Zip,
            Self::FftShift(_) => OpKind::FftShift,
            Self::Transpose(_) => OpKind::Transpose,
            Self::Scale(_) => OpKind::Scale,
            Self::Magnitude(_) => OpKind::Magnitude,
            Self::ArgMax(_) => OpKind::ArgMax,
            Self::Copy(_) => OpKind::Copy,
            Self::Fill(_) => OpKind::Fill,
            Self::User(u) => OpKind::User(u.op().id()),
        }
    }

    /// The op's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Fft(Fft { inverse: true, .. }) => "ifft",
            Self::User(u) => u.op().name(),
            other => other.kind().name(),
        }
    }

    /// The role of each operand, in order.
    #[inline]
    pub fn roles(&self) -> &[Role] {
        match self {
            Self::Fft(Fft { in_place: true, .. }) | Self::Scale(Scale { in_place: true, .. }) => IN_PLACE,
            Self::Zip(_) => &[Role::In, Role::In, Role::Out],
            Self::Fill(_) => &[Role::Out],
            Self::User(u) => u.op().roles(),
            _ => IN_OUT,
        }
    }

    /// How many elements the call works through: what its cost is a function of. For a user-defined op that is
    /// the length of its longest operand.
    #[inline]
    pub fn work(&self, operands: &[Shape]) -> usize {
        self.work_of(operands.iter().map(|s| s.len))
    }

    /// The same from the operands' lengths alone.
    #[inline]
    pub(crate) fn work_of(&self, lens: impl Iterator<Item = usize>) -> usize {
        match self {
            Self::User(_) => lens.max().unwrap_or(0),
            _ => self.size(),
        }
    }

    /// The same for a built-in call, from its parameters.
    #[inline]
    fn size(&self) -> usize {
        match self {
            Self::Fft(f) => f.n.saturating_mul(f.rows),
            Self::Zip(z) => z.len,
            Self::FftShift(s) => s.n.saturating_mul(s.rows),
            Self::Transpose(t) => t.rows.saturating_mul(t.cols),
            Self::Scale(s) => s.len,
            Self::Magnitude(len) | Self::ArgMax(len) => *len,
            Self::Copy(s) => s.len,
            Self::Fill(f) => f.len,
            Self::User(_) => 0,
        }
    }

    /// The check of a user-defined op without a shape rule: types alone. `None` where that is not all there is to it.
    #[inline]
    pub(crate) fn quick_check(&self, elements: impl ExactSizeIterator<Item = Element>) -> Option<bool> {
        match self {
            Self::User(user) => user.op().quick_check(elements),
            _ => None,
        }
    }

    /// Do these operands fit the call?
    ///
    /// # Errors
    /// What was wanted and what was found, in words.
    #[inline]
    pub fn check(&self, found: &[Shape]) -> Result<(), Box<str>> {
        let roles = self.roles();
        if found.len() != roles.len() {
            return Err(format!("{} operands are wanted, {} were given", roles.len(), found.len()).into());
        }
        if let Self::User(user) = self {
            return user.op().check(found);
        }
        let ok = self.wanted(found.len()).iter().zip(found).all(|(want, found)| want == found);
        // The first operand has the call's size, or 0 where that is more than an address can count.
        let nonzero = found.first().is_some_and(|first| first.len != 0);
        if ok && nonzero && self.divides() { Ok(()) } else { Err(self.complain(found)) }
    }

    /// Does the second operand go into the first a whole number of times? Asked of zip only.
    fn divides(&self) -> bool {
        match self {
            Self::Zip(z) => z.row != 0 && z.len.is_multiple_of(z.row),
            _ => true,
        }
    }

    /// The operands a built-in call wants, in order.
    fn wanted(&self, operands: usize) -> SmallVec<[Shape; 3]> {
        let complex = Element::of::<Complex32>();
        let real = Element::of::<f32>();
        let same = |shape: Shape| SmallVec::from_iter(std::iter::repeat_n(shape, operands));
        match self {
            // A product beyond usize cannot be the length of anything: 0 fits no operand.
            Self::Fft(f) => same(Shape::new(f.n.checked_mul(f.rows).unwrap_or(0), complex)),
            Self::Zip(z) => {
                let e = z.sample.element();
                SmallVec::from_iter([Shape::new(z.len, e), Shape::new(z.row, e), Shape::new(z.len, e)])
            }
            Self::FftShift(s) => same(Shape::new(s.n.checked_mul(s.rows).unwrap_or(0), s.sample.element())),
            Self::Transpose(t) => same(Shape::new(t.rows.checked_mul(t.cols).unwrap_or(0), t.sample.element())),
            Self::Scale(s) => same(Shape::new(s.len, s.sample.element())),
            Self::Magnitude(len) => SmallVec::from_iter([Shape::new(*len, complex), Shape::new(*len, real)]),
            Self::ArgMax(len) => SmallVec::from_iter([Shape::new(*len, real), Shape::new(1, Element::of::<Peak>())]),
            Self::Copy(shape) => same(*shape),
            Self::Fill(f) => same(Shape::new(f.len, f.element)),
            Self::User(_) => SmallVec::new(),
        }
    }

    #[cold]
    fn complain(&self, found: &[Shape]) -> Box<str> {
        if let Self::Zip(z) = self
            && !self.divides()
        {
            return format!(
                "the second operand has {} elements: as many as the first ({}) or a divisor of that are wanted",
                z.row, z.len
            )
            .into();
        }
        let list = |shapes: &[Shape]| shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(", ");
        let rows = match self {
            Self::Fft(Fft { n, rows, .. }) | Self::FftShift(FftShift { n, rows, .. }) => {
                format!(" ({rows} rows of {n})")
            }
            Self::Transpose(t) => format!(" ({} rows of {})", t.rows, t.cols),
            _ => String::new(),
        };
        if self.size() == 0 {
            return format!("there is nothing to do{rows}: operands are {}", list(found)).into();
        }
        if self.size() == usize::MAX && self.wanted(1).first().is_some_and(|first| first.len == 0) {
            return format!("more elements than an address can count are wanted{rows}, found {}", list(found)).into();
        }
        format!("operands of {} are wanted{rows}, found {}", list(&self.wanted(found.len())), list(found)).into()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::Fft(Fft { n, rows, .. }) | Self::FftShift(FftShift { n, rows, .. }) if *rows != 1 => {
                write!(f, "{name} of {rows} rows of {n}")
            }
            Self::Zip(z) => write!(f, "{name} ({:?}, {:?}) of {}", z.op, z.sample, z.len),
            Self::Transpose(t) => write!(f, "{name} of {} x {}", t.rows, t.cols),
            Self::User(_) => f.write_str(name),
            _ => write!(f, "{name} of {}", self.size()),
        }
    }
}
