//! Two devices with no direct way between them: bytes go through the host, without disturbing its readers.
#![allow(clippy::unwrap_used)]

use rimms::device::sim::Sim;
use rimms::device::{Device, DeviceError, DeviceInfo, HostSource, HostTarget, Operand, Span, Usage};
use rimms::op::Call;
use rimms::{MemoryMode, Runtime};
use std::any::Any;

/// A simulated device that its peers do not recognise as one of theirs.
#[derive(Debug)]
struct Foreign(Sim);

impl Device for Foreign {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.0.allocate(bytes)
    }
    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.0.free(address)
    }
    fn usage(&self) -> Usage {
        self.0.usage()
    }
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.0.upload(from, to)
    }
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.0.download(from, to)
    }
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.0.copy_within(from, to)
    }
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.0.launch(unit, call, operands)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn runtime(mode: MemoryMode) -> Runtime {
    let sim = |name| Foreign(Sim::acc(name, 1 << 16, Default::default()).unwrap());
    Runtime::builder().cpus(0).device(sim("a0")).device(sim("b0")).memory_mode(mode).build().unwrap().blocking()
}

#[test]
fn stale_host_bytes_are_renewed_on_the_way() {
    let rt = runtime(MemoryMode::ValidSet);
    let (mut x, mut y) = (rt.alloc::<f32>(64).unwrap(), rt.alloc::<f32>(64).unwrap());
    rt.on("a0").unwrap().fill(3.0, &mut x).unwrap();
    rt.on("b0").unwrap().copy(&x, &mut y).unwrap();
    let c = rt.counters();
    assert_eq!((c.device_to_host().copies, c.host_to_device().copies, c.device_to_device().copies), (1, 1, 0));
    assert_eq!(x.read().unwrap()[..], [3.0; 64]);
    assert_eq!(rt.counters().copies(), 2, "the host has them already");
    assert_eq!(y.read().unwrap()[..], [3.0; 64]);
}

#[test]
fn bytes_the_host_has_are_taken_from_there_while_it_reads_them() {
    for mode in [MemoryMode::ValidSet, MemoryMode::LastResource] {
        let rt = runtime(mode);
        let (mut x, mut y) = (rt.alloc::<f32>(64).unwrap(), rt.alloc::<f32>(64).unwrap());
        rt.on("a0").unwrap().fill(3.0, &mut x).unwrap();
        let guard = x.read().unwrap();
        let before = rt.counters();
        rt.on("b0").unwrap().copy(&x, &mut y).unwrap();
        let made = rt.counters().since(&before);
        assert_eq!((made.device_to_host().copies, made.host_to_device().copies), (0, 1), "{mode}");
        assert_eq!(guard[..], [3.0; 64]);
        assert_eq!(y.read().unwrap()[..], [3.0; 64]);
    }
}

#[test]
fn rows_of_a_tile_that_lie_side_by_side_on_a_device_do_not_run_into_its_neighbour_on_the_host() {
    const ROW: usize = 16;
    // Room for a tile, not for the whole: the tile's rows are packed there.
    let sim = |name| Foreign(Sim::acc(name, 3 * ROW as u64 * 4 * 2, Default::default()).unwrap());
    let rt = Runtime::builder().cpus(0).device(sim("a0")).device(sim("b0")).build().unwrap().blocking();
    let mut x = rt.alloc::<f32>(4 * 2 * ROW * 2).unwrap();
    x.overwrite().unwrap().write_with(|_| 1.0).unwrap();
    x.tile_sizes(&[3, 5], &[ROW, ROW]).unwrap();
    x[0].tile_sizes(&[1, 1, 1], &[ROW]).unwrap();
    rt.on("a0").unwrap().fill(3.0, &mut x[0]).unwrap();
    // Now the tile's rows do not travel as one: the host has the last.
    assert_eq!(x[0][2].read().unwrap()[..], [3.0; ROW]);
    let mut y = rt.alloc::<f32>(3 * ROW).unwrap();
    rt.on("b0").unwrap().copy(&x[0], &mut y).unwrap();
    assert_eq!(y.read().unwrap()[..], [3.0; 3 * ROW]);
    let neighbour = x[1].read_rows().unwrap();
    assert!(neighbour.iter().flatten().all(|&v| v == 1.0), "{:?}", neighbour.iter().collect::<Vec<_>>());
    assert!(x[0].read_rows().unwrap().iter().flatten().all(|&v| v == 3.0));
}

/// What was read twice was the first leaf's state: between the two looks another reader's copy of a part came to the host,
/// and the whole was taken from there.
#[test]
fn a_part_that_comes_to_the_host_meanwhile_does_not_make_the_whole_look_current_there() {
    const ROUNDS: usize = 2_000;
    let sim = |name| Foreign(Sim::acc(name, 1 << 16, Default::default()).unwrap());
    let rt = Runtime::builder().cpus(0).device(sim("a0")).device(sim("b0")).device(sim("c0")).build().unwrap();
    let rt = rt.blocking();
    let on = ["a0", "b0", "c0"].map(|name| rt.on(name).unwrap());
    let mut x = rt.alloc::<u32>(32).unwrap();
    x.fragment(2).unwrap();
    x.overwrite().unwrap().fill(0).unwrap();
    let (mut part, mut whole) = (rt.alloc::<u32>(16).unwrap(), rt.alloc::<u32>(32).unwrap());
    for round in 0..ROUNDS as u32 {
        on[0].fill(round, &mut x).unwrap();
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|s| {
            s.spawn(|| {
                start.wait();
                on[1].copy(&x[0], &mut part).unwrap();
            });
            start.wait();
            on[2].copy(&x, &mut whole).unwrap();
        });
        assert_eq!(whole.read().unwrap()[..], [round; 32], "round {round}");
    }
}
