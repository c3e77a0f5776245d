//! Reads of what nobody wrote, and of what somebody did.

use rimms_devmem::{AddressSpace, AtomicOp, Flags, HostBytes, Init, Rows};

use crate::lab::{Access2::*, Case, What, seen, seen_in};

pub(crate) const CASES: &[Case] = &[
    ("global memory", |lab| {
        let a = lab.undefined("a", 16);
        lab.group(1, async |item| item.global().load_value::<u32>(item.global().element::<u32>(a, 1)).map(drop));
        vec![seen(What::Undefined(0, 4), "a", (4, 4, Read), 0)]
    }),
    ("local memory", |lab| {
        lab.group(1, async |item| item.local().load_value::<u32>(item.local_buffer(0)).map(drop));
        vec![seen_in(AddressSpace::Local, What::Undefined(0, 4), "local", (0, 4, Read), 0)]
    }),
    ("private memory", |lab| {
        lab.group(2, async |item| {
            let private = item.private();
            let mine = private.allocate_named("mine", 8, Flags::READ_WRITE, Init::Poison(0))?;
            if item.global_id(0) == 1 {
                private.store_value(mine, 1u64)?;
            }
            private.load_value::<u64>(mine).map(drop)
        });
        vec![seen_in(AddressSpace::Private, What::Undefined(0, 8), "mine", (0, 8, Read), 0)]
    }),
    ("written by the host", |lab| {
        let a = lab.undefined("a", 16);
        lab.host().store(a, &[1; 16]).unwrap();
        lab.group(1, async |item| item.global().load_value::<[u32; 4]>(a).map(drop));
        vec![]
    }),
    ("two half writes by the host", |lab| {
        // The original forgot the first with the second.
        let a = lab.undefined("a", 64);
        lab.host().store(a, &[1; 32]).unwrap();
        lab.host().store(lab.host().element::<u8>(a, 32), &[1; 32]).unwrap();
        lab.group(16, async |item| {
            item.global().load_value::<u32>(item.global().element::<u32>(a, item.global_id(0))).map(drop)
        });
        vec![]
    }),
    ("a partial write by the host", |lab| {
        let a = lab.undefined("a", 16);
        lab.host().store(lab.host().element::<u8>(a, 3), &[1; 7]).unwrap();
        lab.group(1, async |item| {
            item.global().load(item.global().element::<u8>(a, 3), &mut [0; 7])?;
            item.global().load(a, &mut [0; 16])
        });
        vec![seen(What::Undefined(0, 9), "a", (0, 16, Read), 0)]
    }),
    ("rows, and what is between them", |lab| {
        let a = lab.undefined("a", 64);
        let rows = Rows { count: 3, bytes: 4, pitch: 16 };
        lab.host().store_rows(a, rows, &[1; 12]).unwrap();
        lab.group(1, async |item| {
            item.global().load_rows(a, rows, &mut [0; 12])?;
            item.global().load_rows(a, Rows { bytes: 5, ..rows }, &mut [0; 15])
        });
        [0, 16, 32].map(|row| seen(What::Undefined(4, 1), "a", (row, 5, Read), 0)).into()
    }),
    ("partly written in a kernel", |lab| {
        let a = lab.undefined("a", 8);
        lab.group(1, async |item| {
            item.global().store_value(item.global().element::<u8>(a, 2), 1u16)?;
            item.global().load_value::<u32>(a).map(drop)
        });
        vec![seen(What::Undefined(0, 2), "a", (0, 4, Read), 0)]
    }),
    ("a byte missing in the middle", |lab| {
        let a = lab.undefined("a", 8);
        lab.group(1, async |item| {
            item.global().store(a, &[1; 5])?;
            item.global().store(item.global().element::<u8>(a, 6), &[1; 2])?;
            item.global().load_value::<u64>(a).map(drop)
        });
        vec![seen(What::Undefined(5, 1), "a", (0, 8, Read), 0)]
    }),
    ("the parts of a vector, one by one", |lab| {
        let a = lab.undefined("a", 16);
        lab.group(1, async |item| {
            for part in 0..4 {
                item.global().store_value(item.global().element::<f32>(a, part), 1f32)?;
            }
            item.global().load_value::<[f32; 4]>(a).map(drop)
        });
        vec![]
    }),
    ("all parts of a vector but one", |lab| {
        let a = lab.undefined("a", 16);
        lab.group(1, async |item| {
            for part in [0, 1, 3] {
                item.global().store_value(item.global().element::<f32>(a, part), 1f32)?;
            }
            item.global().load_value::<[f32; 4]>(a).map(drop)
        });
        vec![seen(What::Undefined(8, 4), "a", (0, 16, Read), 0)]
    }),
    ("a reused buffer", |lab| {
        // The original kept the bits of the one before.
        let a = lab.undefined("a", 16);
        lab.host().store(a, &[1; 16]).unwrap();
        lab.host().deallocate(a).unwrap();
        let b = lab.undefined("b", 16);
        assert_eq!(lab.host().layout().decode(a).index, lab.host().layout().decode(b).index);
        lab.group(1, async |item| item.global().load_value::<u32>(b).map(drop));
        vec![seen(What::Undefined(0, 4), "b", (0, 4, Read), 0)]
    }),
    ("a defined buffer in an undefined one's slot", |lab| {
        let a = lab.undefined("a", 8);
        lab.group(1, async |item| item.global().store_value(a, 1u32));
        lab.host().deallocate(a).unwrap();
        let b = lab.zeros("b", 64);
        lab.group(1, async |item| item.global().load(b, &mut [0; 64]));
        vec![]
    }),
    ("local memory of the next group", |lab| {
        lab.run(rimms_devmem::NdRange::linear(2, 1).unwrap(), async |item| {
            let local = item.local();
            if item.group_id(0) == 0 {
                local.store_value(item.local_buffer(0), 1u64)?;
            }
            local.load_value::<u64>(item.local_buffer(0)).map(drop)
        });
        vec![seen_in(AddressSpace::Local, What::Undefined(0, 8), "local", (0, 8, Read), 1)]
    }),
    ("a sum on what is undefined", |lab| {
        let a = lab.undefined("a", 8);
        lab.group(3, async |item| item.global().atomic(a, AtomicOp::Add, 1u32).map(drop));
        vec![seen(What::Undefined(0, 4), "a", (0, 4, Atomic), 0)]
    }),
    ("a pattern", |lab| {
        let a = lab.undefined("a", 5000);
        lab.host().fill(a, &[1, 2, 3], 4999).unwrap();
        lab.group(1, async |item| {
            item.global().load(a, &mut [0; 4999])?;
            item.global().load(item.global().element::<u8>(a, 4096), &mut [0; 904])
        });
        vec![seen(What::Undefined(903, 1), "a", (4096, 904, Read), 0)]
    }),
    ("copies carry what is defined", |lab| {
        let [a, b] = [lab.undefined("a", 200), lab.zeros("b", 200)];
        lab.host().store(lab.host().element::<u8>(a, 10), &[1; 100]).unwrap();
        lab.host().copy(lab.host().element::<u8>(b, 3), a, 150).unwrap();
        lab.group(1, async |item| {
            let at = |i| item.global().element::<u8>(b, i);
            item.global().load(at(13), &mut [0; 100])?;
            item.global().load(at(153), &mut [0; 47])?;
            item.global().load(at(0), &mut [0; 16])?;
            item.global().load(at(112), &mut [0; 41])
        });
        vec![seen(What::Undefined(3, 10), "b", (0, 16, Read), 0), seen(What::Undefined(1, 40), "b", (112, 41, Read), 0)]
    }),
    ("copies of defined bytes define", |lab| {
        let [a, b] = [lab.zeros("a", 64), lab.undefined("b", 64)];
        lab.host().copy(lab.host().element::<u8>(b, 1), a, 60).unwrap();
        lab.group(1, async |item| item.global().load(item.global().element::<u8>(b, 1), &mut [0; 60]));
        vec![]
    }),
    ("bits are shared with sub-buffers", |lab| {
        let whole = lab.undefined("whole", 64);
        let part = lab.host().sub_buffer(whole, 16, 16, Flags::READ_WRITE).unwrap();
        lab.device.memory().set_name(part, "part");
        lab.host().store(part, &[1; 8]).unwrap();
        lab.group(1, async |item| {
            item.global().load_value::<u64>(item.global().element::<u8>(whole, 16))?;
            item.global().load_value::<u64>(item.global().element::<u64>(part, 1)).map(drop)
        });
        vec![seen(What::Undefined(0, 8), "part", (8, 8, Read), 0)]
    }),
    ("the host's own bytes", |lab| {
        let bytes = HostBytes::zeroed(16).unwrap();
        let a = lab.host().allocate_host(&bytes, Flags::READ_WRITE).unwrap();
        lab.group(1, async |item| item.global().load(a, &mut [0; 16]));
        vec![]
    }),
    ("declared undefined", |lab| {
        let a = lab.zeros("a", 16);
        lab.host().undefine(lab.host().element::<u8>(a, 4), 8).unwrap();
        lab.group(1, async |item| {
            item.global().load_value::<u32>(a)?;
            item.global().load_value::<u64>(a).map(drop)
        });
        vec![seen(What::Undefined(4, 4), "a", (0, 8, Read), 0)]
    }),
];
