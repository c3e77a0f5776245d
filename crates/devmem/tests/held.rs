//! Buffers that a kernel works on: held for it, whoever else wants them gone, and told from those it did not name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroUsize;

use rimms_devmem::{AtomicOp, BadFree, Device, Fault, Flags, Holder, Init, Launch, NdRange};

#[test]
fn more_buffers_than_a_worker_has_places_for() {
    // Indices 1 to 100: each place is wanted by three buffers, of which the launch names all but every seventh.
    let device = Device::new();
    let host = device.host();
    let buffers: Vec<_> = (0..100u32)
        .map(|i| host.allocate(8, Flags::READ_WRITE, Init::Bytes(&[i.to_ne_bytes(), [0; 4]].concat())).unwrap())
        .collect();
    let used: Vec<_> = buffers.iter().copied().enumerate().filter(|(i, _)| i % 7 != 0).map(|(_, of)| of).collect();
    let launch = Launch::new("sums", NdRange::linear(100, 4).unwrap()).uses(&used);
    let outcome = device.run(&launch, async |item| {
        let (global, me) = (item.global(), item.global_id(0));
        let (mine, next) = (buffers[me as usize], buffers[(me as usize + 1) % 100]);
        let sum = global.load_value::<u32>(mine)? + global.load_value::<u32>(next)?;
        global.store_value(global.element::<u32>(mine, 1), sum)?;
        // Just behind its end, and in none of the bytes of another.
        assert!(matches!(
            global.load_value::<u32>(global.element::<u32>(mine, 2)),
            Err(Fault::OutOfBounds { length: 8, beyond: 4, .. })
        ));
        Ok(())
    });
    assert!(outcome.unwrap().is_clean());
    for (i, buffer) in (0..).zip(&buffers) {
        assert_eq!(host.load_value::<[u32; 2]>(*buffer), Ok([i, i + (i + 1) % 100]));
        // Nothing is held any more.
        assert_eq!(host.deallocate(*buffer), Ok(()));
    }
}

#[test]
fn local_memory_of_the_launch_stays_until_its_group_ends() {
    let device = Device::new();
    let launch = Launch::new("free", NdRange::linear(4, 2).unwrap()).local("part", 16);
    let outcome = device.run(&launch, async |item| {
        let (local, part) = (item.local(), item.local_buffer(0));
        let reason = match local.deallocate(part) {
            Err(Fault::BadFree { reason, .. }) => reason,
            freed => panic!("{freed:?}"),
        };
        assert_eq!(reason, BadFree::Held(Holder::Kernel));
        local.store_value(local.element::<u64>(part, item.local_id(0)), 1u64)?;
        item.barrier().await;
        // What an item has allocated is its group's to free.
        let own = local.allocate(8, Flags::READ_WRITE, Init::Zeroed)?;
        local.store_value(own, 2u64)?;
        local.deallocate(own)?;
        assert!(matches!(local.store_value(own, 3u64), Err(Fault::Freed { .. })));
        Ok(())
    });
    assert!(outcome.unwrap().is_clean());
}

#[test]
fn a_buffer_that_is_freed_under_a_kernel_that_did_not_name_it_is_told_from_the_next() {
    let device = Device::new().workers(NonZeroUsize::MIN);
    let host = device.host();
    let named = host.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let other = host.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let launch = Launch::new("free", NdRange::linear(1, 1).unwrap()).uses(&[named]);
    let outcome = device.run(&launch, async |item| {
        let global = item.global();
        assert!(matches!(global.deallocate(named), Err(Fault::BadFree { reason: BadFree::Held(Holder::Kernel), .. })));
        global.store_value(other, 1u32)?;
        global.deallocate(other)?;
        let next = global.allocate(64, Flags::READ_WRITE, Init::Zeroed)?;
        assert_eq!(global.layout().decode(next).index, global.layout().decode(other).index);
        assert!(matches!(global.store_value(other, 2u32), Err(Fault::Freed { .. })));
        assert!(matches!(global.atomic(other, AtomicOp::Add, 2u32), Err(Fault::Freed { .. })));
        assert_eq!(global.load_value::<u32>(next), Ok(0));
        Ok(())
    });
    assert!(outcome.unwrap().is_clean());
}
