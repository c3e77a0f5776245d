//! Devices that never come back: their calls are taken away, everything else goes on. And who waits for whom, told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/hooked.rs"]
mod hooked;

use hooked::Hooked;
use rimms::device::Operation;
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::gated::{Gate, Gated};
use rimms::device::sim::Sim;
use rimms::{Error, HeteData, MemoryMode, Runtime, sched};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const N: usize = 64;
const LIMIT: Duration = Duration::from_millis(60);

/// A device whose operations of one kind do not return once it is told so, until the end.
#[derive(Clone, Default)]
struct Stuck {
    at: Arc<Mutex<Option<Operation>>>,
    gate: Gate,
}

impl Stuck {
    fn acc(&self, name: &str, bytes: u64, is_foreign: bool) -> impl rimms::device::Device + use<> {
        let this = self.clone();
        Hooked::new(Sim::acc(name, bytes, Default::default()).unwrap(), is_foreign, move |operation| {
            let is_it = *this.at.lock().unwrap() == Some(operation);
            if is_it {
                this.gate.pass();
            }
        })
    }

    fn gets_stuck_in(&self, operation: Operation) {
        *self.at.lock().unwrap() = Some(operation);
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind.
        if Arc::strong_count(&self.at) <= 2 {
            self.gate.open();
        }
    }
}

/// Fails where `f` has not returned in good time.
fn in_time<R: Send + 'static>(what: &str, f: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = channel();
    std::thread::spawn(move || drop(done.send(f())));
    result.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|e| panic!("{what} has not returned: {e}"))
}

fn written(rt: &Runtime, value: f32) -> HeteData<f32> {
    let mut x = rt.alloc::<f32>(N).unwrap();
    x.overwrite().unwrap().fill(value).unwrap();
    x
}

/// Two accelerators that take turns, the first of which will get stuck, and data on both.
struct Scene {
    stuck: Stuck,
    rt: Runtime,
    x: HeteData<f32>,
    only_there: HeteData<f32>,
    elsewhere: HeteData<f32>,
}

fn scene(bytes: u64) -> Scene {
    let stuck = Stuck::default();
    let other = Sim::acc("acc1", 1 << 16, Default::default()).unwrap();
    let builder = Runtime::builder().cpus(0).device(stuck.acc("acc0", bytes, false)).device(other).time_limit(LIMIT);
    let rt = builder.policy(sched::by_name("round-robin").unwrap()).build().unwrap();
    let (mut only_there, mut elsewhere) = (rt.alloc(N).unwrap(), rt.alloc(N).unwrap());
    rt.on("acc0").unwrap().fill(7.0, &mut only_there).unwrap();
    rt.on("acc1").unwrap().fill(8.0, &mut elsewhere).unwrap();
    rt.finish().unwrap();
    let x = written(&rt, 1.0);
    Scene { stuck, rt, x, only_there, elsewhere }
}

fn is_lost(error: &Error) -> bool {
    let text = error.to_string();
    text.contains("acc0 is lost (seen at: ") && text.contains("it did not finish")
}

/// After the device was given up.
fn all_else_goes_on(Scene { stuck, rt, x, only_there, elsewhere }: Scene) {
    let error = only_there.read().map(drop).unwrap_err();
    assert!(is_lost(&error), "{error}");
    assert_eq!(elsewhere.read().unwrap()[..], [8.0; N]);
    assert_eq!(x.read().unwrap()[..], [1.0; N]);
    let mut new = rt.alloc::<f32>(N).unwrap();
    let refused = rt.on("acc0").unwrap().fill(0.0, &mut new).unwrap_err();
    assert!(matches!(refused, Error::DeviceLost { .. }), "{refused}");
    for _ in 0..4 {
        rt.fill(5.0, &mut new).unwrap();
        rt.scale_in_place(2.0, &mut new).unwrap();
    }
    assert_eq!(new.read().unwrap()[..], [10.0; N]);
    rt.finish().unwrap();
    drop((x, only_there, elsewhere, new));
    let acc1 = rt.resources()[2].id;
    let left = rt.usage(acc1).unwrap().blocks;
    assert!(left <= 2, "the call that is stuck may hold its operands, nobody else anything: {left}");
    // With the device still stuck.
    drop(rt);
    stuck.gate.open();
}

fn a_call_goes_elsewhere(operation: Operation, blocking: bool) {
    let scene = scene(1 << 16);
    scene.stuck.gets_stuck_in(operation);
    let rt = if blocking { scene.rt.blocking() } else { scene.rt.clone() };
    // One of two goes to the device that is stuck.
    let (mut y, mut z) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    let first = rt.scale(2.0, &scene.x, &mut y).unwrap();
    let second = rt.scale(3.0, &scene.x, &mut z).unwrap();
    let dependent = rt.on("acc1").unwrap().scale_in_place(10.0, &mut y).unwrap();
    rt.wait_all(&[first, second, dependent]).unwrap();
    assert_eq!(y.read().unwrap()[..], [20.0; N]);
    assert_eq!(z.read().unwrap()[..], [3.0; N]);
    assert!(rt.counters().retries > 0, "{operation}");
    drop((y, z, rt));
    all_else_goes_on(scene);
}

#[test]
fn a_call_whose_launch_never_returns_goes_elsewhere() {
    for blocking in [false, true] {
        in_time("the program", move || a_call_goes_elsewhere(Operation::Launch, blocking));
    }
}

#[test]
fn a_call_whose_operands_never_arrive_goes_elsewhere() {
    for blocking in [false, true] {
        in_time("the program", move || a_call_goes_elsewhere(Operation::Upload, blocking));
    }
}

#[test]
fn a_call_that_gets_no_memory_in_time_goes_elsewhere() {
    for blocking in [false, true] {
        in_time("the program", move || a_call_goes_elsewhere(Operation::Allocate, blocking));
    }
}

#[test]
fn a_call_that_can_go_nowhere_else_fails_and_its_dependents_with_it() {
    for operation in [Operation::Launch, Operation::Upload] {
        in_time("the program", move || {
            let scene = scene(1 << 16);
            scene.stuck.gets_stuck_in(operation);
            let rt = &scene.rt;
            let (mut y, mut z) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
            let call = rt.on("acc0").unwrap().scale(2.0, &scene.x, &mut y).unwrap();
            let dependent = rt.on("acc1").unwrap().scale(2.0, &y, &mut z).unwrap();
            let behind = rt.on("acc0").unwrap().scale(3.0, &scene.x, &mut rt.alloc(N).unwrap()).unwrap();
            for event in [call, dependent, behind] {
                let error = rt.wait(event).unwrap_err();
                assert!(is_lost(&error), "{error}");
            }
            for result in [y, z] {
                let error = result.read().map(drop).unwrap_err();
                assert!(is_lost(&error), "{error}");
            }
            all_else_goes_on(scene);
        });
    }
}

#[derive(Debug)]
struct First;

impl sched::Policy for First {
    fn name(&self) -> &'static str {
        "first"
    }
    fn needs_costs(&self) -> bool {
        false
    }
    fn choose(&self, _: usize, _: &[sched::Candidate]) -> usize {
        0
    }
}

#[test]
fn where_the_next_device_gets_stuck_too_a_third_does_the_call() {
    in_time("the program", || {
        let stuck = Stuck::default();
        let third = Sim::acc("acc2", 1 << 16, Default::default()).unwrap();
        let builder = Runtime::builder().cpus(0).policy(Arc::new(First)).time_limit(LIMIT);
        let builder = builder.device(stuck.acc("acc0", 1 << 16, false)).device(stuck.acc("acc1", 1 << 16, false));
        let rt = builder.device(third).build().unwrap();
        stuck.gets_stuck_in(Operation::Launch);
        let x = written(&rt, 1.0);
        let mut y = rt.alloc(N).unwrap();
        rt.scale(2.0, &x, &mut y).unwrap();
        assert_eq!(y.read().unwrap()[..], [2.0; N]);
        assert_eq!(rt.counters().calls("acc2"), 1);
        rt.blocking().scale_in_place(2.0, &mut y).unwrap();
        drop((rt, x));
        assert_eq!(y.read().unwrap()[..], [4.0; N]);
        stuck.gate.open();
    });
}

/// Tries until the thread that is stuck has come back, and let go of what it was at.
fn once_it_is_back(mut works: impl FnMut() -> rimms::Result<()>) {
    for _ in 0..1_000 {
        match works() {
            Ok(()) => return,
            Err(e) => assert!(is_lost(&e), "{e}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the thread that was stuck has not let go");
}

#[test]
fn data_that_was_being_written_back_when_its_device_got_stuck_can_be_written_anew_once_it_is_back() {
    in_time("the program", || {
        // Room for two operands and a bit: the datum that is only there has to go.
        let mut scene = scene(2 * 256 + 128);
        scene.stuck.gets_stuck_in(Operation::Download);
        let mut y = scene.rt.alloc::<f32>(N).unwrap();
        let acc0_first = scene.rt.on("acc0,acc1").unwrap();
        let event = acc0_first.scale(2.0, &scene.x, &mut y).unwrap();
        scene.rt.wait(event).unwrap();
        assert_eq!(y.read().unwrap()[..], [2.0; N]);
        let error = scene.only_there.read().map(drop).unwrap_err();
        assert!(is_lost(&error), "{error}");
        // Bytes that arrive late would be written over what is written now.
        assert!(is_lost(&scene.only_there.overwrite().map(drop).unwrap_err()));
        scene.stuck.gate.open();
        once_it_is_back(|| scene.only_there.overwrite()?.fill(4.0));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(scene.only_there.read().unwrap()[..], [4.0; N], "what came back late is not shown");
    });
}

#[test]
fn data_whose_copy_is_stuck_can_be_read_and_once_it_is_back_divided_and_written() {
    in_time("the program", || {
        let mut scene = scene(1 << 16);
        scene.stuck.gets_stuck_in(Operation::Upload);
        let mut y = scene.rt.alloc::<f32>(N).unwrap();
        scene.rt.on("acc0,acc1").unwrap().scale(2.0, &scene.x, &mut y).unwrap();
        scene.rt.finish().unwrap();
        assert_eq!(scene.x.read().unwrap()[..], [1.0; N]);
        assert!(is_lost(&scene.x.fragment(4).unwrap_err()), "the stuck thread is at the view");
        assert!(is_lost(&scene.x.update().map(drop).unwrap_err()), "and at its bytes");
        scene.stuck.gate.open();
        once_it_is_back(|| scene.x.fragment(4));
        assert_eq!(scene.x[3].read().unwrap()[..], [1.0; N / 4]);
        scene.x.join().unwrap();
        scene.x.update().unwrap()[0] = 1.0;
    });
}

#[test]
fn views_of_a_call_that_was_taken_away_are_there_when_its_thread_comes_back() {
    // Whatever operation of the device comes late: the slab of fragments would be gone when the thread goes on.
    for n in 0..6 {
        let late = Plan::nth(n, Fault::Delay(Duration::from_millis(300)));
        let acc = Faulty::new(Sim::acc("acc0", 1 << 20, Default::default()).unwrap(), late);
        let builder = Runtime::builder().cpus(1).device(acc).time_limit(Duration::from_millis(40));
        let rt = builder.policy(rimms::sched::by_name("round-robin").unwrap()).build().unwrap();
        let (x, mut y, mut z) = (written(&rt, 3.0), written(&rt, 4.0), rt.alloc::<f32>(N).unwrap());
        y.fragment(1).unwrap();
        rt.fill(0.0, &mut rt.alloc::<f32>(N).unwrap()).unwrap();
        let event = rt.zip(rimms::ZipOp::Add, &x, &y[0], &mut z).unwrap();
        if rt.wait(event).is_ok() {
            assert_eq!(z.read().unwrap()[..], [7.0; N], "operation {n}");
        }
        once_it_is_back(|| y.join());
        assert_eq!(y.read().unwrap()[..], [4.0; N], "operation {n}");
    }
}

#[test]
fn a_result_that_is_never_brought_back_is_lost() {
    in_time("the program", || {
        let stuck = Stuck::default();
        let builder = Runtime::builder().cpus(1).device(stuck.acc("acc0", 1 << 16, false)).time_limit(LIMIT);
        let rt = builder.memory_mode(MemoryMode::Reference).build().unwrap();
        stuck.gets_stuck_in(Operation::Download);
        let x = written(&rt, 1.0);
        let mut y = rt.alloc(N).unwrap();
        rt.on("acc0").unwrap().scale(2.0, &x, &mut y).unwrap();
        let error = y.read().map(drop).unwrap_err();
        assert!(is_lost(&error), "{error}");
        drop(rt);
        stuck.gate.open();
    });
}

#[test]
fn the_watchdog_names_the_device_the_queue_and_the_thread() {
    let (gate, (tell, told)) = (Gate::default(), channel());
    let tell = Mutex::new(tell);
    let gated = Gated::new(Sim::acc("slow0", 1 << 16, Default::default()).unwrap(), gate.clone());
    let other = Sim::acc("fast0", 1 << 16, Default::default()).unwrap();
    let builder = Runtime::builder().cpus(0).device(gated).device(other);
    let report = move |text: &str| drop(tell.lock().unwrap().send(text.to_owned()));
    let rt = builder.watchdog(Duration::from_millis(100), report).build().unwrap();
    let x = written(&rt, 1.0);
    let (mut y, mut z) = (rt.alloc::<f32>(N).unwrap(), rt.alloc::<f32>(N).unwrap());
    rt.on("slow").unwrap().scale(2.0, &x, &mut y).unwrap();
    rt.on("fast").unwrap().scale(3.0, &y, &mut z).unwrap();
    let reader = std::thread::Builder::new().name("the reader".into());
    let reader = reader.spawn(move || z.read().unwrap()[0]).unwrap();
    let report = told.recv_timeout(Duration::from_secs(20)).expect("nothing was reported");
    for part in [
        "slow0: 1 pending; call 1 (scale",
        "has been on slow0 for",
        "fast0: 1 pending; call 1",
        "waits for call 1 of slow0",
        "thread the reader waits for call 1 of fast0",
    ] {
        assert!(report.contains(part), "no `{part}` in: {report}");
    }
    gate.open();
    assert_eq!(reader.join().unwrap(), 6.0);
    rt.finish().unwrap();
    assert!(told.try_recv().is_err(), "told once");
}
