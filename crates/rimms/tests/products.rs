//! Matrix products, sums and differences, convolutions and decisions as typed calls, on the CPU and on an accelerator,
//! with what they refuse.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::op::Constellation;
use rimms::{Complex32, Error, HeteData, Result, Runtime, Sample};

/// Both kinds of PE, one at a time.
fn on_each(work: impl Fn(&Runtime)) {
    let acc = Sim::acc("acc0", 1 << 20, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(1).device(acc).build().unwrap();
    for pe in ["cpu0", "acc0"] {
        work(&rt.on(pe).unwrap());
    }
}

fn filled<T: Sample>(rt: &Runtime, samples: &[T]) -> HeteData<T> {
    let mut data = rt.alloc(samples.len()).unwrap();
    data.overwrite().unwrap().copy_from_slice(samples).unwrap();
    data
}

fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_matrix_and_its_inverse_give_one() {
    on_each(|rt| {
        let c = |re: f32, im: f32| Complex32::new(re, im);
        // [1 i; 0 1] has the inverse [1 −i; 0 1].
        let a = filled(rt, &[c(1.0, 0.0), c(0.0, 1.0), c(0.0, 0.0), c(1.0, 0.0)]);
        let b = filled(rt, &[c(1.0, 0.0), c(0.0, -1.0), c(0.0, 0.0), c(1.0, 0.0)]);
        let mut one = rt.alloc(4).unwrap();
        rt.gemm(2, 2, 2, &a, &b, &mut one).unwrap();
        assert_eq!(one.read().unwrap()[..], [Complex32::ONE, Complex32::ZERO, Complex32::ZERO, Complex32::ONE]);
        let mut sum = rt.alloc(4).unwrap();
        rt.matrix_add(2, 2, &a, &b, &mut sum).unwrap();
        assert_eq!(sum.read().unwrap()[..], [c(2.0, 0.0), c(0.0, 0.0), c(0.0, 0.0), c(2.0, 0.0)]);
        rt.matrix_sub(2, 2, &a, &b, &mut sum).unwrap();
        assert_eq!(sum.read().unwrap()[..], [c(0.0, 0.0), c(0.0, 2.0), c(0.0, 0.0), c(0.0, 0.0)]);
    });
}

#[test]
fn a_chain_of_products_stays_on_the_device() {
    let acc = Sim::acc("acc0", 1 << 20, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(0).device(acc).build().unwrap();
    let mut power = filled(&rt, &[1.0_f32, 1.0, 1.0, 0.0]);
    let step = filled(&rt, &[1.0_f32, 1.0, 1.0, 0.0]);
    let mut next = rt.alloc(4).unwrap();
    for _ in 0..10 {
        rt.gemm(2, 2, 2, &power, &step, &mut next).unwrap();
        rt.copy(&next, &mut power).unwrap();
    }
    assert_eq!(power.read().unwrap()[..], [144.0, 89.0, 89.0, 55.0]); // Fibonacci's numbers
    assert_eq!(rt.counters().copies(), 2 + 1);
}

#[test]
fn convolutions_in_one_and_two_dimensions() {
    on_each(|rt| {
        let x = filled(rt, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let (row, square) = (filled(rt, &[1.0_f32, 0.0, -1.0]), filled(rt, &[1.0_f32; 9]));
        let mut y = rt.alloc(6).unwrap();
        rt.convolve(&x, &row, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[..], [-2.0, -2.0, -2.0, -2.0, -2.0, 5.0]);
        rt.convolve_rows(3, &x, &row, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[..], [-2.0, -2.0, 2.0, -5.0, -2.0, 5.0]);
        rt.convolve_2d([2, 3], &x, [3, 3], &square, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[..], [12.0, 21.0, 16.0, 12.0, 21.0, 16.0]);
    });
}

#[test]
fn symbols_in_noise_are_decided() {
    on_each(|rt| {
        let sent: Vec<i32> = (0..64).map(|i| i * 5 % 16).collect();
        let received: Vec<Complex32> = sent
            .iter()
            .enumerate()
            .map(|(i, s)| Constellation::Qam16.point(*s as usize).unwrap() + Complex32::cis(i as f32) * 0.3)
            .collect();
        let x = filled(rt, &received);
        let mut symbols = rt.alloc::<i32>(64).unwrap();
        rt.qam16(&x, &mut symbols).unwrap();
        assert_eq!(symbols.read().unwrap()[..], sent);
        let mut bits = rt.alloc(64).unwrap();
        rt.bpsk(&x, &mut bits).unwrap();
        let wanted: Vec<f32> = received.iter().map(|x| x.re.signum()).collect();
        assert_eq!(bits.read().unwrap()[..], wanted);
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    on_each(|rt| {
        let (x, three) = (filled(rt, &[1.0_f32; 6]), filled(rt, &[1.0_f32; 3]));
        let mut y = rt.alloc::<f32>(6).unwrap();
        assert!(refused(rt.gemm(2, 3, 2, &x, &three, &mut y)).contains("2 x 3 times 3 x 2"));
        assert!(refused(rt.gemm(2, 0, 3, &x, &three, &mut y)).contains("nothing to do"));
        assert!(refused(rt.gemm(usize::MAX, 2, 3, &x, &three, &mut y)).contains("more elements"));
        // A product of vectors as zip would take it, one row for all, is no sum of matrices.
        assert!(refused(rt.matrix_add(2, 3, &x, &three, &mut y)).contains("6 x f32, 6 x f32, 6 x f32 are wanted"));
        assert!(refused(rt.matrix_sub(3, 3, &x, &x, &mut y)).contains("9 x f32"));
        assert!(refused(rt.matrix_sub(usize::MAX, 3, &x, &x, &mut y)).contains(&usize::MAX.to_string()));
        assert!(refused(rt.convolve_rows(4, &x, &three, &mut y)).contains("rows of 4"));
        assert!(refused(rt.convolve_2d([2, 3], &x, [2, 2], &three, &mut y)).contains("a mask of 2 x 2"));
        let symbols = filled(rt, &[Complex32::ONE; 4]);
        assert!(refused(rt.qam16(&symbols, &mut rt.alloc(5).unwrap())).contains("4 x i32"));
        assert!(y.valid().is_empty());
    });
}
