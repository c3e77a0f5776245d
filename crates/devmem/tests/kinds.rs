//! Buffers of the host's bytes, parts of buffers, mapped regions, and what is refused of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ptr::NonNull;

use rimms_devmem::{
    Access, AddressLayout, AddressSpace, BadFree, Fault, Flags, Holder, HostBytes, Init, Lifecycle, Memory,
};

fn global() -> Memory {
    Memory::new(AddressSpace::Global, AddressLayout::GLOBAL)
}

#[test]
fn a_part_has_bounds_and_flags_of_its_own() {
    let memory = global();
    let whole = memory.allocate(400, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let part = memory.sub_buffer(whole, 64, 64, Flags::READ_ONLY).unwrap();
    // 400 bytes past its start, in what was the whole: beyond the part.
    let past = memory.layout().add(part, 64).unwrap();
    assert!(matches!(memory.load(past, &mut [0]), Err(Fault::OutOfBounds { length: 64, beyond: 1, .. })));
    assert!(matches!(memory.store(part, &[1]), Err(Fault::ReadOnly { .. })));
    assert_eq!(memory.layout().offset(part, -1), None);
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (2, 400));
}

#[test]
fn parts_of_parts_are_the_same_bytes() {
    let memory = global();
    let whole = memory.allocate(256, Flags::READ_ONLY, Init::Poison(1)).unwrap();
    let part = memory.sub_buffer(whole, 64, 128, Flags::READ_WRITE).unwrap();
    let inner = memory.sub_buffer(part, 32, 16, Flags::READ_WRITE).unwrap();
    memory.store(inner, &[9; 16]).unwrap();
    let mut bytes = [0; 256];
    memory.load(whole, &mut bytes).unwrap();
    assert!((0..256).all(|i| bytes[i] == if (96..112).contains(&i) { 9 } else { 1 }));
    // The part in between is not needed by the inner one; the whole is.
    memory.deallocate(part).unwrap();
    memory.store(inner, &[8; 16]).unwrap();
    let refused = memory.deallocate(whole).unwrap_err();
    assert!(matches!(refused, Fault::BadFree { reason: BadFree::Held(Holder::Part), .. }), "{refused}");
    memory.deallocate(inner).unwrap();
    memory.deallocate(whole).unwrap();
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn parts_that_cannot_be() {
    let memory = global();
    let whole = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let inside = memory.layout().add(whole, 16).unwrap();
    let part = |parent, origin, size| memory.sub_buffer(parent, origin, size, Flags::READ_WRITE).unwrap_err();
    assert!(matches!(part(whole, 0, 65), Fault::OutOfBounds { beyond: 1, .. }));
    assert!(matches!(part(whole, 80, 0), Fault::OutOfBounds { beyond: 16, .. }));
    assert!(matches!(part(whole, 16, u64::MAX), Fault::Overflow { .. }));
    assert!(matches!(part(whole, u64::MAX - 15, 8), Fault::OutOfBounds { .. }));
    assert!(matches!(part(whole, 8, 8), Fault::Misaligned { alignment: 16, .. }));
    assert!(matches!(part(inside, 0, 8), Fault::Misaligned { .. }));
    memory.sub_buffer(whole, 64, 0, Flags::READ_WRITE).unwrap();
    memory.clear();
    assert!(matches!(part(whole, 0, 8), Fault::Freed { .. }));
    assert_eq!(memory.live_buffers(), 0);
}

#[test]
fn the_hosts_bytes_outlive_whoever_drops_them_first() {
    let host = HostBytes::zeroed(10).unwrap();
    let memory = global();
    let buffer = memory.allocate_host(&host, Flags::READ_WRITE).unwrap();
    memory.store(buffer, b"0123456789").unwrap();
    assert!(matches!(memory.load(buffer, &mut [0; 11]), Err(Fault::OutOfBounds { beyond: 1, .. })));
    let other = host.clone();
    drop(host);
    memory.deallocate(buffer).unwrap();
    let mut bytes = [0; 10];
    other.load(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"0123456789");
    // And the other way round.
    let buffer = memory.allocate_host(&other, Flags::READ_WRITE).unwrap();
    drop(other);
    assert_eq!(memory.load_value::<[u8; 10]>(buffer).unwrap(), *b"0123456789");
}

#[test]
#[allow(unsafe_code)]
fn foreign_storage_of_the_host() {
    let mut words = [0u64; 4];
    let data = NonNull::from(&mut words).cast::<u8>();
    // SAFETY: `words` outlives all handles and the memory, and is not touched until they are gone.
    let [bytes, odd] = unsafe { [HostBytes::from_raw(data, 30), HostBytes::from_raw(data.add(4), 8)] };
    assert!(odd.is_none(), "not aligned");
    let bytes = bytes.unwrap();
    {
        let memory = global();
        let buffer = memory.allocate_host(&bytes, Flags::READ_WRITE).unwrap();
        let part = memory.sub_buffer(buffer, 16, 14, Flags::READ_WRITE).unwrap();
        memory.store_value(part, 7u64).unwrap();
    }
    drop(bytes);
    assert_eq!(words, [0, 0, 7, 0]);
}

#[test]
fn a_map_counts_its_offset() {
    let memory = global();
    let buffer = memory.allocate(64, Flags::READ_WRITE, Init::Bytes(&std::array::from_fn::<u8, 64, _>(|i| i as u8)));
    let buffer = buffer.unwrap();
    // A region whose size fits and whose end does not.
    assert!(matches!(memory.map(buffer, 1 << 20, 8, Flags::READ_WRITE), Err(Fault::OutOfBounds { .. })));
    assert!(matches!(memory.map(buffer, 57, 8, Flags::READ_ONLY), Err(Fault::OutOfBounds { beyond: 1, .. })));
    assert!(matches!(memory.map(buffer, u64::MAX, 8, Flags::READ_ONLY), Err(Fault::Overflow { .. })));
    let mapping = memory.map(buffer, 56, 8, Flags::READ_ONLY).unwrap();
    let mut bytes = [0; 4];
    memory.load_mapped(&mapping, 4, &mut bytes).unwrap();
    assert_eq!(bytes, [60, 61, 62, 63]);
    assert!(matches!(memory.store_mapped(&mapping, 0, &[0]), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.load_mapped(&mapping, u64::MAX, &mut bytes), Err(Fault::Overflow { .. })));
    // A failed map holds nothing.
    memory.unmap(&mapping).unwrap();
    assert_eq!(memory.lifecycle(buffer), Lifecycle::Allocated);
    memory.deallocate(buffer).unwrap();
    assert!(matches!(memory.map(buffer, 0, 8, Flags::READ_ONLY), Err(Fault::Freed { .. })));
    assert!(matches!(memory.load_mapped(&mapping, 0, &mut bytes), Err(Fault::NotMapped { .. })));
}

#[test]
fn a_mapped_buffer_is_not_freed() {
    let memory = global();
    let buffer = memory.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let [one, two] = [0, 8].map(|offset| memory.map(buffer, offset, 16, Flags::READ_WRITE).unwrap());
    assert_eq!(memory.mappings(buffer), [one, two]);
    for mapping in [one, two] {
        let refused = memory.deallocate(buffer).unwrap_err();
        assert!(matches!(refused, Fault::BadFree { reason: BadFree::Held(Holder::Mapping), .. }), "{refused}");
        assert_eq!(memory.clear(), 1);
        memory.unmap(&mapping).unwrap();
    }
    assert_eq!(memory.clear(), 0);
    assert_eq!(memory.lifecycle(buffer), Lifecycle::Freed);
}

#[test]
fn constant_memory_is_a_view_of_global() {
    let memory = global();
    let buffer = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let constant = memory.constant();
    memory.store_value(buffer, 5u64).unwrap();
    assert_eq!(constant.load_value::<u64>(buffer).unwrap(), 5);
    for access in [Access::Write, Access::Free] {
        let fault = constant.check(buffer, 8, access).unwrap_err();
        assert!(matches!(fault, Fault::ReadOnly { place } if place.space == AddressSpace::Constant), "{fault}");
    }
    let behind = memory.layout().add(buffer, 8).unwrap();
    let fault = constant.load(behind, &mut [0]).unwrap_err();
    assert!(fault.to_string().starts_with("read of 1 bytes at constant"), "{fault}");
}

#[test]
fn a_name_stays_while_its_slot_has_the_next_buffer() {
    let memory = global();
    let buffer = memory.allocate_named("first", 8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    memory.deallocate(buffer).unwrap();
    assert_eq!(memory.name_of(buffer).as_deref(), Some("first"));
    let next = memory.allocate_named("second", 8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    assert_eq!((memory.name_of(buffer).as_deref(), memory.name_of(next).as_deref()), (Some("first"), Some("second")));
    memory.deallocate(next).unwrap();
    let last = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let names = [buffer, next, last].map(|buffer| memory.name_of(buffer));
    assert_eq!(names.each_ref().map(Option::as_deref), [None, Some("second"), None]);
    memory.set_name(last, "third");
    assert_eq!(memory.name_of(last).as_deref(), Some("third"));
    memory.deallocate(last).unwrap();
    memory.set_name(last, "fourth");
    assert_eq!(memory.name_of(last).as_deref(), Some("third"));
}

#[test]
fn clear_frees_and_stale_addresses_stay_stale() {
    let memory = global();
    let buffers: Vec<_> =
        (1..100).map(|size| memory.allocate(size, Flags::READ_WRITE, Init::Zeroed).unwrap()).collect();
    let part = memory.sub_buffer(buffers[50], 0, 8, Flags::READ_WRITE).unwrap();
    assert_eq!(memory.clear(), 0);
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
    for buffer in buffers.into_iter().chain([part]) {
        assert!(matches!(memory.load(buffer, &mut []), Err(Fault::Freed { freed: Some(_), .. })));
    }
}
