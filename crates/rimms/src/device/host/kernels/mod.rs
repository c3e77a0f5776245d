//! The built-in ops on slices: what the host's processors run, and what the
//! simulated accelerators run on the memory they simulate.
//!
//! One file a family: [`fft`] (transforms), [`zip`] (two operands), [`map`]
//! (one operand, element by element), [`rows`] (moves inside and between rows),
//! [`reduce`] (many to one), [`gemm`] (matrix products), [`convolve`] (masks slid
//! over pictures), [`decide`] (symbols), [`bytes`] (copy, fill).
//!
//! Invariant: a kernel sees operands of exactly the lengths its call wants.
//! [`run`] gets them through [`input`] and [`output`], which refuse others, so
//! that no index below can be out of range even where a device passes on an
//! operand that `op` never saw. The choice of an operation is made outside the
//! loops: each loop is one the compiler turns into vector instructions.

mod bytes;
mod convolve;
mod decide;
mod fft;
mod gemm;
mod map;
mod reduce;
mod rows;
#[cfg(test)]
mod tests;
mod zip;

use crate::op::{Call, Constellation, Convolve, Fft, Gemm, KernelArgs, KernelError, Peak, SampleType, Scale, Target};
use bytemuck::Pod;
use num_complex::Complex32;
use std::ops::{Add, Mul};

/// Runs `call` on `args`; a user-defined op by its kernel for `target`.
///
/// # Errors
/// What a user's kernel says, and operands that do not fit the call.
pub(crate) fn run<'a>(call: &'a Call, target: Target, args: &mut KernelArgs<'a>) -> Result<(), KernelError> {
    match call {
        Call::Fft(f) => run_fft(f, args)?,
        Call::Zip(z) => match z.sample {
            SampleType::Real => {
                zip::real(
                    z.op,
                    input(args, 0, Some(z.len))?,
                    input(args, 1, Some(z.row))?,
                    output(args, 2, Some(z.len))?,
                );
            }
            SampleType::Complex => {
                zip::complex(
                    z.op,
                    input(args, 0, Some(z.len))?,
                    input(args, 1, Some(z.row))?,
                    output(args, 2, Some(z.len))?,
                );
            }
        },
        // Rows are moved as bytes: what they are made of does not matter.
        Call::FftShift(s) => {
            let row = s.n.checked_mul(s.sample.element().size());
            let bytes = row.and_then(|row| row.checked_mul(s.rows));
            rows::shift(input(args, 0, bytes)?, output(args, 1, bytes)?, s.n, s.sample.element().size());
        }
        Call::Transpose(t) => {
            let len = t.rows.checked_mul(t.cols);
            match t.sample {
                SampleType::Real => rows::transpose::<f32>(input(args, 0, len)?, output(args, 1, len)?, t.cols, |x| x),
                SampleType::Complex => {
                    let (x, out): (&[Complex32], _) = (input(args, 0, len)?, output(args, 1, len)?);
                    if t.conjugate {
                        rows::transpose(x, out, t.cols, |x| x.conj());
                    } else {
                        rows::transpose(x, out, t.cols, |x| x);
                    }
                }
            }
        }
        Call::Scale(s) => match s.sample {
            SampleType::Real => run_scale(s, s.factor.re, args)?,
            SampleType::Complex => run_scale(s, s.factor, args)?,
        },
        Call::Magnitude(len) => map::magnitude(input(args, 0, Some(*len))?, output(args, 1, Some(*len))?),
        Call::ArgMax(len) => {
            let [peak] = output::<Peak>(args, 1, Some(1))? else { return Err("arg-max wants one Peak".into()) };
            *peak = reduce::arg_max(input(args, 0, Some(*len))?);
        }
        Call::Gemm(g) => match g.sample {
            SampleType::Real => run_gemm::<f32>(g, args)?,
            SampleType::Complex => run_gemm::<Complex32>(g, args)?,
        },
        Call::Convolve(c) => match c.sample {
            SampleType::Real => run_convolve::<f32>(c, args)?,
            SampleType::Complex => run_convolve::<Complex32>(c, args)?,
        },
        Call::Decide(d) => match d.constellation {
            Constellation::Bpsk => decide::bpsk(input(args, 0, Some(d.len))?, output(args, 1, Some(d.len))?),
            Constellation::Qam16 => decide::qam16(input(args, 0, Some(d.len))?, output(args, 1, Some(d.len))?),
        },
        Call::Copy(shape) => {
            let len = shape.len.checked_mul(shape.element.size());
            bytes::copy(input(args, 0, len)?, output(args, 1, len)?);
        }
        Call::Fill(f) => {
            let len = f.len.checked_mul(f.element.size());
            bytes::fill(output(args, 0, len)?, &f.pattern);
        }
        Call::User(user) => user.run(target, args)?,
    }
    Ok(())
}

fn run_fft(f: &Fft, args: &mut KernelArgs<'_>) -> Result<(), KernelError> {
    let len = f.n.checked_mul(f.rows);
    if f.in_place {
        fft::in_place(output(args, 0, len)?, f.n, f.inverse);
    } else {
        fft::out_of_place(input(args, 0, len)?, output(args, 1, len)?, f.n, f.inverse);
    }
    Ok(())
}

fn run_scale<T: Pod + Mul<Output = T>>(s: &Scale, factor: T, args: &mut KernelArgs<'_>) -> Result<(), KernelError> {
    if s.in_place {
        map::scale_in_place(output(args, 0, Some(s.len))?, factor);
    } else {
        map::scale(input(args, 0, Some(s.len))?, output(args, 1, Some(s.len))?, factor);
    }
    Ok(())
}

fn run_gemm<T: Pod + Add<Output = T> + Mul<Output = T>>(
    g: &Gemm,
    args: &mut KernelArgs<'_>,
) -> Result<(), KernelError> {
    let a = input::<T>(args, 0, g.rows.checked_mul(g.inner))?;
    let b = input(args, 1, g.inner.checked_mul(g.cols))?;
    gemm::multiply(a, b, output(args, 2, g.rows.checked_mul(g.cols))?, g.inner, g.cols);
    Ok(())
}

fn run_convolve<T: Pod + Add<Output = T> + Mul<Output = T>>(
    c: &Convolve,
    args: &mut KernelArgs<'_>,
) -> Result<(), KernelError> {
    let len = c.rows.checked_mul(c.cols);
    let (x, mask) = (input::<T>(args, 0, len)?, input(args, 1, c.mask_rows.checked_mul(c.mask_cols))?);
    convolve::slide(x, mask, output(args, 2, len)?, c.cols, c.mask_cols);
    Ok(())
}

/// In operand `i`, which has to have `len` elements (`None`: more than there can be).
#[inline]
fn input<'a, T: Pod>(args: &KernelArgs<'a>, i: usize, len: Option<usize>) -> Result<&'a [T], KernelError> {
    let slice = args.input(i)?;
    if Some(slice.len()) == len { Ok(slice) } else { Err(wrong_length(i, slice.len(), len)) }
}

/// The same for an Out or InOut operand.
#[inline]
fn output<'a, T: Pod>(args: &mut KernelArgs<'a>, i: usize, len: Option<usize>) -> Result<&'a mut [T], KernelError> {
    let slice = args.output(i)?;
    if Some(slice.len()) == len { Ok(slice) } else { Err(wrong_length(i, slice.len(), len)) }
}

#[cold]
fn wrong_length(i: usize, found: usize, wanted: Option<usize>) -> KernelError {
    match wanted {
        Some(wanted) => format!("operand {i} has {found} elements, {wanted} are wanted").into(),
        None => format!("operand {i} has {found} elements, more than an address can count are wanted").into(),
    }
}
