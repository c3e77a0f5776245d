//! What a unit can do: declared as data, asked before every placement.

use crate::op::{Call, Fft, OpKind, SampleType, Scale, Target, Zip};

/// Which sizes an op is supported in.
///
/// ```
/// use rimms::device::Lengths;
/// let block = Lengths { min: 16, max: 2048, power_of_two: true };
/// assert!(block.contains(16) && block.contains(2048));
/// assert!(!block.contains(8) && !block.contains(100) && !block.contains(4096));
/// assert!(Lengths::ANY.contains(100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The smallest.
    pub min: usize,
    /// The largest.
    pub max: usize,
    /// Powers of two only?
    pub power_of_two: bool,
}

impl Lengths {
    /// Any size.
    pub const ANY: Self = Self { min: 1, max: usize::MAX, power_of_two: false };

    /// Is `n` one of them?
    pub const fn contains(&self, n: usize) -> bool {
        self.min <= n && n <= self.max && (!self.power_of_two || n.is_power_of_two())
    }
}

/// One op that a unit can do.
///
/// ```
/// use rimms::device::{Capability, Lengths, OpSupport};
/// use rimms::op::{Call, OpKind, Target};
/// let magnitude = OpSupport { kind: OpKind::Magnitude, sample: None, lengths: Lengths { max: 64, ..Lengths::ANY } };
/// let unit = Capability::only([magnitude]);
/// assert!(unit.can(&Call::Magnitude(64), Target::Sim));
/// assert!(!unit.can(&Call::Magnitude(65), Target::Sim) && !unit.can(&Call::ArgMax(64), Target::Sim));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpSupport {
    /// Which.
    pub kind: OpKind,
    /// On which samples; `None` where any will do.
    pub sample: Option<SampleType>,
    /// In which sizes: samples of a row for transforms, the longest side of a matrix product, elements in all for the
    /// others.
    pub lengths: Lengths,
}

/// What a unit can do.
///
/// ```
/// use rimms::device::{Capability, Lengths, OpSupport};
/// use rimms::op::{Call, Fft, OpKind, Target};
/// let block = Capability::only([OpSupport {
///     kind: OpKind::Fft,
///     sample: None,
///     lengths: Lengths { min: 16, max: 2048, power_of_two: true },
/// }]);
/// let fft = |n| Call::Fft(Fft { n, rows: 1, inverse: false, in_place: false });
/// assert!(block.allows(&fft(1024), Target::Sim).is_ok());
/// assert!(block.allows(&fft(100), Target::Sim).unwrap_err().contains("power of two"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// `None` where all are.
    ops: Option<Vec<OpSupport>>,
    has_user_ops: bool,
}

impl Capability {
    /// Every built-in op in every size, and user-defined ops that have a kernel for the device.
    pub const ALL: Self = Self { ops: None, has_user_ops: true };

    /// These and no others; no user-defined ops.
    pub fn only(ops: impl IntoIterator<Item = OpSupport>) -> Self {
        Self { ops: Some(ops.into_iter().collect()), has_user_ops: false }
    }

    /// User-defined ops that have a kernel for the device as well.
    #[must_use]
    pub fn and_user_ops(self) -> Self {
        Self { has_user_ops: true, ..self }
    }

    /// The declared ops; `None` for all.
    pub fn ops(&self) -> Option<&[OpSupport]> {
        self.ops.as_deref()
    }

    /// Can it run this call?
    #[inline]
    pub fn can(&self, call: &Call, target: Target) -> bool {
        match (&self.ops, call) {
            (_, Call::User(user)) if self.has_user_ops => user.op().runs_on(target),
            (None, _) => true,
            (Some(_), _) => self.allows(call, target).is_ok(),
        }
    }

    /// The same with the reason why not.
    ///
    /// # Errors
    /// The reason, for a person.
    pub fn allows(&self, call: &Call, target: Target) -> Result<(), String> {
        if let Call::User(user) = call
            && self.has_user_ops
        {
            let has = user.op().runs_on(target);
            return if has { Ok(()) } else { Err(format!("the op has no kernel for {target:?}")) };
        }
        let Some(ops) = &self.ops else { return Ok(()) };
        let (sample, length) = subject(call);
        let mut why = format!("it does not do {}", call.kind().name());
        for op in ops.iter().filter(|op| op.kind == call.kind()) {
            if let (Some(wanted), Some(found)) = (op.sample, sample)
                && wanted != found
            {
                why = format!("it takes {wanted} samples, not {found} ones");
            } else if !op.lengths.contains(length) {
                let Lengths { min, max, power_of_two } = op.lengths;
                let powers = if power_of_two { " that are a power of two" } else { "" };
                why = format!("it takes lengths from {min} to {max}{powers}, not {length}");
            } else {
                return Ok(());
            }
        }
        Err(why)
    }
}

/// What the declared limits are about: the sample type, and the length of a row or of all.
fn subject(call: &Call) -> (Option<SampleType>, usize) {
    match call {
        Call::Fft(Fft { n, .. }) => (Some(SampleType::Complex), *n),
        Call::FftShift(s) => (Some(s.sample), s.n),
        Call::Zip(Zip { sample, len, .. }) | Call::Scale(Scale { sample, len, .. }) => (Some(*sample), *len),
        Call::Transpose(t) => (Some(t.sample), t.rows.saturating_mul(t.cols)),
        Call::Magnitude(len) => (Some(SampleType::Complex), *len),
        Call::ArgMax(len) => (Some(SampleType::Real), *len),
        Call::Gemm(g) => (Some(g.sample), g.rows.max(g.inner).max(g.cols)),
        Call::Convolve(c) => (Some(c.sample), c.rows.saturating_mul(c.cols)),
        Call::Decide(d) => (Some(SampleType::Complex), d.len),
        Call::Copy(shape) => (None, shape.len),
        Call::Fill(fill) => (None, fill.len),
        Call::User(_) => (None, 0),
    }
}
