//! Allocated → in use ⇄ mapped → freed → recycled, as a state machine: random programs on a memory and on a naive
//! oracle, alone and several at once on one memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod model;

use std::thread;

use model::{Model, No};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rimms_devmem::{
    Address, AddressLayout, AddressSpace, BadFree, Fault, Flags, Hold, Holder, HostBytes, Init, Lifecycle, Mapping,
    Memory,
};

fn reason(fault: Fault) -> No {
    match fault {
        Fault::Freed { .. } => No::Freed,
        Fault::OutOfBounds { .. } => No::Out,
        Fault::ReadOnly { .. } | Fault::WriteOnly { .. } => No::Flags,
        Fault::Misaligned { .. } => No::Misaligned,
        Fault::NotMapped { .. } => No::NotMapped,
        Fault::BadFree { reason: BadFree::Twice(_), .. } => No::FreedTwice,
        Fault::BadFree { reason: BadFree::Held(Holder::Mapping), .. } => No::HeldByMapping,
        Fault::BadFree { reason: BadFree::Held(Holder::Kernel), .. } => No::HeldByKernel,
        Fault::BadFree { reason: BadFree::Held(Holder::Part), .. } => No::HeldByPart,
        fault => panic!("{fault}"),
    }
}

/// One program at work: the memory, what should be, and what it has been given.
struct Program<'a> {
    memory: &'a Memory,
    /// Whether other programs work on the same memory.
    shared: bool,
    model: Model,
    random: SmallRng,
    holds: Vec<(usize, Hold<'a>)>,
    /// By the oracle's number.
    mappings: Vec<Mapping>,
    host: Vec<(usize, HostBytes)>,
}

impl<'a> Program<'a> {
    fn new(memory: &'a Memory, seed: u64, shared: bool) -> Self {
        let random = SmallRng::seed_from_u64(seed);
        let (model, holds, mappings, host) = (Model::default(), Vec::new(), Vec::new(), Vec::new());
        Program { memory, shared, model, random, holds, mappings, host }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.random_range(0..end)
    }

    /// A buffer of this program, one of the last few.
    fn buffer(&mut self) -> Option<usize> {
        let count = self.model.buffers.len();
        let back = self.below(8) as usize;
        (back < count).then(|| count - 1 - back)
    }

    fn flags(&mut self) -> Flags {
        [Flags::READ_WRITE, Flags::READ_WRITE, Flags::READ_ONLY, Flags::WRITE_ONLY][self.below(4) as usize]
    }

    fn bytes(&mut self, size: u64) -> Vec<u8> {
        (0..size).map(|_| self.random.random()).collect()
    }

    fn address(&self, buffer: usize, offset: u64) -> Address {
        self.memory.layout().add(self.model.buffers[buffer].address, offset).unwrap()
    }

    fn step(&mut self) -> Option<()> {
        let (memory, layout) = (self.memory, self.memory.layout());
        match self.below(16) {
            0 | 1 => {
                let size = self.below(100);
                let (bytes, flags) = (self.bytes(size), self.flags());
                let address = memory.allocate(size, flags, Init::Bytes(&bytes)).unwrap();
                self.model.allocate(layout, address, bytes, flags);
            }
            2 => {
                let host = HostBytes::zeroed(self.below(100)).unwrap();
                let bytes = self.bytes(host.len());
                host.store(0, &bytes).unwrap();
                let flags = self.flags();
                let address = memory.allocate_host(&host, flags).unwrap();
                let number = self.model.allocate(layout, address, bytes, flags);
                self.host.push((number, host));
            }
            3 | 4 => {
                let (parent, origin, size) = (self.buffer()?, self.below(7) * 8, self.below(40));
                let flags = self.flags();
                let given = memory.sub_buffer(self.model.buffers[parent].address, origin, size, flags);
                assert_eq!(given.map(drop).map_err(reason), self.model.may_lend(parent, origin, size));
                self.model.lend(layout, given.ok()?, parent, (origin, size), flags);
            }
            5 | 6 => {
                let buffer = self.buffer()?;
                let found = memory.deallocate(self.model.buffers[buffer].address).map_err(reason);
                assert_eq!(found, self.model.free(buffer));
            }
            7 => {
                let buffer = self.buffer()?;
                let found = memory.hold(self.model.buffers[buffer].address);
                assert_eq!(found.as_ref().map(drop).map_err(|fault| reason(*fault)), self.model.hold(buffer));
                self.holds.push((buffer, found.ok()?));
            }
            8 if !self.holds.is_empty() => {
                let which = self.below(self.holds.len() as u64) as usize;
                let (buffer, hold) = self.holds.swap_remove(which);
                drop(hold);
                self.model.release(buffer);
            }
            9 => {
                let (buffer, offset, size) = (self.buffer()?, self.below(60), self.below(40));
                let flags = self.flags();
                let found = memory.map(self.model.buffers[buffer].address, offset, size, flags);
                let wanted = self.model.map(buffer, offset, size, flags);
                assert_eq!(found.map(|_| self.mappings.len()).map_err(reason), wanted);
                self.mappings.push(found.ok()?);
            }
            10 | 11 if !self.mappings.is_empty() => {
                let back = self.below(4.min(self.mappings.len() as u64)) as usize;
                let which = self.mappings.len() - 1 - back;
                let found = memory.unmap(&self.mappings[which]).map_err(reason);
                assert_eq!(found, self.model.unmap(which));
            }
            12 if !self.mappings.is_empty() => {
                let which = self.mappings.len() - 1 - self.below(4.min(self.mappings.len() as u64)) as usize;
                let (at, size) = (self.below(40), self.below(20));
                let mapping = self.mappings[which];
                let mut found = vec![0; size as usize];
                let loaded = memory.load_mapped(&mapping, at, &mut found).map_err(reason);
                let wanted = self.model.mapped(which, at, size, false);
                assert_eq!(loaded.map(|()| &found[..]), wanted.as_deref().map_err(|no| *no));
                let bytes = self.bytes(size);
                let stored = memory.store_mapped(&mapping, at, &bytes).map_err(reason);
                assert_eq!(stored, self.model.mapped(which, at, size, true).map(|into| into.copy_from_slice(&bytes)));
            }
            13 | 14 => {
                let (buffer, offset, size) = (self.buffer()?, self.below(60), self.below(40));
                let address = self.address(buffer, offset);
                let mut found = vec![0; size as usize];
                let loaded = memory.load(address, &mut found).map_err(reason);
                let wanted = self.model.range(buffer, offset, size, false);
                assert_eq!(loaded.map(|()| &found[..]), wanted.as_deref().map_err(|no| *no));
                let bytes = self.bytes(size);
                let stored = memory.store(address, &bytes).map_err(reason);
                let wanted = self.model.range(buffer, offset, size, true);
                assert_eq!(stored, wanted.map(|into| into.copy_from_slice(&bytes)));
            }
            15 if !self.shared && self.below(20) == 0 => assert_eq!(memory.clear(), self.model.clear()),
            _ => {}
        }
        Some(())
    }

    /// Every buffer there ever was is where the oracle says, and so are the host's bytes.
    fn compare(&mut self) {
        let layout = self.memory.layout();
        for number in 0..self.model.buffers.len() {
            let address = self.model.buffers[number].address;
            let (found, wanted) = (self.memory.lifecycle(address), self.model.lifecycle(layout, number));
            let past = |state| matches!(state, Lifecycle::Freed | Lifecycle::Recycled);
            // Whether another program has taken the slot is not for this one's oracle to know.
            assert!(found == wanted || self.shared && past(found) && past(wanted), "{found:?} for {wanted:?}");
            let length = self.model.buffers[number].length;
            if let Ok(bytes) = self.model.range(number, 0, length, false) {
                let mut found = vec![0; bytes.len()];
                self.memory.load(address, &mut found).unwrap();
                assert_eq!(found, bytes);
                if let Some((_, host)) = self.host.iter().find(|(of, _)| *of == number) {
                    host.load(0, &mut found).unwrap();
                    assert_eq!(found, bytes);
                }
            }
            let regions = self.model.regions.values().filter(|region| region.buffer == number).count();
            assert_eq!(self.memory.mappings(address).len(), regions);
        }
        if !self.shared {
            assert_eq!(self.memory.live_buffers(), self.model.live_buffers());
            assert_eq!(self.memory.allocated_bytes(), self.model.charged());
        }
    }

    /// Gives everything back.
    fn end(mut self) {
        self.compare();
        for (buffer, hold) in self.holds.drain(..) {
            drop(hold);
            self.model.release(buffer);
        }
        for (number, mapping) in self.mappings.iter().enumerate() {
            assert_eq!(self.memory.unmap(mapping).map_err(reason), self.model.unmap(number));
        }
        let parts_first = [true, false];
        for _ in parts_first {
            for number in 0..self.model.buffers.len() {
                let found = self.memory.deallocate(self.model.buffers[number].address).map_err(reason);
                assert_eq!(found, self.model.free(number));
            }
        }
        assert_eq!(self.model.live_buffers(), 0);
    }
}

const PROGRAMS: u64 = if cfg!(debug_assertions) { 300 } else { 3000 };

#[test]
fn one_program_after_the_other() {
    for seed in 0..PROGRAMS {
        let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(12, 12).unwrap());
        let mut program = Program::new(&memory, seed, false);
        for step in 0..200 {
            program.step();
            if step % 20 == 0 {
                program.compare();
            }
        }
        program.end();
        assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
    }
}

#[test]
fn several_programs_on_one_memory() {
    for round in 0..PROGRAMS / 50 {
        let memory = Memory::new(AddressSpace::Global, AddressLayout::GLOBAL);
        thread::scope(|scope| {
            for number in 0..4 {
                let memory = &memory;
                scope.spawn(move || {
                    let mut program = Program::new(memory, round * 4 + number, true);
                    (0..600).for_each(|_| program.step().unwrap_or_default());
                    program.end();
                });
            }
        });
        assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
    }
}

/// Threads take and free one another's buffers, parts and holds: who holds a buffer finds it there, and in the end
/// nothing is left.
#[test]
fn holds_and_parts_of_buffers_that_others_free() {
    let memory = Memory::new(AddressSpace::Global, AddressLayout::tagged(4, 20).unwrap());
    let shared = parking_lot::Mutex::new(vec![Address::NULL; 3]);
    thread::scope(|scope| {
        for seed in 0..4 {
            let (memory, shared) = (&memory, &shared);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for _ in 0..PROGRAMS * 10 {
                    let which = random.random_range(0..3);
                    let buffer = shared.lock()[which];
                    match random.random_range(0..4) {
                        0 => {
                            if memory.deallocate(buffer).is_ok() || buffer.is_null() {
                                let new = memory.allocate(64, Flags::READ_WRITE, Init::Poison(which as u8)).unwrap();
                                let old = std::mem::replace(&mut shared.lock()[which], new);
                                // Two may have replaced the same null.
                                let _ = memory.deallocate(old);
                            }
                        }
                        1 => {
                            if let Ok(hold) = memory.hold(buffer) {
                                assert_eq!(memory.load_value::<[u8; 4]>(hold.buffer()).unwrap(), [which as u8; 4]);
                                assert!(memory.deallocate(buffer).is_err());
                            }
                        }
                        2 => {
                            if let Ok(part) = memory.sub_buffer(buffer, 16, 16, Flags::READ_WRITE) {
                                memory.store_value(part, [which as u8; 16]).unwrap();
                                assert!(memory.deallocate(buffer).is_err());
                                memory.deallocate(part).unwrap();
                            }
                        }
                        _ => {
                            if let Ok(mapping) = memory.map(buffer, 32, 16, Flags::READ_WRITE) {
                                memory.store_mapped(&mapping, 0, &[which as u8; 16]).unwrap();
                                memory.unmap(&mapping).unwrap();
                            }
                        }
                    }
                }
            });
        }
    });
    shared.into_inner().into_iter().for_each(|buffer| memory.deallocate(buffer).unwrap_or_default());
    assert_eq!((memory.live_buffers(), memory.allocated_bytes()), (0, 0));
}
