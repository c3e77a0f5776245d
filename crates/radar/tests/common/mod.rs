//! Machines to run applications on.
#![allow(dead_code)] // not every test uses all of it

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use rimms::device::sim::{ACC_MEMORY, Sim};
use rimms::{MemoryMode, Runtime, sched};
use rimms_radar::apps::{Alloc, Config, Conj, Style};

/// The modes that every machine can be run in.
pub(crate) const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];

/// One accelerator that does every op, and so many CPUs.
pub(crate) fn accelerator(mode: MemoryMode, cpus: usize) -> Runtime {
    let acc = Sim::acc("acc0", ACC_MEMORY, "next-fit".parse().unwrap()).unwrap();
    Runtime::builder().cpus(cpus).device(acc).memory_mode(mode).build().unwrap()
}

/// Some CPUs, an accelerator, perhaps the paper's blocks, in some mode, under some policy.
pub(crate) fn random(random: &mut ChaCha8Rng) -> Runtime {
    let heap = ["bitset:1KiB", "next-fit", "two-level"].choose(random).unwrap().parse().unwrap();
    let mut builder = Runtime::builder()
        .cpus(random.random_range(0..=2))
        .device(Sim::acc("acc0", 8 << 20, heap).unwrap())
        .memory_mode(*MODES.choose(random).unwrap())
        .policy(sched::by_name(sched::POLICIES.choose(random).unwrap()).unwrap());
    if random.random() {
        // Too small for everything, so that some calls have to go elsewhere.
        builder = builder.device(Sim::fft("fft0", 64 << 10, heap).unwrap());
        builder = builder.device(Sim::zip("zip0", 64 << 10, heap).unwrap());
    }
    builder.build().unwrap()
}

/// Some way to run an application.
pub(crate) fn config(random: &mut impl Rng) -> Config {
    Config {
        style: *Style::ALL.choose(random).unwrap(),
        conj: *Conj::ALL.choose(random).unwrap(),
        alloc: *Alloc::ALL.choose(random).unwrap(),
        ..Config::default()
    }
}
