//! What the bytes of a fuzzer (or of a generator of random ones) do to a device: every method of the memory's views, with
//! addresses, sizes, offsets and flags that may be anything, and every checker at work. Nothing may panic, and what can be
//! checked without an oracle is: sums, and that a refused use changes nothing.

use std::num::NonZeroUsize;

use rimms_devmem::check::{AllCheckers, Checkers};
use rimms_devmem::{
    Access, Address, AddressLayout, AddressSpace, AtomicOp, Device, Flags, FloatOp, Hold, HostBytes, Init, Launch,
    Mapping, Memory, NdRange, Rows, View,
};

/// Bytes as a source of choices; zeros when they are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number: mostly small, sometimes near a power of two or the greatest.
    fn number(&mut self) -> u64 {
        match self.byte() % 8 {
            0..=4 => u64::from(self.byte() % 80),
            5 => 4090 + u64::from(self.byte() % 16),
            6 => (1u64 << (self.byte() % 64)).wrapping_add(u64::from(self.byte() % 5)).wrapping_sub(2),
            _ => u64::MAX - u64::from(self.byte() % 70),
        }
    }

    fn flags(&mut self) -> Flags {
        [Flags::READ_WRITE, Flags::READ_ONLY, Flags::WRITE_ONLY][self.below(3)]
    }
}

struct Given<'a> {
    memory: &'a Memory,
    buffers: Vec<Address>,
    mappings: Vec<Mapping>,
    holds: Vec<Hold<'a>>,
    hosts: Vec<HostBytes>,
}

impl Given<'_> {
    fn address(&self, source: &mut Source<'_>) -> Address {
        let any = self.buffers.get(source.below(self.buffers.len())).copied().unwrap_or(Address::NULL);
        match source.byte() % 8 {
            0..=3 => any,
            4 | 5 => Address::from_raw(any.raw().wrapping_add(source.number())),
            6 => Address::from_raw(any.raw() ^ 1 << (source.byte() % 64)),
            _ => Address::from_raw(source.word()),
        }
    }
}

/// Runs the program that the bytes are.
pub(crate) fn run(data: &[u8]) {
    let source = &mut Source(data);
    let layouts = [
        AddressLayout::GLOBAL,
        AddressLayout::PRIVATE,
        AddressLayout::GLOBAL_UNTAGGED,
        AddressLayout::tagged(2, 1).unwrap(),
        AddressLayout::tagged(4, 50).unwrap(),
        AddressLayout::tagged(32, 31).unwrap(),
        AddressLayout::untagged(3).unwrap(),
    ];
    let (layout, capacity) = (layouts[source.below(layouts.len())], 1 << 16);
    let memory = Memory::with_capacity_limit(AddressSpace::Global, layout, capacity);
    let checkers = Checkers::new();
    let device = Device::with_memory(memory, checkers.observer()).workers(NonZeroUsize::MIN);
    let memory = device.memory();
    let mut given = Given { memory, buffers: Vec::new(), mappings: Vec::new(), holds: Vec::new(), hosts: Vec::new() };
    // A program that never ends is none.
    for _ in 0..400 {
        if source.0.is_empty() {
            break;
        }
        step(source, &device, &mut given);
        assert!(memory.allocated_bytes() <= capacity);
    }
    let held = given.holds.len() + given.mappings.len();
    given.holds.clear();
    let left = memory.clear();
    assert!(left == 0 || held > 0, "what nothing holds can be freed");
    for finding in checkers.findings().take() {
        assert!(!finding.to_string().is_empty());
    }
}

fn step<'a>(source: &mut Source<'_>, device: &'a Device<AllCheckers>, given: &mut Given<'a>) {
    let host = device.host();
    match source.byte() % 16 {
        0..=2 => allocate(source, &host, given),
        3 => free(source, &host, given),
        4 | 5 => {
            let address = given.address(source);
            plain(source, &host, address);
        }
        6 => {
            let address = given.address(source);
            typed(source, &host, address);
        }
        7 => {
            let address = given.address(source);
            atomic(source, &host, address);
        }
        8 => {
            let (to, from, size) = (given.address(source), given.address(source), source.number());
            let _ = host.copy(to, from, size);
            let _ = host.undefine(to, source.number());
        }
        9 => {
            let (at, count, bytes, pitch) = (given.address(source), source.number(), source.number(), source.number());
            let rows = Rows { count, bytes, pitch };
            let mut packed = vec![1; source.number().min(5000) as usize];
            let _ = host.load_rows(at, rows, &mut packed);
            let _ = host.store_rows(at, rows, &packed);
        }
        10 => given.holds.extend(given.memory.hold(given.address(source))),
        11 if !given.holds.is_empty() => {
            drop(given.holds.swap_remove(source.below(given.holds.len())));
        }
        12 => {
            let (at, offset, size) = (given.address(source), source.number(), source.number());
            given.mappings.extend(host.map(at, offset, size, source.flags()));
        }
        13 if !given.mappings.is_empty() => {
            let mapping = given.mappings[source.below(given.mappings.len())];
            let (at, mut bytes) = (source.number(), vec![0; source.byte().into()]);
            let _ = host.load_mapped(&mapping, at, &mut bytes);
            let _ = host.store_mapped(&mapping, at, &bytes);
            if source.byte().is_multiple_of(2) {
                let _ = host.unmap(&mapping);
            }
        }
        14 => {
            let address = given.address(source);
            let _ =
                (given.memory.lifecycle(address), given.memory.name_of(address), given.memory.mappings(address).len());
            let access = [Access::Read, Access::Write, Access::Atomic, Access::Free][source.below(4)];
            let size = source.number();
            let checked = given.memory.check(address, size, access);
            let constant = given.memory.constant().check(address, size, access);
            assert!(constant.is_err() || checked.is_ok() || access != Access::Read);
            if given.memory.allocated_bytes() < 4096 {
                let _ = given.memory.dump().to_string();
            }
        }
        _ => kernel(source, device, given),
    }
}

fn allocate(source: &mut Source<'_>, host: &View<'_, AllCheckers>, given: &mut Given<'_>) {
    let size = source.number();
    let flags = source.flags();
    let bytes = [7; 300];
    let address = match source.byte() % 6 {
        0 => host.allocate(size, flags, Init::Zeroed),
        1 => host.allocate_named("named", size, flags, Init::Poison(3)),
        2 => host.allocate(size, flags, Init::Bytes(&bytes[..(size % 300) as usize])),
        3 | 4 => {
            let parent = given.address(source);
            host.sub_buffer(parent, size, source.number(), flags)
        }
        _ => match HostBytes::zeroed(size % 5000) {
            Some(bytes) => {
                given.hosts.push(bytes.clone());
                host.allocate_host(&bytes, flags)
            }
            None => return,
        },
    };
    given.buffers.extend(address);
}

fn free(source: &mut Source<'_>, host: &View<'_, AllCheckers>, given: &mut Given<'_>) {
    let address = given.address(source);
    let before = given.memory.live_buffers();
    let freed = u64::from(host.deallocate(address).is_ok());
    assert_eq!(given.memory.live_buffers(), before - freed);
}

fn plain(source: &mut Source<'_>, host: &View<'_, AllCheckers>, address: Address) {
    let mut bytes = vec![0xa5; source.number().min(5000) as usize];
    if host.load(address, &mut bytes).is_err() {
        assert!(bytes.iter().all(|byte| *byte == 0xa5));
    }
    if host.store(address, &bytes).is_ok() {
        let mut found = bytes.clone();
        if host.load(address, &mut found).is_ok() {
            assert_eq!(found, bytes);
        }
    }
    let pattern = &bytes[..bytes.len().min(source.byte().into())];
    let _ = host.fill(address, pattern, source.number());
}

fn typed(source: &mut Source<'_>, host: &View<'_, AllCheckers>, address: Address) {
    macro_rules! each {
        ($($type:ty),*) => {
            match source.byte() % 8 {
                $(n if n == const { size_of::<$type>() as u8 % 8 } => {
                    let _ = host.store_value::<$type>(address, bytemuck::Zeroable::zeroed());
                    let _ = host.load_value::<$type>(address);
                })*
                _ => {
                    let _ = host.store_value(address, [1u64; 4]);
                    let _ = host.load_value::<[u16; 7]>(address);
                    let _ = host.load_value::<[u32; 0]>(address);
                }
            }
        };
    }
    each!(u8, u16, f32, u128, [u8; 3], [u16; 3]);
}

fn atomic(source: &mut Source<'_>, host: &View<'_, AllCheckers>, address: Address) {
    const OPS: [AtomicOp; 10] = [
        AtomicOp::Add,
        AtomicOp::Sub,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::Xchg,
        AtomicOp::Inc,
        AtomicOp::Dec,
        AtomicOp::Min,
        AtomicOp::Max,
    ];
    let (op, operand) = (OPS[source.below(OPS.len())], source.word());
    match source.byte() % 6 {
        0 => drop(host.atomic(address, op, operand as u32)),
        1 => drop(host.atomic(address, op, operand as i32)),
        2 => drop(host.atomic(address, op, operand)),
        3 => drop(host.atomic(address, op, operand as i64)),
        4 => drop(host.atomic(address, FloatOp::Add, f32::from_bits(operand as u32))),
        _ => drop(host.atomic(address, FloatOp::Xchg, f64::from_bits(operand))),
    }
    let before = host.load_value::<u32>(address);
    let exchanged = host.compare_exchange(address, operand as u32, 1);
    if let (Ok(before), Ok(exchanged)) = (before, exchanged) {
        assert_eq!(before, exchanged);
    }
}

/// A kernel of a few items that do what the bytes say, with barriers that some may miss.
fn kernel(source: &mut Source<'_>, device: &Device<AllCheckers>, given: &Given<'_>) {
    let sizes: [u32; 3] = std::array::from_fn(|_| 1 + u32::from(source.byte() % 3));
    let groups: [u64; 3] = std::array::from_fn(|_| u64::from(source.byte() % 3));
    let global = std::array::from_fn(|d| groups[d] * u64::from(sizes[d]));
    let Ok(range) = NdRange::new(global, sizes) else { return };
    let addresses: Vec<Address> = (0..4).map(|_| given.address(source)).collect();
    let steps: Vec<u8> = (0..source.below(12)).map(|_| source.byte()).collect();
    let launch = Launch::new("bytes", range).local("local", source.number() % 200).uses(&addresses[..source.below(3)]);
    let outcome = device.run(&launch, async |item| {
        let (global, local, part) = (item.global(), item.local(), item.local_buffer(0));
        for step in &steps {
            let address = global.element::<u8>(addresses[usize::from(step / 64)], item.id().number() % 8);
            // Not every fault ends the item.
            match step % 10 {
                0 => drop(global.load_value::<u32>(address)),
                1 => drop(global.store_value(address, 1u8)),
                2 => drop(global.atomic(address, AtomicOp::Add, 1u64)),
                3 => drop(global.copy(address, addresses[0], u64::from(*step))),
                4 => drop(local.store_value(local.element::<u16>(part, item.local_id(0)), 1u16)),
                5 => drop(local.load_value::<u64>(part)),
                6 => {
                    let private = item.private();
                    let mine = private.allocate(u64::from(*step), Flags::READ_WRITE, Init::Poison(1))?;
                    let _ = private.load_value::<u32>(mine);
                    if step % 4 == 0 {
                        private.deallocate(mine)?;
                    }
                }
                7 => item.barrier().await,
                8 if item.local_id(0) == u64::from(step % 3) => item.barrier().await,
                9 => drop(item.constant().load_value::<u16>(address)?),
                _ => {}
            }
        }
        Ok(())
    });
    if let Ok(outcome) = outcome {
        assert_eq!(outcome.items, range.items());
        assert!(outcome.failures.iter().all(|failure| !failure.to_string().is_empty()));
    }
}
