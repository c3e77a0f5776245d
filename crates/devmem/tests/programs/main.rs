//! Random programs, run on a memory and on a naive oracle: the same answers, faults and bytes after every step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod model;

use model::Model;
use proptest::prelude::*;
use rimms_devmem::{
    Access, Address, AddressLayout, AddressSpace, AtomicInteger, AtomicOp, BadFree, Fault, Flags, FreedAt, Init,
    Memory, Rows,
};

/// How a step comes by its address.
#[derive(Debug, Clone)]
enum Pick {
    /// One that `allocate` once gave (by its number, counted from the last), plus a distance that may lead anywhere.
    Given { back: usize, distance: i64 },
    /// These parts, folded into the layout's fields.
    Parts { index: u64, generation: u64, offset: u64 },
    /// Any number at all.
    Raw(u64),
}

#[derive(Debug, Clone)]
enum Step {
    Allocate { size: u64, flags: Flags, init: Option<u8> },
    AllocateBytes { bytes: Vec<u8>, size: Option<u64>, flags: Flags },
    Free { at: Pick },
    Load { at: Pick, size: usize },
    Store { at: Pick, bytes: Vec<u8> },
    LoadValue { at: Pick, kind: u8 },
    StoreValue { at: Pick, kind: u8, value: u128 },
    Atomic { at: Pick, op: u8, operand: i64, wide: bool },
    CompareExchange { at: Pick, expected: Option<u32>, new: u32 },
    Copy { to: Pick, from: Pick, size: u64 },
    Fill { at: Pick, pattern: Vec<u8>, size: u64 },
    LoadRows { at: Pick, rows: u64, row_bytes: u64, pitch: u64 },
    StoreRows { at: Pick, rows: u64, row_bytes: u64, pitch: u64 },
    Check { at: Pick, size: u64, write: bool },
    SizeOf { at: Pick },
}

/// Sizes that matter: small ones, those around words and lines, those that wrap.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => 0..=40u64,
        4 => 0..=300u64,
        1 => 4000..5000u64,
        1 => 65_530..66_000u64,
        1 => (0..64u32, any::<i8>()).prop_map(|(bit, more)| (1u64 << bit).wrapping_add_signed(more.into())),
        1 => (0..=64u64).prop_map(|less| u64::MAX - less),
    ]
}

fn host_size() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..=40usize, 2 => 0..=300usize, 1 => 500..5000usize]
}

fn pick() -> impl Strategy<Value = Pick> {
    let given = (0..12usize, prop_oneof![6 => Just(0i64), 6 => 0..40i64, 1 => -9..300i64, 1 => any::<i64>()]);
    prop_oneof![
        20 => given.prop_map(|(back, distance)| Pick::Given { back, distance }),
        2 => (0..9u64, 0..9u64, 0..70u64).prop_map(|(index, generation, offset)| Pick::Parts { index, generation, offset }),
        1 => (any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(index, generation, offset)| Pick::Parts { index, generation, offset }),
        1 => any::<u64>().prop_map(Pick::Raw),
        1 => Just(Pick::Raw(0)),
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    prop_oneof![8 => Just(Flags::READ_WRITE), 1 => Just(Flags::READ_ONLY), 1 => Just(Flags::WRITE_ONLY)]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    host_size().prop_flat_map(|size| prop::collection::vec(any::<u8>(), size))
}

fn step() -> impl Strategy<Value = Step> {
    let rows = || (pick(), prop_oneof![0..6u64, size()], prop_oneof![0..20u64, size()], prop_oneof![0..40u64, size()]);
    prop_oneof![
        6 => (size(), flags(), any::<Option<u8>>()).prop_map(|(size, flags, init)| Step::Allocate { size, flags, init }),
        2 => (bytes(), flags()).prop_map(|(bytes, flags)| Step::AllocateBytes { bytes, size: None, flags }),
        1 => (bytes(), size(), flags()).prop_map(|(bytes, size, flags)| Step::AllocateBytes { bytes, size: Some(size), flags }),
        6 => pick().prop_map(|at| Step::Free { at }),
        4 => (pick(), host_size()).prop_map(|(at, size)| Step::Load { at, size }),
        6 => (pick(), bytes()).prop_map(|(at, bytes)| Step::Store { at, bytes }),
        3 => (pick(), 0..8u8).prop_map(|(at, kind)| Step::LoadValue { at, kind }),
        3 => (pick(), 0..8u8, any::<u128>()).prop_map(|(at, kind, value)| Step::StoreValue { at, kind, value }),
        4 => (pick(), 0..10u8, any::<i64>(), any::<bool>())
            .prop_map(|(at, op, operand, wide)| Step::Atomic { at, op, operand, wide }),
        2 => (pick(), any::<Option<u32>>(), any::<u32>())
            .prop_map(|(at, expected, new)| Step::CompareExchange { at, expected, new }),
        6 => (pick(), pick(), size()).prop_map(|(to, from, size)| Step::Copy { to, from, size }),
        3 => (pick(), bytes(), size()).prop_map(|(at, pattern, size)| Step::Fill { at, pattern, size }),
        2 => rows().prop_map(|(at, rows, row_bytes, pitch)| Step::LoadRows { at, rows, row_bytes, pitch }),
        2 => rows().prop_map(|(at, rows, row_bytes, pitch)| Step::StoreRows { at, rows, row_bytes, pitch }),
        2 => (pick(), size(), any::<bool>()).prop_map(|(at, size, write)| Step::Check { at, size, write }),
        1 => pick().prop_map(|at| Step::SizeOf { at }),
    ]
}

fn layout() -> impl Strategy<Value = AddressLayout> {
    prop_oneof![
        Just(AddressLayout::GLOBAL),
        Just(AddressLayout::PRIVATE),
        Just(AddressLayout::GLOBAL_UNTAGGED),
        // Few indices and generations: they are used up and start again.
        Just(AddressLayout::tagged(2, 1).unwrap()),
        Just(AddressLayout::tagged(3, 2).unwrap()),
        Just(AddressLayout::untagged(2).unwrap()),
        // Small buffers, up to the last address of their offsets.
        Just(AddressLayout::tagged(8, 50).unwrap()),
        Just(AddressLayout::untagged(32).unwrap()),
        Just(AddressLayout::tagged(32, 31).unwrap()),
    ]
}

fn space() -> impl Strategy<Value = AddressSpace> {
    prop_oneof![
        4 => Just(AddressSpace::Global),
        1 => Just(AddressSpace::Private),
        1 => Just(AddressSpace::Local),
        1 => Just(AddressSpace::Constant),
    ]
}

/// A memory, its oracle, and every address that was ever given.
struct Pair {
    memory: Memory,
    model: Model,
    given: Vec<Address>,
    frees: u64,
}

impl Pair {
    fn address(&self, pick: &Pick) -> Address {
        let layout = self.memory.layout();
        match *pick {
            Pick::Given { back, distance } => {
                let given = self.given.iter().rev().nth(back.min(self.given.len().saturating_sub(1)));
                Address::from_raw(given.map_or(0, |address| address.raw()).wrapping_add_signed(distance))
            }
            Pick::Parts { index, generation, offset } => {
                let index = index % (layout.greatest_index() + 1);
                layout.encode(index, generation % layout.generations(), offset % layout.greatest_buffer()).unwrap()
            }
            Pick::Raw(bits) => Address::from_raw(bits),
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Allocate { size, flags, init } => {
                self.allocate(*size, *flags, init.map_or(Init::Zeroed, Init::Poison));
            }
            Step::AllocateBytes { bytes, size, flags } => {
                self.allocate(size.unwrap_or(bytes.len() as u64), *flags, Init::Bytes(bytes));
            }
            Step::Free { at } => self.free(self.address(at)),
            Step::Load { at, size } => {
                let at = self.address(at);
                let mut found = vec![0xcd; *size];
                let result = self.memory.load(at, &mut found);
                let wanted = self.model.range(at, *size as u64, 1, Access::Read);
                assert_eq!(same(result), same(wanted.as_ref().map(drop).map_err(|fault| *fault)));
                // A refused load leaves the caller's bytes alone.
                assert_eq!(found, wanted.map_or(vec![0xcd; *size], |bytes| bytes.to_vec()));
            }
            Step::Store { at, bytes } => {
                let at = self.address(at);
                let result = self.memory.store(at, bytes);
                let wanted = self.model.range(at, bytes.len() as u64, 1, Access::Write);
                assert_eq!(same(result), same(wanted.map(|range| range.copy_from_slice(bytes))));
            }
            Step::LoadValue { at, kind } => self.load_value(self.address(at), *kind),
            Step::StoreValue { at, kind, value } => self.store_value(self.address(at), *kind, *value),
            Step::Atomic { at, op, operand, wide: true } => self.atomic::<i64>(self.address(at), *op, *operand),
            Step::Atomic { at, op, operand, wide: false } => self.atomic::<i32>(self.address(at), *op, *operand as i32),
            Step::CompareExchange { at, expected, new } => {
                let at = self.address(at);
                // What is there, or something else.
                let there =
                    self.model.range(at, 4, 1, Access::Atomic).map(|bytes| bytemuck::pod_read_unaligned::<u32>(bytes));
                let expected = expected.unwrap_or(there.unwrap_or(0));
                let found = self.memory.compare_exchange(at, expected, *new);
                assert_eq!(found.map_err(no_line), there.map_err(no_line));
                if there == Ok(expected) {
                    let bytes = self.model.range(at, 4, 1, Access::Atomic).unwrap();
                    bytes.copy_from_slice(&new.to_ne_bytes());
                }
            }
            Step::Copy { to, from, size } => {
                let (to, from) = (self.address(to), self.address(from));
                let result = self.memory.copy(to, from, *size);
                let bytes = self.model.range(from, *size, 1, Access::Read).map(|bytes| bytes.to_vec());
                let wanted = bytes.and_then(|bytes| {
                    self.model.range(to, *size, 1, Access::Write).map(|range| range.copy_from_slice(&bytes))
                });
                assert_eq!(same(result), same(wanted));
            }
            Step::Fill { at, pattern, size } => {
                let at = self.address(at);
                let result = self.memory.fill(at, pattern, *size);
                let space = self.memory.space();
                let wanted = self.model.range(at, *size, 1, Access::Write).and_then(|range| {
                    if pattern.is_empty() && *size > 0 {
                        return Err(Fault::WrongSize { space, wanted: 1, found: 0 });
                    }
                    range.iter_mut().zip(pattern.iter().cycle()).for_each(|(byte, of)| *byte = *of);
                    Ok(())
                });
                assert_eq!(same(result), same(wanted));
            }
            Step::LoadRows { at, rows, row_bytes, pitch } => {
                let at = self.address(at);
                let packed = packed(*rows, *row_bytes);
                let mut found = vec![0xcd; packed];
                let result =
                    self.memory.load_rows(at, Rows { count: *rows, bytes: *row_bytes, pitch: *pitch }, &mut found);
                let wanted = self.rows(at, *rows, *row_bytes, *pitch, packed, Access::Read);
                assert_eq!(same(result), same(wanted.as_ref().map(drop).map_err(|fault| *fault)));
                let row = |bytes: &[u8], i: u64| bytes[(i * pitch) as usize..][..*row_bytes as usize].to_vec();
                let rows = |bytes: &mut [u8]| (0..*rows).flat_map(|i| row(bytes, i)).collect();
                assert_eq!(found, wanted.map_or(vec![0xcd; packed], rows));
            }
            Step::StoreRows { at, rows, row_bytes, pitch } => {
                let at = self.address(at);
                let from: Vec<u8> = (0..packed(*rows, *row_bytes)).map(|i| i as u8 ^ 0x5a).collect();
                let result = self.memory.store_rows(at, Rows { count: *rows, bytes: *row_bytes, pitch: *pitch }, &from);
                let wanted = self.rows(at, *rows, *row_bytes, *pitch, from.len(), Access::Write).map(|range| {
                    for i in 0..if *row_bytes == 0 { 0 } else { *rows } {
                        let row = &from[(i * row_bytes) as usize..][..*row_bytes as usize];
                        range[(i * pitch) as usize..][..row.len()].copy_from_slice(row);
                    }
                });
                assert_eq!(same(result), same(wanted));
            }
            Step::Check { at, size, write } => {
                let at = self.address(at);
                let access = if *write { Access::Write } else { Access::Read };
                let wanted = self.model.range(at, *size, 1, access).map(drop);
                assert_eq!(same(self.memory.check(at, *size, access)), same(wanted));
            }
            Step::SizeOf { at } => {
                let at = self.address(at);
                let buffer = self.model.live().find(|(base, _)| {
                    let [base, at] = [*base, at].map(|address| self.memory.layout().decode(address));
                    (base.index, base.generation) == (at.index, at.generation)
                });
                let wanted = buffer.map(|(_, buffer)| buffer.bytes.len() as u64);
                assert_eq!(self.memory.size_of(at).ok(), wanted);
            }
        }
    }

    fn allocate(&mut self, size: u64, flags: Flags, init: Init<'_>) {
        let address = self.memory.allocate(size, flags, init);
        assert_eq!(address, self.model.allocate(size, flags, init));
        self.given.extend(address.ok());
    }

    fn free(&mut self, address: Address) {
        self.frees += 1;
        let result = self.memory.deallocate_labelled(address, self.frees);
        let freed = FreedAt { location: std::panic::Location::caller(), label: self.frees };
        assert_eq!(same(result), same(self.model.deallocate(address, freed)));
    }

    fn rows(
        &mut self,
        at: Address,
        rows: u64,
        row_bytes: u64,
        pitch: u64,
        packed: usize,
        access: Access,
    ) -> Result<&mut [u8], Fault> {
        let span = if rows == 0 { 0 } else { u128::from(rows - 1) * u128::from(pitch) + u128::from(row_bytes) };
        let wanted = u128::from(rows) * u128::from(row_bytes);
        let space = self.memory.space();
        let place = |size| {
            let Err(Fault::Null { place }) =
                Model::new(space, self.memory.layout(), 0).range(Address::NULL, size, 1, access)
            else {
                unreachable!("null is null")
            };
            let parts = self.memory.layout().decode(at);
            rimms_devmem::Place {
                address: at,
                index: parts.index,
                generation: parts.generation,
                offset: parts.offset,
                ..place
            }
        };
        if span > u64::MAX.into() || wanted > u64::MAX.into() {
            return Err(Fault::Overflow { place: place(u64::MAX) });
        }
        if rows > 1 && pitch < row_bytes {
            return Err(Fault::RowsOverlap { place: place(span as u64), row_bytes, pitch });
        }
        if wanted != packed as u128 {
            return Err(Fault::WrongSize { space, wanted: wanted as u64, found: packed as u64 });
        }
        self.model.range(at, span as u64, 1, access)
    }

    fn atomic<T: AtomicInteger + Into<i128>>(&mut self, at: Address, op: u8, operand: T) {
        use AtomicOp::*;
        let op = [Add, Sub, And, Or, Xor, Xchg, Inc, Dec, Min, Max][usize::from(op)];
        let found = self.memory.atomic(at, op, operand);
        let wanted = self.model.range(at, size_of::<T>() as u64, 1, Access::Atomic).map(|bytes| {
            let before: T = bytemuck::pod_read_unaligned(bytes);
            let (a, b): (i128, i128) = (before.into(), operand.into());
            let after = match op {
                Add => a + b,
                Sub => a - b,
                And => a & b,
                Or => a | b,
                Xor => a ^ b,
                Inc => a + 1,
                Dec => a - 1,
                Min => a.min(b),
                Max => a.max(b),
                _ => b,
            };
            // The low bits, as the type has them.
            let size = bytes.len();
            bytes.copy_from_slice(&after.to_le_bytes()[..size]);
            if cfg!(target_endian = "big") {
                bytes.reverse();
            }
            before
        });
        assert_eq!(found.map_err(no_line), wanted.map_err(no_line));
    }

    fn load_value(&mut self, at: Address, kind: u8) {
        macro_rules! load {
            ($type:ty) => {{
                let (size, alignment) = (size_of::<$type>() as u64, align_of::<$type>() as u64);
                let result = self.memory.load_value::<$type>(at);
                let wanted = self.model.range(at, size, alignment, Access::Read);
                assert_eq!(
                    result.map(|value| bytemuck::bytes_of(&value).to_vec()).map_err(no_line),
                    wanted.map(|b| b.to_vec()).map_err(no_line)
                );
            }};
        }
        match kind {
            0 => load!(u8),
            1 => load!(u16),
            2 => load!(f32),
            3 => load!(u64),
            4 => load!([f32; 4]),
            5 => load!(u128),
            6 => load!([u16; 5]),
            _ => load!([u64; 7]),
        }
    }

    fn store_value(&mut self, at: Address, kind: u8, value: u128) {
        macro_rules! store {
            ($type:ty, $value:expr) => {{
                let value: $type = $value;
                let (size, alignment) = (size_of::<$type>() as u64, align_of::<$type>() as u64);
                let result = self.memory.store_value(at, value);
                let wanted = self.model.range(at, size, alignment, Access::Write);
                assert_eq!(same(result), same(wanted.map(|range| range.copy_from_slice(bytemuck::bytes_of(&value)))));
            }};
        }
        match kind {
            0 => store!(u8, value as u8),
            1 => store!(u16, value as u16),
            2 => store!(u32, value as u32),
            3 => store!(u64, value as u64),
            4 => store!([u32; 4], bytemuck::cast(value)),
            5 => store!(u128, value),
            6 => store!([u16; 5], [value as u16; 5]),
            _ => store!([u64; 7], [value as u64; 7]),
        }
    }

    /// Everything that can be asked, and every byte.
    fn compare(&self) {
        let live: Vec<_> = self.model.live().collect();
        assert_eq!(self.memory.live_buffers(), live.len() as u64);
        assert_eq!(self.memory.allocated_bytes(), self.model.allocated_bytes());
        assert_eq!(self.memory.generation_restarts(), self.model.restarts);
        for (address, buffer) in live {
            assert_eq!(self.memory.size_of(address), Ok(buffer.bytes.len() as u64));
            let mut found = vec![0; buffer.bytes.len()];
            if self.memory.check(address, 0, Access::Read).is_ok() {
                self.memory.load(address, &mut found).unwrap();
                assert_eq!(found, buffer.bytes);
            }
        }
    }
}

fn packed(rows: u64, row_bytes: u64) -> usize {
    rows.checked_mul(row_bytes).map_or(0, |bytes| bytes.min(4096)) as usize
}

/// The line that freed a buffer is not compared; its label is.
fn no_line(mut fault: Fault) -> Fault {
    let location = std::panic::Location::caller();
    match &mut fault {
        Fault::Freed { freed: Some(freed), .. } => freed.location = location,
        Fault::BadFree { reason: BadFree::Twice(Some(freed)), .. } => freed.location = location,
        _ => {}
    }
    fault
}

fn same(result: Result<(), Fault>) -> Result<(), Fault> {
    result.map_err(no_line)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_does_what_the_oracle_does(
        space in space(),
        layout in layout(),
        capacity in prop_oneof![Just(1 << 20), 0..2000u64],
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let memory = Memory::with_capacity_limit(space, layout, capacity);
        let mut pair = Pair { memory, model: Model::new(space, layout, capacity), given: Vec::new(), frees: 0 };
        for step in &steps {
            pair.run(step);
        }
        pair.compare();
    }

    #[test]
    fn comings_and_goings_alone(
        layout in layout(),
        choices in prop::collection::vec((any::<bool>(), 0..8usize), 1..600),
    ) {
        let capacity = 64;
        let memory = Memory::with_capacity_limit(AddressSpace::Global, layout, capacity);
        let model = Model::new(AddressSpace::Global, layout, capacity);
        let mut pair = Pair { memory, model, given: Vec::new(), frees: 0 };
        for (allocate, choice) in choices {
            if allocate {
                pair.allocate(choice as u64 % 3, Flags::READ_WRITE, Init::Poison(choice as u8));
            } else {
                pair.free(pair.address(&Pick::Given { back: choice, distance: 0 }));
            }
        }
        pair.compare();
    }
}
