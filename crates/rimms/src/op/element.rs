//! Element types: what operands are made of.

use bytemuck::{Pod, Zeroable};
use num_complex::Complex32;
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

/// The type of an operand's elements, as a value.
///
/// ```
/// use rimms::op::Element;
/// assert_eq!(Element::of::<f32>(), Element::of::<f32>());
/// assert_ne!(Element::of::<f32>(), Element::of::<u32>());
/// assert_eq!(Element::of::<u64>().size(), 8);
/// ```
#[derive(Clone, Copy)]
pub struct Element {
    id: TypeId,
    about: &'static About,
}

struct About {
    size: usize,
    name: fn() -> &'static str,
}

/// A type's one `About`.
struct Of<T>(PhantomData<T>);

impl<T> Of<T> {
    const ABOUT: &'static About = &About { size: size_of::<T>(), name: std::any::type_name::<T> };
}

impl Element {
    /// The element type `T`.
    #[inline]
    pub fn of<T: Pod>() -> Self {
        Self { id: TypeId::of::<T>(), about: Of::<T>::ABOUT }
    }

    /// Bytes of one element.
    #[inline]
    pub fn size(self) -> usize {
        self.about.size
    }

    /// The type's name without its path, for messages.
    pub fn name(self) -> &'static str {
        let full = (self.about.name)();
        // Keep the path's last part, and that of a generic argument: Complex<f32>.
        let base = full.split('<').next().unwrap_or(full);
        let start = base.rfind("::").map_or(0, |i| i + 2);
        &full[start..]
    }
}

impl PartialEq for Element {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // One crate's `About` of a type need not be another's.
        std::ptr::eq(self.about, other.about) || self.id == other.id
    }
}

impl Eq for Element {}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The two sample types of signal processing, which the built-in ops are defined on.
///
/// ```
/// use rimms::Complex32;
/// use rimms::op::{Element, SampleType};
/// assert_eq!(SampleType::Complex.element(), Element::of::<Complex32>());
/// assert_eq!(SampleType::Real.element().size(), 4);
/// assert_eq!(SampleType::Real.to_string(), "real");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SampleType {
    /// Real, `f32`.
    Real,
    /// Complex, [`Complex32`].
    Complex,
}

impl SampleType {
    /// As an [`Element`].
    #[inline]
    pub fn element(self) -> Element {
        match self {
            Self::Real => Element::of::<f32>(),
            Self::Complex => Element::of::<Complex32>(),
        }
    }
}

impl fmt::Display for SampleType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Complex => "complex",
        })
    }
}

/// Types the built-in ops work on: `f32` and [`Complex32`].
///
/// ```
/// use rimms::op::SampleType;
/// use rimms::{Complex32, Sample};
/// fn energy<S: Sample>(x: &[S]) -> f32 {
///     x.iter().map(|s| s.to_complex().norm_sqr()).sum()
/// }
/// assert_eq!((energy(&[3.0_f32, 4.0]), energy(&[Complex32::new(3.0, 4.0)])), (25.0, 25.0));
/// assert_eq!((f32::TYPE, Complex32::TYPE), (SampleType::Real, SampleType::Complex));
/// ```
pub trait Sample: Pod + Send + Sync + private::Sealed {
    /// Which of the two.
    const TYPE: SampleType;
    /// As a complex number (imaginary part 0 for a real one).
    fn to_complex(self) -> Complex32;
}

impl Sample for f32 {
    const TYPE: SampleType = SampleType::Real;
    fn to_complex(self) -> Complex32 {
        Complex32::new(self, 0.0)
    }
}

impl Sample for Complex32 {
    const TYPE: SampleType = SampleType::Complex;
    fn to_complex(self) -> Complex32 {
        self
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for num_complex::Complex32 {}
}

/// The answer of arg-max: where the largest value is, and how large.
///
/// The first of several equal values; a NaN is never the largest (all NaN: index 0, value NaN).
///
/// ```
/// use rimms::{Peak, Runtime};
/// let rt = Runtime::builder().cpus(1).build()?;
/// let mut x = rt.alloc::<f32>(3)?;
/// x.overwrite()?.copy_from_slice(&[1.0, 5.0, 2.0])?;
/// let mut peak = rt.alloc::<Peak>(1)?;
/// rt.arg_max(&x, &mut peak)?;
/// assert_eq!(peak.read()?[0], Peak { index: 1, value: 5.0 });
/// # Ok::<(), rimms::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Peak {
    /// Position of the largest value, from 0.
    pub index: u64,
    /// The value.
    pub value: f64,
}
