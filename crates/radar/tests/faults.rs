//! Every operation of an accelerator failed once, and cut off once, while an application runs: the right answer from
//! another PE, or one clear error; nothing leaked; and the next run, of the same input on the same runtime, is right.
#![allow(clippy::unwrap_used)]

use std::fmt::Debug;
use std::sync::Arc;

use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::sched::{Candidate, Policy};
use rimms::{Complex32, MemoryMode, Runtime};
use rimms_radar::apps::{Config, Conj, Style, pulse_doppler, radar_correlator, sar, three_zip, two_fft, two_fzf};
use rimms_radar::reception::Echo;
use rimms_radar::sar::Scene as SarScene;
use rimms_radar::scene::Scene;
use rimms_radar::{Geometry, Result};

const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];

/// The accelerator, as long as it does not fail.
#[derive(Debug)]
struct AcceleratorFirst;

impl Policy for AcceleratorFirst {
    fn name(&self) -> &'static str {
        "accelerator first"
    }

    fn needs_costs(&self) -> bool {
        false
    }

    fn choose(&self, _turn: usize, candidates: &[Candidate]) -> usize {
        candidates.len() - 1
    }
}

struct Machine {
    acc: Arc<Faulty>,
    rt: Runtime,
}

impl Machine {
    fn new(cpus: usize, mode: MemoryMode, plan: Plan) -> Machine {
        let acc = Arc::new(Faulty::new(Sim::acc("acc0", 1 << 20, Default::default()).unwrap(), plan));
        let builder = Runtime::builder().cpus(cpus).shared_device(acc.clone());
        let rt = builder.memory_mode(mode).policy(Arc::new(AcceleratorFirst)).build().unwrap();
        Machine { acc, rt }
    }

    /// Blocks left on the device, once calls that the application no longer cared for are done.
    fn blocks(&self) -> u64 {
        self.rt.finish().unwrap();
        self.rt.usage(self.rt.resources()[1].id).unwrap().blocks
    }
}

/// `run` gives an error, or whether its answer is right.
fn whatever_fails(what: &dyn Debug, run: &dyn Fn(&Runtime) -> Result<bool>) {
    for mode in MODES {
        for cpus in [0, 1] {
            let clean = Machine::new(cpus, mode, Plan::none());
            assert!(run(&clean.rt).unwrap(), "{what:?} {mode}: wrong without a fault");
            let operations = clean.acc.operations();
            let (mut survived, mut failed) = (0, 0);
            for n in 0..operations {
                for fault in [Fault::Fail, Fault::CutOff] {
                    let case = format!("{what:?}, {mode}, {cpus} CPUs, {fault:?} of {n} of {operations}");
                    let machine = Machine::new(cpus, mode, Plan::nth(n, fault));
                    match run(&machine.rt) {
                        Ok(right) => {
                            assert!(right, "{case}: wrong answer");
                            survived += 1;
                        }
                        Err(error) => {
                            let text = error.to_string();
                            assert!(text.contains("as planned") && !text.contains('\n'), "{case}: {text}");
                            failed += 1;
                        }
                    }
                    assert_eq!(machine.blocks(), 0, "{case}: device memory leaked");
                    assert!(run(&machine.rt).unwrap(), "{case}: wrong afterwards");
                }
            }
            // Without another PE only a release of memory, which is repeated, may fail; with one, most may.
            if cpus == 0 {
                assert!(failed > survived, "{what:?}, {mode}: {survived} survived, {failed} failed");
            } else {
                assert!(survived > failed, "{what:?}, {mode}: {survived} survived, {failed} failed");
            }
        }
    }
}

#[test]
fn two_fft_in_both_styles() {
    let samples: Vec<Complex32> = two_fft::samples(64).unwrap();
    for style in [Style::Paper, Style::Best] {
        let config = Config { style, ..Default::default() };
        whatever_fails(&config, &|rt| Ok(two_fft::run(rt, &samples, &config)?.max_error.unwrap() < 1e-5));
    }
}

#[test]
fn pulse_doppler_in_both_styles() {
    let scene = Scene::new(Geometry::new("16x8".parse().unwrap(), 1e-4).unwrap());
    let recording = scene.recording().unwrap();
    for style in [Style::Paper, Style::Best] {
        for conj in [Conj::Host, Conj::Device] {
            let config = Config { style, conj, ..Default::default() };
            let right = |rt: &Runtime| Ok(pulse_doppler::run(rt, &recording, &config)?.max_error.unwrap() < 0.2);
            whatever_fails(&config, &right);
        }
    }
}

#[test]
fn two_fzf_and_three_zip() {
    let (signals, factors) = (two_fzf::Input::synthetic(64).unwrap(), three_zip::Input::synthetic(64).unwrap());
    for style in [Style::Paper, Style::Best] {
        let config = Config { style, ..Default::default() };
        whatever_fails(&config, &|rt| Ok(two_fzf::run(rt, &signals, &config)?.max_error.unwrap() < 1e-5));
    }
    let config = Config::default();
    whatever_fails(&config, &|rt| Ok(three_zip::run(rt, &factors, &config)?.max_error.unwrap() < 1e-4));
}

#[test]
fn radar_correlator_in_both_styles() {
    let reception = Echo::new(32).unwrap().reception().unwrap();
    for style in [Style::Paper, Style::Best] {
        for conj in [Conj::Host, Conj::Device] {
            let config = Config { style, conj, ..Default::default() };
            whatever_fails(&config, &|rt| Ok(radar_correlator::run(rt, &reception, &config)?.max_error == Some(0.0)));
        }
    }
}

#[test]
fn sar_in_both_styles() {
    let echoes = SarScene::new("3x2".parse().unwrap()).unwrap().echoes().unwrap();
    for style in [Style::Paper, Style::Best] {
        let config = Config { style, ..Default::default() };
        whatever_fails(&config, &|rt| Ok(sar::run(rt, &echoes, &config)?.max_error.unwrap() < 1e-5));
    }
}
