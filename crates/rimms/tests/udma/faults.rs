//! Every access of a register goes wrong once: the answer is right all the same, from elsewhere, or there is one clear error.

use crate::system;
use rimms::device::udma::imitation::{Fault, System};
use rimms::sched::{Candidate, Policy};
use rimms::{Complex32, Error, HeteData, Runtime};
use std::sync::Arc;
use std::time::Duration;

const N: usize = 16;

/// The block, as long as it is there.
#[derive(Debug)]
struct BlockFirst;

impl Policy for BlockFirst {
    fn name(&self) -> &'static str {
        "block-first"
    }
    fn needs_costs(&self) -> bool {
        false
    }
    fn choose(&self, _: usize, candidates: &[Candidate]) -> usize {
        candidates.len() - 1
    }
}

fn runtime(system: &System) -> Runtime {
    let device = system.device("two-level".parse().unwrap()).unwrap().with_time_limit(Duration::from_millis(1));
    Runtime::builder().cpus(1).device(device).policy(Arc::new(BlockFirst)).build().unwrap().blocking()
}

fn input(rt: &Runtime) -> HeteData<Complex32> {
    let mut x = rt.alloc(2 * N).unwrap();
    x.overwrite().unwrap().write_with(|i| Complex32::new(i as f32, 1.0)).unwrap();
    x
}

/// Two rows there and back, which shows whether a row went astray.
fn work(rt: &Runtime, on: &Runtime, x: &HeteData<Complex32>) -> rimms::Result<Vec<Complex32>> {
    let (mut y, mut z) = (rt.alloc(2 * N)?, rt.alloc(2 * N)?);
    on.fft_rows(N, x, &mut y)?;
    on.ifft_rows(N, &y, &mut z)?;
    Ok(z.read()?.to_vec())
}

fn is_right(found: &[Complex32]) -> bool {
    found.iter().enumerate().all(|(i, z)| (z - Complex32::new(i as f32, 1.0)).norm() < 1e-3)
}

#[test]
fn every_access_of_a_register_goes_wrong_once() {
    let accesses = {
        let (_folder, system) = system(1 << 16);
        let rt = runtime(&system);
        assert!(is_right(&work(&rt, &rt, &input(&rt)).unwrap()));
        assert_eq!(rt.counters().calls("fft0"), 2);
        system.dma_registers().accesses()
    };
    assert!(accesses > 60, "{accesses}");
    let mut seen = [0; 2];
    for fault in [Fault::Lost, Fault::Stops, Fault::Hangs, Fault::CutsShort] {
        for n in 0..accesses {
            let (_folder, system) = system(1 << 16);
            let rt = runtime(&system);
            let x = input(&rt);
            system.dma_registers().fail(n..n + 1, fault);
            // With the CPU beside it: always the right answer.
            let found = work(&rt, &rt, &x).unwrap_or_else(|e| panic!("{fault:?} at {n}: {e}"));
            assert!(is_right(&found), "{fault:?} at {n}: {found:?}");
            // By itself: the right answer, or a clear error, and then the right answer.
            let again = system.dma_registers().accesses();
            system.dma_registers().fail(again + n..again + n + 1, fault);
            let block = rt.on("fft0").unwrap();
            match work(&rt, &block, &x) {
                Ok(found) => assert!(is_right(&found), "{fault:?} at {n} alone: {found:?}"),
                Err(Error::Device { error, .. }) => {
                    seen[0] += 1;
                    assert!(
                        error.message.contains("DMA engine")
                            || error.message.contains("block")
                            || error.message.contains("came back"),
                        "{error}"
                    );
                }
                Err(e) => panic!("{fault:?} at {n} alone: {e}"),
            }
            system.dma_registers().fail(0..0, fault);
            // What went wrong after the last look shows once more.
            let afterwards = work(&rt, &block, &x).or_else(|_| work(&rt, &block, &x)).unwrap();
            assert!(is_right(&afterwards), "{fault:?} at {n}: not usable afterwards");
            assert!(is_right(&x.read().unwrap()), "{fault:?} at {n}: the input is not what it was");
            seen[1] += 1;
        }
    }
    // What goes wrong before anything moves is mended by the engine itself; the rest is felt.
    assert!(seen[0] * 4 > seen[1] && seen[1] == 4 * accesses as usize, "{seen:?} of {accesses}");
}

#[test]
fn an_engine_that_cannot_be_stopped_is_given_up_with_what_it_holds() {
    let (_folder, system) = system(1 << 16);
    let rt = runtime(&system);
    let x = input(&rt);
    let (mut y, mut z) = (rt.alloc(2 * N).unwrap(), rt.alloc(2 * N).unwrap());
    rt.fft_rows(N, &x, &mut y).unwrap();
    let now = system.dma_registers().accesses();
    // Once the transfer is under way nobody answers any more, so nothing says that it stands still.
    system.dma_registers().fail(now + 18..u64::MAX, Fault::Lost);
    rt.fft_rows(N, &x, &mut z).unwrap();
    assert_eq!(z.read().unwrap()[0].re, (0..N).sum::<usize>() as f32, "by the CPU");
    assert_eq!(rt.counters().calls("cpu0"), 1);
    let error = y.read().unwrap_err();
    assert!(matches!(error, Error::Uninitialised { cause: Some(_), .. }), "only the buffer had it: {error}");
    assert!(error.to_string().contains("does not come out of its reset"), "{error}");
}
