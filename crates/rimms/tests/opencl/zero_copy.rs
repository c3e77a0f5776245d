//! Mode `zero-copy`: in memory that the device lends, where the driver has fine-grain shared virtual memory, and by mapping.

use crate::suite::devices;
use rimms::device::Device;
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::opencl::Memory;
use rimms::device::sim::{HeapKind, Sim};
use rimms::{Complex32, MemoryMode, ResourceId, Runtime, sched};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Devices that lend memory, if the driver lets them, and devices that do not.
const WAYS: [Memory; 2] = [Memory::Driver, Memory::Slab { bytes: 1 << 20, heap: HeapKind::TwoLevel }];

fn runtime(devices: impl IntoIterator<Item = Arc<dyn Device>>) -> Runtime {
    // A policy that measures nothing, and so waits for no launch.
    let builder = Runtime::builder().cpus(1).memory_mode(MemoryMode::ZeroCopy);
    let builder = builder.policy(sched::by_name("round-robin").unwrap());
    devices.into_iter().fold(builder, |builder, device| builder.shared_device(device)).build().unwrap()
}

fn shared(memory: Memory) -> Vec<Arc<dyn Device>> {
    devices(memory).into_iter().map(|device| Arc::new(device) as Arc<dyn Device>).collect()
}

#[test]
#[ignore = "run once a driver"]
fn nothing_is_copied() {
    for memory in WAYS {
        let rt = runtime(shared(memory));
        let mut x = rt.alloc::<Complex32>(64 * 256).unwrap();
        let mut y = rt.alloc::<Complex32>(64 * 256).unwrap();
        x.overwrite().unwrap().write_with(|i| Complex32::cis(0.1 * i as f32)).unwrap();
        x.fragment(64).unwrap();
        y.fragment(64).unwrap();
        for i in 0..64 {
            rt.on("opencl0").unwrap().fft(&x[i], &mut y[i]).unwrap();
            rt.on(if i % 2 == 0 { "cpu0" } else { "opencl1" }).unwrap().ifft_in_place(&mut y[i]).unwrap();
        }
        for (i, back) in y.read().unwrap().iter().enumerate() {
            assert!((back - Complex32::cis(0.1 * i as f32)).norm() < 1e-3, "element {i}");
        }
        assert_eq!((rt.counters().copies(), rt.counters().bytes()), (0, 0));
    }
}

/// The driver of these tests has what it takes.
#[test]
#[ignore = "run once a driver"]
fn data_lie_in_the_first_device_s_memory_and_leave_it_again() {
    let rt = runtime(shared(Memory::Driver)).blocking();
    let blocks = || rt.usage(ResourceId::new(1).unwrap()).unwrap().blocks;
    let mut x = rt.alloc::<f32>(1000).unwrap();
    let y = rt.alloc::<u8>(1).unwrap();
    assert_eq!(blocks(), 2);
    rt.fill(1.0, &mut x).unwrap();
    drop(x);
    drop(y);
    assert_eq!(blocks(), 0);
}

/// What is queued on a device still reads, or writes, what is written again at once: by the host, by a call elsewhere,
/// once the pieces were joined, once a call has failed. A longer kernel comes before.
#[test]
#[ignore = "run once a driver"]
fn what_a_device_still_uses_is_not_written() {
    // The second of PoCL's devices works in threads of its own; the first one in those that hand work over. Which is first
    // here lends: to itself, or to the other.
    for lender in 0..2 {
        let mut devices = devices(Memory::Driver);
        devices.rotate_left(lender);
        still_used(devices.into_iter().map(|device| Arc::new(device) as Arc<dyn Device>).collect());
    }
    still_used(shared(WAYS[1]));
}

fn still_used(devices: Vec<Arc<dyn Device>>) {
    const N: usize = 1 << 18;
    let what = format!("{devices:?}");
    let rt = runtime(devices);
    let (first, second) = (rt.on("opencl1").unwrap(), rt.on("opencl0").unwrap());
    let mut x = rt.alloc::<Complex32>(N).unwrap();
    let mut y = rt.alloc::<Complex32>(N).unwrap();
    let mut long = rt.alloc::<Complex32>(N).unwrap();
    rt.fill(Complex32::ONE, &mut long).unwrap();
    for round in 1..20 {
        let value = round as f32;
        x.overwrite().unwrap().fill(Complex32::ONE * value).unwrap();
        first.fft_in_place(&mut long).unwrap();
        first.scale(Complex32::ONE * 2.0, &x, &mut y).unwrap();
        match round % 4 {
            0 => drop(x.overwrite().unwrap().fill(Complex32::ZERO)),
            1 => drop(second.fill(Complex32::ZERO, &mut x).unwrap()),
            2 => {
                x.fragment(2).unwrap();
                first.scale_in_place(Complex32::ONE, &mut x[0]).unwrap();
                x.update().unwrap().fill(Complex32::ZERO);
                x.join().unwrap();
                x.overwrite().unwrap().fill(Complex32::ZERO).unwrap();
            }
            _ => {
                let unwritten = rt.alloc::<Complex32>(N).unwrap();
                let _ = first.scale(Complex32::ONE, &unwritten, &mut x);
                x.overwrite().unwrap().fill(Complex32::ZERO).unwrap();
            }
        }
        let right = y.read().unwrap().iter().all(|y| *y == Complex32::ONE * (2.0 * value));
        assert!(right, "round {round}, {what}");
    }
}

/// Dropped at once: the driver is given its memory back when nothing uses it, not even a device that it was lent to.
#[test]
#[ignore = "run once a driver"]
fn data_may_go_while_a_device_is_at_them() {
    let rt = runtime(shared(Memory::Driver));
    for i in 0..100 {
        let rt = rt.on(["opencl0", "opencl1"][i % 2]).unwrap();
        let mut x = rt.alloc::<Complex32>(1 << 16).unwrap();
        rt.fill(Complex32::ONE, &mut x).unwrap();
        rt.fft_in_place(&mut x).unwrap();
    }
}

/// An update that fails may have written half of what all share: it does not pass for the old bytes.
#[test]
#[ignore = "run once a driver"]
fn half_an_update_is_not_taken_for_the_old_bytes() {
    for memory in WAYS {
        let run = |plan| {
            let device = Arc::new(Faulty::new(devices(memory).remove(0), plan));
            let rt = runtime([device.clone() as Arc<dyn Device>]).blocking();
            let mut x = rt.alloc::<f32>(64)?;
            x.overwrite()?.fill(1.0)?;
            let done = rt.on("opencl0")?.scale_in_place(2.0, &mut x);
            let found = x.read().map(|x| x[0]);
            Ok::<_, rimms::Error>((device.operations(), done.is_ok(), found.ok()))
        };
        let (operations, done, found) = run(Plan::none()).unwrap();
        assert!(done && found == Some(2.0), "{found:?}");
        for nth in 0..operations {
            let Ok((_, done, found)) = run(Plan::nth(nth, Fault::Fail)) else { continue };
            let right = if done { found.is_none_or(|x| x == 2.0) } else { found.is_none_or(|x| x == 1.0) };
            assert!(right, "operation {nth}: {done}, {found:?}");
        }
    }
}

/// Which lends no more, but others work on the host's own memory.
#[test]
#[ignore = "run once a driver"]
fn once_the_lender_is_lost_there_is_memory_without_it() {
    for first in [0, 1, 3] {
        let mut all = devices(Memory::Driver).into_iter();
        let lender = Faulty::new(all.next().unwrap(), Plan::from(first, Fault::Lose));
        let rest = all.map(|device| Arc::new(device) as Arc<dyn Device>);
        let rt = runtime(std::iter::once(Arc::new(lender) as Arc<dyn Device>).chain(rest)).blocking();
        let mut doomed = rt.alloc::<f32>(64).unwrap();
        let _ = rt.on("opencl0").unwrap().fill(1.0, &mut doomed);
        let _ = rt.on("opencl0").unwrap().fill(1.0, &mut doomed);
        assert!(rt.on("opencl0").unwrap().fill(1.0, &mut doomed).is_err());
        let mut x = rt.alloc::<f32>(64).unwrap();
        rt.on("opencl1").unwrap().fill(1.0, &mut x).unwrap();
        rt.on("cpu0").unwrap().scale_in_place(2.0, &mut x).unwrap();
        rt.on("opencl1").unwrap().scale_in_place(2.0, &mut x).unwrap();
        assert_eq!(x.read().unwrap()[..], [4.0; 64], "lost from operation {first} on");
        assert_eq!(rt.counters().copies(), 0);
    }
}

/// Without a mode: large data are shared, small ones copied, also in one call; beside a device that shares nothing all are.
#[test]
#[ignore = "run once a driver"]
fn by_default_large_data_are_shared_and_small_ones_are_not() {
    let one = || Runtime::builder().cpus(1).device(devices(Memory::Driver).remove(0));
    let rt = one().build().unwrap();
    let from = rt.zero_copy_from().unwrap();
    assert!((4096..=1 << 20).contains(&from), "{from}");
    // The other one of its context reaches what this one lends.
    let both = devices(Memory::Driver).into_iter().fold(Runtime::builder().cpus(1), |b, device| b.device(device));
    assert_eq!(both.build().unwrap().zero_copy_from(), Some(from));
    assert_eq!(rt.memory_mode(), MemoryMode::ValidSet);
    let on = rt.on("opencl0").unwrap();
    for (len, copies) in [(from / 4, 0), (from / 8, 2)] {
        let before = rt.counters().copies();
        let (mut x, mut y) = (rt.alloc::<f32>(len).unwrap(), rt.alloc::<f32>(len).unwrap());
        x.overwrite().unwrap().fill(1.0).unwrap();
        on.scale(2.0, &x, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[len - 1], 2.0);
        assert_eq!(rt.counters().copies() - before, copies, "{len} floats");
    }
    // A large matrix times a small one: the small one is copied in, and out again.
    let (rows, inner) = (from / 4, 8);
    let before = rt.counters().copies();
    let (mut a, mut b, mut c) =
        (rt.alloc::<f32>(rows * inner).unwrap(), rt.alloc::<f32>(inner).unwrap(), rt.alloc::<f32>(rows).unwrap());
    a.overwrite().unwrap().fill(1.0).unwrap();
    b.overwrite().unwrap().fill(3.0).unwrap();
    on.gemm(rows, inner, 1, &a, &b, &mut c).unwrap();
    assert_eq!(c.read().unwrap()[rows - 1], 24.0);
    on.scale_in_place(2.0, &mut b).unwrap();
    assert_eq!(b.read().unwrap()[7], 6.0);
    assert_eq!(rt.counters().copies() - before, 2);

    let builders = [one().device(Sim::acc("acc0", 1 << 20, Default::default()).unwrap()), one().time_limit(LONG)];
    for builder in builders {
        assert_eq!(builder.build().unwrap().zero_copy_from(), None);
    }
    let named = one().memory_mode(MemoryMode::ZeroCopy).build().unwrap();
    assert_eq!(named.zero_copy_from(), Some(0));
}
