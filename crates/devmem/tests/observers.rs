//! One event for each use, with its outcome, after it was judged and done.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroUsize;

use parking_lot::Mutex;
use rimms_devmem::observe::{Allocated, At, Atomic, Contents, Data, Event, Observer, Stored};
use rimms_devmem::{
    Address, AtomicOp, Device, Divergence, Fault, Flags, FloatOp, Group, HostBytes, Init, Kernel, Launch, Mapping,
    Memory, NdRange, Rows, Who, WorkItem,
};

/// Writes down every event.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn write(&self, line: String) {
        self.0.lock().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

fn who(who: Who<'_>) -> String {
    match who {
        Who::Host => "host".into(),
        Who::Item(item) => format!("item {}", item.number()),
    }
}

fn event(event: &Event<'_>) -> String {
    let Event { space, address, size, .. } = event;
    let parts = event.memory.layout().decode(*address);
    let outcome = match event.outcome {
        Ok(root) if root == *address => "ok".into(),
        Ok(root) => format!("ok at {root}"),
        Err(fault) => format!("{fault:?}").split([' ', '{']).next().unwrap().to_owned(),
    };
    format!("{} {space} {}+{} {size} {outcome}", who(event.who), parts.index, parts.offset)
}

impl Observer for Recorder {
    type OfMemory = ();
    type OfLaunch = u64;

    const COMPARES_STORES: bool = true;

    fn attach(&self, memory: &Memory) {
        self.write(format!("attach {}", memory.space()));
    }
    fn kernel_begin(&self, kernel: &Kernel) -> u64 {
        self.write(format!("begin {} {}", kernel.name(), kernel.launch()));
        kernel.launch()
    }
    fn kernel_end(&self, kernel: &Kernel, launch: u64) {
        self.write(format!("end {} {launch}", kernel.name()));
    }
    fn allocated(&self, _: At<'_, Self>, buffer: &Allocated<'_>) {
        let Allocated { address, size, flags, contents, .. } = buffer;
        let contents = match contents {
            Contents::Own(init) => format!("{init:?}"),
            Contents::Host(bytes) => format!("{bytes:?}"),
            Contents::Part(root) => format!("part from {root}"),
        };
        self.write(format!("allocated {address} {size} {} {contents}", if flags.writable() { "rw" } else { "r" }));
    }
    fn deallocated(&self, _: At<'_, Self>, by: Who<'_>, _: &Memory, address: Address) {
        self.write(format!("{} freed {address}", who(by)));
    }
    fn refused(&self, _: At<'_, Self>, by: Who<'_>, _: &Memory, fault: &Fault) {
        self.write(format!("{} refused: {fault}", who(by)));
    }
    fn load(&self, at: At<'_, Self>, load: &Event<'_>) {
        assert_eq!(at.launch.is_some(), matches!(load.who, Who::Item(_)));
        self.write(format!("load {}", event(load)));
    }
    fn store(&self, _: At<'_, Self>, store: &Event<'_>, stored: Stored<'_>) {
        let data = match stored.data {
            Data::Bytes(bytes) => format!("{bytes:?}"),
            Data::Pattern(pattern) => format!("{pattern:?}*"),
            Data::Copy => "copy".into(),
        };
        self.write(format!("store {} {data}{}", event(store), if stored.changes { "" } else { " same" }));
    }
    fn atomic(&self, _: At<'_, Self>, access: &Event<'_>, atomic: Atomic) {
        let Atomic { op, stored, aligned } = atomic;
        let marks = [(!stored, " not stored"), (!aligned, " misaligned")];
        let marks: String = marks.iter().filter(|(set, _)| *set).map(|(_, mark)| *mark).collect();
        self.write(format!("atomic {op} {}{marks}", event(access)));
    }
    fn mapped(&self, _: At<'_, Self>, _: Who<'_>, _: &Memory, mapping: &Mapping) {
        self.write(format!("mapped {}+{}", mapping.offset(), mapping.size()));
    }
    fn unmapped(&self, _: At<'_, Self>, _: Who<'_>, _: &Memory, mapping: &Mapping) {
        self.write(format!("unmapped {}+{}", mapping.offset(), mapping.size()));
    }
    fn group_begin(&self, _: &u64, group: &Group<'_>) {
        self.write(format!("group {}", group.number()));
    }
    fn group_end(&self, _: &u64, group: &Group<'_>) {
        self.write(format!("group {} end", group.number()));
    }
    fn item_begin(&self, _: &u64, item: WorkItem<'_>) {
        self.write(format!("item {}", item.number()));
    }
    fn item_end(&self, _: &u64, item: WorkItem<'_>) {
        self.write(format!("item {} end", item.number()));
    }
    fn barrier(&self, _: &u64, group: &Group<'_>) {
        self.write(format!("barrier {}", group.epoch()));
    }
    fn diverged(&self, _: &u64, _: &Group<'_>, divergence: &Divergence) {
        self.write(format!("diverged {}/{}", divergence.waiting.len(), divergence.ended.len()));
    }
}

fn device() -> Device<Recorder> {
    let device = Device::with_observer(Recorder::default()).workers(NonZeroUsize::MIN);
    assert_eq!(device.observer().take(), ["attach global"]);
    device
}

#[test]
fn each_use_by_the_host_is_one_event() {
    let device = device();
    let host = device.host();
    let a = host.allocate(8, Flags::READ_WRITE, Init::Bytes(&[0, 0, 0, 0, 0, 0, 0, 1])).unwrap();
    host.load(a, &mut [0; 3]).unwrap();
    host.load_value::<u32>(a).unwrap();
    host.store(a, &[1, 2]).unwrap();
    host.store_value(a, 0x0201u16.to_le()).unwrap();
    host.store_value(a, [1u8; 4]).unwrap();
    host.fill(a, &[7, 8], 3).unwrap();
    host.atomic(a, FloatOp::Add, 0f32).unwrap();
    host.compare_exchange(a, 9u64, 1).unwrap();
    let found = host.load_value::<u64>(a).unwrap();
    host.compare_exchange(a, found, 1).unwrap();
    host.copy(host.layout().add(a, 4).unwrap(), a, 2).unwrap();
    let part = host.sub_buffer(a, 0, 4, Flags::READ_ONLY).unwrap();
    host.load_value::<u8>(part).unwrap();
    let mapping = host.map(a, 4, 4, Flags::READ_WRITE).unwrap();
    host.load_mapped(&mapping, 1, &mut [0]).unwrap();
    host.store_mapped(&mapping, 2, &[9]).unwrap();
    host.unmap(&mapping).unwrap();
    let bytes = HostBytes::zeroed(4).unwrap();
    let shared = host.allocate_host(&bytes, Flags::READ_WRITE).unwrap();
    host.deallocate(shared).unwrap();
    let wanted = [
        "allocated 0x0001_0000_0000_0000 8 rw Bytes([0, 0, 0, 0, 0, 0, 0, 1])",
        "load host global 1+0 3 ok",
        "load host global 1+0 4 ok",
        "store host global 1+0 2 ok [1, 2]",
        "store host global 1+0 2 ok [1, 2] same",
        "store host global 1+0 4 ok [1, 1, 1, 1]",
        "store host global 1+0 3 ok [7, 8]*",
        "atomic add host global 1+0 4 ok",
        "atomic compare-exchange host global 1+0 8 ok not stored",
        "load host global 1+0 8 ok",
        "atomic compare-exchange host global 1+0 8 ok",
        "load host global 1+0 2 ok",
        "store host global 1+4 2 ok copy",
        "allocated 0x0002_0000_0000_0000 4 r part from 0x0001_0000_0000_0000",
        "load host global 2+0 1 ok at 0x0001_0000_0000_0000",
        "mapped 4+4",
        "load host global 1+5 1 ok",
        "store host global 1+6 1 ok [9]",
        "unmapped 4+4",
        "allocated 0x0003_0000_0000_0000 4 rw HostBytes(4)",
        "host freed 0x0003_0000_0000_0000",
    ];
    assert_eq!(device.observer().take(), wanted);
}

/// Writes down rows as one event, and leaves their parts to nobody.
#[derive(Default)]
struct OfRows(Mutex<Vec<String>>);

impl Observer for OfRows {
    type OfMemory = ();
    type OfLaunch = ();

    fn attach(&self, _: &Memory) {}
    fn kernel_begin(&self, _: &Kernel) {}
    fn load_rows(&self, _: At<'_, Self>, load: &Event<'_>, rows: Rows) {
        self.0.lock().push(format!("load {} {rows:?}", event(load)));
    }
    fn store_rows(&self, _: At<'_, Self>, store: &Event<'_>, rows: Rows, stored: Stored<'_>) {
        self.0.lock().push(format!("store {} {rows:?} {:?}", event(store), stored.data));
    }
    fn load(&self, _: At<'_, Self>, _: &Event<'_>) {
        panic!("rows are one event");
    }
}

#[test]
fn rows_are_one_event_or_one_for_each() {
    let device = Device::with_observer((Recorder::default(), OfRows::default())).workers(NonZeroUsize::MIN);
    let host = device.host();
    let whole = host.allocate(64, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let tile = host.sub_buffer(whole, 16, 32, Flags::READ_WRITE).unwrap();
    device.observer().0.take();
    let rows = Rows { count: 3, bytes: 2, pitch: 8 };
    host.store_rows(tile, rows, &[1, 2, 3, 4, 5, 6]).unwrap();
    host.store_rows(tile, rows, &[1, 2, 3, 4, 5, 6]).unwrap();
    let mut packed = [0; 6];
    host.load_rows(tile, rows, &mut packed).unwrap();
    assert_eq!(packed, [1, 2, 3, 4, 5, 6]);
    let stores = |same: &str| {
        [(0, "[1, 2]"), (8, "[3, 4]"), (16, "[5, 6]")].map(|(at, bytes)| {
            format!("store host global 2+{at} 2 ok at 0x0001_0000_0000_00{:02x} {bytes}{same}", 16 + at)
        })
    };
    let loads = [0, 8, 16].map(|at| format!("load host global 2+{at} 2 ok at 0x0001_0000_0000_00{:02x}", 16 + at));
    assert_eq!(device.observer().0.take(), [stores(""), stores(" same"), loads].concat());
    let (at, shape) = ("host global 2+0 18 ok at 0x0001_0000_0000_0010", "Rows { count: 3, bytes: 2, pitch: 8 }");
    let store = format!("store {at} {shape} Bytes([1, 2, 3, 4, 5, 6])");
    let told = || std::mem::take(&mut *device.observer().1.0.lock());
    assert_eq!(told(), [store.clone(), store, format!("load {at} {shape}")]);

    // What is refused is told once, and so are rows of nothing, however many they are.
    host.load_rows(tile, Rows { count: 5, ..rows }, &mut [0; 10]).unwrap_err();
    host.store_rows(tile, rows, &[0; 5]).unwrap_err();
    host.load_rows(tile, Rows { count: u64::MAX, bytes: 0, pitch: 0 }, &mut []).unwrap();
    let wanted = [
        "load host global 2+0 34 OutOfBounds",
        "store host global 2+0 18 WrongSize [0, 0, 0, 0, 0]",
        "load host global 2+0 0 ok at 0x0000_0000_0000_0000",
    ];
    assert_eq!(device.observer().0.take(), wanted);
    assert_eq!(told().len(), 3);
}

#[test]
fn a_function_is_a_kernel_of_one_item() {
    let device = device();
    let buffer = device.host().allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    device.observer().take();
    let found = device.task("t", |item| {
        let mine = item.private().allocate(4, Flags::READ_WRITE, Init::Zeroed).unwrap();
        item.private().store_value(mine, 7u32).unwrap();
        (item.global().load_value::<u64>(buffer), item.local_size(0), item.local_buffer(0).is_null())
    });
    assert_eq!(found, (Ok(0), 1, true));
    let wanted = [
        "begin t 0",
        "attach local",
        "group 0",
        "item 0",
        "attach private",
        "allocated 0x0000_1000_0000_0000 4 rw Zeroed",
        "store item 0 private 1+0 4 ok [7, 0, 0, 0]",
        "load item 0 global 1+0 8 ok",
        "item 0 end",
        "group 0 end",
        "host freed 0x0000_1000_0000_0000",
        "end t 0",
    ];
    assert_eq!(device.observer().take(), wanted);
}

#[test]
fn each_refusal_is_one_event() {
    let device = device();
    let host = device.host();
    let a = host.allocate(8, Flags::READ_ONLY, Init::Zeroed).unwrap();
    let beyond = host.layout().add(a, 8).unwrap();
    let mapping = host.map(a, 0, 4, Flags::READ_ONLY).unwrap();
    device.observer().take();
    host.load_value::<u32>(beyond).unwrap_err();
    host.store_value(a, 1u32).unwrap_err();
    // The original told of a read and a write.
    host.atomic(beyond, AtomicOp::Add, 1u32).unwrap_err();
    host.compare_exchange(a, 1u32, 2).unwrap_err();
    host.copy(a, beyond, 4).unwrap_err();
    host.copy(a, a, 4).unwrap_err();
    host.fill(a, &[], 4).unwrap_err();
    host.load_mapped(&mapping, 4, &mut [0]).unwrap_err();
    host.store_mapped(&mapping, 0, &[0]).unwrap_err();
    host.deallocate(a).unwrap_err();
    host.unmap(&mapping).unwrap();
    host.unmap(&mapping).unwrap_err();
    host.map(a, 9, 0, Flags::READ_ONLY).unwrap_err();
    host.sub_buffer(a, 0, 9, Flags::READ_ONLY).unwrap_err();
    host.allocate(u64::MAX, Flags::READ_ONLY, Init::Zeroed).unwrap_err();
    let found = device.observer().take();
    let wanted = [
        "load host global 1+8 4 OutOfBounds",
        "store host global 1+0 4 ReadOnly [1, 0, 0, 0]",
        "atomic add host global 1+8 4 OutOfBounds not stored",
        "atomic compare-exchange host global 1+0 4 ReadOnly not stored",
        "load host global 1+8 4 OutOfBounds",
        "load host global 1+0 4 ok at 0x0000_0000_0000_0000",
        "store host global 1+0 4 ReadOnly copy",
        "store host global 1+0 4 ReadOnly []*",
        "load host global 1+4 1 OutOfBounds",
        "store host global 1+0 1 ReadOnly [0]",
        "host refused: free at",
        "unmapped 0+4",
        "host refused: free at global 0x0001_0000_0000_0000 (buffer 1, offset 0): this region is not mapped",
        "host refused: read of 0 bytes at",
        "host refused: read of 9 bytes at",
        "host refused: a buffer of 18446744073709551615 bytes",
    ];
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found} for {wanted}");
    }
}

#[test]
fn a_kernels_events_in_their_order() {
    let device = device();
    let buffer = device.host().allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    device.observer().take();
    let launch = Launch::new("k", NdRange::linear(2, 2).unwrap()).local("l", 4);
    let outcome = device.run(&launch, async |item| {
        item.global().store_value(item.global().element::<u32>(buffer, item.global_id(0)), 0u32)?;
        item.barrier().await;
        if item.global_id(0) == 0 {
            item.local().load_value::<u32>(item.local_buffer(0))?;
            item.constant().load_value::<u64>(buffer)?;
        }
        Ok(())
    });
    assert!(outcome.unwrap().is_clean());
    let wanted = [
        "begin k 0",
        "attach local",
        "allocated 0x0001_0000_0000_0000 4 rw Poison(205)",
        "group 0",
        "item 0",
        "store item 0 global 1+0 4 ok [0, 0, 0, 0] same",
        "item 1",
        "store item 1 global 1+4 4 ok [0, 0, 0, 0] same",
        "barrier 1",
        "load item 0 local 1+0 4 ok",
        "load item 0 constant 1+0 8 ok",
        "item 0 end",
        "item 1 end",
        "group 0 end",
        "host freed 0x0001_0000_0000_0000",
        "end k 0",
    ];
    assert_eq!(device.observer().take(), wanted);
    let launch = Launch::new("d", NdRange::linear(3, 3).unwrap());
    let outcome = device.run(&launch, async |item| {
        if item.global_id(0) == 1 {
            item.private().allocate(4, Flags::READ_WRITE, Init::Zeroed)?;
            return Ok(());
        }
        item.barrier().await;
        Ok(())
    });
    assert_eq!(outcome.unwrap().failed, 1);
    let wanted = [
        "begin d 1",
        "attach local",
        "group 0",
        "item 0",
        "item 1",
        "attach private",
        "allocated 0x0000_1000_0000_0000 4 rw Zeroed",
        "item 1 end",
        "item 2",
        "diverged 1/1",
        "item 0 end",
        "item 2 end",
        "group 0 end",
        "host freed 0x0000_1000_0000_0000",
        "end d 1",
    ];
    assert_eq!(device.observer().take(), wanted);
}

#[test]
fn observers_together_are_told_the_same() {
    type Two = (Recorder, (Option<Recorder>, Option<Recorder>));
    let two: Two = (Recorder::default(), (Some(Recorder::default()), None));
    let device = Device::with_observer(two).workers(NonZeroUsize::MIN);
    let buffer = device.host().allocate(8, Flags::READ_WRITE, Init::Zeroed).unwrap();
    let launch = Launch::new("k", NdRange::linear(4, 2).unwrap()).local("l", 4);
    let outcome = device.run(&launch, async |item| {
        item.global().atomic(buffer, AtomicOp::Inc, 0u64)?;
        item.barrier().await;
        item.local().copy_from(item.local_buffer(0), &item.global(), buffer, 4)
    });
    assert!(outcome.unwrap().is_clean());
    let (one, (two, _)) = device.observer();
    let (one, two) = (one.take(), two.as_ref().unwrap().take());
    assert_eq!(one, two);
    // Memory and buffer; kernel and local memory; and of each group its buffer, itself, and its items.
    assert_eq!(one.len(), 2 + 3 + 2 * (2 + 2 + 2 * 5 + 1), "{one:#?}");
}
