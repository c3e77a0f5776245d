//! The calls of the suite, and inputs for them.

use crate::device::Span;
use crate::op::{
    Call, Constellation, Convolve, Decide, Element, Fft, FftShift, Fill, Gemm, Peak, Role, SampleType, Scale, Shape,
    Transpose, Zip, ZipOp,
};
use bytemuck::bytes_of;
use num_complex::Complex32;

const SAMPLES: [SampleType; 2] = [SampleType::Real, SampleType::Complex];

/// An operand: rows of columns, which can be a tile.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) element: Element,
}

/// What the inputs hold.
#[derive(Clone, Copy)]
enum Content {
    /// Ordinary samples: no NaN, nothing near the ends of the range.
    Samples,
    /// Any bytes.
    Bytes,
    /// The same few values again and again.
    Ties,
    /// Samples with NaN among them, at the front too.
    SomeNan,
    /// NaN only.
    AllNan,
    /// −∞ and NaN only.
    Lowest,
    /// Symbols, places half-way between them, and NaN.
    Limits,
}

/// One call, and what it is launched on.
pub(super) struct Case {
    pub(super) call: Call,
    pub(super) planes: Vec<Plane>,
    content: Content,
}

impl Case {
    fn new(call: Call, planes: impl Into<Vec<Plane>>) -> Self {
        Self { call, planes: planes.into(), content: Content::Samples }
    }

    fn with(self, content: Content) -> Self {
        Self { content, ..self }
    }

    /// Each operand's place with its role.
    pub(super) fn rows_of<'s>(&self, spans: &'s [Span]) -> impl Iterator<Item = (&'s Span, Role)> {
        spans.iter().zip(self.call.roles().iter().copied())
    }

    /// Bytes for each operand that is read.
    pub(super) fn inputs(&self, random: &mut Random) -> Vec<Vec<u8>> {
        let read = self.planes.iter().zip(self.call.roles()).filter(|(_, role)| role.reads());
        read.map(|(plane, _)| {
            let bytes = plane.rows * plane.cols * plane.element.size();
            match self.content {
                Content::Bytes => (0..bytes).map(|_| random.next() as u8).collect(),
                content => (0..bytes / 4).flat_map(|i| content.sample(i, random).to_ne_bytes()).collect(),
            }
        })
        .collect()
    }
}

impl Content {
    fn sample(self, i: usize, random: &mut Random) -> f32 {
        match self {
            Self::Samples | Self::Bytes => random.sample(),
            Self::Ties => (random.next() % 3) as f32,
            Self::SomeNan if i == 0 || random.next().is_multiple_of(4) => f32::NAN,
            Self::SomeNan => random.sample(),
            Self::AllNan => f32::NAN,
            Self::Lowest if i == 0 || random.next().is_multiple_of(2) => f32::NAN,
            Self::Lowest => f32::NEG_INFINITY,
            Self::Limits => {
                let limit = Constellation::QAM16_LIMIT;
                let just = |x: f32, steps: i32| f32::from_bits(x.to_bits().wrapping_add_signed(steps));
                let places =
                    [0.0, -0.0, limit, -limit, limit / 2.0, -1.5 * limit, just(limit, 1), just(-limit, -1), f32::NAN];
                places.get((random.next() % 12) as usize).copied().unwrap_or_else(|| random.sample())
            }
        }
    }
}

/// All calls for `rows` rows of `n`.
pub(super) fn of(n: usize, rows: usize) -> Vec<Case> {
    let len = n * rows;
    let plane = |element| Plane { rows, cols: n, element };
    let (real, complex) = (plane(SampleType::Real.element()), plane(SampleType::Complex.element()));
    let mut cases = transposes(n, rows);
    cases.extend(SAMPLES.into_iter().flat_map(|sample| sums(n, rows, sample)));
    for constellation in Constellation::ALL {
        let planes = [complex, plane(constellation.decision())];
        for content in [Content::Samples, Content::Limits] {
            let call = Call::Decide(Decide { constellation, len });
            cases.push(Case::new(call, planes).with(content));
        }
    }
    for inverse in [false, true] {
        for in_place in [false, true] {
            let call = Call::Fft(Fft { n, rows, inverse, in_place });
            cases.push(Case::new(call, vec![complex; if in_place { 1 } else { 2 }]));
        }
    }
    for sample in SAMPLES {
        let all = plane(sample.element());
        for op in ZipOp::ALL {
            let zip = |row| Call::Zip(Zip { op, sample, len, row });
            cases.push(Case::new(zip(len), [all; 3]));
            if rows > 1 {
                cases.push(Case::new(zip(n), [all, Plane { rows: 1, ..all }, all]));
            }
        }
        cases.push(Case::new(Call::FftShift(FftShift { sample, n, rows }), [all; 2]));
        let factor = Complex32::new(-0.75, if sample == SampleType::Complex { 1.25 } else { 0.0 });
        for in_place in [false, true] {
            let call = Call::Scale(Scale { sample, factor, len, in_place });
            cases.push(Case::new(call, vec![all; if in_place { 1 } else { 2 }]));
        }
    }
    cases.push(Case::new(Call::Magnitude(len), [complex, real]));
    let peak = Plane { rows: 1, cols: 1, element: Element::of::<Peak>() };
    for content in [Content::Samples, Content::Ties, Content::SomeNan, Content::AllNan, Content::Lowest] {
        cases.push(Case::new(Call::ArgMax(len), [real, peak]).with(content));
    }
    let (byte, wide) = (plane(Element::of::<u8>()), plane(Element::of::<Peak>()));
    for plane in [byte, real, complex, wide] {
        cases.push(Case::new(Call::Copy(Shape::new(len, plane.element)), [plane; 2]).with(Content::Bytes));
    }
    let (value, peak) = (Complex32::new(1.5, -2.5), Peak { index: 7, value: -0.5 });
    let patterns: [(Plane, &[u8]); 6] = [
        (byte, &[0x3C]),
        (real, &[0; 4]),
        (real, bytes_of(&value.re)),
        (complex, &[0; 8]),
        (complex, bytes_of(&value)),
        (wide, bytes_of(&peak)),
    ];
    for (plane, pattern) in patterns {
        let fill = Fill { pattern: pattern.into(), element: plane.element, len };
        cases.push(Case::new(Call::Fill(fill), [plane]));
    }
    cases
}

/// Matrix products with long sums, with long rows and with neither, and masks of one row, of one column, of even and
/// odd sides, and larger than the picture.
fn sums(n: usize, rows: usize, sample: SampleType) -> Vec<Case> {
    let plane = |rows, cols| Plane { rows, cols, element: sample.element() };
    let mut cases = Vec::new();
    for (rows, inner, cols) in [(rows, n, 3), (2, rows, n), (5, rows, 2)] {
        let call = Call::Gemm(Gemm { sample, rows, inner, cols });
        cases.push(Case::new(call, [plane(rows, inner), plane(inner, cols), plane(rows, cols)]));
    }
    for (mask_rows, mask_cols) in [(1, 5), (4, 1), (3, 3), (9, 2)] {
        let call = Call::Convolve(Convolve { sample, rows, cols: n, mask_rows, mask_cols });
        cases.push(Case::new(call, [plane(rows, n), plane(mask_rows, mask_cols), plane(rows, n)]));
    }
    cases
}

/// Every transpose of `rows` rows of `n`.
pub(super) fn transposes(n: usize, rows: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for sample in SAMPLES {
        let element = sample.element();
        for conjugate in [false, true] {
            let call = Call::Transpose(Transpose { sample, rows, cols: n, conjugate });
            cases.push(Case::new(call, [Plane { rows, cols: n, element }, Plane { rows: n, cols: rows, element }]));
        }
    }
    cases
}

/// SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014):
/// small, and the same everywhere.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Of either sign, between 2⁻³ and 2⁴ in magnitude: fit to divide by, and far from denormal numbers, which
    /// devices may take for 0.
    fn sample(&mut self) -> f32 {
        let bits = self.next();
        let mantissa = 1.0 + ((bits >> 40) as f32) / (1_u32 << 24) as f32;
        let magnitude = mantissa * ((1_u32 << (bits % 7)) as f32) / 8.0;
        if bits & 8 == 0 { magnitude } else { -magnitude }
    }
}
