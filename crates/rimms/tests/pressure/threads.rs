//! Several threads, several devices, little memory.

use super::devices::{Meeting, Told};
use rimms::device::sim::{HeapKind, Sim};
use rimms::{HeteData, MemoryMode, Runtime, ZipOp};
use std::sync::Arc;

const N: usize = 64;
const BYTES: u64 = N as u64 * 4;
const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];

#[test]
fn fragments_of_one_datum_go_to_two_devices_at_the_same_time() {
    let meeting = Meeting::of(2);
    let device = |name| Told {
        meeting: Some(meeting.clone()),
        ..Told::new(Sim::acc(name, 1 << 12, Default::default()).unwrap())
    };
    let rt = Runtime::builder().cpus(0).device(device("a0")).device(device("b0")).build().unwrap().blocking();
    let mut x = rt.alloc::<f32>(2 * N).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    x.fragment(2).unwrap();
    std::thread::scope(|s| {
        for (part, pe) in x.fragments_mut().zip(["a0", "b0"]) {
            let on = rt.on(pe).unwrap();
            s.spawn(move || on.scale_in_place(2.0, part).unwrap());
        }
    });
    assert_eq!(x.read().unwrap()[..], [2.0; 2 * N]);
}

#[test]
fn many_readers_on_three_devices_see_the_same_bytes() {
    for mode in MODES {
        for heap in [HeapKind::Bitset { block: 64 }, HeapKind::NextFit, HeapKind::TwoLevel] {
            // Room for one call and a bit, on each.
            let acc = |name| Sim::acc(name, 3 * BYTES + 100, heap).unwrap();
            let rt = Runtime::builder()
                .cpus(1)
                .device(acc("acc0"))
                .device(acc("acc1"))
                .device(acc("acc2"))
                .memory_mode(mode)
                .build()
                .unwrap()
                .blocking();
            let inputs: Vec<HeteData<f32>> = (0..5)
                .map(|i| {
                    let mut x = rt.alloc(N).unwrap();
                    // Where each lies first differs.
                    rt.on(["cpu0", "acc0", "acc1", "acc2"][i % 4]).unwrap().fill(i as f32, &mut x).unwrap();
                    x
                })
                .collect();
            std::thread::scope(|s| {
                for t in 0..4 {
                    let (rt, inputs) = (&rt, &inputs);
                    s.spawn(move || {
                        let mut sum = rt.alloc::<f32>(N).unwrap();
                        for i in 0..60 {
                            let (a, b) = ((t + i) % 5, (t + 2 * i + 1) % 5);
                            let pe = ["acc0", "acc1", "acc2"][(t * 7 + i) % 3];
                            rt.on(pe).unwrap().zip(ZipOp::Add, &inputs[a], &inputs[b], &mut sum).unwrap();
                            if i % 3 == 0 {
                                assert_eq!(sum.read().unwrap()[..], [(a + b) as f32; N], "{mode} {heap}");
                            }
                        }
                    });
                }
            });
            for (i, x) in inputs.iter().enumerate() {
                assert_eq!(x.read().unwrap()[..], [i as f32; N], "{mode} {heap}");
            }
        }
    }
}

#[test]
fn fragments_of_one_datum_are_worked_on_while_others_are_evicted() {
    for mode in MODES {
        let acc = |name| Sim::acc(name, 2 * BYTES + 64, Default::default()).unwrap();
        let rt = Runtime::builder()
            .cpus(2)
            .device(acc("acc0"))
            .device(acc("acc1"))
            .memory_mode(mode)
            .build()
            .unwrap()
            .blocking();
        let mut x = rt.alloc::<f32>(8 * N).unwrap();
        x.overwrite().unwrap().write_with(|i| (i / N) as f32).unwrap();
        x.fragment(8).unwrap();
        std::thread::scope(|s| {
            for (i, part) in x.fragments_mut().enumerate() {
                let rt = &rt;
                s.spawn(move || {
                    for round in 0..40 {
                        let pe = ["acc0", "cpu0", "acc1", "acc0", "cpu1"][(i + round) % 5];
                        rt.on(pe).unwrap().scale_in_place(2.0, part).unwrap();
                        match round % 4 {
                            0 => part.update().unwrap().iter_mut().for_each(|v| *v /= 2.0),
                            1 => {
                                let halves: Vec<f32> = part.read().unwrap().iter().map(|v| v / 2.0).collect();
                                part.overwrite().unwrap().copy_from_slice(&halves).unwrap();
                            }
                            2 => {
                                // Divided while blocks that it lies in may be on their way out.
                                part.fragment(2).unwrap();
                                rt.on("acc1").unwrap().scale_in_place(0.5, &mut part[0]).unwrap();
                                rt.on("acc0").unwrap().scale_in_place(0.5, &mut part[1]).unwrap();
                                part.join().unwrap();
                            }
                            _ => drop(rt.on("acc0").unwrap().scale_in_place(0.5, part).unwrap()),
                        }
                    }
                });
            }
        });
        for (i, v) in x.read().unwrap().iter().enumerate() {
            assert_eq!(*v, (i / N) as f32, "{mode}: element {i}");
        }
    }
}

/// One gathers the fragments for its parent, the others read them one by one.
#[test]
fn readers_of_parts_and_of_the_whole_do_not_get_into_each_others_way() {
    for round in 0..30 {
        let acc = Arc::new(Sim::acc("acc0", 7 * BYTES, Default::default()).unwrap());
        let rt = Runtime::builder().cpus(0).shared_device(acc).build().unwrap().blocking();
        let mut hog = rt.alloc::<u8>(4 * BYTES as usize).unwrap();
        rt.fill(0, &mut hog).unwrap();
        let mut x = rt.alloc::<f32>(4 * N).unwrap();
        x.overwrite().unwrap().write_with(|i| i as f32).unwrap();
        x.fragment(4).unwrap();
        // A fragment of x in a block of its own, as all of it would not have fitted.
        let mut y = rt.alloc::<f32>(N).unwrap();
        rt.copy(&x[round % 4], &mut y).unwrap();
        drop(hog);
        std::thread::scope(|s| {
            let (rt, x) = (&rt, &x);
            for t in 0..3 {
                s.spawn(move || {
                    let mut y = rt.alloc::<f32>(N).unwrap();
                    for i in 0..20 {
                        let part = (t + i) % 4;
                        rt.copy(&x[part], &mut y).unwrap();
                        let found = y.read().unwrap();
                        assert!((0..N).all(|k| found[k] == (part * N + k) as f32), "part {part}: {:?}", &found[..4]);
                    }
                });
            }
            s.spawn(move || {
                let mut magnitudes = rt.alloc::<f32>(2).unwrap();
                let op = rimms::op::UserOp::builder("ends")
                    .input::<f32>()
                    .output::<f32>()
                    .on_sim(|k| {
                        let all = k.input::<f32>(0)?;
                        let ends = k.output::<f32>(1)?;
                        ends[0] = all[0];
                        ends[1] = all[all.len() - 1];
                        Ok(())
                    })
                    .build()
                    .unwrap()
                    .call();
                for _ in 0..20 {
                    rt.call(&op, &mut [rimms::arg(x), rimms::arg_mut(&mut magnitudes)]).unwrap();
                    assert_eq!(magnitudes.read().unwrap()[..], [0.0, (4 * N - 1) as f32]);
                }
            });
        });
    }
}
