//! Simulated accelerators that are watched: mistakes of kernels are found, what is right is silent, all is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rimms::device::sim::Sim;
use rimms::device::sim::devmem::check::{Check, Counters, Finding, Findings, Problem, Tally};
use rimms::device::sim::devmem::{Address, AddressSpace, Fault, Launch, NdRange, RangeError};
use rimms::op::{UserOp, UserOpBuilder, WorkItem};
use rimms::{Complex32, Error, Runtime, ZipOp, arg, arg_mut};
use std::sync::Mutex;

const MEMORY: u64 = 1 << 20;

fn acc(name: &str) -> Sim {
    Sim::acc(name, MEMORY, Default::default()).unwrap()
}

/// A runtime whose calls are done when they return, with these devices and no CPU.
fn runtime(devices: impl IntoIterator<Item = Sim>) -> Runtime {
    let builder = Runtime::builder().cpus(0);
    devices.into_iter().fold(builder, |builder, device| builder.device(device)).build().unwrap().blocking()
}

/// One group of as many items as operand 0 has elements.
fn one_group(len: &[usize]) -> Result<Launch, RangeError> {
    Ok(Launch::new("planted", NdRange::linear(len[0] as u64, len[0] as u32)?).local("stage", 4 * len[0] as u64))
}

fn build<K>(op: UserOpBuilder, kernel: K) -> UserOp
where
    K: AsyncFn(WorkItem<'_>) -> Result<(), Fault> + Send + Sync + 'static,
{
    op.on_sim_items(one_group, kernel).build().unwrap()
}

fn kinds(found: &[Finding]) -> Vec<Check> {
    found.iter().map(|finding| finding.problem.check()).collect()
}

#[test]
fn a_right_kernel_is_silent_with_local_memory_barriers_and_parameters() {
    let findings = Findings::default();
    let reverse = build(UserOp::builder("reverse").input::<u32>().output::<u32>(), async |item| {
        let (me, last) = (item.local_id(0), item.local_size(0) - 1);
        let (local, stage) = (item.local(), item.local_buffer(0));
        local.store_value(local.element::<u32>(stage, me), item.load::<u32>(0, me)?)?;
        item.barrier().await;
        let add = item.params::<u32>().copied().unwrap_or(0);
        item.store(1, me, add + local.load_value::<u32>(local.element::<u32>(stage, last - me))?)
    });
    for device in [acc("acc0").checked(&findings), acc("acc0")] {
        let rt = runtime([device]);
        let (mut x, mut y) = (rt.alloc::<u32>(16).unwrap(), rt.alloc::<u32>(16).unwrap());
        x.overwrite().unwrap().write_with(|i| i as u32).unwrap();
        rt.call(&reverse.with(100u32), &mut [arg(&x), arg_mut(&mut y)]).unwrap();
        let wanted: Vec<u32> = (0..16).map(|i| 115 - i).collect();
        assert_eq!(y.read().unwrap()[..], wanted);
    }
    assert_eq!(findings.count(), 0);
}

#[test]
fn beyond_a_fragment_is_not_the_next_fragment() {
    // Fragments of three floats begin at offsets that no buffer of its own could have.
    let beyond = build(UserOp::builder("over").inout::<f32>().named("third"), async |item| {
        let me = item.global_id(0);
        item.store(0, if me == 2 { 3 } else { me }, 1.0_f32)
    });
    for watched in [true, false] {
        let findings = Findings::default();
        let device = acc("acc0");
        let rt = runtime([if watched { device.checked(&findings) } else { device }]);
        let mut x = rt.alloc::<f32>(9).unwrap();
        x.overwrite().unwrap().fill(7.0).unwrap();
        x.fragment(3).unwrap();
        let error = rt.call(&beyond.call(), &mut [arg_mut(&mut x[1])]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Kernel { .. }), "{error:?}");
        assert!(text.contains("item (2, 0, 0) of planted") && text.contains("ends 4 bytes beyond"), "{text}");
        assert!(text.contains("offset 24") && text.contains("buffer \"third, which begins at 12\""), "{text}");
        assert_eq!(x[2].read().unwrap()[..], [7.0; 3]);
        assert_eq!(x[0].read().unwrap()[..], [7.0; 3]);
        assert_eq!(findings.count(), u64::from(watched));
    }
}

#[test]
fn what_is_read_only_and_what_is_over() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0").checked(&findings)]);
    let mut x = rt.alloc::<u32>(4).unwrap();
    x.overwrite().unwrap().fill(5).unwrap();

    let write = build(UserOp::builder("write").input::<u32>().named("x"), async |item| item.store(0, 0, 1u32));
    let error = rt.call(&write.call(), &mut [arg(&x)]).unwrap_err();
    assert!(error.to_string().contains("and 3 more failures"), "{error}");
    let found = findings.take();
    assert_eq!(found.len(), 4);
    assert!(matches!(found[0].problem, Problem::Fault(Fault::ReadOnly { .. })), "{}", found[0]);

    // An address that outlives its launch.
    static KEPT: Mutex<Address> = Mutex::new(Address::NULL);
    let keep = build(UserOp::builder("keep").input::<u32>(), async |item| {
        *KEPT.lock().unwrap() = item.element::<u32>(0, 0);
        Ok(())
    });
    rt.call(&keep.call(), &mut [arg(&x)]).unwrap();
    let stale = build(UserOp::builder("stale").input::<u32>(), async |item| match item.global_id(0) {
        0 => item.global().load_value::<u32>(*KEPT.lock().unwrap()).map(drop),
        _ => Ok(()),
    });
    rt.call(&stale.call(), &mut [arg(&x)]).unwrap_err();
    let found = findings.take();
    assert!(matches!(found[..], [Finding { problem: Problem::Fault(Fault::Freed { .. }), .. }]), "{found:?}");
    assert_eq!(x.read().unwrap()[..], [5; 4]);
}

#[test]
fn an_output_that_is_not_all_written_is_found_by_who_reads_it() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0").checked(&findings)]);
    let half = build(UserOp::builder("half").output::<f32>(), async |item| match item.global_id(0) {
        0..4 => item.store(0, item.global_id(0), 1.0_f32),
        _ => Ok(()),
    });
    let (mut x, mut y) = (rt.alloc::<f32>(8).unwrap(), rt.alloc::<f32>(8).unwrap());
    // What was there before is no excuse.
    rt.fill(0.0, &mut x).unwrap();
    rt.call(&half.call(), &mut [arg_mut(&mut x)]).unwrap();
    assert_eq!(findings.count(), 0);
    // A copy would carry it along; a built-in kernel reads it.
    rt.scale(2.0, &x, &mut y).unwrap();
    let found = findings.take();
    let [Finding { problem, name, who, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*problem, Problem::Uninitialised { first: 16, bytes: 16 });
    assert_eq!((name.as_deref(), who.kernel().map(|name| &**name)), (Some("operand 0 of scale"), Some("scale")));

    // An item that reads an output before it has written it.
    let early = build(UserOp::builder("early").output::<u64>().named("y"), async |item| {
        let me = item.global_id(0);
        let old = item.load::<u64>(0, me)?;
        item.store(0, me, old)
    });
    let mut z = rt.alloc::<u64>(2).unwrap();
    z.overwrite().unwrap().fill(1).unwrap();
    rt.call(&early.call(), &mut [arg_mut(&mut z)]).unwrap();
    assert_eq!(kinds(&findings.take()), [Check::Uninitialised; 2]);
}

#[test]
fn an_output_that_is_not_all_written_is_found_when_the_host_reads_it() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0").checked(&findings)]);
    let half = build(UserOp::builder("half").output::<f32>().output::<f32>().named("tops"), async |item| {
        item.store(0, item.global_id(0), 1.0_f32)?;
        match item.global_id(0) {
            0..4 => item.store(1, item.global_id(0), 1.0_f32),
            _ => Ok(()),
        }
    });
    let (mut all, mut tops) = (rt.alloc::<f32>(8).unwrap(), rt.alloc::<f32>(8).unwrap());
    rt.call(&half.call(), &mut [arg_mut(&mut all), arg_mut(&mut tops)]).unwrap();
    assert_eq!(all.read().unwrap()[..], [1.0; 8]);
    assert_eq!(findings.count(), 0);
    assert_eq!(tops.read().unwrap()[..4], [1.0; 4]);
    let found = findings.take();
    let [Finding { problem, name, who, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(*problem, Problem::Uninitialised { first: 16, bytes: 16 });
    assert_eq!((name.as_deref(), who.kernel()), (Some("tops of half"), None));

    // What is written after all is nobody's fault, on the device or by the host.
    rt.call(&half.call(), &mut [arg_mut(&mut all), arg_mut(&mut tops)]).unwrap();
    rt.fill(2.0, &mut tops).unwrap();
    assert_eq!(tops.read().unwrap()[..], [2.0; 8]);
    rt.call(&half.call(), &mut [arg_mut(&mut all), arg_mut(&mut tops)]).unwrap();
    tops.overwrite().unwrap().fill(3.0).unwrap();
    rt.scale(2.0, &tops, &mut all).unwrap();
    assert_eq!(all.read().unwrap()[..], [6.0; 8]);
    assert_eq!(findings.take(), []);
}

#[test]
fn races_divergence_and_panics() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0").checked(&findings)]);
    let mut x = rt.alloc::<u32>(4).unwrap();
    x.overwrite().unwrap().fill(0).unwrap();
    let all_write = build(UserOp::builder("sum").inout::<u32>().named("sum"), async |item| {
        item.store(0, 0, item.load::<u32>(0, 0)? + 1)
    });
    rt.call(&all_write.call(), &mut [arg_mut(&mut x)]).unwrap();
    let found = findings.take();
    assert!(!found.is_empty() && kinds(&found).iter().all(|kind| *kind == Check::Race), "{found:?}");

    let part = build(UserOp::builder("part").inout::<u32>(), async |item| {
        if item.global_id(0) != 2 {
            item.barrier().await;
        }
        Ok(())
    });
    let error = rt.call(&part.call(), &mut [arg_mut(&mut x)]).unwrap_err();
    assert!(error.to_string().contains("did not all come to the same barrier"), "{error}");
    assert_eq!(kinds(&findings.take()), [Check::Divergence]);

    x.overwrite().unwrap().fill(0).unwrap();
    let bomb = build(UserOp::builder("bomb").inout::<u32>(), async |_| panic!("on purpose"));
    let error = rt.call(&bomb.call(), &mut [arg_mut(&mut x)]).unwrap_err();
    assert!(matches!(&error, Error::Panicked { message, .. } if message.contains("on purpose")), "{error}");
    // The device is as good as before.
    x.overwrite().unwrap().fill(3).unwrap();
    rt.scale_in_place(2.0, &mut rt.alloc::<f32>(4).unwrap()).unwrap_err();
    let mut y = rt.alloc::<u32>(4).unwrap();
    rt.copy(&x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[..], [3; 4]);
    assert!(findings.take().is_empty());
}

#[test]
fn tiles_are_elements_one_behind_the_other() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0").checked(&findings)]);
    // The middle tile of three by three, of 2 x 2.
    let number = build(UserOp::builder("number").inout::<u32>(), async |item| {
        let me = item.global_id(0);
        item.store(0, me, 10 + me as u32 + item.load::<u32>(0, me)?)
    });
    let mut x = rt.alloc::<u32>(36).unwrap();
    x.overwrite().unwrap().fill(0).unwrap();
    x.tile(6, 2, 2).unwrap();
    rt.call(&number.call(), &mut [arg_mut(&mut x[4])]).unwrap();
    let beyond = build(UserOp::builder("beyond").inout::<u32>(), async |item| match item.global_id(0) {
        0 => item.store(0, 4, 1u32),
        _ => Ok(()),
    });
    rt.call(&beyond.call(), &mut [arg_mut(&mut x[0])]).unwrap_err();
    assert_eq!(kinds(&findings.take()), [Check::Fault]);
    let mut wanted = [0; 36];
    for (at, value) in [(14, 10), (15, 11), (20, 12), (21, 13)] {
        wanted[at] = value;
    }
    rt.fill(0, &mut x[0]).unwrap();
    x.join().unwrap();
    assert_eq!(x.read().unwrap()[..], wanted);
    assert_eq!(findings.count(), 1);
}

#[test]
fn what_is_written_stays_so_on_its_way_between_devices() {
    let findings = [Findings::default(), Findings::default()];
    let watched = |i: usize| acc(&format!("acc{i}")).checked(&findings[i]);
    let rt = runtime([watched(0), watched(1)]);
    let [first, second] = ["acc0", "acc1"].map(|pe| rt.on(pe).unwrap());
    let (mut x, mut y) = (rt.alloc::<Complex32>(64).unwrap(), rt.alloc::<Complex32>(64).unwrap());
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    first.fft_in_place(&mut x).unwrap();
    second.zip(ZipOp::Mul, &x, &x, &mut y).unwrap();
    assert_eq!(y.read().unwrap()[0].re, 64.0 * 64.0);
    assert_eq!(findings.each_ref().map(Findings::count), [0, 0]);
    // And what is not, does not become so.
    let half = build(UserOp::builder("half").output::<f32>(), async |item| match item.global_id(0) {
        0 => item.store(0, 0, 1.0_f32),
        _ => Ok(()),
    });
    let (mut a, mut b) = (rt.alloc::<f32>(8).unwrap(), rt.alloc::<f32>(8).unwrap());
    first.call(&half.call(), &mut [arg_mut(&mut a)]).unwrap();
    second.copy(&a, &mut b).unwrap();
    assert_eq!(findings[0].count(), 0);
    let found = findings[1].take();
    assert!(
        matches!(found[..], [Finding { problem: Problem::Uninitialised { first: 4, bytes: 28 }, .. }]),
        "{found:?}"
    );
}

#[test]
fn between_one_that_is_checked_and_one_that_is_not() {
    let findings = Findings::default();
    let rt = runtime([acc("acc0"), acc("acc1").checked(&findings), acc("acc2").counted(&Counters::new())]);
    let mut x = rt.alloc::<Complex32>(64).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    for (pe, wanted) in [("acc0", 64.0), ("acc1", 1.0), ("acc2", 64.0), ("acc1", 1.0)] {
        let rt = rt.on(pe).unwrap();
        if wanted > 1.0 {
            rt.fft_in_place(&mut x).unwrap()
        } else {
            rt.ifft_in_place(&mut x).unwrap()
        };
        assert_eq!(x.read().unwrap()[0].re, wanted);
    }
    let found = findings.take();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn counts_are_those_of_the_calls() {
    let (findings, counters) = (Findings::default(), Counters::new());
    let rt = runtime([acc("acc0").checked(&findings).counted(&counters)]);
    let sum = UserOp::builder("sum")
        .input::<u32>()
        .output::<u32>()
        .on_sim_items(
            |_| Ok(Launch::new("sum-of-all", NdRange::linear(4, 4)?)),
            async |item| match item.global_id(0) {
                0 => {
                    let sum = (0..item.len(0)).map(|i| item.load::<u32>(0, i)).sum::<Result<u32, _>>()?;
                    item.store(1, 0, sum)
                }
                _ => Ok(()),
            },
        )
        .build()
        .unwrap();
    let (mut x, mut y) = (rt.alloc::<u32>(100).unwrap(), rt.alloc::<u32>(1).unwrap());
    x.overwrite().unwrap().write_with(|i| i as u32).unwrap();
    for _ in 0..3 {
        rt.call(&sum.call(), &mut [arg(&x), arg_mut(&mut y)]).unwrap();
    }
    assert_eq!(y.read().unwrap()[0], 4950);
    let tally = |operations, bytes| Tally { operations, bytes };
    let of_kernel = counters.of_kernel("sum-of-all", AddressSpace::Global);
    assert_eq!((of_kernel.loads, of_kernel.stores), (tally(300, 1200), tally(3, 12)));
    let of_host = counters.of_host(AddressSpace::Global);
    assert_eq!((of_host.stores, of_host.loads), (tally(1, 400), tally(1, 4)));
    assert_eq!(counters.kernels().len(), 1);
    assert_eq!(findings.count(), 0);
}

#[test]
fn operands_have_names_and_ranges_have_rules() {
    let op = UserOp::builder("op").named("early").input::<u32>();
    let error = op.on_cpu(|_| Ok(())).build().unwrap_err();
    assert!(error.to_string().contains("names an operand before it has one"), "{error}");
    let uneven = UserOp::builder("uneven")
        .inout::<u32>()
        .named("x")
        .on_sim_items(|len| Ok(Launch::new("uneven", NdRange::linear(len[0] as u64, 3)?)), async |_| Ok(()))
        .build()
        .unwrap();
    assert_eq!((uneven.operand_name(0), uneven.operand_name(1)), (Some("x"), None));
    let rt = runtime([acc("acc0")]);
    let mut x = rt.alloc::<u32>(4).unwrap();
    x.overwrite().unwrap().fill(0).unwrap();
    let error = rt.call(&uneven.call(), &mut [arg_mut(&mut x)]).unwrap_err();
    assert!(error.to_string().contains("wanted a multiple"), "{error}");
}
