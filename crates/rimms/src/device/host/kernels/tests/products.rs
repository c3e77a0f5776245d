//! Matrix products, convolutions, decisions.

use super::{c, call, samples};
use crate::op::{Call, Constellation, Convolve, Decide, Gemm, SampleType};
use bytemuck::cast_slice;
use num_complex::Complex32;

fn gemm(sample: SampleType, rows: usize, inner: usize, cols: usize) -> Call {
    Call::Gemm(Gemm { sample, rows, inner, cols })
}

#[test]
fn products_of_small_matrices_are_exact() {
    let (a, b) = ([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0_f32, -1.0, 0.5, 2.0, 0.0, 1.0]);
    let real: Vec<f32> = call(&gemm(SampleType::Real, 2, 3, 2), &[cast_slice(&a), cast_slice(&b)], 4).unwrap();
    assert_eq!(real, [2.0, 6.0, 6.5, 12.0]);
    let (a, b) = ([c(1.0, 1.0), c(0.0, 2.0)], [c(1.0, -1.0), c(3.0, 0.0)]);
    let bytes: [&[u8]; 2] = [cast_slice(&a), cast_slice(&b)];
    assert_eq!(call::<Complex32>(&gemm(SampleType::Complex, 1, 2, 1), &bytes, 1).unwrap(), [c(2.0, 6.0)]);
    let outer: Vec<Complex32> = call(&gemm(SampleType::Complex, 2, 1, 2), &bytes, 4).unwrap();
    assert_eq!(outer, [c(2.0, 0.0), c(3.0, 3.0), c(2.0, 2.0), c(0.0, 6.0)]);
}

/// Sides beyond the blocks that the kernel works in, and not multiples of them: small whole numbers, so that every
/// sum is exact in whatever order.
#[test]
fn products_larger_than_the_kernels_blocks_are_complete() {
    let whole = |len: usize| (0..len).map(|i| ((i * 7 + i / 5) % 9) as f32 - 4.0).collect::<Vec<f32>>();
    for (rows, inner, cols) in [(3, 65, 257), (2, 130, 513), (1, 64, 256), (70, 1, 300)] {
        let (a, b) = (whole(rows * inner), whole(inner * cols));
        let found: Vec<f32> =
            call(&gemm(SampleType::Real, rows, inner, cols), &[cast_slice(&a), cast_slice(&b)], rows * cols).unwrap();
        for (i, found) in found.iter().enumerate() {
            let want: f32 = (0..inner).map(|k| a[i / cols * inner + k] * b[k * cols + i % cols]).sum();
            assert_eq!(*found, want, "{rows} x {inner} x {cols}, element {i}");
        }
    }
}

fn slide(x: &[f32], cols: usize, mask: &[f32], mask_cols: usize) -> Vec<f32> {
    let (rows, mask_rows) = (x.len() / cols, mask.len() / mask_cols);
    let convolve = Call::Convolve(Convolve { sample: SampleType::Real, rows, cols, mask_rows, mask_cols });
    call(&convolve, &[cast_slice(x), cast_slice(mask)], x.len()).unwrap()
}

#[test]
fn a_mask_is_laid_on_the_middle_and_not_turned_round() {
    assert_eq!(slide(&[1.0, 2.0, 3.0, 4.0], 4, &[10.0, 1.0, 100.0], 3), [201.0, 312.0, 423.0, 34.0]);
    // Of an even number of elements, the one behind the middle lies on the place.
    assert_eq!(slide(&[1.0, 2.0, 3.0, 4.0], 4, &[10.0, 1.0], 2), [1.0, 12.0, 23.0, 34.0]);
    assert_eq!(slide(&[1.0, 2.0, 3.0, 4.0], 2, &[10.0, 1.0], 1), [1.0, 2.0, 13.0, 24.0]);
    // Of two dimensions: 1 at the first place and 2 at the last take the mask's elements in reverse.
    let mask: Vec<f32> = (1..=9).map(|i| i as f32).collect();
    let found = slide(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 3, &mask, 3);
    assert_eq!(found, [5.0, 4.0, 0.0, 2.0, 1.0 + 18.0, 16.0, 0.0, 12.0, 10.0]);
}

#[test]
fn rows_do_not_run_into_each_other() {
    let x: Vec<f32> = samples(40).iter().map(|x| x.re).collect();
    let mask = [0.5, -1.0, 0.25, 2.0, 1.0];
    let together = slide(&x, 8, &mask, 5);
    let alone: Vec<f32> = x.chunks(8).flat_map(|row| slide(row, 8, &mask, 5)).collect();
    assert_eq!(together, alone);
}

#[test]
fn a_mask_larger_than_the_picture_is_cut_at_the_edges() {
    assert_eq!(slide(&[2.0], 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 3), [10.0]);
    assert_eq!(slide(&[1.0, 2.0], 2, &[1.0; 9], 9), [3.0, 3.0]);
}

#[test]
fn every_symbol_is_its_own_decision() {
    let decide = |constellation, len| Call::Decide(Decide { constellation, len });
    let points: Vec<Complex32> = (0..16).map(|i| Constellation::Qam16.point(i).unwrap()).collect();
    let found: Vec<i32> = call(&decide(Constellation::Qam16, 16), &[cast_slice(&points)], 16).unwrap();
    assert_eq!(found, (0..16).collect::<Vec<i32>>());
    assert!((points.iter().map(|p| p.norm_sqr()).sum::<f32>() / 16.0 - 1.0).abs() < 1e-6, "of power 1");
    // And what is off by less than half the distance between two.
    let off: Vec<Complex32> = points.iter().map(|p| p + c(0.3, -0.3)).collect();
    assert_eq!(call::<i32>(&decide(Constellation::Qam16, 16), &[cast_slice(&off)], 16).unwrap(), found);
    let x = [c(0.1, 9.0), c(-0.1, -9.0), c(0.0, 1.0), c(f32::NAN, 0.0)];
    let bpsk: Vec<f32> = call(&decide(Constellation::Bpsk, 4), &[cast_slice(&x)], 4).unwrap();
    assert_eq!(bpsk, [1.0, -1.0, -1.0, -1.0]);
}

#[test]
fn decisions_are_the_nearest_symbols() {
    let x: Vec<Complex32> = samples(2000).iter().map(|x| x * 1.6).collect();
    let found: Vec<i32> =
        call(&Call::Decide(Decide { constellation: Constellation::Qam16, len: 2000 }), &[cast_slice(&x)], 2000)
            .unwrap();
    for (x, found) in x.iter().zip(found) {
        let distance = |i: usize| (Constellation::Qam16.point(i).unwrap() - x).norm();
        let nearest = (0..16).map(distance).fold(f32::INFINITY, f32::min);
        assert!(distance(found as usize) <= nearest + 1e-6, "{x}: {found}");
    }
}
