//! Sums of ten million operations of four threads are exact, for each operation that adds and each type: the last value, and
//! the previous values that were given, of which each has to come once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::thread;

use rimms_devmem::{Address, AddressLayout, AddressSpace, AtomicOp, Flags, FloatOp, Init, Memory};

const THREADS: u64 = 4;
const EACH: u64 = 2_500_000;
const ALL: u64 = THREADS * EACH;

/// A memory with one value, so many operations on it, and what the previous values add up to.
fn contend(start: &[u8], act: impl Fn(&Memory, Address) -> u64 + Sync) -> (Memory, Address, u64) {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let at = memory.allocate(start.len() as u64, Flags::READ_WRITE, Init::Bytes(start)).unwrap();
    let one = || (0..EACH).fold(0, |sum: u64, _| sum.wrapping_add(act(&memory, at)));
    let sum = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
    });
    (memory, at, sum)
}

macro_rules! integers {
    ($($test:ident: $type:ty;)*) => {$(
        #[test]
        fn $test() {
            // So that it wraps on the way, whichever way that is.
            for start in [<$type>::MAX - 1000, <$type>::MIN + 1000] {
                let operations: [(AtomicOp, $type, i64); 4] =
                    [(AtomicOp::Add, 3, 3), (AtomicOp::Sub, 3, -3), (AtomicOp::Inc, 0, 1), (AtomicOp::Dec, 0, -1)];
                let goes_up = start > <$type>::MAX / 2;
                for (op, operand, step) in operations.into_iter().filter(|(_, _, step)| (*step > 0) == goes_up) {
                    let act = |memory: &Memory, at| memory.atomic(at, op, operand).unwrap() as u64;
                    let (memory, at, sum) = contend(bytemuck::bytes_of(&start), act);
                    let after = |times: u64| start.wrapping_add(step.wrapping_mul(times as i64) as $type);
                    assert_eq!(memory.load_value::<$type>(at), Ok(after(ALL)), "{op}");
                    let wanted = (0..ALL).fold(0, |sum: u64, times| sum.wrapping_add(after(times) as u64));
                    assert_eq!(sum, wanted, "{op}: each previous value once");
                }
            }
            // What a compare-and-exchange adds.
            let (memory, at, sum) = contend(bytemuck::bytes_of(&(0 as $type)), |memory, at| {
                let mut before = memory.load_value::<$type>(at).unwrap();
                loop {
                    match memory.compare_exchange(at, before, before + 1).unwrap() {
                        found if found == before => return found as u64,
                        found => before = found,
                    }
                }
            });
            assert_eq!(memory.load_value::<$type>(at), Ok(ALL as $type));
            assert_eq!(sum, ALL * (ALL - 1) / 2);
        }
    )*};
}

integers! {
    ten_million_of_i32: i32;
    ten_million_of_u32: u32;
    ten_million_of_i64: i64;
    ten_million_of_u64: u64;
}

macro_rules! floats {
    ($($test:ident: $type:ty;)*) => {$(
        #[test]
        fn $test() {
            // Every sum on the way is a whole number that the type has exactly.
            let act = |memory: &Memory, at| memory.atomic(at, FloatOp::Add, 1 as $type).unwrap() as u64;
            let (memory, at, sum) = contend(bytemuck::bytes_of(&(0 as $type)), act);
            assert_eq!(memory.load_value::<$type>(at), Ok(ALL as $type));
            assert_eq!(sum, ALL * (ALL - 1) / 2);
        }
    )*};
}

floats! {
    ten_million_of_f32: f32;
    ten_million_of_f64: f64;
}
