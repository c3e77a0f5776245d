//! Kernels: ids, barriers, memories, faults, divergence, and all of it the same on one thread and on several.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rimms_devmem::{
    Address, AtomicOp, Device, Divergence, Failure, Fault, Flags, Init, Launch, Lifecycle, NdRange, Outcome, RangeError,
};

fn device(workers: usize) -> Device {
    Device::new().workers(NonZeroUsize::new(workers).unwrap())
}

fn zeros(device: &Device, size: u64) -> Address {
    device.host().allocate(size, Flags::READ_WRITE, Init::Zeroed).unwrap()
}

fn read(device: &Device, buffer: Address, count: u64) -> Vec<u64> {
    let host = device.host();
    (0..count).map(|i| host.load_value(host.element::<u64>(buffer, i)).unwrap()).collect()
}

#[test]
fn every_item_runs_once_with_its_ids() {
    for workers in [1, 3] {
        let device = device(workers);
        let (global, local, offset) = ([6u64, 4, 10], [3u32, 2, 5], [100u64, 20, 3]);
        let range = NdRange::with_offset(global, local, offset).unwrap();
        let seen = zeros(&device, range.items() * 8);
        let outcome = device.run(&Launch::new("ids", range), async |item| {
            let at: [u64; 3] = std::array::from_fn(|d| item.global_id(d) - offset[d]);
            for d in 0..3 {
                assert_eq!(item.group_id(d), at[d] / u64::from(local[d]));
                assert_eq!(item.local_id(d), at[d] % u64::from(local[d]));
                assert_eq!((item.global_size(d), item.local_size(d)), (global[d], local[d].into()));
            }
            let memory = item.global();
            let place = at[0] + global[0] * (at[1] + global[1] * at[2]);
            memory.atomic(memory.element::<u64>(seen, place), AtomicOp::Add, item.id().number() + 1).map(drop)
        });
        assert_eq!(outcome.unwrap(), Outcome { items: range.items(), ..Outcome::default() });
        let mut seen = read(&device, seen, range.items());
        assert_eq!(seen[..4], [1, 2, 3, 31], "items of a group one after the other, then the next group");
        seen.sort_unstable();
        assert_eq!(seen, (1..=range.items()).collect::<Vec<_>>());
    }
}

#[test]
fn ranges_that_cannot_be() {
    assert!(matches!(NdRange::new([4, 4, 4], [2, 0, 2]), Err(RangeError::NoItems { .. })));
    assert!(matches!(NdRange::linear(10, 3), Err(RangeError::NotMultiple { .. })));
    assert!(matches!(NdRange::new([1 << 32, 1 << 32, 1], [1, 1, 1]), Err(RangeError::TooMany { .. })));
    assert!(matches!(NdRange::new([1 << 20, 1 << 20, 1], [1 << 20, 1 << 20, 1]), Err(RangeError::TooMany { .. })));
    assert!(matches!(NdRange::with_offset([8, 1, 1], [1, 1, 1], [u64::MAX, 0, 0]), Err(RangeError::TooMany { .. })));
    let none = device(2).run(&Launch::new("none", NdRange::linear(0, 4).unwrap()), async |_| Ok(())).unwrap();
    assert_eq!(none, Outcome::default());
}

#[test]
fn a_barrier_lets_all_see_what_all_did() {
    // Sums by halves in local memory; and in the end a barrier that only matters for the count.
    for workers in [1, 2, 4] {
        let device = device(workers);
        let (items, group) = (64 * 40u64, 64u32);
        let [input, sums] = [zeros(&device, items * 8), zeros(&device, items / 64 * 8)];
        let host = device.host();
        (0..items).for_each(|i| host.store_value(host.element::<u64>(input, i), i * i).unwrap());
        let launch =
            Launch::new("sum", NdRange::linear(items, group).unwrap()).uses(&[input, sums]).local("part", 64 * 8);
        let outcome = device.run(&launch, async |item| {
            let (global, local, part) = (item.global(), item.local(), item.local_buffer(0));
            let me = item.local_id(0);
            let at = |i| local.element::<u64>(part, i);
            local.store_value(at(me), global.load_value::<u64>(global.element::<u64>(input, item.global_id(0)))?)?;
            let mut half = u64::from(group) / 2;
            while half > 0 {
                item.barrier().await;
                if me < half {
                    local.store_value(
                        at(me),
                        local.load_value::<u64>(at(me))? + local.load_value::<u64>(at(me + half))?,
                    )?;
                }
                half /= 2;
            }
            if me == 0 {
                global.store_value(global.element::<u64>(sums, item.group_id(0)), local.load_value::<u64>(at(0))?)?;
            }
            Ok(())
        });
        assert_eq!(outcome.unwrap(), Outcome { items, barriers: 6 * 40, ..Outcome::default() });
        let wanted: Vec<u64> = (0..40).map(|group| (group * 64..(group + 1) * 64).map(|i| i * i).sum()).collect();
        assert_eq!(read(&device, sums, 40), wanted);
    }
}

#[test]
fn items_run_in_order_from_barrier_to_barrier() {
    let device = device(1);
    let order = parking_lot::Mutex::new(Vec::new());
    let outcome = device.run(&Launch::new("order", NdRange::linear(6, 3).unwrap()), async |item| {
        for turn in 0..2 {
            order.lock().push((item.group_id(0), turn, item.local_id(0)));
            item.barrier().await;
        }
        Ok(())
    });
    assert_eq!(outcome.unwrap().barriers, 4);
    let wanted: Vec<_> =
        (0..2).flat_map(|group| (0..2).flat_map(move |turn| (0..3).map(move |item| (group, turn, item)))).collect();
    assert_eq!(order.into_inner(), wanted);
}

#[test]
fn an_item_that_faults_ends_and_the_others_go_on() {
    for workers in [1, 3] {
        let device = device(workers);
        let buffer = zeros(&device, 30 * 8);
        // The last two of 32 items are out of bounds; the barrier does not wait for them.
        let outcome = device.run(&Launch::new("beyond", NdRange::linear(32, 8).unwrap()), async |item| {
            let global = item.global();
            let mine = global.element::<u64>(buffer, item.global_id(0));
            global.store_value(mine, 1u64)?;
            item.barrier().await;
            global.store_value(mine, 2u64)
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.items, outcome.barriers, outcome.failed), (32, 4, 2));
        let found = outcome.failures.iter().map(|failure| match failure {
            Failure::Fault { item, fault: Fault::OutOfBounds { beyond, length: 240, .. } } => (item.global[0], *beyond),
            other => panic!("{other}"),
        });
        assert_eq!(found.collect::<Vec<_>>(), [(30, 8), (31, 16)]);
        assert_eq!(read(&device, buffer, 30), [2; 30]);
    }
}

fn divergence(outcome: Outcome) -> Divergence {
    match &outcome.failures[..] {
        [Failure::Divergence(divergence)] => divergence.clone(),
        failures => panic!("{failures:?}"),
    }
}

#[test]
fn a_barrier_that_not_all_reach_names_the_items() {
    let device = device(2);
    let range = NdRange::new([8, 2, 1], [4, 2, 1]).unwrap();
    let launch = Launch::new("early", range);
    let outcome = device.run(&launch, async |item| {
        // In the second group, (2, 1) leaves early.
        if (item.group_id(0), item.local_id(0), item.local_id(1)) == (1, 2, 1) {
            return Ok(());
        }
        item.barrier().await;
        Ok(())
    });
    let found = divergence(outcome.unwrap());
    assert_eq!(found.ended.iter().map(|item| item.global).collect::<Vec<_>>(), [[6, 1, 0]]);
    assert_eq!(found.waiting.len(), 1);
    let waiting: Vec<_> = found.waiting[0].items.iter().map(|item| item.local).collect();
    assert_eq!(waiting, [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0], [1, 1, 0], [3, 1, 0]]);
    let text = found.to_string();
    assert!(text.contains("kernels.rs") && text.contains("ended item (6, 1, 0) of early"), "{text}");
}

#[test]
#[allow(clippy::if_same_then_else)]
fn two_barriers_are_not_the_same() {
    let device = device(1);
    let outcome = device.run(&Launch::new("apart", NdRange::linear(4, 4).unwrap()), async |item| {
        if item.local_id(0) < 3 {
            item.barrier().await;
        } else {
            item.barrier().await;
        }
        Ok(())
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.items, 4);
    let found = divergence(outcome);
    assert_eq!(found.waiting.iter().map(|arrival| arrival.items.len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(found.waiting[0].site.line() + 2, found.waiting[1].site.line());
    assert!(found.ended.is_empty());
}

#[test]
fn more_turns_of_a_loop_for_some() {
    let device = device(1);
    let outcome = device.run(&Launch::new("turns", NdRange::linear(4, 4).unwrap()), async |item| {
        for _ in 0..3 + item.local_id(0) / 3 {
            item.barrier().await;
        }
        Ok(())
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.barriers, 3);
    let found = divergence(outcome);
    assert_eq!((found.waiting[0].items.len(), found.waiting[0].items[0].global[0], found.ended.len()), (1, 3, 3));
}

#[test]
fn waiting_for_nothing_is_an_error() {
    let outcome = device(1).run(&Launch::new("stuck", NdRange::linear(2, 1).unwrap()), async |item| {
        if item.global_id(0) == 1 {
            std::future::pending::<()>().await;
        }
        Ok(())
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.items, 2);
    assert!(matches!(&outcome.failures[..], [Failure::NoBarrier { item }] if item.global == [1, 0, 0]));
}

#[test]
fn private_memory_is_each_items_own() {
    for workers in [1, 2] {
        let device = device(workers);
        let out = zeros(&device, 64 * 8);
        let outcome = device.run(&Launch::new("private", NdRange::linear(64, 16).unwrap()), async |item| {
            let private = item.private();
            let mine = private.allocate(8, Flags::READ_WRITE, Init::Zeroed)?;
            // The same address for all of the first group's items, but not the same bytes.
            assert_eq!(private.layout().decode(mine).index, 1);
            private.store_value(mine, item.global_id(0))?;
            item.barrier().await;
            assert_eq!(private.memory().live_buffers(), 1);
            item.global()
                .store_value(item.global().element::<u64>(out, item.global_id(0)), private.load_value::<u64>(mine)?)
        });
        assert!(outcome.unwrap().is_clean());
        assert_eq!(read(&device, out, 64), (0..64).collect::<Vec<_>>());
    }
}

#[test]
fn local_memory_is_undefined_and_freed_with_its_group() {
    let device = device(1);
    let stale = AtomicU64::new(0);
    let launch = Launch::new("local", NdRange::linear(4, 2).unwrap()).local("a", 8).local("b", 4);
    let outcome = device.run(&launch, async |item| {
        let local = item.local();
        assert_eq!(local.memory().live_buffers(), 2);
        let of = local.memory().name_of(item.local_buffer(1));
        assert_eq!((of.as_deref(), item.local_buffer(2)), (Some("b"), Address::NULL));
        if item.local_id(0) == 0 {
            assert_eq!(local.load_value::<u64>(item.local_buffer(0))?, u64::from_ne_bytes([0xcd; 8]));
            let before = stale.swap(item.local_buffer(0).raw(), Relaxed);
            if item.group_id(0) == 1 {
                // The first group's buffer is no more.
                assert!(matches!(local.load_value::<u64>(Address::from_raw(before)), Err(Fault::Freed { .. })));
            }
            local.store_value(item.local_buffer(0), 1u64)?;
        }
        Ok(())
    });
    assert!(outcome.unwrap().is_clean());
}

#[test]
fn a_running_kernel_holds_what_it_uses() {
    let device = device(2);
    let [used, other] = [zeros(&device, 8), zeros(&device, 8)];
    let (running, go) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !running.load(Relaxed) {
                std::thread::yield_now();
            }
            let fault = device.host().deallocate(used).unwrap_err();
            assert!(fault.to_string().ends_with("a kernel that runs uses the buffer"), "{fault}");
            assert_eq!(device.memory().lifecycle(used), Lifecycle::InUse);
            device.host().deallocate(other).unwrap();
            go.store(true, Relaxed);
        });
        let launch = Launch::new("long", NdRange::linear(1, 1).unwrap());
        let outcome = device.run(&launch.uses(&[used]), async |item| {
            running.store(true, Relaxed);
            while !go.load(Relaxed) {
                std::thread::yield_now();
            }
            item.global().store_value(used, 5u64)?;
            item.global().store_value(other, 5u64)
        });
        assert!(matches!(&outcome.unwrap().failures[..], [Failure::Fault { fault: Fault::Freed { .. }, .. }]));
    });
    device.host().deallocate(used).unwrap();
    let launch = Launch::new("late", NdRange::linear(1, 1).unwrap());
    let fault = device.run(&launch.uses(&[used]), async |_| Ok(())).unwrap_err();
    assert!(matches!(fault, Fault::Freed { .. }), "{fault}");
}

#[test]
fn constant_memory_in_a_kernel() {
    let device = device(1);
    let table = zeros(&device, 8);
    let outcome = device.run(&Launch::new("constant", NdRange::linear(1, 1).unwrap()), async |item| {
        assert_eq!(item.constant().load_value::<u64>(table)?, 0);
        item.constant().store_value(table, 1u64)
    });
    let outcome = outcome.unwrap();
    let Failure::Fault { fault, .. } = &outcome.failures[0] else { panic!("{outcome:?}") };
    assert!(matches!(fault, Fault::ReadOnly { .. }) && fault.to_string().contains("at constant 0x"), "{fault}");
}

#[test]
fn kernels_at_the_same_time() {
    let device = device(2);
    let buffer = zeros(&device, 8);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let launch = Launch::new("count", NdRange::linear(10_000, 100).unwrap()).uses(&[buffer]).local("l", 8);
                let outcome = device.run(&launch, async |item| {
                    item.local().atomic(item.local_buffer(0), AtomicOp::Inc, 0u64)?;
                    item.barrier().await;
                    item.global().atomic(buffer, AtomicOp::Inc, 0u64).map(drop)
                });
                assert!(outcome.unwrap().is_clean());
            });
        }
    });
    assert_eq!(read(&device, buffer, 1), [30_000]);
}

#[test]
#[should_panic(expected = "a kernel's own panic")]
fn a_panic_in_a_kernel_is_the_launchers() {
    let _ = device(2).run(&Launch::new("panics", NdRange::linear(4, 1).unwrap()), async |item| {
        assert_ne!(item.global_id(0), 2, "a kernel's own panic");
        Ok(())
    });
}
