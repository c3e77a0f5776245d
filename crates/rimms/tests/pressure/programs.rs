//! Random programs on a device that has room for the largest call, and up to a third more: every call succeeds, and
//! every value is what it is without devices.

use proptest::prelude::*;
use rimms::device::sim::{HeapKind, Sim};
use rimms::{HeteData, MemoryMode, Runtime, View, ZipOp};

const MODES: [MemoryMode; 3] = [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet];
const HEAPS: [HeapKind; 3] = [HeapKind::Bitset { block: 64 }, HeapKind::NextFit, HeapKind::TwoLevel];
/// Elements of each datum, and into how many fragments it may be divided.
const LENS: [usize; 6] = [24, 24, 24, 60, 60, 150];
const PARTS: usize = 6;

#[derive(Debug, Clone, Copy)]
enum Step {
    Divide(usize),
    Join(usize),
    /// Part 0 is all of it.
    Write(usize, usize, i8),
    Update(usize, usize, i8),
    Read(usize, usize),
    Fill(usize, usize, i8, Where),
    Double(usize, usize, Where),
    /// Of three data of one length, or two of another.
    Add(usize, usize, usize, Where),
    /// Three fragments of one datum: the first two into the third.
    AddParts(usize, [usize; 3], Where),
}

#[derive(Debug, Clone, Copy)]
enum Where {
    Tight,
    Other,
    Cpu,
}

impl Where {
    fn name(self) -> &'static str {
        match self {
            Self::Tight => "tight0",
            Self::Other => "other0",
            Self::Cpu => "cpu0",
        }
    }
}

struct Program {
    rt: Runtime,
    data: Vec<HeteData<f32>>,
    divided: [bool; LENS.len()],
    values: Vec<Vec<f32>>,
}

/// Bytes that the largest call takes of a heap: the datum of 150, or two of 60, or three of 24.
fn largest_call(heap: HeapKind) -> u64 {
    LENS.iter().fold([0; 151], |mut sums, &len| {
        sums[len] += heap.footprint(len as u64 * 4, 16);
        sums
    })[24..]
        .iter()
        .copied()
        .max()
        .unwrap()
}

impl Program {
    fn new(mode: MemoryMode, heap: HeapKind, tightness: u64) -> Self {
        let memory = largest_call(heap) * tightness / 100;
        let sim = |name| Sim::acc(name, memory, heap).unwrap();
        let rt = Runtime::builder()
            .cpus(1)
            .device(sim("tight0"))
            .device(sim("other0"))
            .memory_mode(mode)
            .build()
            .unwrap()
            .blocking();
        let data = LENS.map(|len| {
            let mut datum = rt.alloc(len).unwrap();
            datum.overwrite().unwrap().write_with(|i| (i % 17) as f32).unwrap();
            datum
        });
        let values = LENS.map(|len| (0..len).map(|i| (i % 17) as f32).collect());
        Self { rt, data: data.into(), divided: [false; LENS.len()], values: values.into() }
    }

    fn view(&mut self, d: usize, part: usize) -> (&mut View<f32>, &mut [f32]) {
        let len = LENS[d] / PARTS;
        match part {
            1.. if self.divided[d] => {
                let i = (part - 1) % PARTS;
                (&mut self.data[d][i], &mut self.values[d][i * len..(i + 1) * len])
            }
            _ => (&mut self.data[d], &mut self.values[d]),
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Divide(d) => {
                self.data[d].fragment(PARTS).unwrap();
                self.divided[d] = true;
            }
            Step::Join(d) => {
                self.data[d].join().unwrap();
                self.divided[d] = false;
            }
            Step::Write(d, part, value) => {
                let (view, values) = self.view(d, part);
                view.overwrite().unwrap().fill(value.into()).unwrap();
                values.fill(value.into());
            }
            Step::Update(d, part, value) => {
                let (view, values) = self.view(d, part);
                view.update()
                    .unwrap()
                    .iter_mut()
                    .chain(values)
                    .for_each(|v| *v = v.rem_euclid(64.0) + f32::from(value));
            }
            Step::Read(d, part) => {
                let (view, values) = self.view(d, part);
                assert_eq!(view.read().unwrap()[..], *values);
            }
            Step::Fill(d, part, value, pe) => {
                let on = self.rt.on(pe.name()).unwrap();
                let (view, values) = self.view(d, part);
                on.fill(f32::from(value), view).unwrap();
                values.fill(value.into());
            }
            Step::Double(d, part, pe) => {
                let on = self.rt.on(pe.name()).unwrap();
                let (view, values) = self.view(d, part);
                on.scale_in_place(2.0, view).unwrap();
                values.iter_mut().for_each(|v| *v *= 2.0);
            }
            Step::Add(a, b, out, pe) => self.add([a, b, out], pe),
            Step::AddParts(d, parts, pe) => {
                if !self.divided[d] {
                    return;
                }
                let on = self.rt.on(pe.name()).unwrap();
                let (len, out) = (LENS[d] / PARTS, parts[2]);
                let mut views: Vec<_> = self.data[d].fragments_mut().map(Some).collect();
                let to = views[out].take().unwrap();
                let [a, b] = [parts[0], parts[1]].map(|i| views[i].as_deref());
                let (Some(a), Some(b)) = (a, b) else { return };
                on.zip(ZipOp::Add, a, b, to).unwrap();
                for k in 0..len {
                    let v = &mut self.values[d];
                    v[out * len + k] = v[parts[0] * len + k] + v[parts[1] * len + k];
                }
            }
        }
    }

    fn add(&mut self, [a, b, out]: [usize; 3], pe: Where) {
        if out == a || out == b || LENS[a] != LENS[out] || LENS[b] != LENS[out] {
            return;
        }
        let on = self.rt.on(pe.name()).unwrap();
        let mut to = self.data.remove(out);
        let at = |d: usize| if d > out { d - 1 } else { d };
        on.zip(ZipOp::Add, &self.data[at(a)], &self.data[at(b)], &mut to).unwrap();
        self.data.insert(out, to);
        self.values[out] = self.values[a].iter().zip(&self.values[b]).map(|(x, y)| x + y).collect();
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let d = || 0..LENS.len();
    let part = || prop_oneof![2 => Just(0), 3 => 1..=PARTS];
    let pe = || prop_oneof![6 => Just(Where::Tight), 1 => Just(Where::Other), 1 => Just(Where::Cpu)];
    let parts = (0..PARTS, 0..PARTS, 0..PARTS).prop_map(|(a, b, out)| [a, b, out]);
    prop::collection::vec(
        prop_oneof![
            2 => d().prop_map(Step::Divide),
            1 => d().prop_map(Step::Join),
            1 => (d(), part(), -4..4_i8).prop_map(|(d, p, v)| Step::Write(d, p, v)),
            1 => (d(), part(), -4..4_i8).prop_map(|(d, p, v)| Step::Update(d, p, v)),
            2 => (d(), part()).prop_map(|(d, p)| Step::Read(d, p)),
            2 => (d(), part(), -4..4_i8, pe()).prop_map(|(d, p, v, pe)| Step::Fill(d, p, v, pe)),
            4 => (d(), part(), pe()).prop_map(|(d, p, pe)| Step::Double(d, p, pe)),
            4 => (d(), d(), d(), pe()).prop_map(|(a, b, out, pe)| Step::Add(a, b, out, pe)),
            3 => (d(), parts, pe()).prop_map(|(d, parts, pe)| Step::AddParts(d, parts, pe)),
        ],
        1..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn eviction_loses_and_invents_no_value(steps in steps(), tightness in 100..130_u64) {
        for mode in MODES {
            for heap in HEAPS {
                let mut program = Program::new(mode, heap, tightness);
                for step in &steps {
                    program.run(*step);
                }
                for d in 0..LENS.len() {
                    program.run(Step::Read(d, 0));
                }
                let Program { rt, data, .. } = program;
                drop(data);
                for r in rt.resources() {
                    prop_assert_eq!(rt.usage(r.id).unwrap().blocks, 0, "{} leaked", r.name);
                }
            }
        }
    }
}

#[test]
fn programs_like_these_do_evict() {
    let mut program = Program::new(MemoryMode::ValidSet, HeapKind::TwoLevel, 100);
    for d in 0..LENS.len() {
        program.run(Step::Double(d, 0, Where::Tight));
    }
    assert!(program.rt.counters().evictions >= 3, "{:?}", program.rt.counters());
    assert!(program.rt.counters().by_cause(rimms::Cause::Eviction).copies >= 3);
}
