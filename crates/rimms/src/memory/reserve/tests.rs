#![allow(clippy::unwrap_used)]

use super::*;
use crate::coherence::MemoryMode;
use crate::device::host::Host;
use crate::device::sim::{HeapKind, Sim};
use crate::device::{Device, DeviceInfo, HostSource, HostTarget, Operand, Usage as MemoryUsage};
use crate::memory::Owned;
use crate::op::{Call, Element};
use parking_lot::Mutex;
use std::any::Any;

const BLOCK: usize = 1024;

/// A device on which somebody is who goes as soon as something was allocated.
#[derive(Debug)]
struct Left {
    sim: Sim,
    guest: Mutex<Option<Guest>>,
}

struct Guest(Arc<Block>);

impl std::fmt::Debug for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {:#x}", self.0.address())
    }
}

impl Device for Left {
    fn info(&self) -> &DeviceInfo {
        self.sim.info()
    }
    fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        let address = self.sim.allocate(bytes)?;
        let guest = self.guest.lock().take();
        drop(guest);
        Ok(address)
    }
    fn footprint(&self, bytes: u64) -> u64 {
        self.sim.footprint(bytes)
    }
    fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.sim.free(address)
    }
    fn usage(&self) -> MemoryUsage {
        self.sim.usage()
    }
    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        self.sim.upload(from, to)
    }
    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        self.sim.download(from, to)
    }
    fn copy_within(&self, from: &Span, to: &Span) -> Result<(), DeviceError> {
        self.sim.copy_within(from, to)
    }
    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        self.sim.launch(unit, call, operands)
    }
    fn as_any(&self) -> &dyn Any {
        self.sim.as_any()
    }
}

/// It lies in front of what is placed first, which is in the middle then, and so leaves two pieces that are too small.
#[test]
fn a_call_is_not_refused_for_the_pieces_that_somebody_has_left_while_it_was_placed() {
    let sim = Sim::acc("acc0", 4 * BLOCK as u64, HeapKind::NextFit).unwrap();
    let left = Arc::new(Left { sim, guest: Mutex::default() });
    let devices: Vec<Arc<dyn Device>> = vec![Arc::new(Host::new(1)), left.clone()];
    let mode = (MemoryMode::ValidSet, usize::MAX);
    let resources = Arc::new(Resources::new(mode, devices, vec![ResourceId::HOST; 2], false, None));
    let r = ResourceId::new(1).unwrap();
    let guest = resources.allocate(r, BLOCK).unwrap();
    *left.guest.lock() = Some(Guest(guest));

    let new = || Owned::new(&resources, Element::of::<u8>(), 1, 2 * BLOCK, None).unwrap();
    let (x, y) = (new(), new());
    let operands = [Usage::new(x.root(), Role::Out), Usage::new(y.root(), Role::Out)];
    let reserve = Reserve { resources: &resources, r, operands: &operands, foresight: &() };
    match reserve.attempt(true) {
        Err(Refused::NoRoom(why)) => {
            let (error, obstacles) = *why;
            assert!(matches!(error.kind, DeviceErrorKind::Fragmented { .. }), "{error}");
            assert!(obstacles.are_used, "that would be the last word");
        }
        _ => panic!("the pieces are not as they should be"),
    }
    assert!(left.guest.lock().is_none());
    // Once more, alone from the start: there is room.
    assert_eq!(reserve.attempt(true).ok().unwrap().len(), 2);
}
