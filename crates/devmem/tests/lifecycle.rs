//! Buffers coming and going: which index and generation they get, what they hold, and what is counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rimms_devmem::{Address, AddressLayout, AddressSpace, Fault, Flags, Init, Memory};

fn allocate(memory: &Memory) -> Address {
    memory.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap()
}

/// Index and generation.
fn place(memory: &Memory, address: Address) -> (u64, u64) {
    let parts = memory.layout().decode(address);
    assert_eq!(parts.offset, 0);
    (parts.index, parts.generation)
}

#[test]
fn first_addresses_are_those_of_an_untagged_memory() {
    for layout in [AddressLayout::GLOBAL, AddressLayout::LOCAL, AddressLayout::GLOBAL_UNTAGGED] {
        let memory = Memory::new(AddressSpace::Global, layout);
        assert_eq!(allocate(&memory).raw(), 0x0001_0000_0000_0000);
        assert_eq!(allocate(&memory).raw(), 0x0002_0000_0000_0000);
    }
    let memory = Memory::new(AddressSpace::Private, AddressLayout::PRIVATE_UNTAGGED);
    assert_eq!(allocate(&memory).raw(), 0x0000_0001_0000_0000);
}

#[test]
fn freed_indices_come_back_first_in_first_out() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let buffers: Vec<_> = (0..4).map(|_| allocate(&memory)).collect();
    for i in [2, 0, 3] {
        memory.deallocate(buffers[i]).unwrap();
    }
    let next: Vec<_> = (0..4).map(|_| place(&memory, allocate(&memory))).collect();
    assert_eq!(next, [(3, 1), (1, 1), (4, 1), (5, 0)]);
}

#[test]
fn an_index_rests_when_its_generations_are_used_up() {
    // 3 indices, 4 generations.
    let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(2, 2).unwrap());
    let mut places = Vec::new();
    let mut stale = Vec::new();
    for _ in 0..14 {
        let buffer = allocate(&memory);
        places.push(place(&memory, buffer));
        memory.deallocate(buffer).unwrap();
        stale.push(buffer);
        if stale.len() == 12 {
            // All that ever lived are told to be freed, and nothing had to start again.
            for address in &stale {
                assert!(matches!(memory.load(*address, &mut [0]), Err(Fault::Freed { .. })));
            }
            assert_eq!(memory.generation_restarts(), 0);
        }
    }
    let one_after_the_other = (1..=3).flat_map(|index| (0..4).map(move |generation| (index, generation)));
    // Then the longest-rested starts again at 0.
    let expected: Vec<_> = one_after_the_other.chain([(1, 0), (1, 1)]).collect();
    assert_eq!(places, expected);
    assert_eq!(memory.generation_restarts(), 1);
}

#[test]
fn a_live_index_does_not_hold_up_the_others() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(2, 1).unwrap());
    let kept = allocate(&memory);
    for round in 0..100 {
        let buffer = allocate(&memory);
        let expected = (2 + (round / 2) % 2, round % 2);
        assert_eq!(place(&memory, buffer), expected, "round {round}");
        memory.deallocate(buffer).unwrap();
    }
    memory.load(kept, &mut [0; 64]).unwrap();
}

#[test]
fn many_pairs_on_a_tagged_memory() {
    // With optimisation the whole range of a global memory, twice over; without, the same on a small layout.
    let (layout, pairs) = if cfg!(debug_assertions) {
        (AddressLayout::tagged(6, 4).unwrap(), 1u64 << 18)
    } else {
        (AddressLayout::GLOBAL, 1 << 25)
    };
    let memory = Memory::new(AddressSpace::Global, layout);
    let (indices, generations) = (layout.greatest_index(), layout.generations());
    for pair in 0..pairs {
        let buffer = allocate(&memory);
        let parts = layout.decode(buffer);
        assert_eq!((parts.index, parts.generation), (pair / generations % indices + 1, pair % generations));
        memory.deallocate(buffer).unwrap();
    }
    assert_eq!(memory.generation_restarts(), pairs / generations - indices);
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn a_gibibyte_of_zeros_is_there_at_once_and_zero() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let size = 1 << 30;
    let buffers: Vec<_> = (0..16).map(|_| memory.allocate(size, Flags::READ_WRITE, Init::Zeroed).unwrap()).collect();
    assert_eq!(memory.allocated_bytes(), 16 << 30);
    for buffer in buffers {
        let last = memory.layout().add(buffer, size - 8).unwrap();
        assert_eq!(memory.load_value::<u64>(last).unwrap(), 0);
        memory.store_value(last, 1u64).unwrap();
        memory.deallocate(buffer).unwrap();
    }
}

#[test]
fn reused_storage_holds_what_the_new_buffer_asked_for() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    // Enough frees for storage to come back, in every size that is kept.
    for round in 0..3000u64 {
        for size in [1, 63, 64, 65, 1000] {
            let mut bytes = vec![0; size];
            let zeroed = memory.allocate(size as u64, Flags::READ_WRITE, Init::Zeroed).unwrap();
            memory.load(zeroed, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 0), "round {round}");
            memory.fill(zeroed, &[0xff], size as u64).unwrap();
            memory.deallocate(zeroed).unwrap();
            let poisoned = memory.allocate(size as u64, Flags::READ_WRITE, Init::Poison(0xa5)).unwrap();
            memory.load(poisoned, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 0xa5), "round {round}");
            memory.deallocate(poisoned).unwrap();
        }
    }
}

#[test]
fn buffers_of_no_bytes_have_addresses() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let [a, b] = [0, 0].map(|size| memory.allocate(size, Flags::READ_WRITE, Init::Bytes(&[])).unwrap());
    assert_ne!(a, b);
    assert_eq!((memory.live_buffers(), memory.allocated_bytes(), memory.size_of(a).unwrap()), (2, 0, 0));
    memory.load(a, &mut []).unwrap();
    memory.copy(a, b, 0).unwrap();
    assert!(matches!(memory.load(a, &mut [0]), Err(Fault::OutOfBounds { beyond: 1, .. })));
    memory.deallocate(a).unwrap();
    assert!(matches!(memory.load(a, &mut []), Err(Fault::Freed { .. })));
    assert!(matches!(memory.size_of(a), Err(Fault::Freed { .. })));
}

#[test]
fn more_buffers_than_one_chunk_of_the_table() {
    let memory = Memory::new(AddressSpace::Private, AddressLayout::PRIVATE);
    let count = 140_000u32;
    let buffers: Vec<_> = (0..count).map(|_| memory.allocate(4, Flags::READ_WRITE, Init::Zeroed).unwrap()).collect();
    for (i, buffer) in (0..).zip(&buffers) {
        memory.store_value::<u32>(*buffer, i).unwrap();
    }
    for (i, buffer) in (0..).zip(&buffers) {
        assert_eq!(place(&memory, *buffer), (u64::from(i) + 1, 0));
        assert_eq!(memory.load_value::<u32>(*buffer).unwrap(), i);
    }
    assert_eq!(memory.live_buffers(), u64::from(count));
    for buffer in buffers {
        memory.deallocate(buffer).unwrap();
    }
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn copies_between_memories() {
    let global = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let local = Memory::new(AddressSpace::Local, AddressLayout::LOCAL);
    let bytes: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    let from = global.allocate(5000, Flags::READ_ONLY, Init::Bytes(&bytes)).unwrap();
    let to = local.allocate(5001, Flags::READ_WRITE, Init::Zeroed).unwrap();
    local.copy_from(local.layout().add(to, 1).unwrap(), &global, from, 5000).unwrap();
    let mut found = vec![0; 5001];
    local.load(to, &mut found).unwrap();
    assert_eq!((found[0], &found[1..]), (0, &bytes[..]));
    // The fault names the memory it happened in.
    let fault = local.copy_from(to, &global, global.layout().add(from, 1).unwrap(), 5000).unwrap_err();
    assert!(fault.to_string().starts_with("read of 5000 bytes at global"), "{fault}");
}

#[test]
fn memories_with_equal_addresses_are_apart() {
    let [one, two] = [0, 0].map(|_| Memory::new(AddressSpace::Global, AddressLayout::GLOBAL));
    let (a, b) = (allocate(&one), allocate(&two));
    assert_eq!(a, b);
    one.store_value(a, 1u32).unwrap();
    assert_eq!(two.load_value::<u32>(b).unwrap(), 0);
    one.deallocate(a).unwrap();
    two.store_value(b, 2u32).unwrap();
}
