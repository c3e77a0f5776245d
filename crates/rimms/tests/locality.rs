//! The default policy: calls go where their data are.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::{Complex32, HeteData, Runtime};

const LEN: usize = 1024;

fn two_equal() -> Runtime {
    let acc = |name| Sim::acc(name, 1 << 20, Default::default()).unwrap();
    Runtime::builder().cpus(0).device(acc("acc0")).device(acc("acc1")).build().unwrap()
}

fn input(rt: &Runtime) -> HeteData<Complex32> {
    let mut x = rt.alloc(LEN).unwrap();
    x.overwrite().unwrap().fill(Complex32::ONE).unwrap();
    x
}

/// Each call reads what the one before wrote.
fn chain(rt: &Runtime, calls: usize) -> HeteData<Complex32> {
    let mut x = input(rt);
    for i in 0..calls {
        let mut y = rt.alloc(LEN).unwrap();
        if i % 2 == 0 { rt.fft(&x, &mut y) } else { rt.ifft(&x, &mut y) }.unwrap();
        x = y;
    }
    rt.finish().unwrap();
    x
}

#[test]
fn a_chain_stays_on_one_of_two_equal_accelerators() {
    for blocking in [false, true] {
        for calls in [2, 3, 5, 8, 20, 50] {
            let rt = two_equal();
            let rt = if blocking { rt.blocking() } else { rt };
            let last = chain(&rt, calls);
            let counters = rt.counters();
            let how = format!("{calls} calls, blocking {blocking}: {counters:?}");
            assert_eq!(counters.host_to_device().copies, 1, "{how}");
            assert_eq!(counters.device_to_device().copies, 0, "{how}");
            assert_eq!(counters.device_to_host().copies, 0, "{how}");
            let found = last.read().unwrap();
            let peak = if calls % 2 == 0 { 1.0 } else { LEN as f32 };
            assert!((found[0].re - peak).abs() < 1e-2 * peak, "{how}");
        }
    }
}

#[test]
fn an_in_place_chain_stays_where_it_began() {
    for blocking in [false, true] {
        for calls in [1, 2, 7, 30] {
            let rt = two_equal();
            let rt = if blocking { rt.blocking() } else { rt };
            let mut x = input(&rt);
            for _ in 0..calls {
                rt.fft_in_place(&mut x).unwrap();
            }
            rt.finish().unwrap();
            let made = rt.counters();
            assert_eq!((made.host_to_device().copies, made.device_to_device().copies), (1, 0), "{calls}, {blocking}");
        }
    }
}

#[test]
fn calls_on_different_data_use_both() {
    let rt = two_equal();
    let mut data: Vec<_> = (0..8).map(|_| input(&rt)).collect();
    for x in &mut data {
        for _ in 0..50 {
            rt.fft_in_place(x).unwrap();
        }
    }
    rt.finish().unwrap();
    let counters = rt.counters();
    assert!(counters.calls("acc0") > 0 && counters.calls("acc1") > 0, "{counters:?}");
}
