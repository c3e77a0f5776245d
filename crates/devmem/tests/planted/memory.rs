//! Invalid uses, and what looks like them and is right.

use rimms_devmem::{Address, AddressSpace, AtomicOp, Flags, Init};

use crate::lab::{Access2::*, Case, What, seen, seen_in};

pub(crate) const CASES: &[Case] = &[
    ("one past the end", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(5, async |item| {
            let global = item.global();
            global.load_value::<u32>(global.element::<u32>(a, item.global_id(0))).map(drop)
        });
        vec![seen(What::Beyond(4), "a", (16, 4, Read), 4)]
    }),
    ("one byte past the end", |lab| {
        let a = lab.zeros("a", 15);
        lab.group(1, async |item| item.global().store(a, &[0; 16]));
        vec![seen(What::Beyond(1), "a", (0, 16, Write), 0)]
    }),
    ("one before the start", |lab| {
        let _before = lab.zeros("before", 64);
        let a = lab.zeros("a", 16);
        // What C's a[-1] does to an address: the end of another index's range.
        let wild = Address::from_raw(a.raw() - 4);
        lab.group(1, async |item| item.global().store_value(wild, 1u32));
        let layout = lab.host().layout();
        let parts = layout.decode(wild);
        assert_eq!((parts.index, parts.generation), (1, 255));
        vec![seen(What::Never, "", (layout.greatest_buffer() - 4, 4, Write), 0)]
    }),
    ("all inside", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(4, async |item| {
            let global = item.global();
            global.store_value(global.element::<u32>(a, item.global_id(0)), 1u32)
        });
        vec![]
    }),
    ("an atomic past the end is found once", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| {
            item.global().atomic(item.global().element::<u32>(a, 4), AtomicOp::Add, 1u32).map(drop)
        });
        vec![seen(What::Beyond(4), "a", (16, 4, Atomic), 0)]
    }),
    ("offset and size that wrap", |lab| {
        let [a, b] = [lab.zeros("a", 64), lab.zeros("b", 64)];
        lab.group(1, async |item| {
            let global = item.global();
            global.copy(b, global.element::<u8>(a, 16), u64::MAX - 7)
        });
        vec![seen(What::Overflow, "a", (16, u64::MAX - 7, Read), 0)]
    }),
    ("a null address", |lab| {
        lab.group(1, async |item| item.global().load_value::<u8>(Address::NULL).map(drop));
        vec![seen(What::Null, "", (0, 1, Read), 0)]
    }),
    ("a foreign address", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.global().load_value::<u32>(Address::from_raw(a.raw() + (7 << 48))).map(drop));
        vec![seen(What::Never, "", (0, 4, Read), 0)]
    }),
    ("a freed buffer", |lab| {
        let a = lab.zeros("a", 16);
        lab.host().deallocate(a).unwrap();
        lab.group(1, async |item| item.global().load_value::<u32>(a).map(drop));
        vec![seen(What::Freed, "a", (0, 4, Read), 0)]
    }),
    ("a stale address into a recycled slot", |lab| {
        let a = lab.zeros("a", 16);
        lab.host().deallocate(a).unwrap();
        let b = lab.zeros("b", 16);
        let layout = lab.host().layout();
        assert_eq!(layout.decode(a).index, layout.decode(b).index);
        lab.group(1, async |item| item.global().store_value(a, 1u64));
        vec![seen(What::Freed, "a", (0, 8, Write), 0)]
    }),
    ("private memory after its end", |lab| {
        lab.group(1, async |item| {
            let private = item.private();
            let mine = private.allocate_named("mine", 4, Flags::READ_WRITE, Init::Zeroed)?;
            private.deallocate(mine)?;
            private.load_value::<u32>(mine).map(drop)
        });
        vec![seen_in(AddressSpace::Private, What::Freed, "mine", (0, 4, Read), 0)]
    }),
    ("another function's local of the same slot", |lab| {
        lab.group(1, async |item| {
            let private = item.private();
            let mine = private.allocate_named("callee", 4, Flags::READ_WRITE, Init::Zeroed)?;
            private.deallocate(mine)?;
            private.allocate_named("other", 4, Flags::READ_WRITE, Init::Zeroed)?;
            private.load_value::<u32>(mine).map(drop)
        });
        vec![seen_in(AddressSpace::Private, What::Freed, "callee", (0, 4, Read), 0)]
    }),
    ("a local address in global memory", |lab| {
        lab.zeros("a", 16);
        lab.group(1, async |item| {
            let local = item.local();
            // Buffer 2 of local memory; global memory has one buffer.
            let mine = local.allocate_named("second", 4, Flags::READ_WRITE, Init::Zeroed)?;
            item.global().load_value::<u32>(mine).map(drop)
        });
        vec![seen(What::Never, "", (0, 4, Read), 0)]
    }),
    ("a global address in private memory", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.private().store_value(a, 1u32));
        // Index 16 of the private layout, which begins at bit 44.
        vec![seen_in(AddressSpace::Private, What::Never, "", (0, 4, Write), 0)]
    }),
    ("a store to a read-only buffer", |lab| {
        let a = lab.host().allocate_named("a", 16, Flags::READ_ONLY, Init::Zeroed).unwrap();
        lab.group(1, async |item| {
            item.global().load_value::<u32>(a)?;
            item.global().store_value(a, 1u32)
        });
        vec![seen(What::ReadOnly, "a", (0, 4, Write), 0)]
    }),
    ("a load from a write-only buffer", |lab| {
        let a = lab.host().allocate_named("a", 16, Flags::WRITE_ONLY, Init::Zeroed).unwrap();
        lab.group(1, async |item| {
            item.global().store_value(a, 1u32)?;
            item.global().load_value::<u32>(a).map(drop)
        });
        vec![seen(What::WriteOnly, "a", (0, 4, Read), 0)]
    }),
    ("a compare-and-exchange that fails on a read-only buffer", |lab| {
        let a = lab.host().allocate_named("a", 16, Flags::READ_ONLY, Init::Zeroed).unwrap();
        lab.group(1, async |item| item.global().compare_exchange(a, 5u32, 6).map(drop));
        vec![seen(What::ReadOnly, "a", (0, 4, Atomic), 0)]
    }),
    ("a store to constant memory", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| {
            item.constant().load_value::<u32>(a)?;
            item.constant().store_value(a, 1u32)
        });
        vec![seen_in(AddressSpace::Constant, What::ReadOnly, "a", (0, 4, Write), 0)]
    }),
    ("past the end of a sub-buffer", |lab| {
        let whole = lab.zeros("whole", 464);
        let part = lab.host().sub_buffer(whole, 64, 64, Flags::READ_ONLY).unwrap();
        lab.device.memory().set_name(part, "part");
        // 400 bytes past the start of 64, and inside the whole.
        lab.group(1, async |item| item.global().load_value::<u32>(item.global().element::<u8>(part, 396)).map(drop));
        vec![seen(What::Beyond(336), "part", (396, 4, Read), 0)]
    }),
    ("a store to a read-only sub-buffer", |lab| {
        let whole = lab.zeros("whole", 64);
        let part = lab.host().sub_buffer(whole, 16, 16, Flags::READ_ONLY).unwrap();
        lab.device.memory().set_name(part, "part");
        lab.group(1, async |item| {
            item.global().store_value(item.global().element::<u8>(whole, 16), 1u32)?;
            item.global().store_value(part, 1u32)
        });
        vec![seen(What::ReadOnly, "part", (0, 4, Write), 0)]
    }),
    ("a misaligned load", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.global().load_value::<u64>(item.global().element::<u32>(a, 1)).map(drop));
        vec![seen(What::Misaligned(8), "a", (4, 8, Read), 0)]
    }),
    ("a misaligned store", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.global().store_value(item.global().element::<u8>(a, 1), 1u16));
        vec![seen(What::Misaligned(2), "a", (1, 2, Write), 0)]
    }),
    ("a misaligned atomic is done and told of", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| {
            item.global().atomic(item.global().element::<u8>(a, 2), AtomicOp::Add, 0x0101u32).map(drop)
        });
        assert_eq!(lab.host().load_value::<u64>(a), Ok(0x0101 << 16));
        vec![seen(What::MisalignedAtomic, "a", (2, 4, Atomic), 0)]
    }),
    ("bytes at any offset", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.global().store(item.global().element::<u8>(a, 1), &[1; 9]));
        vec![]
    }),
    ("a store into a mapped region", |lab| {
        let a = lab.zeros("a", 64);
        lab.host().map(a, 32, 16, Flags::READ_WRITE).unwrap();
        lab.group(16, async |item| {
            let global = item.global();
            global.store_value(global.element::<u32>(a, item.global_id(0)), 1u32)
        });
        (8..12).map(|i| seen(What::Mapped(32, 16), "a", (4 * i, 4, Write), i)).collect()
    }),
    ("next to a mapped region", |lab| {
        // The original ignored the region's offset, and took the byte behind it for a part.
        let a = lab.zeros("a", 64);
        lab.host().map(a, 32, 16, Flags::READ_WRITE).unwrap();
        lab.group(1, async |item| {
            item.global().store(a, &[1; 32])?;
            item.global().store(item.global().element::<u8>(a, 48), &[1; 16])
        });
        vec![]
    }),
    ("a load from what is mapped for writing", |lab| {
        let a = lab.zeros("a", 64);
        lab.host().map(a, 4, 4, Flags::WRITE_ONLY).unwrap();
        lab.group(1, async |item| item.global().load_value::<u64>(a).map(drop));
        vec![seen(What::Mapped(4, 4), "a", (0, 8, Read), 0)]
    }),
    ("a load from what is mapped for reading", |lab| {
        let a = lab.zeros("a", 64);
        lab.host().map(a, 4, 4, Flags::READ_ONLY).unwrap();
        lab.group(1, async |item| item.global().load_value::<u64>(a).map(drop));
        vec![]
    }),
    ("after a region is unmapped", |lab| {
        let a = lab.zeros("a", 64);
        let mapping = lab.host().map(a, 0, 64, Flags::READ_WRITE).unwrap();
        lab.host().unmap(&mapping).unwrap();
        lab.group(1, async |item| item.global().store_value(a, 1u64));
        vec![]
    }),
    ("a region of the whole met through a sub-buffer", |lab| {
        let whole = lab.zeros("whole", 64);
        let part = lab.host().sub_buffer(whole, 32, 32, Flags::READ_WRITE).unwrap();
        lab.device.memory().set_name(part, "part");
        lab.host().map(whole, 40, 8, Flags::READ_WRITE).unwrap();
        lab.group(1, async |item| {
            item.global().store_value(part, 1u64)?;
            item.global().store_value(item.global().element::<u64>(part, 1), 1u64)
        });
        vec![seen(What::Mapped(40, 8), "part", (8, 8, Write), 0)]
    }),
    ("freed twice", |lab| {
        lab.group(1, async |item| {
            let local = item.local();
            let mine = local.allocate_named("mine", 4, Flags::READ_WRITE, Init::Zeroed)?;
            local.deallocate(mine)?;
            local.deallocate(mine)
        });
        vec![seen_in(AddressSpace::Local, What::FreedTwice, "mine", (0, 0, Write), 0)]
    }),
    ("freed in the middle", |lab| {
        let a = lab.zeros("a", 16);
        lab.group(1, async |item| item.global().deallocate(item.global().element::<u32>(a, 1)));
        vec![seen(What::FreedInside, "a", (4, 0, Write), 0)]
    }),
    ("freed while mapped", |lab| {
        let a = lab.zeros("a", 16);
        lab.host().map(a, 0, 16, Flags::READ_ONLY).unwrap();
        lab.group(1, async |item| item.global().deallocate(a));
        vec![seen(What::FreedHeld, "a", (0, 0, Write), 0)]
    }),
];
