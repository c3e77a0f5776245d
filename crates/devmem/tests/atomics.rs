//! Every atomic operation on every type: previous value, result, and exact sums whoever else is at it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::thread;

use rimms_devmem::{
    Access, Address, AddressLayout, AddressSpace, AtomicInteger, AtomicOp, Fault, Flags, FloatOp, Init, Memory,
};

fn buffer(size: u64) -> (Memory, Address) {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let buffer = memory.allocate(size, Flags::READ_WRITE, Init::Zeroed).unwrap();
    (memory, buffer)
}

#[test]
fn each_gives_the_previous_value_and_leaves_the_right_one() {
    macro_rules! each {
        ($($type:ty),*) => {$({
            let (top, low) = (<$type>::MAX, <$type>::MIN);
            let wanted: [(AtomicOp, $type, $type, $type); 15] = [
                (AtomicOp::Add, 5, 3, 8),
                (AtomicOp::Add, top, 2, low + 1),
                (AtomicOp::Sub, 5, 3, 2),
                (AtomicOp::Sub, low, 1, top),
                (AtomicOp::And, 0b1100, 0b1010, 0b1000),
                (AtomicOp::Or, 0b1100, 0b1010, 0b1110),
                (AtomicOp::Xor, 0b1100, 0b1010, 0b0110),
                (AtomicOp::Xchg, 5, 3, 3),
                (AtomicOp::Inc, 5, 100, 6),
                (AtomicOp::Inc, top, 0, low),
                (AtomicOp::Dec, 5, 100, 4),
                (AtomicOp::Dec, low, 0, top),
                (AtomicOp::Min, low, top, low),
                (AtomicOp::Max, low, top, top),
                (AtomicOp::Max, 5, 3, 5),
            ];
            let (memory, buffer) = buffer(24);
            // At a proper offset, at one inside two words, at one across their boundary.
            for offset in [8, 1, 2, 5, 7] {
                let at = memory.layout().add(buffer, offset).unwrap();
                for (op, before, operand, after) in wanted {
                    memory.fill(buffer, &[0xa5], 24).unwrap();
                    memory.store(at, bytemuck::bytes_of(&before)).unwrap();
                    assert_eq!(memory.atomic(at, op, operand).unwrap(), before, "{op}");
                    let mut all = [0; 24];
                    memory.load(buffer, &mut all).unwrap();
                    let mut expected = [0xa5; 24];
                    expected[offset as usize..][..size_of::<$type>()].copy_from_slice(bytemuck::bytes_of(&after));
                    assert_eq!(all, expected, "{op} at {offset}: nothing else changes");
                }
                memory.store(at, bytemuck::bytes_of(&(7 as $type))).unwrap();
                assert_eq!(memory.compare_exchange::<$type>(at, 8, 9).unwrap(), 7);
                assert_eq!(memory.compare_exchange::<$type>(at, 7, 9).unwrap(), 7);
                assert_eq!(memory.compare_exchange::<$type>(at, 7, 1).unwrap(), 9);
            }
        })*};
    }
    each!(i32, u32, i64, u64);
    let (memory, buffer) = buffer(16);
    for offset in [0, 1, 6] {
        let at = memory.layout().add(buffer, offset).unwrap();
        memory.fill(buffer, &[0], 16).unwrap();
        assert_eq!(memory.atomic(at, FloatOp::Add, 1.5f32).unwrap(), 0.0);
        assert_eq!(memory.atomic(at, FloatOp::Xchg, 7.0f32).unwrap(), 1.5);
        assert_eq!(memory.atomic(at, FloatOp::Xchg, 0.0f32).unwrap(), 7.0);
        assert_eq!(memory.atomic(at, FloatOp::Add, -2.5f64).unwrap(), 0.0);
        assert_eq!(memory.atomic(at, FloatOp::Xchg, 7.0f64).unwrap(), -2.5);
    }
}

/// `rounds` times `act` on each of several threads.
fn contend(rounds: u64, act: impl Fn(u64, u64) + Sync) {
    const THREADS: u64 = 4;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let act = &act;
            scope.spawn(move || (0..rounds).for_each(|round| act(thread, round)));
        }
    });
}

fn read<T: bytemuck::Pod>(memory: &Memory, at: Address) -> T {
    memory.load_value(at).unwrap()
}

/// Sums and differences, increments and decrements, and what previous values add up to.
fn sums<T: AtomicInteger + TryFrom<u64, Error: std::fmt::Debug>>(rounds: u64) {
    let (memory, buffer) = buffer(64);
    let at = |i: u64| memory.layout().add(buffer, i * 8).unwrap();
    let of = |value: u64| T::try_from(value).unwrap();
    contend(rounds, |thread, round| {
        memory.atomic(at(0), AtomicOp::Add, of(3)).unwrap();
        memory.atomic(at(0), AtomicOp::Sub, of(1)).unwrap();
        memory.atomic(at(1), AtomicOp::Inc, of(0)).unwrap();
        memory.atomic(at(2), AtomicOp::Inc, of(0)).unwrap();
        memory.atomic(at(2), AtomicOp::Dec, of(0)).unwrap();
        memory.atomic(at(3), AtomicOp::Max, of(thread * rounds + round)).unwrap();
        memory.atomic(at(4), AtomicOp::Or, of(1 << (round % 16 + thread))).unwrap();
        memory.atomic(at(5), AtomicOp::Xor, of(1 << thread)).unwrap();
        loop {
            let before = read::<T>(&memory, at(6));
            if memory.compare_exchange(at(6), before, memory_sum(before)).unwrap() == before {
                break;
            }
        }
    });
    let found: Vec<T> = (0..7).map(|i| read(&memory, at(i))).collect();
    let all = 4 * rounds;
    let ones = (0..20).filter(|bit| (0..4u64).any(|thread| (0..16).any(|round| round + thread == *bit)));
    let ones = ones.map(|bit| 1u64 << bit).sum::<u64>();
    let xor = if rounds.is_multiple_of(2) { 0 } else { 0b1111 };
    let wanted = [2 * all, all, 0, 3 * rounds + rounds - 1, ones, xor, all];
    assert_eq!(found, wanted.map(of));
}

/// One more, of any integer.
fn memory_sum<T: AtomicInteger>(value: T) -> T {
    let memory = Memory::new(AddressSpace::Private, AddressLayout::PRIVATE);
    let at = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    memory.store_value(at, value).unwrap();
    memory.atomic(at, AtomicOp::Inc, value).unwrap();
    memory.load_value(at).unwrap()
}

#[test]
fn sums_of_every_integer() {
    sums::<u32>(5_000);
    sums::<i32>(5_001);
    sums::<u64>(5_000);
    sums::<i64>(5_001);
}

#[test]
fn sums_of_floats_and_exchanged_values() {
    let (memory, buffer) = buffer(32);
    let at = |i: u64| memory.layout().add(buffer, i * 8).unwrap();
    let taken = std::sync::atomic::AtomicU64::new(0);
    contend(100_000, |_, round| {
        memory.atomic(at(0), FloatOp::Add, 0.25f32).unwrap();
        memory.atomic(at(1), FloatOp::Add, 0.25f64).unwrap();
        // Every value that is put in comes out once.
        let before = memory.atomic(at(2), AtomicOp::Xchg, round).unwrap();
        taken.fetch_add(before, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!((read::<f32>(&memory, at(0)), read::<f64>(&memory, at(1))), (100_000.0, 100_000.0));
    let put = 4 * (100_000u64 * 99_999 / 2);
    assert_eq!(taken.into_inner() + read::<u64>(&memory, at(2)), put);
}

#[test]
fn bits_are_cleared_and_least_values_kept() {
    let (memory, buffer) = buffer(16);
    memory.fill(buffer, &[0xff], 16).unwrap();
    let least = memory.layout().add(buffer, 8).unwrap();
    contend(50_000, |thread, round| {
        memory.atomic(buffer, AtomicOp::And, !(1u64 << (round % 16 * 4 + thread))).unwrap();
        memory.atomic(least, AtomicOp::Min, u64::MAX - (round * 4 + thread)).unwrap();
    });
    assert_eq!((read::<u64>(&memory, buffer), read::<u64>(&memory, least)), (0, u64::MAX - 199_999));
}

#[test]
fn halves_and_wholes_of_the_same_bytes() {
    // Sums on both halves and on the whole, none of them lost: 64- and 32-bit operations exclude each other.
    let (memory, buffer) = buffer(8);
    let high = memory.layout().add(buffer, 4).unwrap();
    contend(500_000, |thread, _| {
        match thread {
            0 | 1 => memory.atomic(buffer, AtomicOp::Add, 1u64 << 32 | 1).map(|_| ()).unwrap(),
            2 => memory.atomic(buffer, AtomicOp::Add, 1u32).map(|_| ()).unwrap(),
            _ => memory.atomic(high, AtomicOp::Add, 1u32).map(|_| ()).unwrap(),
        };
    });
    assert_eq!(read::<[u32; 2]>(&memory, buffer), [1_500_000; 2]);
}

#[test]
fn misaligned_operations_are_atomic_to_each_other() {
    let (memory, buffer) = buffer(32);
    let at = |offset| memory.layout().add(buffer, offset).unwrap();
    contend(100_000, |_, _| {
        // Within two words, across their boundary, and 64 bits across.
        memory.atomic(at(2), AtomicOp::Inc, 0u32).unwrap();
        memory.atomic(at(6), AtomicOp::Add, 2u32).unwrap();
        memory.atomic(at(12), AtomicOp::Add, 3u64).unwrap();
    });
    let values =
        (|| Ok::<_, Fault>((memory.atomic(at(2), AtomicOp::Or, 0u32)?, memory.atomic(at(6), AtomicOp::Or, 0u32)?)))();
    assert_eq!(values, Ok((400_000, 800_000)));
    assert_eq!(memory.atomic(at(12), AtomicOp::Or, 0u64), Ok(1_200_000));
    // Within two words, also to aligned ones.
    let (memory, buffer) = self::buffer(8);
    let inside = memory.layout().add(buffer, 2).unwrap();
    contend(100_000, |thread, _| {
        if thread % 2 == 0 {
            memory.atomic(inside, AtomicOp::Inc, 0u32).unwrap();
        } else {
            memory.atomic(buffer, AtomicOp::Add, 1u64 << 48).unwrap();
        }
    });
    assert_eq!(read::<u64>(&memory, buffer), 200_000u64 << 48 | 200_000 << 16);
}

#[test]
fn parts_of_a_buffer_have_its_lock() {
    let (memory, buffer) = buffer(64);
    let part = memory.sub_buffer(buffer, 16, 32, Flags::READ_WRITE).unwrap();
    let [direct, through] = [memory.layout().add(buffer, 22), memory.layout().add(part, 6)].map(Option::unwrap);
    contend(100_000, |thread, _| {
        memory.atomic(if thread % 2 == 0 { direct } else { through }, AtomicOp::Inc, 0u32).unwrap();
    });
    assert_eq!(memory.atomic(through, AtomicOp::Or, 0u32), Ok(400_000));
}

#[test]
fn what_is_refused_changes_nothing() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let of = |flags| memory.allocate(8, flags, Init::Poison(1)).unwrap();
    let [read_only, write_only, both] = [Flags::READ_ONLY, Flags::WRITE_ONLY, Flags::READ_WRITE].map(of);
    assert!(matches!(memory.atomic(read_only, AtomicOp::Inc, 0u32), Err(Fault::ReadOnly { .. })));
    assert!(matches!(memory.atomic(write_only, AtomicOp::Inc, 0u64), Err(Fault::WriteOnly { .. })));
    // Even one that would have stored nothing.
    assert!(matches!(memory.compare_exchange(read_only, 7u32, 8), Err(Fault::ReadOnly { .. })));
    let late = memory.layout().add(both, 6).unwrap();
    let fault = memory.atomic(late, FloatOp::Add, 1f32).unwrap_err();
    assert!(matches!(fault, Fault::OutOfBounds { beyond: 2, place, .. } if place.access == Access::Atomic), "{fault}");
    assert!(fault.to_string().starts_with("atomic access of 4 bytes at global"), "{fault}");
    assert!(matches!(memory.atomic(Address::NULL, AtomicOp::Inc, 0i64), Err(Fault::Null { .. })));
    memory.deallocate(both).unwrap();
    assert!(matches!(memory.atomic(both, AtomicOp::Inc, 0i64), Err(Fault::Freed { .. })));
    assert_eq!(read::<u64>(&memory, read_only), u64::from_ne_bytes([1; 8]));
}
