//! Devices that vanish: what others have lives on, what nobody else has says why it is gone.

use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::{Error, HeteData, MemoryMode, ResourceId, Runtime, sched};
use std::sync::Arc;

const N: usize = 64;

fn runtime(plan: Plan, cpus: usize, mode: MemoryMode) -> (Runtime, Arc<Faulty>) {
    let acc = Arc::new(Faulty::new(Sim::acc("acc0", 1 << 12, Default::default()).unwrap(), plan));
    let policy = sched::by_name("round-robin").unwrap();
    let rt = Runtime::builder()
        .cpus(cpus)
        .shared_device(acc.clone())
        .memory_mode(mode)
        .policy(policy)
        .build()
        .unwrap()
        .blocking();
    (rt, acc)
}

fn program(rt: &Runtime, data: &mut [HeteData<f32>; 3]) -> Result<(), Error> {
    let [x, y, z] = data;
    x.overwrite()?.fill(1.0)?;
    rt.scale(2.0, x, y)?;
    rt.scale_in_place(2.0, y)?;
    y.read()?;
    rt.scale(2.0, y, z)?;
    Ok(())
}

#[test]
fn a_device_lost_at_any_time_takes_only_what_it_alone_had() {
    for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
        for cpus in [0, 1] {
            let run = |plan: Plan| {
                let (rt, acc) = runtime(plan, cpus, mode);
                let mut data = [(); 3].map(|()| rt.alloc(N).unwrap());
                let outcome = program(&rt, &mut data);
                (rt, acc, data, outcome)
            };
            let (_, acc, data, outcome) = run(Plan::none());
            outcome.unwrap();
            let operations = acc.operations();
            drop(data);
            for n in 0..operations {
                let (rt, acc, mut data, outcome) = run(Plan::nth(n, Fault::Lose));
                let case = format!("{mode}, {cpus} CPUs, lost at {n}");
                assert_eq!(data[0].read().unwrap()[..], [1.0; N], "{case}: the host wrote it");
                for (x, want) in data[1..].iter().zip([4.0, 8.0]) {
                    match x.read() {
                        Ok(found) if outcome.is_ok() => assert_eq!(found[..], [want; N], "{case}"),
                        Ok(found) => assert!([2.0, 4.0, 8.0].contains(&found[0]), "{case}"),
                        Err(e) => assert!(matches!(e, Error::Uninitialised { .. }), "{case}: {e}"),
                    }
                    assert!(!x.is_valid_on(ResourceId::new(1).unwrap()), "{case}");
                }
                if let Err(e) = outcome {
                    let lost = |e: &Error| matches!(e, Error::DeviceLost { device, .. } if &**device == "acc0");
                    let cause = matches!(&e, Error::Uninitialised { cause: Some(c), .. } if lost(c));
                    assert!(lost(&e) || cause, "{case}: {e}");
                }
                let after = acc.operations();
                // Whoever asks for it hears that it is gone, and nothing calls it any more.
                let on = rt.on("acc0").unwrap();
                assert!(matches!(on.fill(1.0, &mut data[1]), Err(Error::DeviceLost { .. })), "{case}");
                drop(data);
                assert_eq!(acc.operations(), after, "{case}: a lost device was called");
            }
        }
    }
}

#[test]
fn what_was_lost_names_the_device_and_can_be_written_again() {
    // An allocation and a launch; the copy back finds nothing.
    let (rt, _) = runtime(Plan::nth(2, Fault::Lose), 1, MemoryMode::ValidSet);
    let mut x = rt.alloc_named::<f32>("map", N).unwrap();
    rt.on("acc0").unwrap().fill(7.0, &mut x).unwrap();
    assert!(matches!(x.read(), Err(Error::DeviceLost { .. })));
    let error = x.read().map(drop).unwrap_err();
    assert!(matches!(&error, Error::Uninitialised { cause: Some(_), .. }));
    let text = error.to_string();
    assert!(text.contains("`map`") && text.contains("acc0 is lost") && text.contains("operation 2"), "{text}");
    rt.fill(8.0, &mut x).unwrap(); // on the CPU: the other has gone
    assert_eq!(x.read().unwrap()[..], [8.0; N]);
}

#[test]
fn calls_go_on_elsewhere() {
    let (rt, _) = runtime(Plan::nth(7, Fault::Lose), 1, MemoryMode::ValidSet);
    let mut x = rt.alloc::<f32>(N).unwrap();
    x.overwrite().unwrap().fill(1.0).unwrap();
    let mut done = 0;
    for _ in 0..10 {
        // Read on the host each time, so that it always has it.
        rt.scale_in_place(2.0, &mut x).unwrap();
        done += 1;
        assert_eq!(x.read().unwrap()[0], f32::powi(2.0, done));
    }
    assert!(rt.counters().retries > 0);
}
