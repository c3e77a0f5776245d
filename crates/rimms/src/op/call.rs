//! The calls: roles, shape rules, amount of work.

use super::params::{Convolve, Decide, Fft, FftShift, Fill, Gemm, Scale, Transpose, Zip};
use super::{Element, Peak, UserCall};
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
    /// The matrix product.
    Gemm(Gemm),
    /// A mask slid over rows, or over a picture.
    Convolve(Convolve),
    /// The nearest symbols.
    Decide(Decide),
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
    /// [`Call::Gemm`]
    Gemm,
    /// [`Call::Convolve`]
    Convolve,
    /// [`Call::Decide`]
    Decide,
    /// [`Call::Copy`]
    Copy,
    /// [`Call::Fill`]
    Fill,
    /// [`Call::User`], by the op's own number.
    User(u32),
}

impl OpKind {
    /// The built-in ones.
    pub const BUILT_IN: [Self; 12] = [
        Self::Fft,
        Self::Zip,
        Self::FftShift,
        Self::Transpose,
        Self::Scale,
        Self::Magnitude,
        Self::ArgMax,
        Self::Gemm,
        Self::Convolve,
        Self::Decide,
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
            Self::Gemm => 7,
            Self::Convolve => 8,
            Self::Decide => 9,
            Self::Copy => 10,
            Self::Fill => 11,
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
            Self::Gemm => "gemm",
            Self::Convolve => "convolve",
            Self::Decide => "decide",
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
            Self::Gemm(_) => OpKind::Gemm,
            Self::Convolve(_) => OpKind::Convolve,
            Self::Decide(_) => OpKind::Decide,
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
            Self::Zip(_) | Self::Gemm(_) | Self::Convolve(_) => &[Role::In, Role::In, Role::Out],
            Self::Fill(_) => &[Role::Out],
            Self::User(u) => u.op().roles(),
            _ => IN_OUT,
        }
    }

    /// How many elements the call works through: what its cost is a function of. For a matrix product and a
    /// convolution that is the number of products, for a user-defined op the length of its longest operand.
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
            Self::Gemm(g) => g.rows.saturating_mul(g.inner).saturating_mul(g.cols),
            Self::Convolve(c) => {
                let mask = c.mask_rows.saturating_mul(c.mask_cols);
                c.rows.saturating_mul(c.cols).saturating_mul(mask)
            }
            Self::Decide(d) => d.len,
            Self::Copy(s) => s.len,
            Self::Fill(f) => f.len,
            Self::User(_) => 0,
        }
    }

    /// A clone that costs no more than it must for the calls that are made most often.
    #[inline]
    pub(crate) fn share(&self) -> Self {
        if let Self::User(user) = self { Self::User(user.clone()) } else { self.clone() }
    }

    /// Element types and roles of a user-defined op's operands, where it has no shape rule: all there is to check.
    #[inline]
    pub(crate) fn types_alone(&self) -> Option<&[(Element, Role)]> {
        match self {
            Self::User(user) => user.op().types_alone(),
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
        // No operand of a built-in call is empty; a length beyond what an address can count is wanted as 0.
        let nonzero = found.iter().all(|operand| operand.len != 0);
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
            Self::Gemm(g) => {
                let matrix = |rows: usize, cols| Shape::new(rows.checked_mul(cols).unwrap_or(0), g.sample.element());
                [matrix(g.rows, g.inner), matrix(g.inner, g.cols), matrix(g.rows, g.cols)].into()
            }
            Self::Convolve(c) => {
                let plane = |rows: usize, cols| Shape::new(rows.checked_mul(cols).unwrap_or(0), c.sample.element());
                let picture = plane(c.rows, c.cols);
                [picture, plane(c.mask_rows, c.mask_cols), picture].into()
            }
            Self::Decide(d) => {
                SmallVec::from_iter([Shape::new(d.len, complex), Shape::new(d.len, d.constellation.decision())])
            }
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
            Self::Gemm(g) => format!(" ({} x {} times {} x {})", g.rows, g.inner, g.inner, g.cols),
            Self::Convolve(c) => {
                format!(" ({} rows of {}, a mask of {} x {})", c.rows, c.cols, c.mask_rows, c.mask_cols)
            }
            _ => String::new(),
        };
        if let (Self::Fft(Fft { n, rows: 0, .. }) | Self::FftShift(FftShift { n, rows: 0, .. }), Some(first)) =
            (self, found.first())
            && *n != 0
            && first.len != 0
        {
            return format!("rows of {n} are wanted, and {first} are no whole number of them").into();
        }
        if self.size() == 0 {
            return format!("there is nothing to do{rows}: operands are {}", list(found)).into();
        }
        if self.wanted(found.len()).iter().any(|wanted| wanted.len == 0) {
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
            Self::Gemm(g) => write!(f, "{name} of {} x {} and {} x {}", g.rows, g.inner, g.inner, g.cols),
            Self::Convolve(c) => {
                write!(f, "{name} of {} x {} with {} x {}", c.rows, c.cols, c.mask_rows, c.mask_cols)
            }
            Self::User(_) => f.write_str(name),
            _ => write!(f, "{name} of {}", self.size()),
        }
    }
}
