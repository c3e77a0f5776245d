//! Data races, and what is ordered.

use rimms_devmem::{AddressSpace, AtomicOp, FloatOp, NdRange, Rows};

use crate::lab::{Access2::*, Case, Group::*, What, seen, seen_in};

fn range(global: [u64; 3], local: [u32; 3]) -> NdRange {
    NdRange::new(global, local).unwrap()
}

fn race(access: crate::lab::Access2, other: u64, group: crate::lab::Group) -> What {
    What::Race(access, [other, 0, 0], group)
}

pub(crate) const CASES: &[Case] = &[
    ("two writes in a group", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(2, async |item| item.global().store_value(a, item.global_id(0) as u32));
        vec![seen(race(Write, 0, Same), "a", (0, 4, Write), 1)]
    }),
    ("a write and a read in a group", |lab| {
        let a = lab.zeros("a", 32);
        lab.group(8, async |item| {
            let (global, me) = (item.global(), item.global_id(0));
            global.store_value(global.element::<u32>(a, me), 1u32)?;
            global.load_value::<u32>(global.element::<u32>(a, me.saturating_sub(1))).map(drop)
        });
        (1..8).map(|me| seen(race(Write, me - 1, Same), "a", (4 * (me - 1), 4, Read), me)).collect()
    }),
    ("columns of two items, by rows", |lab| {
        let a = lab.zeros("a", 64);
        lab.group(2, async |item| {
            let (global, me) = (item.global(), item.global_id(0));
            let rows = Rows { count: 4, bytes: 8, pitch: 16 };
            global.store_rows(global.element::<u64>(a, me), rows, &[1; 32])?;
            // The last row reaches into the other's column.
            let late = Rows { count: 1, bytes: 12, pitch: 0 };
            if me == 0 { global.load_rows(global.element::<u64>(a, 6), late, &mut [0; 12]) } else { Ok(()) }
        });
        vec![seen(race(Read, 0, Same), "a", (56, 8, Write), 1)]
    }),
    ("a read before the write", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().load_value::<u32>(a).map(drop),
            _ => item.global().store_value(a, 1u32),
        });
        vec![seen(race(Read, 0, Same), "a", (0, 4, Write), 1)]
    }),
    ("a write after many reads", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(4, async |item| match item.global_id(0) {
            3 => item.global().store_value(a, 1u32),
            _ => item.global().load_value::<u32>(a).map(drop),
        });
        vec![seen(race(Read, 0, Same), "a", (0, 4, Write), 3)]
    }),
    ("many reads", |lab| {
        let a = lab.zeros("a", 4);
        lab.run(range([64, 1, 1], [8, 1, 1]), async |item| item.global().load_value::<u32>(a).map(drop));
        vec![]
    }),
    ("the same item, over and over", |lab| {
        let a = lab.zeros("a", 32);
        lab.group(8, async |item| {
            let at = item.global().element::<u32>(a, item.global_id(0));
            for _ in 0..5 {
                item.global().store_value(at, item.global().load_value::<u32>(at)? + 1)?;
                item.global().atomic(at, AtomicOp::Add, 1u32)?;
            }
            Ok(())
        });
        vec![]
    }),
    ("separated by a barrier", |lab| {
        let a = lab.zeros("a", 32);
        lab.group(8, async |item| {
            let (global, me) = (item.global(), item.global_id(0));
            global.store_value(global.element::<u32>(a, me), 1u32)?;
            item.barrier().await;
            global.load_value::<u32>(global.element::<u32>(a, 7 - me))?;
            item.barrier().await;
            global.store_value(global.element::<u32>(a, (me + 1) % 8), 1u32)
        });
        vec![]
    }),
    ("after a barrier", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(2, async |item| {
            item.barrier().await;
            item.global().store_value(a, item.global_id(0) as u32)
        });
        vec![seen(race(Write, 0, Same), "a", (0, 4, Write), 1)]
    }),
    ("a barrier orders one group only", |lab| {
        let a = lab.zeros("a", 8);
        lab.run(range([4, 1, 1], [2, 1, 1]), async |item| {
            if item.group_id(0) == 0 {
                item.global().store_value(a, 1u32)?;
            }
            item.barrier().await;
            if item.global_id(0) == 2 {
                item.global().load_value::<u32>(a)?;
            }
            Ok(())
        });
        // Both items of the first group write; and after that nothing more is told of the word.
        vec![seen(race(Write, 0, Same), "a", (0, 4, Write), 1)]
    }),
    ("a write in one group, a read in another", |lab| {
        let a = lab.zeros("a", 8);
        lab.run(range([4, 1, 1], [2, 1, 1]), async |item| {
            if item.global_id(0) == 0 {
                item.global().store_value(a, 1u32)?;
            }
            item.barrier().await;
            if item.global_id(0) == 3 {
                item.global().load_value::<u32>(a)?;
            }
            Ok(())
        });
        vec![seen(race(Write, 0, Other), "a", (0, 4, Read), 3)]
    }),
    ("with what a group did before its last barrier", |lab| {
        let a = lab.zeros("a", 4);
        lab.run(range([4, 1, 1], [2, 1, 1]), async |item| {
            if item.global_id(0) == 0 {
                item.global().store_value(a, 1u32)?;
            }
            item.barrier().await;
            if item.global_id(0) > 0 {
                item.global().load_value::<u32>(a)?;
            }
            Ok(())
        });
        vec![seen(What::RaceWithGroup(Write, [0, 0, 0]), "a", (0, 4, Read), 2)]
    }),
    ("reads of many groups, then a write", |lab| {
        let a = lab.zeros("a", 4);
        lab.run(range([12, 1, 1], [2, 1, 1]), async |item| match item.global_id(0) {
            11 => item.global().store_value(a, 1u32),
            _ => item.global().load_value::<u32>(a).map(drop),
        });
        vec![seen(race(Read, 0, Other), "a", (0, 4, Write), 11)]
    }),
    ("one element too many, in one dimension", |lab| {
        let a = lab.zeros("a", 4 * 17);
        lab.run(range([16, 1, 1], [4, 1, 1]), async |item| {
            let (global, me) = (item.global(), item.global_id(0));
            global.store_value(global.element::<u32>(a, me), 1u32)?;
            if item.local_id(0) == 3 {
                global.store_value(global.element::<u32>(a, me + 1), 2u32)?;
            }
            Ok(())
        });
        (4..16).step_by(4).map(|me| seen(race(Write, me - 1, Other), "a", (4 * me, 4, Write), me)).collect()
    }),
    ("neighbouring tiles in two dimensions", |lab| {
        let a = lab.zeros("a", 4 * 16);
        // Items of the last row of a tile write the first row of the next one, too.
        lab.run(range([4, 4, 1], [2, 2, 1]), async |item| {
            let (global, x, y) = (item.global(), item.global_id(0), item.global_id(1));
            global.store_value(global.element::<u32>(a, x + 4 * y), 1u32)?;
            if y == 1 && x == 2 {
                global.store_value(global.element::<u32>(a, x + 4 * 2), 2u32)?;
            }
            Ok(())
        });
        let what = What::Race(Write, [2, 1, 0], Other);
        vec![crate::lab::Seen { by: Some([2, 2, 0]), ..seen(what, "a", (4 * 10, 4, Write), 0) }]
    }),
    ("neighbouring blocks in three dimensions", |lab| {
        let a = lab.zeros("a", 4 * 64);
        lab.run(range([4, 4, 4], [2, 2, 2]), async |item| {
            let (global, [x, y, z]) = (item.global(), item.id().global_id());
            global.store_value(global.element::<u32>(a, x + 4 * y + 16 * z), 1u32)?;
            if [x, y, z] == [1, 2, 1] {
                global.store_value(global.element::<u32>(a, 1 + 4 * 2 + 16 * 2), 2u32)?;
            }
            Ok(())
        });
        let what = What::Race(Write, [1, 2, 1], Other);
        vec![crate::lab::Seen { by: Some([1, 2, 2]), ..seen(what, "a", (4 * 41, 4, Write), 0) }]
    }),
    ("each its own in three dimensions", |lab| {
        let a = lab.zeros("a", 4 * 64);
        lab.run(range([4, 4, 4], [2, 1, 4]), async |item| {
            let (global, [x, y, z]) = (item.global(), item.id().global_id());
            global.store_value(global.element::<u32>(a, z + 4 * y + 16 * x), 1u32)
        });
        vec![]
    }),
    ("sums by atomic operations", |lab| {
        let a = lab.zeros("a", 8);
        lab.run(range([64, 1, 1], [8, 1, 1]), async |item| {
            item.global().atomic(a, AtomicOp::Add, 1u32)?;
            item.barrier().await;
            item.global().atomic(item.global().element::<f32>(a, 1), FloatOp::Add, 1f32).map(drop)
        });
        vec![]
    }),
    ("an atomic against a plain read", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().atomic(a, AtomicOp::Inc, 0u32).map(drop),
            _ => item.global().load_value::<u32>(a).map(drop),
        });
        vec![seen(race(Atomic, 0, Same), "a", (0, 4, Read), 1)]
    }),
    ("a plain write against an atomic", |lab| {
        let a = lab.zeros("a", 4);
        lab.run(range([2, 1, 1], [1, 1, 1]), async |item| match item.global_id(0) {
            0 => item.global().store_value(a, 9u32),
            _ => item.global().atomic(a, AtomicOp::Inc, 0u32).map(drop),
        });
        vec![seen(race(Write, 0, Other), "a", (0, 4, Atomic), 1)]
    }),
    ("a plain read after the barrier behind atomics", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(8, async |item| {
            item.global().atomic(a, AtomicOp::Inc, 0u32)?;
            item.barrier().await;
            assert_eq!(item.global().load_value::<u32>(a)?, 8);
            Ok(())
        });
        vec![]
    }),
    ("atomics of two sizes", |lab| {
        let a = lab.zeros("a", 8);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().atomic(a, AtomicOp::Inc, 0u64).map(drop),
            _ => item.global().atomic(item.global().element::<u32>(a, 1), AtomicOp::Inc, 0u32).map(drop),
        });
        vec![seen(What::Mixed([0, 0, 0]), "a", (4, 4, Atomic), 1)]
    }),
    ("atomics of two sizes, a barrier in between", |lab| {
        let a = lab.zeros("a", 8);
        lab.group(2, async |item| {
            item.global().atomic(a, AtomicOp::Inc, 0u64)?;
            item.barrier().await;
            item.global().atomic(a, AtomicOp::Inc, 0u32).map(drop)
        });
        vec![]
    }),
    ("bytes of one word, each its own", |lab| {
        let a = lab.zeros("a", 64);
        lab.run(range([64, 1, 1], [8, 1, 1]), async |item| {
            item.global().store_value(item.global().element::<u8>(a, item.global_id(0)), 1u8)
        });
        vec![]
    }),
    ("one byte of a word by two", |lab| {
        let a = lab.zeros("a", 8);
        lab.run(range([4, 1, 1], [2, 1, 1]), async |item| {
            let byte = [0, 1, 2, 1][item.global_id(0) as usize];
            item.global().store_value(item.global().element::<u8>(a, byte), 1u8)
        });
        vec![seen(race(Write, 1, Other), "a", (1, 1, Write), 3)]
    }),
    ("a word over another's byte", |lab| {
        let a = lab.zeros("a", 8);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().store_value(item.global().element::<u8>(a, 3), 1u8),
            _ => item.global().store_value(a, [7u32; 2]),
        });
        vec![seen(race(Write, 0, Same), "a", (0, 8, Write), 1)]
    }),
    ("a byte under another's word", |lab| {
        let a = lab.zeros("a", 8);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().store_value(a, 7u32),
            _ => item.global().load_value::<u8>(item.global().element::<u8>(a, 3)).map(drop),
        });
        vec![seen(race(Write, 0, Same), "a", (3, 1, Read), 1)]
    }),
    ("vectors that overlap", |lab| {
        let a = lab.zeros("a", 32);
        lab.group(2, async |item| {
            let at = item.global().element::<[u32; 3]>(a, item.global_id(0));
            item.global().store_value(at, [1u32; 4])
        });
        vec![seen(race(Write, 0, Same), "a", (12, 16, Write), 1)]
    }),
    ("local memory", |lab| {
        lab.group(4, async |item| {
            let local = item.local();
            local.store_value(local.element::<u32>(item.local_buffer(0), item.local_id(0) / 2), item.local_id(0) as u32)
        });
        let at = |word: u64, me: u64| {
            seen_in(AddressSpace::Local, race(Write, me - 1, Same), "local", (4 * word, 4, Write), me)
        };
        vec![at(0, 1), at(1, 3)]
    }),
    ("local memory of several groups", |lab| {
        lab.run(range([32, 1, 1], [4, 1, 1]), async |item| {
            let local = item.local();
            let at = |i| local.element::<u32>(item.local_buffer(0), i);
            local.store_value(at(item.local_id(0)), 1u32)?;
            item.barrier().await;
            local.load_value::<u32>(at(3 - item.local_id(0))).map(drop)
        });
        vec![]
    }),
    ("a missing barrier in a reduction", |lab| {
        lab.group(4, async |item| {
            let (local, me) = (item.local(), item.local_id(0));
            let at = |i| local.element::<u32>(item.local_buffer(0), i);
            local.store_value(at(me), me as u32)?;
            item.barrier().await;
            for half in [2, 1] {
                if me < half {
                    local.store_value(
                        at(me),
                        local.load_value::<u32>(at(me))? + local.load_value::<u32>(at(me + half))?,
                    )?;
                }
            }
            Ok(())
        });
        // Item 0 reads element 1 with half = 1, which item 1 then writes with half = 2.
        vec![seen_in(AddressSpace::Local, race(Read, 0, Same), "local", (4, 4, Write), 1)]
    }),
    ("the same bytes through a sub-buffer", |lab| {
        let whole = lab.zeros("whole", 64);
        let part = lab.host().sub_buffer(whole, 16, 16, rimms_devmem::Flags::READ_WRITE).unwrap();
        lab.device.memory().set_name(part, "part");
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().store_value(item.global().element::<u32>(whole, 5), 1u32),
            _ => item.global().store_value(item.global().element::<u32>(part, 1), 1u32),
        });
        vec![seen(race(Write, 0, Same), "part", (4, 4, Write), 1)]
    }),
    ("constant memory read, global written", |lab| {
        let a = lab.zeros("a", 4);
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().store_value(a, 1u32),
            _ => item.constant().load_value::<u32>(a).map(drop),
        });
        vec![seen_in(AddressSpace::Constant, race(Write, 0, Same), "a", (0, 4, Read), 1)]
    }),
    ("one launch after the other", |lab| {
        let a = lab.zeros("a", 4);
        for _ in 0..3 {
            lab.run(range([1, 1, 1], [1, 1, 1]), async |item| item.global().store_value(a, 1u32));
        }
        vec![]
    }),
    ("a copy against a write", |lab| {
        let [a, b] = [lab.zeros("a", 64), lab.zeros("b", 64)];
        lab.group(2, async |item| match item.global_id(0) {
            0 => item.global().copy(b, a, 32),
            _ => item.global().store_value(item.global().element::<u32>(b, 7), 1u32),
        });
        vec![seen(race(Write, 0, Same), "b", (28, 4, Write), 1)]
    }),
    ("private memory never races", |lab| {
        lab.group(4, async |item| {
            let private = item.private();
            let mine = private.allocate(8, rimms_devmem::Flags::READ_WRITE, rimms_devmem::Init::Zeroed)?;
            private.store_value(mine, 1u64)
        });
        vec![]
    }),
];
