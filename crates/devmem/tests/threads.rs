//! Many threads on one memory: nothing is lost, nothing is mixed up, nothing is refused that fits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use rimms_devmem::{Address, AddressLayout, AddressSpace, BadFree, Fault, Flags, Init, Memory};

/// Rounds of a test: fewer without optimisation.
const ROUNDS: u64 = if cfg!(debug_assertions) { 20_000 } else { 200_000 };

/// A small generator, one a thread.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The one word that a buffer's bytes may hold, over and over: its own address, scrambled.
fn mark(base: Address) -> [u8; 4] {
    ((base.raw().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32).to_ne_bytes()
}

/// Threads free buffers under others that load and store them. Every byte of a buffer is that buffer's mark at
/// all times, so a byte that came from or went to another buffer shows.
fn free_under_others(sizes: &[u64], rounds: u64) {
    const THREADS: u64 = 4;
    const SHARED: usize = 8;
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let shared: Vec<AtomicU64> = (0..SHARED).map(|_| AtomicU64::new(0)).collect();
    let faults = AtomicU64::new(0);
    let work = |thread: u64| {
        let mut random = Random(thread);
        let greatest = *sizes.iter().max().unwrap() as usize;
        let mut bytes = vec![0; greatest];
        for _ in 0..rounds {
            let place = &shared[random.below(SHARED as u64) as usize];
            let size = sizes[random.below(sizes.len() as u64) as usize];
            if random.below(4) == 0 {
                // A new buffer, marked before anybody sees it; the old one goes, whoever is at work on it.
                let new = memory.allocate(size, Flags::READ_WRITE, Init::Poison(0)).unwrap();
                memory.fill(new, &mark(new), size).unwrap();
                let old = place.swap(new.raw(), Relaxed);
                if old != 0 {
                    memory.deallocate(Address::from_raw(old)).unwrap();
                }
                continue;
            }
            let base = Address::from_raw(place.load(Relaxed));
            if base.is_null() {
                continue;
            }
            let mark = mark(base);
            let wanted = &mut bytes[..size as usize];
            let result = match random.below(5) {
                0 => memory.load(base, wanted).map(|()| {
                    assert!(wanted.chunks(4).all(|word| word == &mark[..word.len()]), "a load of another's bytes");
                }),
                1 => memory.load_value::<[u8; 4]>(base).map(|found| assert_eq!(found, mark)),
                2 => {
                    wanted.chunks_mut(4).for_each(|word| word.copy_from_slice(&mark[..word.len()]));
                    memory.store(base, wanted)
                }
                3 => memory.store_value(base, u32::from_ne_bytes(mark)),
                _ => memory.fill(base, &mark, size),
            };
            match result {
                Ok(()) => {}
                // The buffer went, or it is a smaller one than this thread thought.
                Err(Fault::Freed { .. } | Fault::OutOfBounds { .. }) => {
                    faults.fetch_add(1, Relaxed);
                }
                Err(fault) => panic!("{fault}"),
            }
        }
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || work(thread));
        }
    });
    for place in shared {
        let base = Address::from_raw(place.into_inner());
        if !base.is_null() {
            let mut bytes = vec![0; memory.size_of(base).unwrap() as usize];
            memory.load(base, &mut bytes).unwrap();
            assert!(bytes.chunks(4).all(|word| word == &mark(base)[..word.len()]), "a store to another's bytes");
            memory.deallocate(base).unwrap();
        }
    }
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn buffers_freed_under_other_threads() {
    free_under_others(&[64], ROUNDS);
    free_under_others(&[4, 7, 64, 100, 4096], ROUNDS);
}

#[test]
fn large_buffers_freed_under_other_threads() {
    // Given back to the host at once: an access that comes too late would be out of the process's memory.
    free_under_others(&[70_000, 200_000], ROUNDS / 40);
}

#[test]
fn bytes_of_one_word_stored_by_different_threads() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let buffer = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for byte in 0..4u64 {
            let (memory, start) = (&memory, &start);
            scope.spawn(move || {
                // Bytes 1 to 4 of 8: three in one word, one in the next.
                let own = memory.layout().add(buffer, 1 + byte).unwrap();
                start.wait();
                for round in 0..ROUNDS {
                    memory.store(own, &[round as u8]).unwrap();
                    let mut found = [0];
                    memory.load(own, &mut found).unwrap();
                    assert_eq!(found, [round as u8], "another thread's store undid this one");
                }
            });
        }
    });
    let last = (ROUNDS - 1) as u8;
    assert_eq!(memory.load_value::<[u8; 8]>(buffer).unwrap(), [0, last, last, last, last, 0, 0, 0]);
}

#[test]
fn one_of_two_frees_of_a_buffer_succeeds() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let [turn, freed, refused] = [0, 0, 0].map(AtomicU64::new);
    let both = Barrier::new(2);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (memory, turn, freed, refused, both) = (&memory, &turn, &freed, &refused, &both);
            scope.spawn(move || {
                for _ in 0..ROUNDS / 20 {
                    if thread == 0 {
                        let buffer = memory.allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
                        turn.store(buffer.raw(), Relaxed);
                    }
                    both.wait();
                    match memory.deallocate(Address::from_raw(turn.load(Relaxed))) {
                        Ok(()) => freed.fetch_add(1, Relaxed),
                        Err(Fault::BadFree { reason: BadFree::Twice(_), .. }) => refused.fetch_add(1, Relaxed),
                        Err(fault) => panic!("{fault}"),
                    };
                    both.wait();
                }
            });
        }
    });
    assert_eq!((freed.into_inner(), refused.into_inner()), (ROUNDS / 20, ROUNDS / 20));
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn capacity_is_neither_exceeded_nor_refused() {
    // Each thread holds a quarter at most, so each allocation fits, wherever the free bytes are just then.
    const QUARTER: u64 = 1000;
    let memory = Memory::with_capacity_limit(AddressSpace::Global, AddressLayout::GLOBAL, 4 * QUARTER);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|thread| {
                let memory = &memory;
                scope.spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..ROUNDS {
                        let size = random.below(QUARTER + 1);
                        let rest = QUARTER - size;
                        let buffers = [size, rest]
                            .map(|size| memory.allocate(size, Flags::READ_WRITE, Init::Zeroed).expect("this fits"));
                        buffers.into_iter().for_each(|buffer| memory.deallocate(buffer).unwrap());
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Relaxed) {
                assert!(memory.allocated_bytes() <= 4 * QUARTER);
                assert!(memory.live_buffers() <= 8);
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn the_last_indices_are_found_wherever_they_are() {
    // 3 indices, at most 3 in use: one is free for everybody who asks, in some shard or at rest.
    let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(2, 1).unwrap());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let buffer = memory.allocate(4, Flags::READ_WRITE, Init::Zeroed).expect("an index is free");
                    memory.deallocate(buffer).unwrap();
                }
            });
        }
    });
    assert!(memory.generation_restarts() > 0);
}

#[test]
fn a_buffer_allocated_here_and_freed_there() {
    // One thread only allocates, the other only frees: indices and storage find their way back.
    let layout = AddressLayout::tagged(8, 8).unwrap();
    let memory = Memory::with_capacity_limit(AddressSpace::Global, layout, 64 * 200);
    let (send, receive) = std::sync::mpsc::sync_channel(100);
    thread::scope(|scope| {
        let memory = &memory;
        scope.spawn(move || {
            for _ in 0..ROUNDS {
                send.send(memory.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap()).unwrap();
            }
        });
        scope.spawn(move || receive.iter().for_each(|buffer| memory.deallocate(buffer).unwrap()));
    });
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}

#[test]
fn threads_that_come_and_go() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    for round in 0..200u32 {
        let buffer = memory.allocate(70_000, Flags::READ_WRITE, Init::Zeroed).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| memory.store_value(buffer, round).unwrap());
        });
        assert_eq!(memory.load_value::<u32>(buffer), Ok(round));
        memory.deallocate(buffer).unwrap();
    }
}
