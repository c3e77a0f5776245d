//! What matched filters have in common: padding, and the product with a conjugated spectrum.

use rimms::{Complex32, View, ZipOp};

use super::Conj;
use crate::Result;

/// A row of `samples` with `before` zeros before them and as many behind as are wanted: element by element.
pub(super) fn padded(samples: &[Complex32], before: usize) -> impl Fn(usize) -> Complex32 {
    move |i| i.checked_sub(before).and_then(|i| samples.get(i)).copied().unwrap_or_default()
}

/// The product that fits a reference whose spectrum has, or has not, been conjugated by the host.
pub(super) const fn product(conj: Conj) -> ZipOp {
    match conj {
        Conj::Host => ZipOp::Mul,
        Conj::Device => ZipOp::ConjMul,
    }
}

/// The conjugates of a view, in another, by the host.
pub(super) fn conjugate(from: &View<Complex32>, to: &mut View<Complex32>) -> Result<()> {
    let from = from.read()?;
    Ok(to.overwrite()?.write_with(|i| from[i].conj())?)
}

/// Element `i` of a reference of `len` elements, zeros behind it, whose spectrum is to be conjugated as `conj` says.
/// FFT(conj(x(−n))) = conj(FFT(x)): turned round and conjugated here, its spectrum is conjugated already.
pub(super) fn reference(samples: &[Complex32], len: usize, conj: Conj) -> impl Fn(usize) -> Complex32 {
    let padded = padded(samples, 0);
    move |i| match conj {
        Conj::Device => padded(i),
        Conj::Host => padded((len - i) % len).conj(),
    }
}
