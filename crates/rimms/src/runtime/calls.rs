//! The typed calls. Each builds its [`Call`] from the views' lengths and runs it.
//!
//! All of them check shapes before anything happens, return when the call is accepted (when it is done, for a blocking
//! handle), and fail as [`Runtime::call`] says.
//! An output is written whole; where it is a fragment, only the fragment is.

use super::{Event, Runtime, arg, arg_mut};
use crate::data::View;
use crate::error::Result;
use crate::op::{
    Call, Constellation, Convolve, Decide, Element, Fft, FftShift, Fill, Gemm, Peak, Sample, Scale, Shape, Transpose,
    Zip, ZipOp,
};
use bytemuck::Pod;
use num_complex::Complex32;

/// Rows of `n` in a view of `len` elements; 0 where they do not divide it, which no call accepts.
fn rows(len: usize, n: usize) -> usize {
    if n != 0 && len.is_multiple_of(n) { len / n } else { 0 }
}

#[allow(clippy::missing_errors_doc)] // the module says it once
impl Runtime {
    /// `y = FFT(x)`, over the whole length.
    ///
    /// Forward: `y[k] = Σ x[j]·exp(−2πi·jk/n)`. Any length on a CPU; accelerators declare theirs. O(n log n).
    pub fn fft(&self, x: &View<Complex32>, y: &mut View<Complex32>) -> Result<Event> {
        self.fft_rows(x.len(), x, y)
    }

    /// `y = IFFT(x)`, scaled by 1/n: undoes [`fft`](Self::fft).
    pub fn ifft(&self, x: &View<Complex32>, y: &mut View<Complex32>) -> Result<Event> {
        self.ifft_rows(x.len(), x, y)
    }

    /// [`fft`](Self::fft) of each row of `n` samples.
    pub fn fft_rows(&self, n: usize, x: &View<Complex32>, y: &mut View<Complex32>) -> Result<Event> {
        let call = Call::Fft(Fft { n, rows: rows(x.len(), n), inverse: false, in_place: false });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// [`ifft`](Self::ifft) of each row of `n` samples.
    pub fn ifft_rows(&self, n: usize, x: &View<Complex32>, y: &mut View<Complex32>) -> Result<Event> {
        let call = Call::Fft(Fft { n, rows: rows(x.len(), n), inverse: true, in_place: false });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// `x = FFT(x)`.
    pub fn fft_in_place(&self, x: &mut View<Complex32>) -> Result<Event> {
        self.fft_rows_in_place(x.len(), x)
    }

    /// `x = IFFT(x)`, scaled by 1/n.
    pub fn ifft_in_place(&self, x: &mut View<Complex32>) -> Result<Event> {
        self.ifft_rows_in_place(x.len(), x)
    }

    /// [`fft_in_place`](Self::fft_in_place) of each row of `n` samples.
    pub fn fft_rows_in_place(&self, n: usize, x: &mut View<Complex32>) -> Result<Event> {
        let call = Call::Fft(Fft { n, rows: rows(x.len(), n), inverse: false, in_place: true });
        self.call(&call, &mut [arg_mut(x)])
    }

    /// [`ifft_in_place`](Self::ifft_in_place) of each row of `n` samples.
    pub fn ifft_rows_in_place(&self, n: usize, x: &mut View<Complex32>) -> Result<Event> {
        let call = Call::Fft(Fft { n, rows: rows(x.len(), n), inverse: true, in_place: true });
        self.call(&call, &mut [arg_mut(x)])
    }

    /// `y = a ∘ b`, element by element. `b` is as long as `a`, or one row for all: its length divides that of `a`.
    pub fn zip<S: Sample>(&self, op: ZipOp, a: &View<S>, b: &View<S>, y: &mut View<S>) -> Result<Event> {
        let call = Call::Zip(Zip { op, sample: S::TYPE, len: a.len(), row: b.len() });
        self.call(&call, &mut [arg(a), arg(b), arg_mut(y)])
    }

    /// `y = a + b`, for matrices of `rows` × `cols`.
    pub fn matrix_add<S: Sample>(
        &self,
        rows: usize,
        cols: usize,
        a: &View<S>,
        b: &View<S>,
        y: &mut View<S>,
    ) -> Result<Event> {
        self.zip_matrices(ZipOp::Add, rows, cols, a, b, y)
    }

    /// `y = a − b`, for matrices of `rows` × `cols`.
    pub fn matrix_sub<S: Sample>(
        &self,
        rows: usize,
        cols: usize,
        a: &View<S>,
        b: &View<S>,
        y: &mut View<S>,
    ) -> Result<Event> {
        self.zip_matrices(ZipOp::Sub, rows, cols, a, b, y)
    }

    /// Element by element, and no row for all: both have the size that is said.
    fn zip_matrices<S: Sample>(
        &self,
        op: ZipOp,
        rows: usize,
        cols: usize,
        a: &View<S>,
        b: &View<S>,
        y: &mut View<S>,
    ) -> Result<Event> {
        // More than an address can count is as long as nothing is.
        let len = rows.saturating_mul(cols);
        self.call(&Call::Zip(Zip { op, sample: S::TYPE, len, row: len }), &mut [arg(a), arg(b), arg_mut(y)])
    }

    /// The matrix product `c = a · b`, for `a` of `rows` × `inner` and `b` of `inner` × `cols`, row after row.
    pub fn gemm<S: Sample>(
        &self,
        rows: usize,
        inner: usize,
        cols: usize,
        a: &View<S>,
        b: &View<S>,
        c: &mut View<S>,
    ) -> Result<Event> {
        let call = Call::Gemm(Gemm { sample: S::TYPE, rows, inner, cols });
        self.call(&call, &mut [arg(a), arg(b), arg_mut(c)])
    }

    /// `y[i] = Σ mask[j]·x[i + j − J/2]` for a mask of `J`, zeros beyond the ends; the mask is not turned round.
    pub fn convolve<S: Sample>(&self, x: &View<S>, mask: &View<S>, y: &mut View<S>) -> Result<Event> {
        self.convolve_rows(x.len(), x, mask, y)
    }

    /// [`convolve`](Self::convolve) of each row of `n` samples with the same mask.
    pub fn convolve_rows<S: Sample>(&self, n: usize, x: &View<S>, mask: &View<S>, y: &mut View<S>) -> Result<Event> {
        self.convolve_2d([rows(x.len(), n), n], x, [1, mask.len()], mask, y)
    }

    /// `y[r][c] = Σ mask[i][j]·x[r + i − I/2][c + j − J/2]` for a picture of `size` and a mask of `I` × `J` (rows ×
    /// columns), zeros beyond the edges; the mask is not turned round.
    pub fn convolve_2d<S: Sample>(
        &self,
        size: [usize; 2],
        x: &View<S>,
        mask_size: [usize; 2],
        mask: &View<S>,
        y: &mut View<S>,
    ) -> Result<Event> {
        let ([rows, cols], [mask_rows, mask_cols]) = (size, mask_size);
        let call = Call::Convolve(Convolve { sample: S::TYPE, rows, cols, mask_rows, mask_cols });
        self.call(&call, &mut [arg(x), arg(mask), arg_mut(y)])
    }

    /// Decisions on BPSK symbols: +1 where the real part is above 0, else −1.
    pub fn bpsk(&self, x: &View<Complex32>, y: &mut View<f32>) -> Result<Event> {
        let call = Call::Decide(Decide { constellation: Constellation::Bpsk, len: x.len() });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// Decisions on QAM16 symbols: the number of the nearest one, as [`Constellation::Qam16`] counts them.
    pub fn qam16(&self, x: &View<Complex32>, y: &mut View<i32>) -> Result<Event> {
        let call = Call::Decide(Decide { constellation: Constellation::Qam16, len: x.len() });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// Each row of `n` samples rotated by `n/2`: frequency 0 moves to the middle.
    pub fn fftshift_rows<S: Sample>(&self, n: usize, x: &View<S>, y: &mut View<S>) -> Result<Event> {
        let call = Call::FftShift(FftShift { sample: S::TYPE, n, rows: rows(x.len(), n) });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// The corner turn: `y[c][r] = x[r][c]`, for `x` of `rows` × `cols`.
    pub fn transpose<S: Sample>(&self, rows: usize, cols: usize, x: &View<S>, y: &mut View<S>) -> Result<Event> {
        let call = Call::Transpose(Transpose { sample: S::TYPE, rows, cols, conjugate: false });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// The conjugate transpose: `y[c][r] = conj(x[r][c])`.
    pub fn transpose_conj<S: Sample>(&self, rows: usize, cols: usize, x: &View<S>, y: &mut View<S>) -> Result<Event> {
        let call = Call::Transpose(Transpose { sample: S::TYPE, rows, cols, conjugate: true });
        self.call(&call, &mut [arg(x), arg_mut(y)])
    }

    /// `y = factor · x`.
    pub fn scale<S: Sample>(&self, factor: S, x: &View<S>, y: &mut View<S>) -> Result<Event> {
        let scale = Scale { sample: S::TYPE, factor: factor.to_complex(), len: x.len(), in_place: false };
        self.call(&Call::Scale(scale), &mut [arg(x), arg_mut(y)])
    }

    /// `x = factor · x`.
    pub fn scale_in_place<S: Sample>(&self, factor: S, x: &mut View<S>) -> Result<Event> {
        let scale = Scale { sample: S::TYPE, factor: factor.to_complex(), len: x.len(), in_place: true };
        self.call(&Call::Scale(scale), &mut [arg_mut(x)])
    }

    /// `y = |x|`.
    pub fn magnitude(&self, x: &View<Complex32>, y: &mut View<f32>) -> Result<Event> {
        self.call(&Call::Magnitude(x.len()), &mut [arg(x), arg_mut(y)])
    }

    /// Where the largest element is: the first of equals; NaN is never the largest.
    pub fn arg_max(&self, x: &View<f32>, peak: &mut View<Peak>) -> Result<Event> {
        self.call(&Call::ArgMax(x.len()), &mut [arg(x), arg_mut(peak)])
    }

    /// `y = x`, elements of any type.
    pub fn copy<T: Pod>(&self, x: &View<T>, y: &mut View<T>) -> Result<Event> {
        let shape = Shape::new(x.len(), Element::of::<T>());
        self.call(&Call::Copy(shape), &mut [arg(x), arg_mut(y)])
    }

    /// `y[i] = value`, elements of any type.
    pub fn fill<T: Pod>(&self, value: T, y: &mut View<T>) -> Result<Event> {
        let pattern = bytemuck::bytes_of(&value).into();
        self.call(&Call::Fill(Fill { pattern, element: Element::of::<T>(), len: y.len() }), &mut [arg_mut(y)])
    }
}
