//! The float64 references of single ops, and how they are compared with.

use super::{HUGE, axpy, complex, fft, shift, zip};
use crate::op::reference::{Bound, Values, dft, expected};
use crate::op::{Call, Peak, SampleType, Scale, Transpose};
use bytemuck::cast_slice;
use num_complex::{Complex32, Complex64};

#[test]
fn the_reference_transform_is_the_definition() {
    // Known in closed form: exp(−a·j) has the geometric series as its transform.
    for n in [1, 2, 3, 7, 16, 100] {
        let x: Vec<_> = (0..n).map(|j| Complex64::from((-0.3 * j as f64).exp())).collect();
        let close = |a: Complex64, b: Complex64| (a - b).norm() < 1e-12;
        for (k, found) in dft(&x, false).into_iter().enumerate() {
            let q = Complex64::from_polar((-0.3_f64).exp(), -std::f64::consts::TAU * k as f64 / n as f64);
            assert!(close(found, (1.0 - q.powu(n as u32)) / (1.0 - q)), "n = {n}, k = {k}");
        }
        let back = dft(&dft(&x, false), true);
        assert!(back.iter().zip(&x).all(|(back, x)| close(*back, *x)), "n = {n}");
    }
}

#[test]
fn the_reference_of_what_is_moved() {
    let x = complex(&[(0.0, 1.0), (2.0, 3.0), (4.0, 5.0), (6.0, 7.0), (8.0, 9.0), (10.0, 11.0)]);
    let moved = |call: Call, of: &[usize]| {
        let want: Vec<Complex32> = of.iter().map(|i| x[*i]).collect();
        assert_eq!(expected(&call, &[cast_slice(&x)]).unwrap(), Values::Bytes(cast_slice(&want).to_vec()), "{call}");
    };
    moved(shift(6, 1), &[3, 4, 5, 0, 1, 2]);
    moved(shift(3, 2), &[2, 0, 1, 5, 3, 4]);
    let transpose = |conjugate| Call::Transpose(Transpose { sample: SampleType::Complex, rows: 2, cols: 3, conjugate });
    moved(transpose(false), &[0, 3, 1, 4, 2, 5]);
    let Values::Bytes(bytes) = expected(&transpose(true), &[cast_slice(&x)]).unwrap() else { panic!("bytes") };
    let want = complex(&[(0.0, -1.0), (6.0, -7.0), (2.0, -3.0), (8.0, -9.0), (4.0, -5.0), (10.0, -11.0)]);
    assert_eq!(bytes, cast_slice::<_, u8>(&want));
}

#[test]
fn the_reference_of_arg_max() {
    let nan = f32::NAN;
    for (x, index, value) in [
        (&[1.0, 3.0, 3.0][..], 1, 3.0),
        (&[nan, -1.0, nan], 1, -1.0),
        (&[nan, f32::NEG_INFINITY], 1, f64::NEG_INFINITY),
        (&[nan, nan], 0, f64::NAN),
    ] {
        let call = Call::ArgMax(x.len());
        let want = expected(&call, &[cast_slice(x)]).unwrap();
        assert_eq!(want.compare(&call, bytemuck::bytes_of(&Peak { index, value })), Ok(0.0), "{want:?}");
        let other = Peak { index: index + 1, value };
        assert!(want.compare(&call, bytemuck::bytes_of(&other)).is_err());
    }
}

#[test]
fn comparison_allows_the_bound_and_no_more() {
    let a = complex(&[(1.0, 0.0), (0.0, 1000.0)]);
    let call = zip(2, 1);
    let want = expected(&call, &[cast_slice(&a), cast_slice(&a[..1])]).unwrap();
    assert_eq!(Bound::of(&call), Bound::Element(3e-7));
    let compare = |found: &[Complex32]| want.compare(&call, cast_slice(found));
    assert_eq!(compare(&a), Ok(0.0));
    let off = |re: f32, im: f32| complex(&[(1.0 + re, im), (0.0, 1000.0)]);
    assert!((0.3..0.9).contains(&compare(&off(f32::EPSILON, 0.0)).unwrap()));
    // The bound is each element's own: 1000 beside it does not excuse an error at 1.
    for (re, im) in [(4.0 * f32::EPSILON, 0.0), (0.0, 4e-7), (f32::NAN, 0.0), (0.0, f32::INFINITY)] {
        let why = compare(&off(re, im)).unwrap_err();
        assert!(why.contains("element 0"), "{why}");
    }
    assert!(compare(&a[..1]).unwrap_err().contains("1 elements were found, 2 are wanted"));
}

#[test]
fn results_beyond_single_precision_are_infinite() {
    let (max, call) = (
        [f32::MAX, -f32::MAX, 0.0],
        Call::Scale(Scale { sample: SampleType::Real, factor: Complex32::new(2.0, 0.0), len: 3, in_place: true }),
    );
    let want = expected(&call, &[cast_slice(&max)]).unwrap();
    let found = [f32::INFINITY, f32::NEG_INFINITY, 0.0];
    assert_eq!(want.compare(&call, cast_slice(&found)), Ok(0.0));
    assert!(want.compare(&call, cast_slice(&[f32::MAX, f32::NEG_INFINITY, 0.0])).is_err());
}

#[test]
fn inputs_that_do_not_fit_the_call_have_no_reference() {
    for (call, inputs, words) in [
        (fft(4, 1), vec![&[0; 31][..]], "31 bytes, 4 x Complex<f32>"),
        (fft(HUGE, 2), vec![&[0; 8]], "more elements"),
        (zip(1, 1), vec![&[0; 8]], "input 1 is missing"),
        (axpy().call(), vec![], "user's"),
    ] {
        let why = expected(&call, &inputs).unwrap_err();
        assert!(why.contains(words), "{why}");
    }
}
