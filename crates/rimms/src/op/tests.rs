mod reference;
mod sums;

use super::{
    Call, Constellation, Convolve, Decide, Element, Fft, FftShift, Fill, Gemm, KernelArgs, OpKind, Peak, Role, Sample,
    SampleType, Scale, Shape, Target, Transpose, UserOp, Zip, ZipOp,
};
use crate::Error;
use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex32;
use proptest::prelude::*;

const HUGE: usize = usize::MAX;

fn fft(n: usize, rows: usize) -> Call {
    Call::Fft(Fft { n, rows, inverse: false, in_place: false })
}

fn zip(len: usize, row: usize) -> Call {
    Call::Zip(Zip { op: ZipOp::Mul, sample: SampleType::Complex, len, row })
}

fn transpose(rows: usize, cols: usize) -> Call {
    Call::Transpose(Transpose { sample: SampleType::Real, rows, cols, conjugate: false })
}

fn scale(len: usize, in_place: bool) -> Call {
    Call::Scale(Scale { sample: SampleType::Real, factor: Complex32::ONE, len, in_place })
}

fn shift(n: usize, rows: usize) -> Call {
    Call::FftShift(FftShift { sample: SampleType::Complex, n, rows })
}

fn gemm(rows: usize, inner: usize, cols: usize) -> Call {
    Call::Gemm(Gemm { sample: SampleType::Complex, rows, inner, cols })
}

fn convolve(rows: usize, cols: usize, mask_rows: usize, mask_cols: usize) -> Call {
    Call::Convolve(Convolve { sample: SampleType::Real, rows, cols, mask_rows, mask_cols })
}

fn decide(constellation: Constellation, len: usize) -> Call {
    Call::Decide(Decide { constellation, len })
}

fn fill(len: usize) -> Call {
    Call::Fill(Fill { pattern: [0; 4][..].into(), element: Element::of::<u32>(), len })
}

fn c(len: usize) -> Shape {
    Shape::new(len, Element::of::<Complex32>())
}

fn r(len: usize) -> Shape {
    Shape::new(len, Element::of::<f32>())
}

fn u(len: usize) -> Shape {
    Shape::new(len, Element::of::<u32>())
}

fn peak(len: usize) -> Shape {
    Shape::new(len, Element::of::<Peak>())
}

fn complex(values: &[(f32, f32)]) -> Vec<Complex32> {
    values.iter().map(|(re, im)| Complex32::new(*re, *im)).collect()
}

/// One call of each sort and form, with operands that fit.
fn fitting() -> Vec<(Call, Vec<Shape>)> {
    let in_place = Call::Fft(Fft { n: 8, rows: 3, inverse: true, in_place: true });
    vec![
        (fft(8, 3), vec![c(24), c(24)]),
        (in_place, vec![c(24)]),
        (zip(24, 24), vec![c(24), c(24), c(24)]),
        (zip(24, 8), vec![c(24), c(8), c(24)]),
        (zip(24, 1), vec![c(24), c(1), c(24)]),
        (shift(5, 2), vec![c(10), c(10)]),
        (transpose(3, 4), vec![r(12), r(12)]),
        (scale(7, false), vec![r(7), r(7)]),
        (scale(7, true), vec![r(7)]),
        (Call::Magnitude(9), vec![c(9), r(9)]),
        (Call::ArgMax(9), vec![r(9), peak(1)]),
        (gemm(3, 2, 5), vec![c(6), c(10), c(15)]),
        (convolve(3, 4, 2, 5), vec![r(12), r(10), r(12)]),
        (decide(Constellation::Bpsk, 9), vec![c(9), r(9)]),
        (decide(Constellation::Qam16, 9), vec![c(9), Shape::new(9, Element::of::<i32>())]),
        (Call::Copy(u(11)), vec![u(11), u(11)]),
        (fill(6), vec![u(6)]),
    ]
}

#[test]
fn what_fits_is_accepted() {
    let mut kinds: Vec<OpKind> = Vec::new();
    for (call, shapes) in fitting() {
        assert_eq!(call.check(&shapes), Ok(()), "{call}");
        assert_eq!(call.roles().len(), shapes.len(), "{call}");
        assert_eq!(call.roles().iter().filter(|role| role.writes()).count(), 1, "{call}");
        let work = match call.kind() {
            OpKind::Gemm => 3 * 2 * 5,
            OpKind::Convolve => 12 * 10,
            _ => shapes[0].len,
        };
        assert_eq!(call.work(&shapes), work, "{call}");
        kinds.push(call.kind());
    }
    kinds.dedup();
    assert_eq!(kinds, OpKind::BUILT_IN, "one of each sort");
}

#[test]
fn each_wrong_operand_is_refused_with_both_counts() {
    for (call, shapes) in fitting() {
        for i in 0..shapes.len() {
            for len in [shapes[i].len - 1, shapes[i].len + 1, 0] {
                let mut wrong = shapes.clone();
                wrong[i].len = len;
                let why = call.check(&wrong).unwrap_err();
                assert!(why.contains(&shapes[i].to_string()) && why.contains(&wrong[i].to_string()), "{call}: {why}");
            }
            let mut wrong = shapes.clone();
            wrong[i].element = Element::of::<i16>();
            let why = call.check(&wrong).unwrap_err();
            assert!(why.contains(&shapes[i].to_string()) && why.contains("x i16"), "{call}: {why}");
        }
    }
}

#[test]
fn the_number_of_operands_is_checked_first() {
    for (call, mut shapes) in fitting() {
        let wanted = shapes.len();
        shapes.push(shapes[0]);
        for given in (0..=wanted + 1).filter(|given| *given != wanted) {
            let why = call.check(&shapes[..given]).unwrap_err();
            assert_eq!(*why, *format!("{wanted} operands are wanted, {given} were given"), "{call}");
        }
    }
}

#[test]
fn nothing_to_do_is_refused() {
    for (call, shapes) in [
        (fft(0, 3), vec![c(0), c(0)]),
        (fft(8, 0), vec![c(0), c(0)]),
        (zip(0, 0), vec![c(0), c(0), c(0)]),
        (zip(0, 4), vec![c(0), c(4), c(0)]),
        (shift(0, 1), vec![c(0), c(0)]),
        (transpose(0, 4), vec![r(0), r(0)]),
        (transpose(4, 0), vec![r(0), r(0)]),
        (scale(0, false), vec![r(0), r(0)]),
        (scale(0, true), vec![r(0)]),
        (Call::Magnitude(0), vec![c(0), r(0)]),
        (Call::ArgMax(0), vec![r(0), peak(1)]),
        (gemm(0, 2, 5), vec![c(0), c(10), c(0)]),
        (gemm(3, 0, 5), vec![c(0), c(0), c(15)]),
        (gemm(3, 2, 0), vec![c(6), c(0), c(0)]),
        (convolve(0, 4, 1, 3), vec![r(0), r(3), r(0)]),
        (convolve(2, 4, 3, 0), vec![r(8), r(0), r(8)]),
        (decide(Constellation::Qam16, 0), vec![c(0), Shape::new(0, Element::of::<i32>())]),
        (Call::Copy(u(0)), vec![u(0), u(0)]),
        (fill(0), vec![u(0)]),
    ] {
        let why = call.check(&shapes).unwrap_err();
        assert!(why.contains("nothing to do") || why.contains("second operand has 0"), "{call}: {why}");
    }
}

#[test]
fn the_second_operand_of_zip_divides_the_first() {
    for (len, row) in [(24, 7), (24, 48), (24, 0), (24, HUGE), (1, 2)] {
        let why = zip(len, row).check(&[c(len), c(row), c(len)]).unwrap_err();
        assert!(why.contains(&format!("has {row} elements")) && why.contains(&format!("({len})")), "{why}");
    }
}

#[test]
fn products_beyond_an_address_fit_nothing() {
    // In arithmetic that wraps these products are 0, 2 and HUGE − 1.
    for (n, rows) in [(1 << (usize::BITS - 1), 2), (HUGE / 2 + 2, 2), (HUGE, 2), (HUGE, HUGE)] {
        let wrapped = n.wrapping_mul(rows);
        for len in [0, 1, wrapped, HUGE] {
            for call in [fft(n, rows), shift(n, rows)] {
                let why = call.check(&[c(len), c(len)]).unwrap_err();
                assert!(why.contains(&n.to_string()), "{why}");
                // A unit is never chosen by such a length, but asking must not panic either.
                assert_eq!(call.work(&[]), HUGE);
            }
            let why = transpose(n, rows).check(&[r(len), r(len)]).unwrap_err();
            assert!(why.contains(&format!("{n} rows of {rows}")), "{why}");
            let why = gemm(n, rows, 1).check(&[c(len), c(rows), c(n)]).unwrap_err();
            assert!(why.contains("more elements than an address can count"), "{why}");
            let why = convolve(1, 8, n, rows).check(&[r(8), r(len), r(8)]).unwrap_err();
            assert!(why.contains("more elements than an address can count"), "{why}");
        }
    }
    // A length that no memory can have is refused by its count like any other.
    assert!(Call::Magnitude(HUGE).check(&[c(8), r(8)]).unwrap_err().contains(&HUGE.to_string()));
}

proptest! {
    /// Whatever the numbers: an answer, no panic; and what is accepted really fits.
    #[test]
    fn checks_never_panic(n in edgy(), rows in edgy(), a in edgy(), b in edgy(), o in edgy()) {
        for call in [fft(n, rows), shift(n, rows)] {
            if call.check(&[c(a), c(o)]).is_ok() {
                prop_assert!(a > 0 && a == o && n.checked_mul(rows) == Some(a));
            }
        }
        if transpose(n, rows).check(&[r(a), r(o)]).is_ok() {
            prop_assert!(a > 0 && a == o && n.checked_mul(rows) == Some(a));
        }
        if zip(n, rows).check(&[c(a), c(b), c(o)]).is_ok() {
            prop_assert!(a == n && b == rows && o == n && n > 0 && n % rows == 0);
        }
    }
}

/// Small numbers, and those around the end of the range.
fn edgy() -> impl Strategy<Value = usize> {
    prop_oneof![0..5_usize, (0..3_usize).prop_map(|i| HUGE - i), (0..3_usize).prop_map(|i| (1 << 63) - 1 + i)]
}

#[test]
fn calls_say_what_they_are() {
    let ifft = Call::Fft(Fft { n: 8, rows: 1, inverse: true, in_place: true });
    for (call, text) in [
        (fft(64, 128), "fft of 128 rows of 64"),
        (ifft, "ifft of 8"),
        (zip(24, 8), "zip (Mul, Complex) of 24"),
        (shift(5, 2), "fftshift of 2 rows of 5"),
        (transpose(3, 4), "transpose of 3 x 4"),
        (Call::ArgMax(9), "arg-max of 9"),
        (gemm(3, 2, 5), "gemm of 3 x 2 and 2 x 5"),
        (convolve(3, 4, 1, 5), "convolve of 3 x 4 with 1 x 5"),
        (decide(Constellation::Bpsk, 9), "decide of 9"),
    ] {
        assert_eq!(call.to_string(), text);
    }
}

#[test]
fn elements_are_named_without_paths() {
    assert_eq!(Element::of::<f32>().name(), "f32");
    assert_eq!(Element::of::<Peak>().name(), "Peak");
    assert_eq!(Element::of::<Complex32>().name(), "Complex<f32>");
    assert_eq!(Element::of::<num_complex::Complex<std::num::Wrapping<u8>>>().size(), 2);
    assert_eq!(format!("{:?}", Element::of::<[f32; 4]>()), "[f32; 4]");
    assert_eq!(Shape::new(3, Complex32::TYPE.element()).to_string(), "3 x Complex<f32>");
    // Types of one size are different types.
    assert_ne!(Element::of::<f32>(), Element::of::<u32>());
}

fn axpy() -> UserOp {
    UserOp::builder("axpy")
        .input::<f32>()
        .inout::<f32>()
        .shape(|len| if len[0] == len[1] { Ok(()) } else { Err(format!("x has {}, y {}", len[0], len[1])) })
        .on_cpu(|k| {
            let (a, x) = (*k.params::<f32>()?, k.input::<f32>(0)?);
            k.output::<f32>(1)?.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
            Ok(())
        })
        .build()
        .unwrap()
}

#[test]
fn user_defined_ops_check_like_built_in_ones() {
    let call = axpy().with(2.0_f32);
    assert_eq!(call.roles(), [Role::In, Role::InOut]);
    assert_eq!(call.check(&[r(4), r(4)]), Ok(()));
    assert_eq!(call.work(&[r(4), r(9)]), 9);
    assert_eq!(*call.check(&[r(4), r(5)]).unwrap_err(), *"x has 4, y 5");
    assert_eq!(*call.check(&[r(4)]).unwrap_err(), *"2 operands are wanted, 1 were given");
    assert_eq!(*call.check(&[r(4), c(4)]).unwrap_err(), *"operand 1 is of Complex<f32>, f32 is wanted");
    assert_eq!((call.name(), call.to_string().as_str(), call.kind().name()), ("axpy", "axpy", "user-defined"));
    // Each declared op is a kind of its own, its calls share it.
    assert_eq!(call.kind(), call.clone().kind());
    assert_ne!(axpy().call().kind(), axpy().call().kind());
}

#[test]
fn a_panicking_shape_rule_refuses() {
    let op = UserOp::builder("bad").input::<f32>().shape(|len| if len[7] == 0 { Ok(()) } else { Err("no".into()) });
    let call = op.on_cpu(|_| Ok(())).build().unwrap().call();
    assert!(call.check(&[r(1)]).unwrap_err().contains("shape rule panicked"));
}

#[test]
fn declarations_that_cannot_run_are_refused() {
    let no_kernel = UserOp::builder("a").input::<f32>().build().unwrap_err();
    assert!(matches!(&no_kernel, Error::Config(why) if why.contains("`a` has no kernel")), "{no_kernel}");
    let no_operand = UserOp::builder("b").on_cpu(|_| Ok(())).build().unwrap_err();
    assert!(matches!(&no_operand, Error::Config(why) if why.contains("`b` has no operand")), "{no_operand}");
}

#[test]
fn the_last_kernel_for_a_device_counts() {
    let op = UserOp::builder("twice").output::<u8>().on_cpu(|_| Err("first".into())).on_cpu(|_| Err("second".into()));
    let op = op.on_sim(|_| Err("sim".into())).build().unwrap();
    let Call::User(call) = op.call() else { panic!("a user's call") };
    assert!(op.runs_on(Target::Cpu) && op.runs_on(Target::Sim) && !axpy().runs_on(Target::Sim));
    assert_eq!(&*call.run(Target::Cpu, &mut KernelArgs::new()).unwrap_err().0, "second");
    assert_eq!(&*call.run(Target::Sim, &mut KernelArgs::new()).unwrap_err().0, "sim");
}

#[test]
fn a_kernel_gets_its_operands_and_parameters() {
    let (mut x, mut y) = ([1.0_f32, 2.0], [10.0_f32, 20.0]);
    let Call::User(call) = axpy().with(3.0_f32) else { panic!("a user's call") };
    let mut args = KernelArgs::new();
    args.push(Role::In, cast_slice_mut(&mut x));
    args.push(Role::InOut, cast_slice_mut(&mut y));
    call.run(Target::Cpu, &mut args).unwrap();
    drop(args);
    assert_eq!(y, [13.0, 26.0]);
    for other in [axpy().with(3.0_f64), axpy().call()] {
        let Call::User(call) = other else { panic!("a user's call") };
        let why = call.run(Target::Cpu, &mut KernelArgs::new()).unwrap_err();
        assert!(why.0.contains("no parameters of type f32"), "{why}");
    }
}

#[test]
fn operands_are_lent_as_their_role_allows_and_once() {
    let (x, mut y) = ([1.0_f32, 2.0], [0_u8; 7]);
    let mut args = KernelArgs::new();
    args.push_input(cast_slice(&x));
    args.push(Role::Out, &mut y);
    assert_eq!((args.len(), args.is_empty()), (2, false));
    // An In operand may be read again and again, but never written.
    assert_eq!(args.input::<f32>(0).unwrap(), x);
    assert_eq!(args.input::<f32>(0).unwrap(), x);
    assert!(args.output::<f32>(0).unwrap_err().0.contains("operand 0 is no Out"));
    assert!(args.input::<u8>(1).unwrap_err().0.contains("operand 1 is no In"));
    assert!(args.input::<u8>(2).unwrap_err().0.contains("operand 2"));
    assert!(args.output::<u8>(2).unwrap_err().0.contains("operand 2"));
    assert!(args.input::<[u8; 3]>(0).unwrap_err().0.contains("8 bytes, which are no slice of [u8; 3]"));
    // A request of the wrong type does not use the operand up.
    assert!(args.output::<u16>(1).unwrap_err().0.contains("7 bytes, which are no slice of u16"));
    assert_eq!(args.output::<u8>(1).unwrap().len(), 7);
    assert!(args.output::<u8>(1).unwrap_err().0.contains("taken already"));
}
