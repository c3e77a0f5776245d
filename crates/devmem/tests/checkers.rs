//! What checkers count, and what they cost in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroUsize;

use rimms_devmem::check::{Checkers, Counters, Counts, Findings, Races, Tally, Uninitialised};
use rimms_devmem::{AddressSpace, AtomicOp, Device, Fault, Flags, Init, Launch, NdRange, Rows};

#[test]
fn counts_are_exact_on_any_number_of_threads() {
    for workers in [1, 2, 5] {
        let device = Device::with_observer(Counters::new()).workers(NonZeroUsize::new(workers).unwrap());
        let host = device.host();
        let buffer = host.allocate(4000, Flags::READ_WRITE, Init::Zeroed).unwrap();
        host.store(buffer, &[1; 100]).unwrap();
        host.fill(buffer, &[2], 50).unwrap();
        // Rows are one operation on their bytes alone.
        host.store_rows(buffer, Rows { count: 5, bytes: 2, pitch: 100 }, &[1; 10]).unwrap();
        host.copy(buffer, host.element::<u8>(buffer, 1000), 10).unwrap();
        host.load_value::<u64>(host.element::<u8>(buffer, 4000)).unwrap_err();
        let launch = Launch::new("mixed", NdRange::linear(1000, 50).unwrap()).local("l", 400);
        for _ in 0..3 {
            let outcome = device.run(&launch, async |item| {
                let (global, local, me) = (item.global(), item.local(), item.global_id(0));
                let value = item.constant().load_value::<u32>(global.element::<u32>(buffer, me))?;
                local.store_value(local.element::<u64>(item.local_buffer(0), item.local_id(0)), 1u64)?;
                item.barrier().await;
                global.atomic(buffer, AtomicOp::Add, u64::from(value))?;
                let private = item.private();
                let mine = private.allocate(16, Flags::READ_WRITE, Init::Zeroed)?;
                private.store(mine, &[0; 3])?;
                private.load(mine, &mut [0; 5])
            });
            assert!(outcome.unwrap().is_clean());
        }
        let tally = |operations, bytes| Tally { operations, bytes };
        let counters = device.observer();
        let of_host = Counts { loads: tally(1, 10), stores: tally(4, 170), ..Counts::default() };
        assert_eq!(counters.of_host(AddressSpace::Global), of_host);
        let kernels = counters.kernels();
        assert_eq!((kernels.len(), &*kernels[0].name, kernels[0].launches, kernels[0].barriers), (1, "mixed", 3, 60));
        let none = Counts::default();
        let wanted = [
            (AddressSpace::Private, Counts { loads: tally(3000, 15_000), stores: tally(3000, 9_000), ..none }),
            (AddressSpace::Global, Counts { atomics: tally(3000, 24_000), ..none }),
            (AddressSpace::Constant, Counts { loads: tally(3000, 12_000), ..none }),
            (AddressSpace::Local, Counts { stores: tally(3000, 24_000), ..none }),
        ];
        assert_eq!(kernels[0].spaces, wanted);
        assert_eq!(counters.of_kernel("mixed", AddressSpace::Local), wanted[3].1);
        assert_eq!(counters.of_kernel("other", AddressSpace::Local), none);
    }
}

/// Items that each store one `T` of a buffer of a GiB, the first of so many bytes; host bytes for each touched.
fn cells_per_byte<T: bytemuck::Pod>(bytes: u64) -> f64 {
    let device = Device::with_observer(Races::new(&Findings::default()));
    let buffer = device.host().allocate(1 << 30, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let items = bytes / size_of::<T>() as u64;
    let outcome = device.run(&Launch::new("touch", NdRange::linear(items, 64).unwrap()), async |item| {
        item.global().store_value(item.global().element::<T>(buffer, item.global_id(0)), T::zeroed())
    });
    assert!(outcome.unwrap().is_clean());
    device.observer().most_bytes() as f64 / bytes as f64
}

#[test]
fn cells_of_races_are_few_and_only_for_what_is_touched() {
    // Whole pages, so exact.
    assert_eq!(cells_per_byte::<u32>(1 << 16), 2.0);
    assert_eq!(cells_per_byte::<u64>(1 << 16), 2.0);
    assert_eq!(cells_per_byte::<u8>(1 << 16), 8.0);
    assert_eq!(cells_per_byte::<u16>(1 << 16), 8.0);
    // One byte of a GiB: one page of each kind.
    let device = Device::with_observer(Races::new(&Findings::default()));
    let buffer = device.host().allocate(1 << 30, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let outcome = device.run(&Launch::new("one", NdRange::linear(1, 1).unwrap()), async |item| {
        item.global().store_value(item.global().element::<u8>(buffer, 1 << 29), 1u8)
    });
    assert!(outcome.unwrap().is_clean());
    assert_eq!(device.observer().most_bytes(), 8 * 1024);
}

#[test]
fn bits_of_what_is_defined_are_one_a_byte_of_touched_pages() {
    let device = Device::with_observer(Uninitialised::new(&Findings::default()));
    let host = device.host();
    let defined = host.allocate(1 << 30, Flags::READ_WRITE, Init::Zeroed).unwrap();
    host.store(defined, &[1; 100_000]).unwrap();
    assert_eq!(device.kept().bytes(), 0, "a defined buffer has no bits");
    let buffer = host.allocate(1 << 20, Flags::READ_WRITE, Init::Poison(0)).unwrap();
    host.load(buffer, &mut [0; 100_000]).unwrap();
    assert_eq!(device.kept().bytes(), 0, "reads touch nothing");
    host.store(buffer, &[1; 65_536]).unwrap();
    assert_eq!(device.kept().bytes(), 65_536 / 8);
    // The next buffer of the index uses them again.
    host.deallocate(buffer).unwrap();
    let next = host.allocate(1 << 20, Flags::READ_WRITE, Init::Poison(0)).unwrap();
    assert_eq!(host.layout().decode(next).index, host.layout().decode(buffer).index);
    host.store(next, &[1; 65_536]).unwrap();
    assert_eq!(device.kept().bytes(), 65_536 / 8);
}

#[test]
fn right_programs_are_silent_on_several_threads() {
    // A sum in local memory, by every checker, many times: no false finding from threads that come late.
    let checkers = Checkers::new();
    let device = Device::with_observer(checkers.observer()).workers(NonZeroUsize::new(4).unwrap());
    let host = device.host();
    let [input, sums] =
        [64 * 256 * 4, 256 * 4].map(|size| host.allocate(size, Flags::READ_WRITE, Init::Poison(1)).unwrap());
    host.fill(input, &1u32.to_ne_bytes(), 64 * 256 * 4).unwrap();
    let launch = Launch::new("sum", NdRange::linear(64 * 256, 64).unwrap()).uses(&[input, sums]).local("part", 256);
    for _ in 0..10 {
        let outcome = device.run(&launch, async |item| {
            let (global, local, me) = (item.global(), item.local(), item.local_id(0));
            let at = |i| local.element::<u32>(item.local_buffer(0), i);
            local.store_value(at(me), global.load_value::<u32>(global.element::<u32>(input, item.global_id(0)))?)?;
            let mut half = 32;
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
            Ok::<(), Fault>(())
        });
        assert!(outcome.unwrap().is_clean());
    }
    assert_eq!(checkers.findings().take(), []);
    let mut found = vec![0; 1024];
    host.load(sums, &mut found).unwrap();
    assert!(found.chunks(4).all(|sum| sum == 64u32.to_ne_bytes()));
}
