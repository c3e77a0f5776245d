//! Everything that can go wrong with an address, each by its name, and what the fault says about it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rimms_devmem::{Access, Address, AddressLayout, AddressSpace, BadFree, Fault, Flags, Init, Memory, Rows};

fn global() -> Memory {
    Memory::new(AddressSpace::Global, AddressLayout::GLOBAL)
}

fn rows(count: u64, bytes: u64, pitch: u64) -> Rows {
    Rows { count, bytes, pitch }
}

fn zeros(memory: &Memory, size: u64) -> Address {
    memory.allocate(size, Flags::READ_WRITE, Init::Zeroed).unwrap()
}

fn at(memory: &Memory, address: Address, offset: u64) -> Address {
    memory.layout().add(address, offset).unwrap()
}

#[test]
fn null_address() {
    let memory = global();
    let fault = memory.load(Address::NULL, &mut [0; 4]).unwrap_err();
    assert!(matches!(fault, Fault::Null { .. }));
    assert_eq!(fault.to_string(), "read of 4 bytes at global 0x0000_0000_0000_0000 (buffer 0, offset 0): null address");
    // Index 0 is null whatever the offset, and even for no bytes.
    assert!(matches!(memory.store(Address::from_raw(64), &[1]), Err(Fault::Null { .. })));
    assert!(matches!(memory.load(Address::NULL, &mut []), Err(Fault::Null { .. })));
}

#[test]
fn stale_address_after_its_slot_is_reused() {
    let memory = global();
    let old = zeros(&memory, 64);
    memory.deallocate(old).unwrap();
    let new = zeros(&memory, 64);
    let layout = memory.layout();
    assert_eq!(layout.decode(old).index, layout.decode(new).index);
    assert!(matches!(memory.store(old, &[1; 4]), Err(Fault::Freed { .. })));
    assert!(matches!(memory.load(old, &mut [0; 4]), Err(Fault::Freed { .. })));
    let mut bytes = [9; 4];
    memory.load(new, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 4]);
}

#[test]
fn stale_address_is_valid_again_only_without_a_tag() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL_UNTAGGED);
    let old = zeros(&memory, 64);
    memory.deallocate(old).unwrap();
    assert!(matches!(memory.load(old, &mut [0; 4]), Err(Fault::Freed { .. })));
    assert_eq!(zeros(&memory, 64), old);
    memory.load(old, &mut [0; 4]).unwrap();
}

#[test]
fn use_after_free_says_where_it_was_freed() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    let line = line!() + 1;
    memory.deallocate_labelled(buffer, 77).unwrap();
    let check = |fault: Fault| {
        let Fault::Freed { freed: Some(freed), .. } = fault else { panic!("{fault}") };
        assert_eq!((freed.location.file(), freed.location.line(), freed.label), (file!(), line, 77));
        assert!(fault.to_string().contains("use after free, freed at "), "{fault}");
        assert!(fault.to_string().ends_with("(label 77)"), "{fault}");
    };
    check(memory.load(buffer, &mut [0]).unwrap_err());
    // Still known when the next buffer lives in the slot …
    let next = zeros(&memory, 64);
    check(memory.load(buffer, &mut [0]).unwrap_err());
    // … but then the slot remembers that one.
    memory.deallocate(next).unwrap();
    assert!(matches!(memory.load(buffer, &mut [0]), Err(Fault::Freed { freed: None, .. })));
}

#[test]
fn address_that_no_buffer_ever_had() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    let layout = memory.layout();
    for (index, generation) in [(2, 0), (65_535, 0), (1, 1), (1, 255)] {
        let foreign = layout.encode(index, generation, 0).unwrap();
        assert!(matches!(memory.load(foreign, &mut [0]), Err(Fault::NeverAllocated { .. })));
    }
    memory.deallocate(buffer).unwrap();
    let next = layout.encode(1, 1, 0).unwrap();
    assert!(matches!(memory.load(next, &mut [0]), Err(Fault::NeverAllocated { .. })));
}

#[test]
fn out_of_bounds_says_how_far() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    for (offset, size, by) in [(61, 4, 1), (64, 1, 1), (0, 65, 1), (64, 64, 64), (1 << 39, 8, (1 << 39) - 56)] {
        let fault = memory.check(at(&memory, buffer, offset), size, Access::Read).unwrap_err();
        assert!(matches!(fault, Fault::OutOfBounds { length: 64, beyond, .. } if beyond == by), "{fault}");
    }
    // The last bytes and the end itself are fine.
    memory.check(at(&memory, buffer, 60), 4, Access::Write).unwrap();
    memory.check(at(&memory, buffer, 64), 0, Access::Write).unwrap();
    assert!(matches!(
        memory.check(at(&memory, buffer, 65), 0, Access::Read),
        Err(Fault::OutOfBounds { beyond: 1, .. })
    ));
}

#[test]
fn one_before_a_buffer_is_not_the_buffer_before() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL_UNTAGGED);
    let [_, second] = [zeros(&memory, 64), zeros(&memory, 64)];
    let before = Address::from_raw(second.raw() - 1);
    assert!(matches!(memory.load(before, &mut [0]), Err(Fault::OutOfBounds { .. })));
    assert!(matches!(memory.load(before, &mut [0; 8]), Err(Fault::OutOfBounds { .. })));
    assert_eq!(memory.layout().offset(second, -1), None);
}

#[test]
fn offset_and_size_that_wrap() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    let inside = at(&memory, buffer, 16);
    for size in [u64::MAX, u64::MAX - 7, u64::MAX - 15] {
        let fault = memory.check(inside, size, Access::Read).unwrap_err();
        assert!(matches!(fault, Fault::Overflow { .. }), "{fault}");
        assert!(matches!(memory.copy(buffer, inside, size), Err(Fault::Overflow { .. })));
        assert!(matches!(memory.fill(inside, &[1], size), Err(Fault::Overflow { .. })));
    }
    let fault = memory.check(inside, u64::MAX - 16, Access::Read).unwrap_err();
    assert!(matches!(fault, Fault::OutOfBounds { beyond, .. } if beyond == u64::MAX - 64));
}

#[test]
fn a_row_pitch_that_wraps() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    for (count, bytes, pitch) in [(3, 8, u64::MAX / 2 + 1), (2, 8, u64::MAX - 7), (u64::MAX, 2, 2)] {
        let fault = memory.load_rows(buffer, rows(count, bytes, pitch), &mut [0; 64]).unwrap_err();
        assert!(matches!(fault, Fault::Overflow { .. }), "{fault}");
    }
    let fault = memory.load_rows(buffer, rows(9, 8, 8), &mut [0; 72]).unwrap_err();
    assert!(matches!(fault, Fault::OutOfBounds { beyond: 8, .. }), "{fault}");
}

#[test]
fn rows_that_overlap_or_do_not_fit_the_caller() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    assert!(matches!(
        memory.store_rows(buffer, rows(2, 8, 7), &[0; 16]),
        Err(Fault::RowsOverlap { row_bytes: 8, pitch: 7, .. })
    ));
    assert!(matches!(
        memory.store_rows(buffer, rows(2, 8, 16), &[0; 15]),
        Err(Fault::WrongSize { wanted: 16, found: 15, .. })
    ));
    // One row has no distance to another; no rows touch nothing.
    memory.store_rows(buffer, rows(1, 64, 0), &[1; 64]).unwrap();
    memory.store_rows(buffer, rows(0, 8, 0), &[]).unwrap();
    memory.store_rows(buffer, rows(5, 0, 8), &[]).unwrap();
}

#[test]
fn store_to_read_only() {
    let memory = global();
    let buffer = memory.allocate(4, Flags::READ_ONLY, Init::Bytes(b"keep")).unwrap();
    let other = zeros(&memory, 4);
    assert!(matches!(memory.store(buffer, b"lose"), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.store_value(buffer, 1u32), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.fill(buffer, &[0], 4), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.copy(buffer, other, 4), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.store_rows(buffer, rows(2, 1, 2), b"xx"), Err(Fault::ReadOnly { .. })));
    let mut bytes = [0; 4];
    memory.load(buffer, &mut bytes).unwrap();
    assert_eq!(&bytes, b"keep");
}

#[test]
fn load_from_write_only() {
    let memory = global();
    let buffer = memory.allocate(4, Flags::WRITE_ONLY, Init::Zeroed).unwrap();
    let other = memory.allocate(4, Flags::READ_WRITE, Init::Bytes(b"keep")).unwrap();
    memory.store(buffer, b"data").unwrap();
    let mut bytes = *b"same";
    assert!(matches!(memory.load(buffer, &mut bytes), Err(Fault::WriteOnly { .. })));
    assert_eq!(&bytes, b"same");
    assert!(matches!(memory.copy(other, buffer, 4), Err(Fault::WriteOnly { .. })));
    assert_eq!(memory.load_value::<[u8; 4]>(other).unwrap(), *b"keep");
}

#[test]
fn constant_memory_is_read_only_whatever_the_flags() {
    let memory = Memory::new(AddressSpace::Constant, AddressLayout::GLOBAL);
    let buffer = memory.allocate(4, Flags::READ_WRITE, Init::Bytes(b"pi=3")).unwrap();
    let fault = memory.store(buffer, b"pi=4").unwrap_err();
    assert!(matches!(fault, Fault::ReadOnly { .. }) && fault.to_string().contains("at constant 0x"), "{fault}");
}

#[test]
fn misaligned_typed_access() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    assert!(matches!(memory.load_value::<u16>(at(&memory, buffer, 1)), Err(Fault::Misaligned { alignment: 2, .. })));
    assert!(matches!(memory.store_value(at(&memory, buffer, 2), 1f32), Err(Fault::Misaligned { alignment: 4, .. })));
    assert!(matches!(memory.store_value(at(&memory, buffer, 4), 1f64), Err(Fault::Misaligned { alignment: 8, .. })));
    // Worse faults come first; bytes may lie anywhere.
    assert!(matches!(memory.load_value::<u64>(at(&memory, buffer, 57)), Err(Fault::OutOfBounds { .. })));
    memory.store_value(at(&memory, buffer, 57), [1u8; 7]).unwrap();
    memory.store(at(&memory, buffer, 3), &[1; 8]).unwrap();
}

#[test]
fn bad_frees() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    let reason = |address| match memory.deallocate(address) {
        Err(Fault::BadFree { reason, place }) if place.access == Access::Free => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(Address::NULL), BadFree::Null);
    assert_eq!(reason(at(&memory, buffer, 8)), BadFree::Inside);
    assert_eq!(reason(memory.layout().encode(7, 0, 0).unwrap()), BadFree::NeverAllocated);
    assert_eq!(reason(memory.layout().encode(1, 9, 0).unwrap()), BadFree::NeverAllocated);
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (1, 64));
    memory.check(buffer, 0, Access::Free).unwrap();
    assert!(matches!(memory.check(at(&memory, buffer, 8), 0, Access::Free), Err(Fault::BadFree { .. })));
}

#[test]
fn double_free_says_where_the_first_was() {
    let memory = global();
    let buffer = zeros(&memory, 64);
    memory.deallocate_labelled(buffer, 5).unwrap();
    let fault = memory.deallocate(buffer).unwrap_err();
    assert!(matches!(fault, Fault::BadFree { reason: BadFree::Twice(Some(freed)), .. } if freed.label == 5), "{fault}");
    // Not even when the slot has a new buffer does that one go.
    let next = zeros(&memory, 64);
    assert!(matches!(memory.deallocate(buffer), Err(Fault::BadFree { reason: BadFree::Twice(_), .. })));
    memory.load(next, &mut [0; 64]).unwrap();
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (1, 64));
}

#[test]
fn initial_contents_of_another_size() {
    let memory = global();
    let fault = memory.allocate(5, Flags::READ_WRITE, Init::Bytes(b"four")).unwrap_err();
    assert!(matches!(fault, Fault::WrongSize { wanted: 5, found: 4, .. }));
    assert_eq!(memory.live_buffers(), 0);
}

#[test]
fn fill_with_nothing() {
    let memory = global();
    let buffer = zeros(&memory, 8);
    assert!(matches!(memory.fill(buffer, &[], 8), Err(Fault::WrongSize { wanted: 1, found: 0, .. })));
    memory.fill(buffer, &[], 0).unwrap();
}

#[test]
fn full_memory_says_how_much_is_free() {
    let memory = Memory::with_capacity_limit(AddressSpace::Global, AddressLayout::GLOBAL, 1000);
    let first = zeros(&memory, 600);
    let fault = memory.allocate(401, Flags::READ_WRITE, Init::Zeroed).unwrap_err();
    assert_eq!(fault, Fault::OutOfMemory { space: AddressSpace::Global, wanted: 401, free: 400, capacity: 1000 });
    let second = zeros(&memory, 400);
    assert_eq!(memory.allocated_bytes(), 1000);
    assert!(matches!(memory.allocate(1, Flags::READ_WRITE, Init::Zeroed), Err(Fault::OutOfMemory { free: 0, .. })));
    zeros(&memory, 0);
    memory.deallocate(first).unwrap();
    memory.deallocate(second).unwrap();
    zeros(&memory, 1000);
}

#[test]
fn buffers_beyond_the_reach_of_an_address() {
    let memory = Memory::new(AddressSpace::Private, AddressLayout::PRIVATE);
    for wanted in [(1 << 32) + 1, u64::MAX] {
        let fault = memory.allocate(wanted, Flags::READ_WRITE, Init::Zeroed).unwrap_err();
        assert_eq!(fault, Fault::TooBig { space: AddressSpace::Private, wanted, greatest: 1 << 32 });
    }
    // More than any host has is refused without harm, whoever refuses it.
    let memory = Memory::new(AddressSpace::Global, AddressLayout::untagged(1).unwrap());
    let fault = memory.allocate(1 << 63, Flags::READ_WRITE, Init::Zeroed).unwrap_err();
    assert!(matches!(fault, Fault::HostOutOfMemory { .. }), "{fault}");
    zeros(&memory, 64);
}

#[test]
fn the_greatest_buffer_reaches_up_to_the_next() {
    let memory = Memory::new(AddressSpace::Local, AddressLayout::tagged(16, 40).unwrap());
    let [first, second] = [zeros(&memory, 256), zeros(&memory, 256)];
    memory.store_value(at(&memory, first, 248), u64::MAX).unwrap();
    assert_eq!(memory.load_value::<u64>(second).unwrap(), 0);
    // Its end has no address of its own: the number is that of the slot's next generation.
    assert_eq!(memory.layout().add(first, 256), None);
    let end = Address::from_raw(first.raw() + 256);
    assert!(matches!(memory.check(end, 0, Access::Read), Err(Fault::NeverAllocated { .. })));
    assert!(matches!(memory.check(at(&memory, first, 255), 2, Access::Read), Err(Fault::OutOfBounds { .. })));
}

#[test]
fn indices_used_up() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(2, 1).unwrap());
    let buffers = [zeros(&memory, 8), zeros(&memory, 8), zeros(&memory, 8)];
    let fault = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap_err();
    assert_eq!(fault, Fault::IndicesUsedUp { space: AddressSpace::Global, indices: 3 });
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (3, 24));
    memory.deallocate(buffers[1]).unwrap();
    zeros(&memory, 8);
}

#[test]
fn a_refused_copy_stores_nothing() {
    let memory = global();
    let from = memory.allocate(16, Flags::READ_WRITE, Init::Poison(1)).unwrap();
    let to = memory.allocate(16, Flags::READ_WRITE, Init::Poison(2)).unwrap();
    assert!(matches!(memory.copy(at(&memory, to, 8), from, 9), Err(Fault::OutOfBounds { beyond: 1, .. })));
    assert!(matches!(memory.copy(to, at(&memory, from, 8), 9), Err(Fault::OutOfBounds { beyond: 1, .. })));
    assert_eq!(memory.load_value::<[u8; 16]>(to).unwrap(), [2; 16]);
}
