//! Room that is made ahead of need: while a device is at one call, what the next one will drive out is written back.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/hooked.rs"]
mod hooked;

use hooked::Hooked;
use proptest::prelude::*;
use rimms::device::gated::Gate;
use rimms::device::sim::Sim;
use rimms::device::{Device, Operation};
use rimms::op::UserOp;
use rimms::{Arg, Cause, Event, HeteData, MemoryMode, Runtime, RuntimeBuilder, View, arg_mut};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Elements of a block: 64 KiB.
const LEN: usize = 16 << 10;
const ROOM: u64 = 4 * (64 << 10);

fn acc() -> Sim {
    Sim::acc("acc0", ROOM, Default::default()).unwrap()
}

/// A runtime of one accelerator with room for four blocks, and six data: the first four, in this order of use, are there
/// after the first had gone once for the fifth. What was written where says its value: the number of the datum.
struct Full {
    rt: Runtime,
    data: Vec<HeteData<f32>>,
}

impl Full {
    fn new(device: Arc<dyn Device>, mode: MemoryMode) -> Self {
        Self::on(Runtime::builder(), device, mode)
    }

    fn on(builder: RuntimeBuilder, device: Arc<dyn Device>, mode: MemoryMode) -> Self {
        let rt = builder
            .cpus(0)
            .shared_device(device)
            .memory_mode(mode)
            .write_back_ahead_from(Duration::ZERO)
            .build()
            .unwrap();
        let mut data: Vec<HeteData<f32>> = (0..6).map(|_| rt.alloc(LEN).unwrap()).collect();
        for at in [4, 0, 1, 2, 3] {
            rt.blocking().fill(at as f32, &mut data[at]).unwrap();
        }
        let full = Self { rt, data };
        assert_eq!((full.written_back(), full.rt.counters().evictions), (1, 1), "4 had to go for 3");
        full
    }

    /// Adds 10 to a datum, once the gate is open.
    fn held(&mut self, at: usize, gate: &Gate) -> Event {
        let gate = gate.clone();
        let op = UserOp::builder("held").inout::<f32>().on_sim(move |k| {
            gate.pass();
            k.output::<f32>(0)?.iter_mut().for_each(|x| *x += 10.0);
            Ok(())
        });
        self.rt.call(&op.build().unwrap().call(), &mut [arg_mut(&mut self.data[at])]).unwrap()
    }

    /// The device is at a call on datum `on` until the gate opens, while the next one, which fills datum `next` with its number,
    /// waits in the queue, and has done so from the beginning.
    fn busy(&mut self, on: usize, next: usize, gate: &Gate) -> [Event; 2] {
        let first = Gate::default();
        self.held(3, &first);
        let busy = self.held(on, gate);
        let filled = self.rt.fill(next as f32, &mut self.data[next]).unwrap();
        first.open();
        until(|| gate.waiting() == 1);
        [busy, filled]
    }

    fn written_back(&self) -> u64 {
        self.rt.counters().by_cause(Cause::Eviction).copies
    }

    /// As many as are wanted.
    fn assert_all_right(&self, want: &[f32]) {
        for (x, want) in self.data.iter().zip(want.iter().copied()) {
            assert!(x.read().unwrap().iter().all(|x| *x == want), "{want}");
        }
    }
}

fn until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_the_next_call_drives_out_is_written_back_while_the_device_is_busy() {
    let (mut full, gate) = (Full::new(Arc::new(acc()), MemoryMode::ValidSet), Gate::default());
    let events = full.busy(3, 5, &gate);
    until(|| full.written_back() == 2);
    assert_eq!(full.rt.counters().evictions, 1, "nothing has gone yet");
    assert!(!full.rt.is_done(events[0]), "the device is busy still");
    gate.open();
    full.rt.wait_all(&events).unwrap();
    let counters = full.rt.counters();
    assert_eq!(counters.evictions, 2);
    assert_eq!(counters.by_cause(Cause::Eviction).copies, 2, "nothing was copied for nothing, or twice");
    assert_eq!(full.data[0].valid().len(), 1, "the one used longest ago has gone");
    full.assert_all_right(&[0.0, 1.0, 2.0, 23.0, 4.0, 5.0]);
}

#[test]
fn what_the_busy_call_uses_is_written_back_when_it_is_through() {
    // What has to go for two blocks more than there is room for: all but one.
    let (mut full, gate) = (Full::new(Arc::new(acc()), MemoryMode::ValidSet), Gate::default());
    let first = Gate::default();
    full.held(3, &first);
    let busy = full.held(0, &gate);
    let mut large = full.rt.alloc::<f32>(4 * LEN).unwrap();
    full.rt.fill(7.0, &mut large).unwrap();
    first.open();
    // 1, 2 and 3; 0 is in use.
    until(|| full.written_back() == 4);
    gate.open();
    full.rt.wait(busy).unwrap();
    assert!(large.read().unwrap().iter().all(|x| *x == 7.0));
    assert_eq!((full.written_back(), full.rt.counters().evictions), (5, 5));
    full.assert_all_right(&[10.0, 1.0, 2.0, 13.0, 4.0]);
}

#[test]
fn where_the_mode_knows_one_valid_copy_only_nothing_is_written_ahead() {
    for mode in [MemoryMode::LastResource, MemoryMode::Reference] {
        let rt = Runtime::builder()
            .cpus(0)
            .device(acc())
            .memory_mode(mode)
            .write_back_ahead_from(Duration::ZERO)
            .build()
            .unwrap();
        let mut data: Vec<HeteData<f32>> = (0..12).map(|_| rt.alloc(LEN).unwrap()).collect();
        for round in 0..3 {
            for (i, x) in data.iter_mut().enumerate() {
                if round == 0 {
                    rt.fill(i as f32, x).unwrap()
                } else {
                    rt.scale_in_place(2.0, x).unwrap()
                };
            }
        }
        for (i, x) in data.iter().enumerate() {
            assert!(x.read().unwrap().iter().all(|x| *x == 4.0 * i as f32), "{mode}");
        }
        let counters = rt.counters();
        assert!(counters.evictions > 12, "{mode}: room was short");
        assert!(counters.by_cause(Cause::Eviction).copies <= counters.evictions, "{mode}");
    }
}

#[test]
fn a_copy_that_fails_ahead_of_need_is_made_when_it_is_needed() {
    let fails: [fn(); 2] = [|| panic!("a driver of the user's"), || {}];
    for (i, fail) in fails.into_iter().enumerate() {
        let downloads = Arc::new(AtomicUsize::new(0));
        let count = downloads.clone();
        let device = Hooked::new(acc(), false, move |operation| {
            // The second: the first is that of the full memory.
            if operation == Operation::Download && count.fetch_add(1, SeqCst) == 1 {
                fail();
            }
        });
        let (mut full, gate) = (Full::new(Arc::new(device), MemoryMode::ValidSet), Gate::default());
        let events = full.busy(3, 5, &gate);
        until(|| downloads.load(SeqCst) == 2);
        gate.open();
        full.rt.wait_all(&events).unwrap();
        let copied = full.written_back();
        full.assert_all_right(&[0.0, 1.0, 2.0, 23.0, 4.0, 5.0]);
        assert_eq!(copied, 2, "{i}");
    }
}

#[test]
fn data_and_runtime_may_go_while_room_is_made() {
    let (gate, late) = (Gate::default(), Gate::default());
    let (wait, seen) = (late.clone(), Arc::new(AtomicUsize::new(0)));
    let count = seen.clone();
    let device = Arc::new(Hooked::new(acc(), false, move |operation| {
        if operation == Operation::Download && count.fetch_add(1, SeqCst) == 1 {
            wait.pass();
        }
    }));
    let mut full = Full::new(device.clone(), MemoryMode::ValidSet);
    full.busy(3, 5, &gate);
    until(|| seen.load(SeqCst) == 2);
    let Full { rt, data } = full;
    drop(data);
    gate.open();
    let opens = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        late.open();
    });
    drop(rt);
    opens.join().unwrap();
    assert_eq!(device.usage().blocks, 0);
}

#[test]
fn the_watchdog_says_that_a_call_waits_for_a_write_back() {
    let (late, told) = (Gate::default(), Arc::new(Mutex::new(String::new())));
    let (wait, tell, downloads) = (late.clone(), told.clone(), AtomicUsize::new(0));
    let device = Hooked::new(acc(), false, move |operation| {
        if operation == Operation::Download && downloads.fetch_add(1, SeqCst) == 1 {
            wait.pass();
        }
    });
    let builder =
        Runtime::builder().watchdog(Duration::from_millis(50), move |report| *tell.lock().unwrap() = report.into());
    let (mut full, gate) = (Full::on(builder, Arc::new(device), MemoryMode::ValidSet), Gate::default());
    let events = full.busy(3, 5, &gate);
    until(|| late.waiting() == 1);
    gate.open();
    until(|| told.lock().unwrap().contains("waits for a write-back from acc0"));
    late.open();
    full.rt.wait_all(&events).unwrap();
    full.assert_all_right(&[0.0, 1.0, 2.0, 23.0, 4.0, 5.0]);
}

/// One call: `y = 5 a - b`, on the whole or on quarters, on one of two accelerators.
#[derive(Debug, Clone)]
struct Mix {
    operands: [usize; 3],
    part: Option<usize>,
    acc: usize,
}

const DATA: usize = 8;
const QUARTER: usize = 16;

fn mixes() -> impl Strategy<Value = Vec<Mix>> {
    let operands = prop::sample::subsequence((0..DATA).collect::<Vec<_>>(), 3).prop_shuffle();
    let part = prop_oneof![3 => Just(None), 2 => (0..4_usize).prop_map(Some)];
    let mix = (operands, part, prop_oneof![4 => Just(0), 1 => Just(1_usize)]).prop_map(|(o, part, acc)| Mix {
        operands: [o[0], o[1], o[2]],
        part,
        acc,
    });
    prop::collection::vec(mix, 40..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Calls that are all queued before the first one starts, so that there always is a next one to make room for.
    #[test]
    fn programs_mean_the_same_where_room_is_made_ahead_of_need(
        program in mixes(),
        room in 3..8_u64,
        is_watched in any::<bool>(),
    ) {
        let gate = Gate::default();
        let starts = gate.clone();
        let op = UserOp::builder("mix").input::<u32>().input::<u32>().output::<u32>().on_sim(move |k| {
            starts.pass();
            let (a, b) = (k.input::<u32>(0)?, k.input::<u32>(1)?);
            let mixed = |(y, (a, b)): (&mut u32, (&u32, &u32))| *y = a.wrapping_mul(5).wrapping_sub(*b);
            k.output::<u32>(2)?.iter_mut().zip(a.iter().zip(b)).for_each(mixed);
            Ok(())
        });
        let op = op.build().unwrap().call();
        let tight = Sim::acc("acc0", room * 4 * 4 * QUARTER as u64, Default::default()).unwrap();
        let other = Sim::acc("acc1", 1 << 16, Default::default()).unwrap();
        let devices = Runtime::builder().cpus(0).device(tight).device(other);
        let builder = devices.write_back_ahead_from(Duration::ZERO);
        let builder = if is_watched { builder.watchdog(Duration::from_secs(20), |r| eprintln!("{r}")) } else { builder };
        let rt = builder.build().unwrap();
        let on = [rt.on("acc0").unwrap(), rt.on("acc1").unwrap()];
        let mut want: Vec<Vec<u32>> = (0..DATA as u32).map(|d| (0..4 * QUARTER as u32).map(|i| i * 31 + d).collect()).collect();
        let mut data: Vec<HeteData<u32>> = want.iter().map(|x| rt.alloc(x.len()).unwrap()).collect();
        for (x, want) in data.iter_mut().zip(&want) {
            x.overwrite().unwrap().copy_from_slice(want).unwrap();
            x.fragment(4).unwrap();
        }
        for Mix { operands: [a, b, y], part, acc } in program {
            let [x_a, x_b, x_y] = data.get_disjoint_mut([a, b, y]).unwrap();
            let view = |x: &View<u32>| part.map_or(0..x.len(), |i| i * QUARTER..(i + 1) * QUARTER);
            let range = view(x_y);
            let mut args = match part {
                Some(i) => [Arg::from(&x_a[i]), Arg::from(&x_b[i]), Arg::from(&mut x_y[i])],
                None => [Arg::from(&**x_a), Arg::from(&**x_b), Arg::from(&mut **x_y)],
            };
            on[acc].call(&op, &mut args).unwrap();
            for i in range {
                want[y][i] = want[a][i].wrapping_mul(5).wrapping_sub(want[b][i]);
            }
        }
        gate.open();
        for (x, want) in data.iter().zip(&want) {
            prop_assert_eq!(&x.read().unwrap()[..], &want[..]);
        }
        drop((data, on));
        prop_assert!(rt.resources().iter().all(|r| r.id.is_host() || rt.usage(r.id).unwrap().blocks == 0));
    }
}
