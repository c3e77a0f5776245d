//! Time of single accesses, of allocation and of bulk moves, beside bare memory operations in the same run.
//!
//! `cargo bench -p rimms-devmem --bench access [-- --quick]`. Each line: nanoseconds (or GB/s), the target and
//! whether it was met. Work is timed in short pieces of which the fastest tenth counts, so that what else the
//! machine does counts little.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dropping_copy_types)]

use std::hint::black_box;
use std::ops::BitXor;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Instant;

use bytemuck::Pod;
use rimms_devmem::{Address, AddressLayout, AddressSpace, AtomicOp, Flags, Init, Memory};

/// How much to run: pieces that are timed one by one, and bytes of the long moves.
#[derive(Clone, Copy)]
struct Effort {
    pieces: usize,
    bulk: usize,
}

/// Time of an operation, nanoseconds, in the fastest tenth of the pieces, of the slowest thread. `act` does
/// `count` operations, some 20 µs: short enough that most pieces run without being interrupted.
fn undisturbed(effort: Effort, threads: usize, count: u64, act: impl Fn(usize) + Sync) -> f64 {
    let start = Barrier::new(threads);
    let run = |id| {
        start.wait();
        let piece = |_| {
            let began = Instant::now();
            act(id);
            began.elapsed().as_nanos() as f64 / count as f64
        };
        let mut times: Vec<f64> = (0..effort.pieces).map(piece).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 10]
    };
    thread::scope(|scope| {
        let run = &run;
        let handles: Vec<_> = (0..threads).map(|id| scope.spawn(move || run(id))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).fold(0.0, f64::max)
    })
}

fn report(what: &str, found: f64, unit: &str, target: Option<(f64, bool)>) {
    let verdict = match target {
        Some((target, at_most)) => {
            let met = if at_most { found <= target } else { found >= target };
            let sign = if at_most { "≤" } else { "≥" };
            format!("target {sign} {target:.2} {unit}: {}", if met { "met" } else { "MISSED" })
        }
        None => "floor".to_owned(),
    };
    println!("{what:<52} {found:>9.2} {unit:<5} {verdict}");
}

const ELEMENTS: u64 = 1024;

/// The addresses of `ELEMENTS` values of a buffer, in an order that is not the buffer's.
fn addresses<T>(memory: &Memory, buffer: Address) -> Vec<Address> {
    let at = |i: u64| (i * 389 % ELEMENTS) * size_of::<T>() as u64;
    (0..ELEMENTS).map(|i| memory.layout().add(buffer, at(i)).unwrap()).collect()
}

/// Times going over the addresses in a piece.
const TURNS: u64 = 8;
const COUNT: u64 = TURNS * ELEMENTS;

// The loops are functions of their own, so that they are compiled as a user's would be, whatever surrounds them.

#[inline(never)]
fn load_all<T: Pod + Default + BitXor<Output = T>>(memory: &Memory, addresses: &[Address]) -> T {
    addresses.iter().fold(T::default(), |sum, address| sum ^ memory.load_value::<T>(*address).unwrap())
}

#[inline(never)]
fn store_all<T: Pod>(memory: &Memory, addresses: &[Address], value: T) {
    addresses.iter().for_each(|address| memory.store_value(*address, value).unwrap());
}

#[inline(never)]
fn load_plain(array: &[u64], order: &[usize]) -> u64 {
    order.iter().fold(0, |sum, at| sum ^ array[*at])
}

#[inline(never)]
fn store_plain(array: &mut [u64], order: &[usize], value: u64) {
    order.iter().for_each(|at| array[*at] = value);
}

fn single<T: Pod + Default + BitXor<Output = T> + Send + Sync>(effort: Effort, name: &str) {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    let size = ELEMENTS * size_of::<T>() as u64;
    for threads in [1, 2] {
        let buffer = |_| memory.allocate(size, Flags::default(), Init::Zeroed).unwrap();
        let sets: Vec<_> = (0..threads).map(buffer).map(|buffer| addresses::<T>(&memory, buffer)).collect();
        let loads = undisturbed(effort, threads, COUNT, |id| {
            for _ in 0..TURNS {
                black_box(load_all::<T>(&memory, &sets[id]));
            }
        });
        report(&format!("load {name}, {threads} threads"), loads, "ns", Some((1.5, true)));
        let stores = undisturbed(effort, threads, COUNT, |id| {
            (0..TURNS).for_each(|_| store_all(&memory, &sets[id], black_box(T::default())));
        });
        report(&format!("store {name}, {threads} threads"), stores, "ns", Some((1.5, true)));
    }
}

/// The same loops on a plain array.
fn floor(effort: Effort) {
    let order: Vec<usize> = (0..ELEMENTS).map(|i| (i * 389 % ELEMENTS) as usize).collect();
    let array = Mutex::new(vec![0u64; ELEMENTS as usize]);
    let loads = undisturbed(effort, 1, COUNT, |_| {
        let array = array.lock().unwrap();
        for _ in 0..TURNS {
            black_box(load_plain(&array, &order));
        }
    });
    report("load 8 B, plain array", loads, "ns", None);
    let stores = undisturbed(effort, 1, COUNT, |_| {
        let mut array = array.lock().unwrap();
        (0..TURNS).for_each(|turn| store_plain(&mut array, &order, black_box(turn)));
    });
    report("store 8 B, plain array", stores, "ns", None);
}

#[inline(never)]
fn add_all(memory: &Memory, addresses: &[Address]) {
    addresses.iter().for_each(|address| drop(black_box(memory.atomic(*address, AtomicOp::Add, 1u64).unwrap())));
}

#[inline(never)]
fn add_plain(words: &[AtomicU64], order: &[usize]) {
    order.iter().for_each(|at| drop(black_box(words[*at].fetch_add(1, Ordering::AcqRel))));
}

/// Atomic sums beside the host's own, each thread on words of its own.
fn atomics(effort: Effort) {
    let order: Vec<usize> = (0..ELEMENTS).map(|i| (i * 389 % ELEMENTS) as usize).collect();
    for threads in [1, 2] {
        let words = |_| (0..ELEMENTS).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let plain: Vec<_> = (0..threads).map(words).collect();
        let bare = undisturbed(effort, threads, COUNT, |id| (0..TURNS).for_each(|_| add_plain(&plain[id], &order)));
        report(&format!("atomic add 8 B, the host's, {threads} threads"), bare, "ns", None);
        let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
        let buffer = |_| memory.allocate(ELEMENTS * 8, Flags::default(), Init::Zeroed).unwrap();
        let sets: Vec<_> = (0..threads).map(buffer).map(|buffer| addresses::<u64>(&memory, buffer)).collect();
        let time = undisturbed(effort, threads, COUNT, |id| (0..TURNS).for_each(|_| add_all(&memory, &sets[id])));
        report(&format!("atomic add 8 B, {threads} threads"), time, "ns", Some((1.15 * bare, true)));
    }
}

fn pairs(effort: Effort) {
    // Long enough for the work that is done once in many frees to show in every piece.
    let (count, effort) = (20_000, Effort { pieces: effort.pieces / 40, ..effort });
    for (name, layout) in [("tagged", AddressLayout::GLOBAL), ("untagged", AddressLayout::GLOBAL_UNTAGGED)] {
        for threads in [1, 2] {
            let memory = Memory::new(AddressSpace::Global, layout);
            let time = undisturbed(effort, threads, count, |_| {
                for _ in 0..count {
                    let buffer = memory.allocate(64, Flags::default(), Init::Zeroed).unwrap();
                    memory.deallocate(black_box(buffer)).unwrap();
                }
            });
            let what = format!("allocate + free 64 B, {name}, {threads} threads");
            report(&what, time, "ns", Some((35.0, true)));
        }
    }
    let time = undisturbed(effort, 1, count, |_| {
        for _ in 0..count {
            drop(black_box(Box::<[u8]>::from([0u8; 64])));
        }
    });
    report("allocate + free 64 B, the host's allocator", time, "ns", None);
}

fn bulk(effort: Effort) {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
    for size in [16 << 10, effort.bulk] {
        let effort = Effort { pieces: ((1 << 30) / size).clamp(9, 1001), ..effort };
        let a = memory.allocate(size as u64, Flags::default(), Init::Poison(1)).unwrap();
        let b = memory.allocate(size as u64, Flags::default(), Init::Poison(2)).unwrap();
        let host = vec![3u8; size];
        let run = |what: &str, target: Option<f64>, act: &(dyn Fn(&mut [u8]) + Sync)| {
            let into = Mutex::new(vec![0u8; size]);
            let time = undisturbed(effort, 1, size as u64, |_| act(black_box(&mut into.lock().unwrap())));
            let what = format!("{what}, {} KiB", size >> 10);
            report(&what, 1.0 / time, "GB/s", target.map(|target| (target, false)));
        };
        run("memcpy", None, &|into| into.copy_from_slice(black_box(&host)));
        run("load", Some(5.0), &|into| memory.load(a, into).unwrap());
        run("store", Some(5.0), &|into| memory.store(a, into).unwrap());
        run("store, misaligned", Some(5.0), &|into| {
            memory.store(memory.layout().add(a, 1).unwrap(), &into[1..]).unwrap();
        });
        run("copy", Some(5.0), &|_| memory.copy(b, a, size as u64).unwrap());
        run("fill", Some(5.0), &|_| memory.fill(b, &[1, 2, 3, 4], size as u64).unwrap());
    }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let effort = if quick { Effort { pieces: 2001, bulk: 4 << 20 } } else { Effort { pieces: 20_001, bulk: 64 << 20 } };
    floor(effort);
    single::<u32>(effort, "4 B");
    single::<u64>(effort, "8 B");
    single::<u128>(effort, "16 B");
    atomics(effort);
    pairs(effort);
    bulk(effort);
}
