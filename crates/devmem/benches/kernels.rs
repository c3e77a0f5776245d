//! Time of kernels: per checked access, per barrier, and what each checker costs in time and memory.
//!
//! `cargo bench -p rimms-devmem --bench kernels [-- --quick]`. Each line: nanoseconds (of which the fastest tenth of the
//! runs counts, so that what else the machine does counts little), millions a second, the target and whether it was
//! met. Kernels run on one thread, and where the host has two cores, on two: the time is then that of a core.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use rimms_devmem::check::{Checkers, Counters, Findings, Memcheck, Races, Uninitialised};
use rimms_devmem::observe::Observer;
use rimms_devmem::{Address, AtomicOp, Device, Flags, Init, Launch, NdRange};

/// Nanoseconds of `act` for each of `count`, in the fastest tenth of the runs.
fn undisturbed(runs: usize, count: u64, mut act: impl FnMut()) -> f64 {
    let mut time = || {
        let began = Instant::now();
        act();
        began.elapsed().as_nanos() as f64 / count as f64
    };
    let mut times: Vec<f64> = (0..runs).map(|_| time()).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

/// A line: time of one, how many a second, and the target for these.
fn report(what: &str, nanoseconds: f64, least_millions: Option<f64>) {
    let millions = 1e3 / nanoseconds;
    let verdict = match least_millions {
        Some(least) => {
            format!("target ≥ {least} M/s: {}", if millions >= least { "met" } else { "MISSED" })
        }
        None => String::new(),
    };
    println!("{what:<58} {nanoseconds:>8.2} ns {millions:>9.1} M/s  {verdict}");
}

const ELEMENTS: u64 = 1 << 13;
const GROUP: u32 = 64;

fn device<O: Observer>(observer: O, workers: usize) -> Device<O> {
    Device::with_observer(observer).workers(NonZeroUsize::new(workers).unwrap())
}

fn buffers<O: Observer, const N: usize>(device: &Device<O>, init: Init<'_>) -> [Address; N] {
    [(); N].map(|()| device.host().allocate(ELEMENTS * 4, Flags::READ_WRITE, init).unwrap())
}

/// Time of an access of c = a + b; three an item.
fn vecadd<O: Observer>(runs: usize, device: &Device<O>, workers: usize) -> f64 {
    let [a, b, c] = buffers(device, Init::Zeroed);
    let launch = Launch::new("vecadd", NdRange::linear(ELEMENTS, GROUP).unwrap()).uses(&[a, b, c]);
    undisturbed(runs, 3 * ELEMENTS / workers as u64, || {
        let outcome = device.run(&launch, async |item| {
            let (global, i) = (item.global(), item.global_id(0));
            let sum = global.load_value::<f32>(global.element::<f32>(a, i))?
                + global.load_value::<f32>(global.element::<f32>(b, i))?;
            global.store_value(global.element::<f32>(c, i), sum)
        });
        assert!(black_box(outcome.unwrap()).is_clean());
    })
}

/// Time of an access of a sum in local memory; 64 items load one element each and add up in six steps.
fn reduction<O: Observer>(runs: usize, device: &Device<O>, workers: usize) -> f64 {
    let [input, sums] = buffers(device, Init::Zeroed);
    let launch = Launch::new("reduction", NdRange::linear(ELEMENTS, GROUP).unwrap());
    let launch = launch.uses(&[input, sums]).local("part", u64::from(GROUP) * 4);
    let groups = ELEMENTS / u64::from(GROUP);
    let accesses = groups * (2 * u64::from(GROUP) + 3 * u64::from(GROUP - 1) + 2);
    undisturbed(runs, accesses / workers as u64, || {
        let outcome = device.run(&launch, async |item| {
            let (global, local, me) = (item.global(), item.local(), item.local_id(0));
            let part = item.local_buffer(0);
            let at = |i| local.element::<u32>(part, i);
            local.store_value(at(me), global.load_value::<u32>(global.element::<u32>(input, item.global_id(0)))?)?;
            let mut half = u64::from(GROUP) / 2;
            while half > 0 {
                item.barrier().await;
                if me < half {
                    local.store_value(
                        at(me),
                        local.load_value::<u32>(at(me))? + local.load_value::<u32>(at(me + half))?,
                    )?;
                }
                half /= 2;
            }
            if me == 0 {
                global.store_value(global.element::<u32>(sums, item.group_id(0)), local.load_value::<u32>(at(0))?)?;
            }
            Ok(())
        });
        assert!(black_box(outcome.unwrap()).is_clean());
    })
}

/// Time of an item at a barrier.
fn barrier<O: Observer>(runs: usize, device: &Device<O>) -> f64 {
    const BARRIERS: u64 = 100;
    let items = ELEMENTS / 16;
    let launch = Launch::new("barrier", NdRange::linear(items, GROUP).unwrap());
    undisturbed(runs, items * BARRIERS, || {
        let outcome = device.run(&launch, async |item| {
            for _ in 0..BARRIERS {
                item.barrier().await;
            }
            Ok(())
        });
        assert_eq!(black_box(outcome.unwrap()).barriers, items / u64::from(GROUP) * BARRIERS);
    })
}

/// Time of an atomic sum on a word of the item's own.
fn atomics<O: Observer>(runs: usize, device: &Device<O>) -> f64 {
    let [a] = buffers(device, Init::Zeroed);
    let launch = Launch::new("atomics", NdRange::linear(ELEMENTS, GROUP).unwrap()).uses(&[a]);
    undisturbed(runs, ELEMENTS, || {
        let outcome = device.run(&launch, async |item| {
            let global = item.global();
            global.atomic(global.element::<u32>(a, item.global_id(0)), AtomicOp::Add, 1u32).map(drop)
        });
        assert!(black_box(outcome.unwrap()).is_clean());
    })
}

/// Time of an item that does nothing.
fn nothing(runs: usize) -> f64 {
    let launch = Launch::new("nothing", NdRange::linear(ELEMENTS, GROUP).unwrap());
    let device = device((), 1);
    undisturbed(runs, ELEMENTS, || {
        let outcome = device.run(&launch, async |item| {
            black_box(item.global_id(0));
            Ok(())
        });
        assert!(black_box(outcome.unwrap()).is_clean());
    })
}

/// The same sums on plain arrays.
fn floor(runs: usize) -> f64 {
    let (a, b, mut c) = (vec![1f32; ELEMENTS as usize], vec![2f32; ELEMENTS as usize], vec![0f32; ELEMENTS as usize]);
    undisturbed(runs, 3 * ELEMENTS, || {
        for i in 0..ELEMENTS as usize {
            // One at a time, as a kernel does.
            c[black_box(i)] = a[i] + b[i];
        }
        black_box(&mut c);
    })
}

/// What a checker costs with vecadd, the reduction and atomics; and host bytes for each byte touched.
fn checked<O: Observer>(runs: usize, name: &str, make: impl Fn() -> O, target: Option<f64>) {
    report(&format!("vecadd, {name}"), vecadd(runs, &device(make(), 1), 1), target);
    report(&format!("local reduction, {name}"), reduction(runs, &device(make(), 1), 1), target);
    report(&format!("atomic, {name}"), atomics(runs, &device(make(), 1)), None);
}

fn memory() {
    let findings = Findings::default();
    let races = device(Races::new(&findings), 1);
    vecadd(1, &races, 1);
    let touched = (3 * ELEMENTS * 4) as f64;
    println!(
        "{:<58} {:>8.2} host bytes a byte touched",
        "races, words",
        races.observer().most_bytes() as f64 / touched
    );
    let uninitialised = device(Uninitialised::new(&findings), 1);
    let [a] = buffers(&uninitialised, Init::Poison(1));
    uninitialised.host().fill(a, &[1], ELEMENTS * 4).unwrap();
    let bits = uninitialised.kept().bytes() as f64 / (ELEMENTS * 4) as f64;
    println!("{:<58} {bits:>8.3} host bytes a byte touched", "uninitialised");
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let runs = if quick { 200 } else { 2000 };
    report("c = a + b, plain arrays, one element at a time", floor(runs), None);
    report("an item that does nothing", nothing(runs), None);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    for workers in if cores > 1 { vec![1, 2] } else { vec![1] } {
        let name = |what| format!("{what}, {workers} threads, of one core");
        report(&name("vecadd"), vecadd(runs, &device((), workers), workers), Some(250.0));
        report(&name("local reduction"), reduction(runs, &device((), workers), workers), Some(100.0));
    }
    report("an item at a barrier", barrier(runs, &device((), 1)), Some(333.3));
    report("atomic", atomics(runs, &device((), 1)), None);
    let findings = Findings::default();
    checked(runs, "memcheck", || Memcheck::new(&findings), None);
    checked(runs, "uninitialised", || Uninitialised::new(&findings), None);
    checked(runs, "races", || Races::new(&findings), None);
    checked(runs, "counters", Counters::new, None);
    checked(runs, "every checker", || Checkers::new().observer(), Some(60.0));
    memory();
    assert_eq!(findings.count(), 0);
}
