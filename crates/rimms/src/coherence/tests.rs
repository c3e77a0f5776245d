//! The state machine against an oracle that really moves versions around.

use super::*;
use proptest::prelude::*;

const RESOURCES: usize = 4;

fn resource(i: usize) -> ResourceId {
    ResourceId::new(i).unwrap()
}

/// Every resource's bytes as a version number; the newest version is `newest`.
struct Oracle {
    held: [u64; RESOURCES],
    newest: Option<u64>,
    clock: u64,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum Program {
    Read(usize),
    Write { on: usize, fails: bool },
    Update { on: usize, fails: bool },
    Drop(usize),
}

impl Oracle {
    fn new() -> Self {
        Self { held: [0; RESOURCES], newest: None, clock: 0, state: State::UNINITIALISED }
    }

    /// Returns the copies made.
    fn apply(&mut self, mode: MemoryMode, event: Event) -> Result<usize, Uninitialised> {
        let step = mode.step(self.state, event)?;
        let mut copies = 0;
        match step.transfer {
            None => {}
            Some(Transfer::Copy { from, to }) => {
                self.held[to.index()] = self.held[from.index()];
                copies = 1;
            }
            // One memory: what one sees after maintenance, the other does.
            Some(Transfer::Maintain { from, to }) => self.held[to.index()] = self.held[from.index()],
        }
        self.state = step.state;
        assert_eq!(State::from_bits(self.state.to_bits()), Some(self.state));
        Ok(copies)
    }

    fn run(&mut self, mode: MemoryMode, p: Program) -> usize {
        let before = self.state;
        match p {
            Program::Read(on) => match self.apply(mode, Event::Read(resource(on))) {
                Ok(copies) => {
                    assert_eq!(Some(self.held[on]), self.newest, "{mode}: stale read on {on}");
                    return copies;
                }
                Err(Uninitialised) => assert!(before.valid().is_empty()),
            },
            Program::Write { on, fails } => {
                let copies = self.apply(mode, Event::BeginWrite(resource(on))).unwrap();
                assert_eq!(copies, 0, "an Out operand is never copied in");
                return self.finish(mode, on, fails);
            }
            Program::Update { on, fails } => match self.apply(mode, Event::Read(resource(on))) {
                Ok(copies) => {
                    assert_eq!(Some(self.held[on]), self.newest, "{mode}: stale update on {on}");
                    assert_eq!(self.apply(mode, Event::BeginUpdate(resource(on))), Ok(0));
                    return copies + self.finish(mode, on, fails);
                }
                Err(Uninitialised) => assert!(before.valid().is_empty()),
            },
            Program::Drop(on) => {
                // Only ever asked of devices, and where another copy is.
                let other = self.state.valid().without(resource(on));
                if !other.is_empty() && on != 0 {
                    self.apply(mode, Event::Drop(resource(on))).unwrap();
                    self.held[on] = u64::MAX;
                }
            }
        }
        0
    }

    fn finish(&mut self, mode: MemoryMode, on: usize, fails: bool) -> usize {
        self.clock += 1;
        self.held[on] = if fails { u64::MAX } else { self.clock };
        if fails {
            if self.state.valid().is_empty() {
                self.newest = None;
            }
            assert!(!self.state.is_valid_on(resource(on)), "half a result is never valid");
            0
        } else {
            self.newest = Some(self.clock);
            self.apply(mode, Event::EndWrite(resource(on))).unwrap()
        }
    }

    fn check(&self, mode: MemoryMode) {
        if self.state.host_has_copy() {
            assert_eq!(Some(self.held[0]), self.newest, "{mode}: the host's copy is stale");
        }
        for r in self.state.valid().iter() {
            assert_eq!(Some(self.held[r.index()]), self.newest, "{mode}: {r:?} is called valid but is stale");
        }
    }
}

fn program() -> impl Strategy<Value = Program> {
    let on = 0..RESOURCES;
    prop_oneof![
        4 => on.clone().prop_map(Program::Read),
        3 => (on.clone(), prop::bool::weighted(0.15)).prop_map(|(on, fails)| Program::Write { on, fails }),
        2 => (on.clone(), prop::bool::weighted(0.15)).prop_map(|(on, fails)| Program::Update { on, fails }),
        1 => on.prop_map(Program::Drop),
    ]
}

proptest! {
    #[test]
    fn no_mode_ever_reads_stale_bytes(programs in prop::collection::vec(program(), 0..60)) {
        for mode in MemoryMode::ALL {
            let mut oracle = Oracle::new();
            for &p in &programs {
                oracle.run(mode, p);
                oracle.check(mode);
            }
        }
    }

    #[test]
    fn valid_set_never_copies_more_than_the_others(programs in prop::collection::vec(program(), 0..60)) {
        // Without drops and failures, which take copies away.
        let count = |mode| {
            let mut oracle = Oracle::new();
            programs.iter().filter(|p| matches!(p, Program::Read(_) | Program::Write { fails: false, .. } | Program::Update { fails: false, .. }))
                .map(|&p| oracle.run(mode, p)).sum::<usize>()
        };
        let ours = count(MemoryMode::ValidSet);
        prop_assert!(ours <= count(MemoryMode::LastResource));
        prop_assert_eq!(count(MemoryMode::ZeroCopy), 0);
    }
}

/// Every state of four resources under every event: the invariants of the module's head.
#[test]
fn every_state_and_event_keeps_the_invariants() {
    for mode in MemoryMode::ALL {
        for mask in 0..1_u64 << RESOURCES {
            let set =
                (0..RESOURCES).filter(|i| mask >> i & 1 == 1).fold(ResourceSet::EMPTY, |s, i| s.with(resource(i)));
            let states: Vec<State> = match mask {
                0 => vec![State::UNINITIALISED],
                _ => set.iter().filter_map(|last| State::new(set, last)).collect(),
            };
            for state in states {
                for r in (0..RESOURCES).map(resource) {
                    for event in [
                        Event::Read(r),
                        Event::BeginWrite(r),
                        Event::BeginUpdate(r),
                        Event::EndWrite(r),
                        Event::Drop(r),
                    ] {
                        let reads = matches!(event, Event::Read(_));
                        let Ok(step) = mode.step(state, event) else {
                            assert!(reads && set.is_empty());
                            continue;
                        };
                        assert!(!(reads && set.is_empty()));
                        assert!(State::from_bits(step.state.to_bits()).is_some(), "{mode} {state:?} {event:?}");
                        if let Some(Transfer::Copy { from, to } | Transfer::Maintain { from, to }) = step.transfer {
                            assert_ne!(from, to);
                            if reads && mode != MemoryMode::Reference {
                                assert!(state.is_valid_on(from));
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn last_resource_copies_a_host_input_at_every_read_and_valid_set_once() {
    let acc = resource(1);
    let read_twice = |mode: MemoryMode| {
        let mut oracle = Oracle::new();
        oracle.run(mode, Program::Write { on: 0, fails: false });
        oracle.run(mode, Program::Read(1)) + oracle.run(mode, Program::Read(1))
    };
    assert_eq!(read_twice(MemoryMode::LastResource), 2);
    assert_eq!(read_twice(MemoryMode::ValidSet), 1);
    let state = MemoryMode::ValidSet.step(State::owned(ResourceId::HOST), Event::Read(acc)).unwrap().state;
    assert_eq!(state.last(), Some(ResourceId::HOST), "reading does not change who wrote last");
}

#[test]
fn words_that_no_state_has_are_refused() {
    assert_eq!(State::from_bits(1 << 60), None, "a last resource without a valid set");
    assert_eq!(State::from_bits(0b10), None, "the last resource, host, is not in the set");
    assert_eq!(State::from_bits(u64::MAX), None);
    assert_eq!(ResourceId::new(MAX_RESOURCES), None);
}
