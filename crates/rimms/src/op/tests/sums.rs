//! The reference of sums of products, and how it is compared with.

use super::{c, complex, convolve, gemm, r};
use crate::op::reference::{Bound, Values, expected};
use crate::op::{Call, Constellation, Decide};
use bytemuck::cast_slice;
use num_complex::Complex64;

#[test]
fn the_reference_of_a_matrix_product() {
    let (a, b) = (complex(&[(1.0, 1.0), (0.0, -2.0)]), complex(&[(3.0, 0.0), (0.0, 4.0)]));
    let bytes: [&[u8]; 2] = [cast_slice(&a), cast_slice(&b)];
    let Values::Sums(_, one) = expected(&gemm(1, 2, 1), &bytes).unwrap() else { panic!("sums") };
    assert_eq!(one[0].0, Complex64::new(11.0, 3.0));
    assert!((one[0].1 - (2.0_f64.sqrt() * 3.0 + 8.0)).abs() < 1e-12);
    let Values::Sums(_, outer) = expected(&gemm(2, 1, 2), &bytes).unwrap() else { panic!("sums") };
    let outer: Vec<(f64, f64)> = outer.iter().map(|(sum, _)| (sum.re, sum.im)).collect();
    assert_eq!(outer, [(3.0, 3.0), (-4.0, 4.0), (0.0, -6.0), (8.0, 0.0)]);
}

#[test]
fn the_reference_of_a_convolution() {
    let (x, mask) = ([1.0_f32, 2.0, 3.0, 4.0], [10.0_f32, 1.0, 100.0]);
    let bytes: [&[u8]; 2] = [cast_slice(&x), cast_slice(&mask)];
    let sums = |call: &Call| match expected(call, &bytes).unwrap() {
        Values::Sums(_, sums) => sums.iter().map(|(sum, _)| sum.re).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(sums(&convolve(1, 4, 1, 3)), [201.0, 312.0, 423.0, 34.0]);
    assert_eq!(sums(&convolve(4, 1, 3, 1)), [201.0, 312.0, 423.0, 34.0]);
    assert_eq!(sums(&convolve(2, 2, 1, 3)), [201.0, 12.0, 403.0, 34.0]);
    assert_eq!(sums(&convolve(2, 2, 3, 1)), [301.0, 402.0, 13.0, 24.0]);
}

#[test]
fn a_sum_is_held_against_the_size_of_its_terms() {
    // 1000 − 1000 + 1: an error that is nothing beside the terms is allowed, and no larger one.
    let (a, b) = (complex(&[(1000.0, 0.0), (-1000.0, 0.0), (1.0, 0.0)]), complex(&[(1.0, 0.0); 3]));
    let call = gemm(1, 3, 1);
    assert_eq!(Bound::of(&call), Bound::Sum(1e-6));
    let want = expected(&call, &[cast_slice(&a), cast_slice(&b)]).unwrap();
    let compare = |x: f32| want.compare(&call, cast_slice(&complex(&[(x, 0.0)])));
    assert_eq!(compare(1.0), Ok(0.0));
    assert!((0.4..0.6).contains(&compare(1.001).unwrap()));
    assert!(compare(1.0021).is_err() && compare(f32::NAN).is_err());
    assert!(want.compare(&call, cast_slice(&[0.0_f32; 4])).unwrap_err().contains("2 elements were found"));
}

#[test]
fn the_reference_of_decisions() {
    let limit = Constellation::QAM16_LIMIT;
    let x = complex(&[(limit, -limit), (f32::from_bits(limit.to_bits() + 1), 0.0), (f32::NAN, 3.0)]);
    let decide = Call::Decide(Decide { constellation: Constellation::Qam16, len: 3 });
    let want = expected(&decide, &[cast_slice(&x)]).unwrap();
    assert_eq!(want, Values::Symbols(vec![8, 13, 3]));
    assert_eq!(want.compare(&decide, cast_slice(&[8_i32, 13, 3])), Ok(0.0));
    assert!(want.compare(&decide, cast_slice(&[8_i32, 12, 3])).unwrap_err().contains("element 1 is symbol 12, 13"));
    let bpsk = Call::Decide(Decide { constellation: Constellation::Bpsk, len: 3 });
    assert_eq!(expected(&bpsk, &[cast_slice(&x)]), Ok(Values::Real(vec![1.0, 1.0, -1.0])));
}

#[test]
fn operands_of_other_types_are_refused() {
    assert!(convolve(2, 4, 1, 3).check(&[r(8), c(3), r(8)]).unwrap_err().contains("2 rows of 4, a mask of 1 x 3"));
    assert!(gemm(2, 4, 1).check(&[c(8), c(4), r(2)]).unwrap_err().contains("2 x 4 times 4 x 1"));
    let why = Call::Decide(Decide { constellation: Constellation::Qam16, len: 2 }).check(&[c(2), r(2)]).unwrap_err();
    assert!(why.contains("2 x i32") && why.contains("2 x f32"), "{why}");
}
