mod products;

use super::{fft, run};
use crate::op::{
    Call, Element, Fft, FftShift, Fill, KernelArgs, KernelError, Peak, Role, SampleType, Scale, Shape, Target,
    Transpose, UserOp, Zip, ZipOp,
};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use num_complex::{Complex32, Complex64};
use std::f32::consts::TAU;

fn c(re: f32, im: f32) -> Complex32 {
    Complex32::new(re, im)
}

/// Runs `call` on `inputs` and one output of `len` elements, which it gives back.
fn call<T: Pod>(call: &Call, inputs: &[&[u8]], len: usize) -> Result<Vec<T>, KernelError> {
    let mut out = vec![T::zeroed(); len];
    let mut args = KernelArgs::new();
    inputs.iter().for_each(|x| args.push_input(x));
    args.push(Role::Out, cast_slice_mut(&mut out));
    run(call, Target::Cpu, &mut args)?;
    drop(args);
    Ok(out)
}

fn call_in_place<T: Pod>(call: &Call, x: &mut [T]) {
    let mut args = KernelArgs::new();
    args.push(Role::InOut, cast_slice_mut(x));
    run(call, Target::Cpu, &mut args).unwrap();
}

fn transform(x: &[Complex32], n: usize, inverse: bool) -> Vec<Complex32> {
    let f = Call::Fft(Fft { n, rows: x.len() / n, inverse, in_place: false });
    call(&f, &[cast_slice(x)], x.len()).unwrap()
}

/// Deterministic ordinary samples in (−1, 1).
fn samples(len: usize) -> Vec<Complex32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 + 0.5) / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| c(next(), next())).collect()
}

/// ‖a − b‖ / ‖b‖
fn distance(a: &[Complex32], b: &[Complex32]) -> f64 {
    assert_eq!(a.len(), b.len());
    (energy(a.iter().zip(b).map(|(a, b)| wide(*a) - wide(*b))) / energy(b.iter().map(|b| wide(*b)))).sqrt()
}

fn energy(x: impl Iterator<Item = Complex64>) -> f64 {
    x.map(|x| x.norm_sqr()).sum()
}

fn wide(x: Complex32) -> Complex64 {
    Complex64::new(x.re.into(), x.im.into())
}

// Lengths of every kind of algorithm: powers of two, composite, prime with smooth and rough neighbours.
const LENGTHS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 17, 47, 59, 100, 127, 240, 1009, 2048, 4096];

#[test]
fn one_tone_is_one_line() {
    for n in LENGTHS {
        let k = n / 3;
        let x: Vec<_> = (0..n).map(|j| Complex32::from_polar(1.0, TAU * ((j * k) % n) as f32 / n as f32)).collect();
        let mut want = vec![Complex32::ZERO; n];
        want[k] = c(n as f32, 0.0);
        assert!(distance(&transform(&x, n, false), &want) < 1e-6, "n = {n}");
        // The inverse finds it at −k, scaled.
        let mut want = vec![Complex32::ZERO; n];
        want[(n - k) % n] = c(1.0, 0.0);
        assert!(distance(&transform(&x, n, true), &want) < 1e-6, "n = {n}");
    }
}

#[test]
fn transform_keeps_energy_and_is_undone() {
    for n in LENGTHS {
        let x = samples(3 * n);
        let y = transform(&x, n, false);
        let (time, frequency) = (energy(x.iter().map(|x| wide(*x))), energy(y.iter().map(|y| wide(*y))));
        assert!((frequency / (n as f64 * time) - 1.0).abs() < 1e-6, "Parseval, n = {n}");
        assert!(distance(&transform(&y, n, true), &x) < 1e-6, "round trip, n = {n}");
    }
}

#[test]
fn a_million_points_round_trip() {
    let n = 1 << 20;
    let x = samples(n);
    let mut y = x.clone();
    for inverse in [false, true] {
        call_in_place(&Call::Fft(Fft { n, rows: 1, inverse, in_place: true }), &mut y);
    }
    assert!(distance(&y, &x) < 1e-6);
}

#[test]
fn transform_is_linear() {
    let (n, factor) = (240, c(0.5, -2.0));
    let (x, y) = (samples(n), transform(&samples(2 * n)[n..], n, true));
    let sum: Vec<_> = x.iter().zip(&y).map(|(x, y)| x * factor + y).collect();
    let (fx, fy) = (transform(&x, n, false), transform(&y, n, false));
    let want: Vec<_> = fx.iter().zip(&fy).map(|(x, y)| x * factor + y).collect();
    assert!(distance(&transform(&sum, n, false), &want) < 1e-6);
}

#[test]
fn rows_are_transformed_alone_and_in_place_is_the_same() {
    for n in LENGTHS {
        for inverse in [false, true] {
            // Enough rows that the inverse goes through them in several pieces.
            let rows = if n < 64 { 2 * 4096 / n + 3 } else { 5 };
            let x = samples(n * rows);
            let together = transform(&x, n, inverse);
            let alone: Vec<_> = x.chunks(n).flat_map(|row| transform(row, n, inverse)).collect();
            assert!(distance(&together, &alone) < 1e-6, "n = {n}");
            let mut y = x.clone();
            call_in_place(&Call::Fft(Fft { n, rows, inverse, in_place: true }), &mut y);
            assert!(distance(&y, &together) < 1e-6, "n = {n}");
        }
    }
}

#[test]
fn kept_plans_are_bounded_and_never_wrong() {
    // A thread of its own, since plans belong to the thread.
    std::thread::spawn(|| {
        for n in (1..200).chain([3, 2, 1, 199]) {
            let x = samples(n);
            assert!(distance(&transform(&transform(&x, n, false), n, true), &x) < 1e-6, "n = {n}");
        }
        let (plans, _, scratch) = fft::kept();
        assert_eq!(plans, 64);
        assert!(scratch <= 4 * 200, "{scratch}");
        // A use keeps a plan: 199 stays while 64 others come and go.
        for n in 200..300 {
            transform(&samples(199), 199, false);
            transform(&samples(n), n, false);
        }
        assert_eq!(fft::kept().0, 64);
        // Long ones push the rest out, and leave no more scratch memory than those kept need.
        for n in [1 << 22, 1 << 21, 3 << 21] {
            transform(&samples(n), n, false);
        }
        let (_, points, scratch) = fft::kept();
        assert!(points <= 1 << 23, "{points}");
        assert!(scratch <= 3 * (3 << 21), "{scratch}");
    })
    .join()
    .unwrap();
}

fn zip(op: ZipOp, a: &[Complex32], b: &[Complex32]) -> Vec<Complex32> {
    let z = Call::Zip(Zip { op, sample: SampleType::Complex, len: a.len(), row: b.len() });
    call(&z, &[cast_slice(a), cast_slice(b)], a.len()).unwrap()
}

fn zip_real(op: ZipOp, a: &[f32], b: &[f32]) -> Vec<f32> {
    let z = Call::Zip(Zip { op, sample: SampleType::Real, len: a.len(), row: b.len() });
    call(&z, &[cast_slice(a), cast_slice(b)], a.len()).unwrap()
}

#[test]
fn zip_of_small_numbers_is_exact() {
    let (a, b) = ([c(1.0, 2.0), c(-3.0, 4.0)], [c(3.0, -1.0), c(0.0, 2.0)]);
    assert_eq!(zip(ZipOp::Add, &a, &b), [c(4.0, 1.0), c(-3.0, 6.0)]);
    assert_eq!(zip(ZipOp::Sub, &a, &b), [c(-2.0, 3.0), c(-3.0, 2.0)]);
    assert_eq!(zip(ZipOp::Mul, &a, &b), [c(5.0, 5.0), c(-8.0, -6.0)]);
    assert_eq!(zip(ZipOp::ConjMul, &a, &b), [c(1.0, 7.0), c(8.0, 6.0)]);
    assert_eq!(zip(ZipOp::Div, &zip(ZipOp::Mul, &a, &b), &b), a);
    let (a, b) = ([6.0, -8.0, 5.0], [2.0, 4.0, -0.5]);
    assert_eq!(zip_real(ZipOp::Add, &a, &b), [8.0, -4.0, 4.5]);
    assert_eq!(zip_real(ZipOp::Sub, &a, &b), [4.0, -12.0, 5.5]);
    assert_eq!(zip_real(ZipOp::Mul, &a, &b), [12.0, -32.0, -2.5]);
    assert_eq!(zip_real(ZipOp::ConjMul, &a, &b), [12.0, -32.0, -2.5]);
    assert_eq!(zip_real(ZipOp::Div, &a, &b), [3.0, -2.0, -10.0]);
}

#[test]
fn one_row_serves_all_rows() {
    let a = samples(24);
    for op in ZipOp::ALL {
        for row in [1, 2, 3, 8, 12] {
            let b = &samples(40)[28..28 + row];
            let all: Vec<_> = b.iter().copied().cycle().take(a.len()).collect();
            assert_eq!(zip(op, &a, b), zip(op, &a, &all), "{op:?}, row of {row}");
            let (a, b): (&[f32], &[f32]) = (cast_slice(&a), cast_slice(b));
            let all: Vec<_> = b.iter().copied().cycle().take(a.len()).collect();
            assert_eq!(zip_real(op, a, b), zip_real(op, a, &all), "{op:?}, real row of {row}");
        }
    }
}

#[test]
fn division_is_sound_at_the_ends_of_the_range() {
    let tiny = f32::MIN_POSITIVE;
    for b in [c(f32::MAX, f32::MAX), c(tiny, -tiny), c(1e-30, 1e-38), c(0.0, f32::MAX), c(1e38, 1.0)] {
        let [one] = zip(ZipOp::Div, &[b], &[b])[..] else { panic!("one element") };
        assert!((one - c(1.0, 0.0)).norm() < 1e-6, "{b} / {b} = {one}");
    }
    assert!(zip(ZipOp::Div, &[c(1.0, 0.0)], &[c(0.0, 0.0)])[0].is_nan());
}

#[test]
fn magnitude_neither_overflows_nor_vanishes() {
    let x = [c(3.0, -4.0), c(0.0, 0.0), c(3e30, 4e30), c(3e-30, 4e-30), c(f32::MAX, 0.0), c(f32::NAN, 1.0)];
    let y: Vec<f32> = call(&Call::Magnitude(x.len()), &[cast_slice(&x)], x.len()).unwrap();
    assert_eq!(y[..5], [5.0, 0.0, 5e30, 5e-30, f32::MAX]);
    assert!(y[5].is_nan());
}

#[test]
fn scale_by_real_and_complex_factors() {
    let s = |sample, factor, len, in_place| Call::Scale(Scale { sample, factor, len, in_place });
    let x = [1.0_f32, -2.0, 0.5];
    let y: Vec<f32> = call(&s(SampleType::Real, c(-4.0, 0.0), 3, false), &[cast_slice(&x)], 3).unwrap();
    assert_eq!(y, [-4.0, 8.0, -2.0]);
    let mut x = [c(1.0, 2.0), c(0.0, -1.0)];
    call_in_place(&s(SampleType::Complex, c(0.0, 1.0), 2, true), &mut x);
    assert_eq!(x, [c(-2.0, 1.0), c(1.0, 0.0)]);
}

fn shift(x: &[f32], n: usize) -> Vec<f32> {
    let s = Call::FftShift(FftShift { sample: SampleType::Real, n, rows: x.len() / n });
    call(&s, &[cast_slice(x)], x.len()).unwrap()
}

#[test]
fn shift_brings_frequency_zero_to_the_middle() {
    assert_eq!(shift(&[0.0, 1.0, -2.0, -1.0], 4), [-2.0, -1.0, 0.0, 1.0]);
    assert_eq!(shift(&[0.0, 1.0, 2.0, -2.0, -1.0], 5), [-2.0, -1.0, 0.0, 1.0, 2.0]);
    assert_eq!(shift(&[7.0, 8.0], 1), [7.0, 8.0]);
    assert_eq!(shift(&[0.0, 1.0, -1.0, 10.0, 11.0, 9.0], 3), [-1.0, 0.0, 1.0, 9.0, 10.0, 11.0]);
    let x = samples(10);
    let s = Call::FftShift(FftShift { sample: SampleType::Complex, n: 5, rows: 2 });
    let y: Vec<Complex32> = call(&s, &[cast_slice(&x)], 10).unwrap();
    assert_eq!((y[2], y[0], y[7], y[6]), (x[0], x[3], x[5], x[9]));
}

#[test]
fn transpose_of_every_shape() {
    for (rows, cols) in [(1, 1), (1, 9), (9, 1), (2, 3), (8, 8), (7, 17), (33, 70), (128, 64), (120, 20)] {
        let x = samples(rows * cols);
        for conjugate in [false, true] {
            let t = Call::Transpose(Transpose { sample: SampleType::Complex, rows, cols, conjugate });
            let y: Vec<Complex32> = call(&t, &[cast_slice(&x)], x.len()).unwrap();
            for (i, y) in y.iter().enumerate() {
                let want = x[(i % rows) * cols + i / rows];
                assert_eq!(*y, if conjugate { want.conj() } else { want }, "{rows} x {cols}");
            }
        }
        let real: Vec<f32> = x.iter().map(|x| x.re).collect();
        let t = Call::Transpose(Transpose { sample: SampleType::Real, rows, cols, conjugate: true });
        let y: Vec<f32> = call(&t, &[cast_slice(&real)], x.len()).unwrap();
        assert!(y.iter().enumerate().all(|(i, y)| *y == real[(i % rows) * cols + i / rows]), "{rows} x {cols}");
    }
}

fn arg_max(x: &[f32]) -> Peak {
    call(&Call::ArgMax(x.len()), &[cast_slice(x)], 1).unwrap()[0]
}

#[test]
fn arg_max_is_the_first_of_the_largest() {
    assert_eq!(arg_max(&[1.0, 5.0, 2.0, 5.0]), Peak { index: 1, value: 5.0 });
    assert_eq!(arg_max(&[-3.0]), Peak { index: 0, value: -3.0 });
    assert_eq!(arg_max(&[0.0, -0.0]), Peak { index: 0, value: 0.0 });
    let mut x: Vec<f32> = samples(5000).iter().map(|x| x.re).collect();
    for at in [4999, 4096, 2049, 1024, 1023, 31, 0] {
        // The places before stay larger than the rest, and equal to the new one.
        x[at] = 2.0;
        assert_eq!(arg_max(&x), Peak { index: at as u64, value: 2.0 });
    }
}

#[test]
fn nan_is_never_the_largest() {
    let (nan, low) = (f32::NAN, f32::NEG_INFINITY);
    assert_eq!(arg_max(&[nan, 1.0, nan, 2.0, nan]), Peak { index: 3, value: 2.0 });
    assert_eq!(arg_max(&[nan, low, low]), Peak { index: 1, value: f64::NEG_INFINITY });
    assert_eq!(arg_max(&[nan, f32::INFINITY]), Peak { index: 1, value: f64::INFINITY });
    for len in [1, 33, 3000] {
        let all = arg_max(&vec![nan; len]);
        assert!(all.index == 0 && all.value.is_nan());
        let mut x = vec![nan; len];
        x[len - 1] = low;
        assert_eq!(arg_max(&x), Peak { index: len as u64 - 1, value: f64::NEG_INFINITY });
    }
}

#[test]
fn copy_and_fill_are_exact() {
    let x: Vec<u8> = (0..1001).map(|i| (i * 7) as u8).collect();
    assert_eq!(call::<u8>(&Call::Copy(Shape::new(1001, Element::of::<u8>())), &[&x], 1001).unwrap(), x);
    for len in [1, 2, 511, 512, 513, 5000] {
        for pattern in [Complex32::ZERO, c(1.0, -2.0), c(f32::NAN, 0.0)] {
            let bytes = bytemuck::bytes_of(&pattern);
            let fill = Fill { pattern: bytes.into(), element: Element::of::<Complex32>(), len };
            let y: Vec<u8> = call(&Call::Fill(fill), &[], len * 8).unwrap();
            assert!(y.chunks(8).all(|y| y == bytes), "{len} x {pattern}");
        }
        let fill = Fill { pattern: [1, 2, 3][..].into(), element: Element::of::<[u8; 3]>(), len };
        let y: Vec<[u8; 3]> = call(&Call::Fill(fill), &[], len).unwrap();
        assert!(y.iter().all(|y| *y == [1, 2, 3]));
    }
}

#[test]
fn operands_of_other_lengths_are_refused() {
    let x = samples(8);
    let f = |n, rows, in_place| Call::Fft(Fft { n, rows, inverse: false, in_place });
    for (call_, wanted) in [(f(8, 2, false), "16"), (f(usize::MAX, 2, false), "more than"), (Call::Magnitude(9), "9")] {
        let refused = call::<Complex32>(&call_, &[cast_slice(&x)], 8).unwrap_err();
        assert!(refused.0.contains("8 elements") && refused.0.contains(wanted), "{refused}");
    }
    let scale = Scale { sample: SampleType::Real, factor: c(1.0, 0.0), len: 4, in_place: true };
    assert!(call::<f32>(&Call::Scale(scale), &[], 5).is_err());
    assert!(call::<Peak>(&Call::ArgMax(16), &[cast_slice(&x)], 2).is_err());
    // Nothing to do is no reason to panic.
    assert!(call::<Complex32>(&f(0, 3, false), &[cast_slice::<f32, u8>(&[])], 0).is_ok());
    assert!(call::<Complex32>(&f(4, 0, true), &[], 0).is_ok());
}

#[test]
fn user_defined_ops_run_their_kernel_for_the_target() {
    let op = UserOp::builder("double")
        .inout::<f32>()
        .on_cpu(|k| {
            let by = *k.params::<f32>()?;
            k.output::<f32>(0)?.iter_mut().for_each(|x| *x *= by);
            Ok(())
        })
        .build()
        .unwrap();
    let twice = op.with(2.0_f32);
    assert_eq!(call::<f32>(&twice, &[], 3).unwrap(), [0.0; 3]);
    let mut x = [1.0_f32, 2.0];
    call_in_place(&twice, &mut x);
    assert_eq!(x, [2.0, 4.0]);
    let refused = run(&twice, Target::Sim, &mut KernelArgs::new()).unwrap_err();
    assert!(refused.0.contains("no kernel for Sim"), "{refused}");
    // Without parameters the kernel gives up by itself.
    assert!(call::<f32>(&op.call(), &[], 1).unwrap_err().0.contains("f32"));
}
