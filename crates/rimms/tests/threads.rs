//! Several threads on one runtime: inputs shared, outputs each its own.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::{Complex32, MemoryMode, Runtime};

#[test]
fn threads_that_read_one_stale_input_copy_it_once() {
    for _ in 0..50 {
        let rt = Runtime::builder()
            .cpus(0)
            .device(Sim::acc("acc0", 1 << 20, Default::default()).unwrap())
            .build()
            .unwrap()
            .blocking();
        let mut x = rt.alloc::<Complex32>(256).unwrap();
        x.overwrite().unwrap().write_with(|i| Complex32::new(i as f32, 0.0)).unwrap();
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let mut y = rt.alloc::<Complex32>(256).unwrap();
                    barrier.wait();
                    rt.fft(&x, &mut y).unwrap();
                    let sum = y.read().unwrap()[0].re;
                    assert_eq!(sum, (255.0 * 256.0) / 2.0);
                });
            }
        });
        assert_eq!(rt.counters().host_to_device().copies, 1);
    }
}

#[test]
fn threads_work_on_the_fragments_of_one_datum() {
    for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
        let acc = |name| Sim::acc(name, 1 << 20, Default::default()).unwrap();
        let rt = Runtime::builder()
            .cpus(2)
            .device(acc("acc0"))
            .device(acc("acc1"))
            .memory_mode(mode)
            .build()
            .unwrap()
            .blocking();
        let mut x = rt.alloc::<Complex32>(16 * 64).unwrap();
        x.overwrite().unwrap().write_with(|i| Complex32::new((i % 64) as f32, (i / 64) as f32)).unwrap();
        x.fragment(16).unwrap();
        std::thread::scope(|s| {
            for (i, part) in x.fragments_mut().enumerate() {
                let rt = &rt;
                s.spawn(move || {
                    for round in 0..20 {
                        let pe = ["cpu0", "acc0", "acc1", "cpu1"][(i + round) % 4];
                        rt.on(pe).unwrap().fft_in_place(part).unwrap();
                        let pe = ["acc1", "cpu0", "acc0"][(i * 7 + round) % 3];
                        rt.on(pe).unwrap().ifft_in_place(part).unwrap();
                    }
                });
            }
        });
        for (i, v) in x.read().unwrap().iter().enumerate() {
            let want = Complex32::new((i % 64) as f32, (i / 64) as f32);
            assert!((v - want).norm() < 1e-2, "{mode}: element {i} is {v}, not {want}");
        }
    }
}
