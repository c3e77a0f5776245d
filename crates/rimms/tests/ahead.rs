//! Room that is made ahead of need: while a device is at one call, what the next one will drive out is written back.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/hooked.rs"]
mod hooked;

use hooked::Hooked;
use rimms::device::gated::Gate;
use rimms::device::sim::Sim;
use rimms::device::{Device, Operation};
use rimms::op::UserOp;
use rimms::{Cause, Event, HeteData, MemoryMode, Runtime, arg_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Elements of a block: 64 KiB.
const LEN: usize = 16 << 10;
const ROOM: u64 = 4 * 64 << 10;

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
        let rt = Runtime::builder().cpus(0).shared_device(device).memory_mode(mode).build().unwrap();
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
        let rt = Runtime::builder().cpus(0).device(acc()).memory_mode(mode).build().unwrap();
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
