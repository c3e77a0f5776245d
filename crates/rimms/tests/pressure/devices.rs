//! Devices that do what a test needs.

use rimms::device::sim::Sim;
use rimms::device::{
    Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Operand, Operation, Span, Usage,
};
use rimms::op::Call;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Where uploads meet: none ends before so many have begun.
#[derive(Debug)]
pub(crate) struct Meeting {
    wanted: usize,
    there: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    pub(crate) fn of(wanted: usize) -> Arc<Self> {
        Arc::new(Self { wanted, there: Mutex::new(0), changed: Condvar::new() })
    }

    /// False where the others do not come.
    fn wait(&self) -> bool {
        let mut there = self.there.lock().unwrap();
        *there += 1;
        self.changed.notify_all();
        let late = self.changed.wait_timeout_while(there, Duration::from_secs(20), |n| *n < self.wanted).unwrap().1;
        !late.timed_out()
    }
}

/// Stops one operation on its way.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    stage: Mutex<Stage>,
    changed: Condvar,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) enum Stage {
    #[default]
    Open,
    /// The next of this kind stops.
    Set(Operation),
    Stopped,
}

impl Gate {
    fn pass(&self, operation: Operation) {
        let mut stage = self.stage.lock().unwrap();
        if *stage == Stage::Set(operation) {
            *stage = Stage::Stopped;
            self.changed.notify_all();
            let timeout = Duration::from_secs(20);
            drop(self.changed.wait_timeout_while(stage, timeout, |s| *s == Stage::Stopped).unwrap());
        }
    }
}

/// A simulated device that can be told to refuse downloads or to stop on the way, or whose uploads meet others'.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) gate: Gate,
    pub(crate) sim: Sim,
    pub(crate) refuses_downloads: AtomicBool,
    pub(crate) meeting: Option<Arc<Meeting>>,
}

impl Told {
    pub(crate) fn new(sim: Sim) -> Self {
        Self { gate: Gate::default(), sim, refuses_downloads: AtomicBool::new(false), meeting: None }
    }

    /// The next operation of this kind stops before it is done.
    pub(crate) fn stop_at(&self, operation: Operation) {
        *self.gate.stage.lock().unwrap() = Stage::Set(operation);
    }

    /// Returns once it has stopped.
    pub(crate) fn stopped(&self) {
        let stage = self.gate.stage.lock().unwrap();
        let waiting = |stage: &mut Stage| *stage != Stage::Stopped;
        let late = self.gate.changed.wait_timeout_while(stage, Duration::from_secs(20), waiting).unwrap().1;
        assert!(!late.timed_out(), "nothing of the kind came");
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        *self.gate.stage.lock().unwrap() = Stage::Open;
        self.gate.changed.notify_all();
    }

    fn failed(&self, operation: Operation, why: &str) -> DeviceError {
        DeviceError::new(self.sim.info(), operation, DeviceErrorKind::Failed, why)
    }
}

impl Device for Told {
    fn info(&self) -> &DeviceInfo {
        self.sim.info()
    }
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.sim.allocate(bytes)
    }
    fn footprint(&self, bytes: u64) -> u64 {
        self.sim.footprint(bytes)
    }
    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.sim.free(address)
    }
    fn usage(&self) -> Usage {
        self.sim.usage()
    }
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.gate.pass(Operation::Upload);
        if self.meeting.as_ref().is_some_and(|m| !m.wait()) {
            return Err(self.failed(Operation::Upload, "the others did not come"));
        }
        self.sim.upload(from, to)
    }
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.gate.pass(Operation::Download);
        if self.refuses_downloads.load(Relaxed) {
            return Err(self.failed(Operation::Download, "told to refuse"));
        }
        self.sim.download(from, to)
    }
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.sim.copy_within(from, to)
    }
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.sim.launch(unit, call, operands)
    }
    fn copy_from(&self, peer: &dyn Device, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.sim.copy_from(peer, from, to)
    }
    fn as_any(&self) -> &dyn Any {
        self.sim.as_any()
    }
}
