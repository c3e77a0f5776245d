//! What a caller can do wrong: typed errors that say what to do, before anything happens.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::op::{Call, Fft, UserOp};
use rimms::{Complex32, Error, MemoryMode, Peak, Runtime, ZipOp, arg};

fn cpu() -> Runtime {
    Runtime::builder().cpus(1).build().unwrap().blocking()
}

fn text<T>(result: rimms::Result<T>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn lengths_that_do_not_fit() {
    let rt = cpu();
    let (mut x, mut y) = (rt.alloc::<Complex32>(8).unwrap(), rt.alloc::<Complex32>(9).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let said = text(rt.fft(&x, &mut y));
    assert!(said.contains('8') && said.contains('9'), "{said}");
    assert!(y.valid().is_empty() && !x.valid().is_empty());
    let mut small = rt.alloc::<Complex32>(3).unwrap();
    small.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let mut z = rt.alloc::<Complex32>(8).unwrap();
    assert!(text(rt.zip(ZipOp::Add, &x, &small, &mut z)).contains("divisor"));
    let said = text(rt.fft_rows(3, &x, &mut z));
    assert!(said.contains("rows of 3") && said.contains("8 x Complex<f32> are no whole number"), "{said}");
    assert!(text(rt.fft_rows(0, &x, &mut z)).contains("rows of 0"));
    assert!(text(rt.transpose(3, 3, &x, &mut z)).contains("3 rows of 3"));
    assert!(text(rt.transpose(usize::MAX, 2, &x, &mut z)).contains("wanted"));
    let mut peaks = rt.alloc::<Peak>(2).unwrap();
    let mut m = rt.alloc::<f32>(8).unwrap();
    m.overwrite().unwrap().fill(1.0).unwrap();
    assert!(text(rt.arg_max(&m, &mut peaks)).contains("1 x Peak"));
    let call = Call::Fft(Fft { n: 8, rows: 1, inverse: false, in_place: false });
    assert!(text(rt.call(&call, &mut [arg(&x)])).contains("2 operands are wanted, 1"));
    assert!(text(rt.call(&call, &mut [arg(&x), arg(&z)])).contains("arg_mut"));
}

#[test]
fn allocations_that_cannot_be() {
    let rt = cpu();
    assert!(matches!(rt.alloc::<f32>(0), Err(Error::Shape { .. })));
    assert!(matches!(rt.alloc::<()>(3), Err(Error::Shape { .. })));
    assert!(matches!(rt.alloc::<f64>(usize::MAX), Err(Error::HostMemory { .. })));
    assert!(matches!(rt.alloc::<u8>(usize::MAX - 64), Err(Error::HostMemory { .. })));
    assert!(matches!(rt.alloc::<u8>(isize::MAX as usize - 10), Err(Error::HostMemory { .. })));
}

#[test]
fn fragments_that_cannot_be() {
    let rt = cpu();
    let mut x = rt.alloc::<f32>(10).unwrap();
    assert!(text(x.fragment(0)).contains("do not divide into 0"));
    assert!(text(x.fragment(3)).contains("10 elements do not divide into 3"));
    assert!(text(x.fragment(11)).contains("11"));
    assert!(text(x.fragment_sizes(&[4, 5])).contains("add up to 9 elements, the view has 10"));
    assert!(text(x.fragment_sizes(&[10, 0])).contains("none may be 0"));
    assert!(text(x.fragment_sizes(&[usize::MAX, 2])).contains("more than can be counted"));
    assert!(x.fragment_sizes(&[]).is_err());
    assert!(text(x.tile(4, 1, 2)).contains("rows of 4"));
    assert!(text(x.tile(5, 3, 5)).contains("tiles of 3 rows"));
    assert!(text(x.tile(0, 1, 1)).contains("rows of 0"));
    assert!(text(x.tile_sizes(&[2], &[4])).contains("2 rows by 4 columns"));
    assert!(text(x.tile_sizes(&[usize::MAX, usize::MAX], &[2])).contains("do not make up"));
    x.fragment(5).unwrap();
    assert!(matches!(x.get(5), Err(Error::Index { index: 5, len: 5 })));
    assert!(matches!(x.get_mut(9), Err(Error::Index { .. })));
    assert!(matches!(x[0].get(0), Err(Error::Index { index: 0, len: 0 })));
    x.tile(5, 2, 1).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    assert!(matches!(x[0].read(), Err(Error::Strided { rows: 2, .. })));
    assert!(matches!(x[0].update(), Err(Error::Strided { .. })));
    assert!(matches!(x[0].read_rows().unwrap().row(2), Err(Error::Index { index: 2, len: 2 })));
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn square_brackets_panic_out_of_range_as_slices_do() {
    let rt = cpu();
    let x = rt.alloc::<f32>(10).unwrap();
    let _ = &x[0];
}

#[test]
fn uninitialised_data_is_never_read() {
    let rt = Runtime::builder()
        .cpus(1)
        .device(Sim::acc("acc0", 1 << 16, Default::default()).unwrap())
        .build()
        .unwrap()
        .blocking();
    let (x, mut y) = (rt.alloc_named::<Complex32>("x", 8).unwrap(), rt.alloc::<Complex32>(8).unwrap());
    for pe in ["cpu", "acc0"] {
        let said = text(rt.on(pe).unwrap().fft(&x, &mut y));
        assert_eq!(said, "`x` is read, but nothing has written it");
    }
    assert!(y.update().is_err());
    y.fragment(4).unwrap();
    y[0].overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let said = text(y.join());
    assert!(said.contains("fragment of 2 from 2"), "{said}");
    assert_eq!(y.fragment_count(), 4, "it stays divided, and nothing is lost");
    assert_eq!(y[0].read().unwrap()[0], Complex32::ONE);
    let closure_panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        y[0].overwrite().unwrap().write_with(|i| if i == 1 { panic!("half way") } else { Complex32::ZERO })
    }));
    assert!(closure_panics.is_err());
    assert!(y[0].read().is_err(), "half written is not written");
    drop(y[0].overwrite().unwrap());
    assert!(text(y[0].read()).contains("nothing has written it"));
}

#[test]
fn calls_that_no_pe_can_run_say_why() {
    let fft = Sim::fft("fft0", 1 << 20, Default::default()).unwrap();
    let zip = Sim::zip("zip0", 1 << 20, Default::default()).unwrap();
    let rt = Runtime::builder().cpus(0).device(fft).device(zip).build().unwrap().blocking();
    let (mut x, mut y) = (rt.alloc::<Complex32>(100).unwrap(), rt.alloc::<Complex32>(100).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    let said = text(rt.fft(&x, &mut y));
    assert!(said.contains("fft0: it takes lengths from 16 to 2048 that are a power of two, not 100"), "{said}");
    assert!(said.contains("zip0: it does not do fft"), "{said}");
    assert!(text(rt.on("zip0").unwrap().fft(&x, &mut y)).contains("fft0: not among those allowed"));
    let (mut a, mut b) = (rt.alloc::<f32>(16).unwrap(), rt.alloc::<f32>(16).unwrap());
    a.overwrite().unwrap().fill(1.0).unwrap();
    assert!(text(rt.scale(2.0, &a, &mut b)).contains("does not do scale"));
    let mut c = rt.alloc::<f32>(16).unwrap();
    assert!(text(rt.zip(ZipOp::Add, &a, &a, &mut c)).contains("zip0: it takes complex samples, not real ones"));
    let op = UserOp::builder("mine").input::<f32>().on_cpu(|_| Ok(())).build().unwrap().call();
    assert!(matches!(rt.call(&op, &mut [arg(&a)]), Err(Error::NoPe { .. })));
}

#[test]
fn operands_that_do_not_fit_the_device() {
    let rt = Runtime::builder()
        .cpus(0)
        .device(Sim::acc("acc0", 4096, Default::default()).unwrap())
        .build()
        .unwrap()
        .blocking();
    let (mut big, mut other) = (rt.alloc::<u8>(5000).unwrap(), rt.alloc::<u8>(3000).unwrap());
    let never = rt.fill(1, &mut big).unwrap_err();
    assert!(matches!(never, Error::NeverFits { wanted: 5000, capacity: 4096, free: 4096, largest: 4096, .. }));
    assert!(never.to_string().contains("a datum of 5000 x u8 (5000 bytes)"), "{never}");
    rt.fill(1, &mut other).unwrap();
    let mut more = rt.alloc::<u8>(2000).unwrap();
    rt.fill(2, &mut more).unwrap();
    assert_eq!(rt.counters().evictions, 1, "`other` made room");
    assert_eq!(other.read().unwrap()[2999], 1, "and is on the host now");
    let both = rt.copy(&other, &mut big).unwrap_err();
    assert!(matches!(both, Error::Shape { .. }), "{both}");
    let mut same = rt.alloc::<u8>(3000).unwrap();
    let never = rt.copy(&other, &mut same).unwrap_err();
    assert!(matches!(&never, Error::NeverFits { wanted: 6008, operands, .. } if operands.len() == 2), "{never}");
    assert_eq!(more.read().unwrap()[1999], 2);
}

#[test]
fn names_that_are_not_known_list_those_that_are() {
    let rt = Runtime::builder()
        .cpus(2)
        .device(Sim::acc("acc0", 4096, Default::default()).unwrap())
        .build()
        .unwrap()
        .blocking();
    assert_eq!(text(rt.on("gpu0")), "unknown PE `gpu0`; known: cpu, cpu0, cpu1, acc, acc0");
    assert!(rt.on("cpu, acc0").is_ok() && rt.on("").is_err() && rt.on("cpu,").is_err());
    assert!(text("fast".parse::<MemoryMode>()).contains("reference, last-resource, valid-set, zero-copy"));
    assert_eq!(rt.on("cpu").unwrap().allowed_pes().count(), 2);
}

#[test]
fn runtimes_that_cannot_be() {
    let sim = |name: &str| Sim::acc(name, 4096, Default::default()).unwrap();
    assert!(text(Runtime::builder().cpus(0).build()).contains("at least one PE"));
    assert!(text(Runtime::builder().device(sim("a0")).device(sim("a0")).build()).contains("two PEs are named a0"));
    let zero_copy = Runtime::builder().device(sim("acc0")).memory_mode(MemoryMode::ZeroCopy).build();
    assert!(text(zero_copy).contains("acc0 does not share the host's memory"));
    let many = (0..56).fold(Runtime::builder(), |b, i| b.device(sim(&format!("acc{i}"))));
    assert!(matches!(many.build(), Err(Error::TooManyResources { found: 57, most: 56 })));
    let most = (0..55).fold(Runtime::builder(), |b, i| b.device(sim(&format!("acc{i}"))));
    let rt = most.build().unwrap().blocking();
    let mut x = rt.alloc::<Complex32>(16).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    rt.on("acc54").unwrap().fft_in_place(&mut x).unwrap();
    assert_eq!(x.read().unwrap()[0].re, 16.0);
    assert!(Sim::acc("acc0", 0, Default::default()).is_err());
    assert!(Sim::acc("acc0", u64::MAX, Default::default()).is_err());
}

#[test]
fn data_of_another_runtime_is_refused() {
    let (a, b) = (cpu(), cpu());
    let (mut x, mut y) = (a.alloc::<Complex32>(8).unwrap(), b.alloc::<Complex32>(8).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    assert!(matches!(b.fft(&x, &mut y), Err(Error::OtherRuntime { operand: 0, .. })));
    assert!(matches!(a.fft(&x, &mut y), Err(Error::OtherRuntime { operand: 1, .. })));
}

#[test]
fn data_outlives_the_runtimes_handles() {
    let rt = Runtime::builder()
        .cpus(0)
        .device(Sim::acc("acc0", 1 << 16, Default::default()).unwrap())
        .build()
        .unwrap()
        .blocking();
    let mut x = rt.alloc::<f32>(16).unwrap();
    rt.fill(3.0, &mut x).unwrap();
    drop(rt);
    assert_eq!(x.read().unwrap()[..], [3.0; 16]);
}

#[test]
fn zero_copy_on_cpus_copies_nothing() {
    let rt = Runtime::builder().cpus(1).memory_mode(MemoryMode::ZeroCopy).build().unwrap().blocking();
    let mut x = rt.alloc::<Complex32>(64).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    rt.fft_in_place(&mut x).unwrap();
    assert_eq!(x.read().unwrap()[0].re, 64.0);
    assert_eq!(rt.counters().copies(), 0);
}

#[test]
fn views_nested_a_hundred_thousand_deep_do_not_overflow_the_stack() {
    let rt = cpu();
    let mut x = rt.alloc::<f32>(4).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    let mut view = &mut *x;
    for _ in 0..100_000 {
        view.fragment(1).unwrap();
        view = &mut view[0];
    }
    assert_eq!(x.read().unwrap()[..], [1.0; 4]);
    rt.scale_in_place(2.0, &mut x).unwrap();
    assert!(x.last_resource().is_some() && !x.valid().is_empty());
    drop(x);
}

#[test]
fn more_fragments_than_memory_are_an_error() {
    let rt = cpu();
    // Never touched, so that it costs no memory; where even that is refused there is nothing to divide.
    let Ok(mut x) = rt.alloc::<u8>(1 << 33) else { return };
    assert!(matches!(x.fragment(1 << 33), Err(Error::HostMemory { .. })));
    assert!(matches!(x.tile(1, 1, 1), Err(Error::HostMemory { .. })));
    assert_eq!(x.fragment_count(), 0);
}

#[test]
fn the_host_runs_no_launch_on_addresses_that_are_not_its_own() {
    use rimms::device::host::Host;
    use rimms::device::{Device, Operand, Span};
    use rimms::op::Role;
    let host = Host::new(1);
    let call = Call::Magnitude(8);
    let operands =
        [Operand::on_device(Span::run(0x1000, 64), Role::In), Operand::on_device(Span::run(0x2000, 32), Role::Out)];
    assert!(host.launch(0, &call, &operands).is_err());
}
