//! Copies that fail while room is made: nothing is lost, and what can be done is done.

use super::devices::Told;
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::{Error, HeteData, MemoryMode, ResourceId, Runtime};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const N: usize = 64;
const BYTES: u64 = N as u64 * 4;

fn runtime(device: Arc<dyn rimms::device::Device>, mode: MemoryMode) -> Runtime {
    Runtime::builder().cpus(0).shared_device(device).memory_mode(mode).build().unwrap().blocking()
}

fn sim(blocks: u64) -> Sim {
    Sim::acc("acc0", blocks * BYTES, Default::default()).unwrap()
}

/// On the device alone.
fn made(rt: &Runtime, value: f32) -> HeteData<f32> {
    let mut x = rt.alloc(N).unwrap();
    rt.fill(value, &mut x).unwrap();
    x
}

#[test]
fn blocks_that_cannot_be_written_back_stay_and_the_call_says_why_it_has_no_room() {
    for mode in [MemoryMode::LastResource, MemoryMode::ValidSet] {
        let device = Arc::new(Told::new(sim(2)));
        let rt = runtime(device.clone(), mode);
        let data = [made(&rt, 1.0), made(&rt, 2.0)];
        device.refuses_downloads.store(true, Relaxed);
        let mut y = rt.alloc::<f32>(N).unwrap();
        let error = rt.fill(3.0, &mut y).unwrap_err();
        assert!(matches!(&error, Error::Device { call, .. } if call.contains("eviction")), "{mode}: {error}");
        assert_eq!(rt.counters().evictions, 0);
        let acc = ResourceId::new(1).unwrap();
        assert!(data.iter().all(|x| x.is_valid_on(acc)), "{mode}");
        device.refuses_downloads.store(false, Relaxed);
        rt.fill(3.0, &mut y).unwrap();
        assert_eq!(rt.counters().evictions, 1, "{mode}");
        let last = if mode == MemoryMode::LastResource { ResourceId::HOST } else { data[0].last_resource().unwrap() };
        assert_eq!(data[0].last_resource(), Some(last));
        for (x, want) in data.iter().zip([1.0, 2.0]) {
            assert_eq!(x.read().unwrap()[..], [want; N], "{mode}");
        }
        assert_eq!(y.read().unwrap()[..], [3.0; N]);
    }
}

#[test]
fn a_clean_block_goes_where_a_dirty_one_cannot() {
    let device = Arc::new(Told::new(sim(2)));
    let rt = runtime(device.clone(), MemoryMode::ValidSet);
    let (clean, dirty) = (made(&rt, 1.0), made(&rt, 2.0));
    assert_eq!(clean.read().unwrap()[0], 1.0);
    device.refuses_downloads.store(true, Relaxed);
    let mut y = rt.alloc::<f32>(N).unwrap();
    rt.fill(3.0, &mut y).unwrap();
    assert_eq!(clean.read().unwrap()[0], 1.0);
    device.refuses_downloads.store(false, Relaxed);
    assert_eq!((dirty.read().unwrap()[0], y.read().unwrap()[0]), (2.0, 3.0));
}

#[test]
fn one_failed_write_back_costs_nothing_but_another_victim() {
    for fault in [Fault::Fail, Fault::CutOff] {
        // Two allocations and two launches; the allocation that is refused; the first victim's copy.
        let device = Arc::new(Faulty::new(sim(2), Plan::nth(5, fault)));
        let rt = runtime(device.clone(), MemoryMode::ValidSet);
        let data = [made(&rt, 1.0), made(&rt, 2.0)];
        let third = made(&rt, 3.0);
        assert_eq!(rt.counters().evictions, 1);
        let acc = ResourceId::new(1).unwrap();
        assert!(data[0].is_valid_on(acc) && !data[1].is_valid_on(acc), "the first stays");
        for (x, want) in data.iter().chain([&third]).zip([1.0, 2.0, 3.0]) {
            assert_eq!(x.read().unwrap()[..], [want; N]);
        }
    }
}

#[test]
fn whatever_fails_once_nothing_is_lost_but_what_was_being_written() {
    let program = |rt: &Runtime| -> Result<(), Error> {
        let mut data: Vec<HeteData<f32>> = (0..4).map(|_| rt.alloc(N).unwrap()).collect();
        let mut values = [None; 4];
        let mut first = None;
        for round in 0..3 {
            for i in 0..4 {
                let result =
                    if round == 0 { rt.fill(i as f32, &mut data[i]) } else { rt.scale_in_place(2.0, &mut data[i]) };
                match result {
                    Ok(_) if round == 0 => values[i] = Some(i as f32),
                    Ok(_) => values[i] = values[i].map(|v| v * 2.0),
                    Err(e) => {
                        // What a failed call was to write may be gone; nothing else.
                        if data[i].valid().is_empty() {
                            values[i] = None;
                        }
                        first = first.or(Some(e));
                    }
                }
            }
        }
        for (x, value) in data.iter().zip(values) {
            match (x.read(), value) {
                (Ok(found), Some(value)) => assert_eq!(found[..], [value; N]),
                (Err(Error::Uninitialised { .. }), None) => {}
                (Ok(_), None) => panic!("what failed is shown"),
                (Err(e), _) => first = first.or(Some(e)),
            }
        }
        for (x, value) in data.iter().zip(values) {
            if let Some(value) = value {
                let again = x.read().or_else(|_| x.read()).unwrap(); // mode last-resource copies at each read
                assert_eq!(again[..], [value; N]);
            }
        }
        first.map_or(Ok(()), Err)
    };
    let clean = Arc::new(Faulty::new(sim(2), Plan::none()));
    program(&runtime(clean.clone(), MemoryMode::ValidSet)).unwrap();
    for n in 0..clean.operations() {
        for fault in [Fault::Fail, Fault::CutOff] {
            for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
                let device = Arc::new(Faulty::new(sim(2), Plan::nth(n, fault)));
                let rt = runtime(device, mode);
                if let Err(e) = program(&rt) {
                    assert!(e.to_string().contains("as planned"), "{mode}, {fault:?} of {n}: {e}");
                }
                assert_eq!(rt.usage(ResourceId::new(1).unwrap()).unwrap().blocks, 0, "{mode}, {fault:?} of {n}");
            }
        }
    }
}
