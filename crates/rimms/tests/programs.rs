//! Random programs against an oracle that knows nothing of devices: every element, after every step, in every mode.
//!
//! Three data of 4 × 6 elements are written, computed on, divided (rows, columns, tiles, unequal parts), joined and
//! read on a CPU, on an accelerator with room for all, on one with room for little, and on one that fails now and then.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use rimms::device::faulty::{Fault, Faulty, Plan};
use rimms::device::sim::Sim;
use rimms::{Error, HeteData, MemoryMode, Runtime, View, ZipOp};

const LEN: usize = 24;
const DATA: usize = 3;
const PES: [&str; 6] = ["cpu0", "roomy0", "tight0", "flaky0", "tight0,cpu0", "flaky0,roomy0"];

#[derive(Debug, Clone, Copy)]
enum Division {
    Equal(usize),
    Sizes,
    Rows,
    Columns,
    Tiles,
}

#[derive(Debug, Clone)]
enum Step {
    Divide(usize, Division),
    Join(usize),
    HostWrite { on: (usize, usize), value: f32 },
    HostUpdate { on: (usize, usize), add: f32 },
    HostRead((usize, usize)),
    Fill { on: (usize, usize), value: f32, pe: usize },
    Scale { on: (usize, usize), pe: usize },
    Add { a: usize, b: usize, out: usize, pe: usize },
}

/// A datum as a program means it.
#[derive(Clone)]
struct Meaning {
    values: Vec<f32>,
    /// The elements of each leaf, and whether they were written.
    leaves: Vec<(Vec<usize>, bool)>,
    divided: bool,
}

impl Meaning {
    fn new() -> Self {
        Self { values: vec![0.0; LEN], leaves: vec![((0..LEN).collect(), false)], divided: false }
    }

    fn can_join(&self) -> bool {
        self.leaves.iter().all(|l| l.1) || self.leaves.iter().all(|l| !l.1)
    }

    fn join(&mut self) {
        let written = self.leaves[0].1;
        self.leaves = vec![((0..LEN).collect(), written)];
        self.divided = false;
    }

    fn divide(&mut self, division: Division) {
        let written = self.leaves[0].1;
        let grid = |rows: &[usize], cols: &[usize]| {
            let (mut parts, mut top) = (Vec::new(), 0);
            for &h in rows {
                let mut left = 0;
                for &w in cols {
                    let part = (top..top + h).flat_map(|r| (left..left + w).map(move |c| r * 6 + c)).collect();
                    parts.push((part, written));
                    left += w;
                }
                top += h;
            }
            parts
        };
        self.leaves = match division {
            Division::Equal(n) => (0..n).map(|i| ((i * LEN / n..(i + 1) * LEN / n).collect(), written)).collect(),
            Division::Sizes => [0..5, 5..6, 6..24].into_iter().map(|r| (r.collect(), written)).collect(),
            Division::Rows => grid(&[1; 4], &[6]),
            Division::Columns => grid(&[4], &[1; 6]),
            Division::Tiles => grid(&[2, 2], &[3, 2, 1]),
        };
        self.divided = true;
    }

    /// The leaves of part `i`: all of them for 0.
    fn part(&self, i: usize) -> std::ops::Range<usize> {
        let n = self.leaves.len();
        if i == 0 || !self.divided { 0..n } else { (i - 1) % n..(i - 1) % n + 1 }
    }

    fn elements(&self, i: usize) -> Vec<usize> {
        // Of the whole datum in order; of a leaf row by row, which is how its elements are listed.
        if i == 0 || !self.divided { (0..LEN).collect() } else { self.leaves[self.part(i).start].0.clone() }
    }

    fn is_written(&self, i: usize) -> bool {
        self.leaves[self.part(i)].iter().all(|l| l.1)
    }

    fn set_written(&mut self, i: usize, written: bool) {
        let part = self.part(i);
        self.leaves[part].iter_mut().for_each(|l| l.1 = written);
    }
}

struct Program {
    rt: Runtime,
    data: Vec<HeteData<f32>>,
    meaning: Vec<Meaning>,
}

fn view<'a>(data: &'a mut HeteData<f32>, meaning: &Meaning, i: usize) -> &'a mut View<f32> {
    if i == 0 || !meaning.divided { data } else { data.get_mut(meaning.part(i).start).unwrap() }
}

impl Program {
    fn new(mode: MemoryMode, faults: &[u64]) -> Self {
        let plan = faults
            .iter()
            .fold(Plan::none(), |plan, &n| plan.and(n..n + 1, if n % 2 == 0 { Fault::Fail } else { Fault::CutOff }));
        let sim = |name, memory| Sim::acc(name, memory, "next-fit".parse().unwrap()).unwrap();
        let rt = Runtime::builder()
            .cpus(1)
            .device(sim("roomy0", 1 << 16))
            .device(sim("tight0", 144))
            .device(Faulty::new(sim("flaky0", 1 << 12), plan))
            .memory_mode(mode)
            .build()
            .unwrap()
            .blocking();
        let data = (0..DATA).map(|_| rt.alloc(LEN).unwrap()).collect();
        Self { rt, data, meaning: vec![Meaning::new(); DATA] }
    }

    /// What the oracle says an access of part `i` of datum `d` must come to; true where it succeeded.
    fn judge<T>(&mut self, d: usize, i: usize, must_be_written: bool, result: Result<T, Error>) -> bool {
        match result {
            Ok(_) => {
                assert!(!must_be_written || self.meaning[d].is_written(i), "read what nobody wrote");
                true
            }
            Err(Error::Uninitialised { .. }) => {
                assert!(must_be_written && !self.meaning[d].is_written(i), "called uninitialised, but it was written");
                false
            }
            // Nothing changed.
            Err(Error::Full { .. } | Error::Fragmented { .. } | Error::NeverFits { .. }) => false,
            // What was to be written may be gone; what is still there must be what it was.
            Err(Error::Device { .. }) => {
                let gone = view(&mut self.data[d], &self.meaning[d], i).valid().is_empty();
                if gone {
                    let part = self.meaning[d].part(i);
                    for leaf in part {
                        let divided = self.meaning[d].divided;
                        let lost = if divided { self.data[d][leaf].valid().is_empty() } else { gone };
                        self.meaning[d].leaves[leaf].1 &= !lost;
                    }
                }
                false
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Divide(d, division) => {
                let data = &mut self.data[d];
                let result = match division {
                    Division::Equal(n) => data.fragment(n),
                    Division::Sizes => data.fragment_sizes(&[5, 1, 18]),
                    Division::Rows => data.tile(6, 1, 6),
                    Division::Columns => data.tile(6, 4, 1),
                    Division::Tiles => data.tile_sizes(&[2, 2], &[3, 2, 1]),
                };
                if self.joined(d, result) {
                    self.meaning[d].divide(division);
                }
            }
            Step::Join(d) => {
                let result = self.data[d].join();
                self.joined(d, result);
            }
            Step::HostWrite { on: (d, i), value } => {
                let elements = self.meaning[d].elements(i);
                let view = view(&mut self.data[d], &self.meaning[d], i);
                view.overwrite().unwrap().write_with(|k| value + k as f32).unwrap();
                for (k, e) in elements.into_iter().enumerate() {
                    self.meaning[d].values[e] = value + k as f32;
                }
                self.meaning[d].set_written(i, true);
            }
            Step::HostUpdate { on: (d, i), add } => {
                let view = view(&mut self.data[d], &self.meaning[d], i);
                let rows = view.rows().0;
                let result = view.update_rows().map(|mut g| {
                    (0..rows).for_each(|r| g.row(r).unwrap().iter_mut().for_each(|v| *v += add));
                });
                if self.judge(d, i, true, result) {
                    for e in self.meaning[d].elements(i) {
                        self.meaning[d].values[e] += add;
                    }
                }
            }
            Step::HostRead((d, i)) => self.read(d, i),
            Step::Fill { on: (d, i), value, pe } => {
                let on = self.rt.on(PES[pe]).unwrap();
                let result = on.fill(value, view(&mut self.data[d], &self.meaning[d], i));
                if self.judge(d, i, false, result) {
                    for e in self.meaning[d].elements(i) {
                        self.meaning[d].values[e] = value;
                    }
                    self.meaning[d].set_written(i, true);
                }
            }
            Step::Scale { on: (d, i), pe } => {
                let on = self.rt.on(PES[pe]).unwrap();
                let result = on.scale_in_place(0.5, view(&mut self.data[d], &self.meaning[d], i));
                if self.judge(d, i, true, result) {
                    for e in self.meaning[d].elements(i) {
                        self.meaning[d].values[e] *= 0.5;
                    }
                }
            }
            Step::Add { a, b, out, pe } => {
                let on = self.rt.on(PES[pe]).unwrap();
                let written = self.meaning[a].is_written(0) && self.meaning[b].is_written(0);
                // Out of the vector, so that an output can be borrowed beside the inputs.
                let mut data = std::mem::take(&mut self.data);
                let mut to = data.remove(out);
                let rest = |d: usize| &data[if d > out { d - 1 } else { d }];
                let result = on.zip(ZipOp::Add, rest(a), rest(b), &mut to);
                data.insert(out, to);
                self.data = data;
                if let Err(Error::Uninitialised { .. }) = result {
                    assert!(!written);
                    return;
                }
                assert!(written || result.is_err());
                if self.judge(out, 0, false, result) {
                    for e in 0..LEN {
                        self.meaning[out].values[e] = self.meaning[a].values[e] + self.meaning[b].values[e];
                    }
                    self.meaning[out].set_written(0, true);
                }
            }
        }
    }

    fn joined(&mut self, d: usize, result: Result<(), Error>) -> bool {
        match result {
            Ok(()) => {
                assert!(self.meaning[d].can_join());
                self.meaning[d].join();
                true
            }
            Err(Error::Uninitialised { .. }) => {
                assert!(!self.meaning[d].can_join());
                false
            }
            Err(Error::Device { .. }) => false,
            Err(e) => panic!("{e}"),
        }
    }

    fn read(&mut self, d: usize, i: usize) {
        let elements = self.meaning[d].elements(i);
        let view = view(&mut self.data[d], &self.meaning[d], i);
        let result = view.read_rows().map(|g| g.iter().flatten().copied().collect::<Vec<f32>>());
        if let Ok(found) = &result {
            let want: Vec<f32> = elements.iter().map(|&e| self.meaning[d].values[e]).collect();
            assert_eq!(found, &want, "datum {d}, part {i}");
        }
        self.judge(d, i, true, result.map(drop));
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let on = || (0..DATA, prop_oneof![1 => Just(0_usize), 3 => 1..7_usize]);
    let pe = || 0..PES.len();
    let division = prop_oneof![
        prop::sample::select(vec![1, 2, 3, 4, 6, 8]).prop_map(Division::Equal),
        Just(Division::Sizes),
        Just(Division::Rows),
        Just(Division::Columns),
        Just(Division::Tiles),
    ];
    let value = -4..4_i8;
    prop::collection::vec(
        prop_oneof![
            2 => (0..DATA, division).prop_map(|(d, v)| Step::Divide(d, v)),
            1 => (0..DATA).prop_map(Step::Join),
            3 => (on(), value.clone()).prop_map(|(on, v)| Step::HostWrite { on, value: v.into() }),
            2 => (on(), value.clone()).prop_map(|(on, v)| Step::HostUpdate { on, add: v.into() }),
            3 => on().prop_map(Step::HostRead),
            3 => (on(), value, pe()).prop_map(|(on, v, pe)| Step::Fill { on, value: v.into(), pe }),
            4 => (on(), pe()).prop_map(|(on, pe)| Step::Scale { on, pe }),
            4 => (0..DATA, 1..DATA, pe())
                .prop_map(|(out, by, pe)| Step::Add { a: (out + by) % DATA, b: (out + 1) % DATA, out, pe }),
        ],
        1..80,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_mean_the_same_in_every_mode_whatever_fails(
        steps in steps(),
        faults in prop::collection::vec(0..150_u64, 0..12),
    ) {
        for mode in [MemoryMode::Reference, MemoryMode::LastResource, MemoryMode::ValidSet] {
            let mut program = Program::new(mode, &faults);
            for step in &steps {
                program.run(step);
            }
            for d in 0..DATA {
                program.read(d, 0);
            }
            let Program { rt, data, .. } = program;
            drop(data);
            for r in rt.resources() {
                // A release that failed is tried again at each look; every planned fault fails one at most.
                let left = (0..=faults.len()).map(|_| rt.usage(r.id).unwrap().blocks).min();
                prop_assert_eq!(left, Some(0), "{} leaked", r.name);
            }
        }
    }
}
