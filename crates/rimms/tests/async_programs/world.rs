//! A program at work: data with their meaning, shared by all threads, and the judgement of every answer.
//!
//! A datum and its meaning stand behind one lock, so that whoever submits a call knows what its operands mean then: the
//! runtime has to keep the order of submission. Nobody holds a lock while it waits for another thread's step.

use crate::model::{Leaf, Meaning, Part, Path, Trust};
use crate::setting::{LARGEST, Setting, Trouble};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rimms::{Error, HeteData, Runtime, View};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How many data there are.
const SLOTS: usize = 7;

pub(crate) struct Datum {
    pub(crate) data: HeteData<u32>,
    pub(crate) meaning: Meaning,
}

impl Datum {
    pub(crate) fn fresh(rt: &Runtime, kind: usize) -> Self {
        // Most are equally long, so that calls find operands that fit.
        let len = [LARGEST / 2, LARGEST / 2, LARGEST, LARGEST, LARGEST / 4][kind % 5];
        Self { data: rt.alloc(len).unwrap(), meaning: Meaning::fresh(len) }
    }

    pub(crate) fn view(&self, path: Path) -> &View<u32> {
        path.steps().fold(&*self.data, |view, i| &view[i])
    }

    pub(crate) fn view_mut(&mut self, path: Path) -> &mut View<u32> {
        path.steps().fold(&mut *self.data, |view, i| view.get_mut(i).unwrap())
    }
}

/// A datum, locked for one step.
pub(crate) enum Locked<'a> {
    Shared(RwLockReadGuard<'a, Datum>),
    Own(RwLockWriteGuard<'a, Datum>),
}

impl Locked<'_> {
    pub(crate) fn get(&self) -> &Datum {
        match self {
            Self::Shared(guard) => guard,
            Self::Own(guard) => guard,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut Datum {
        match self {
            Self::Shared(_) => unreachable!("what is written is locked for writing"),
            Self::Own(guard) => guard,
        }
    }
}

pub(crate) struct World {
    pub(crate) setting: Setting,
    pub(crate) rt: Runtime,
    /// Handles whose calls go to these PEs only.
    handles: Vec<Runtime>,
    slots: Vec<RwLock<Datum>>,
    next_call: AtomicU64,
}

impl World {
    pub(crate) fn new(setting: Setting, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let rt = setting.build(report);
        let limited = setting.pe_names().iter().map(|names| rt.on(names).unwrap()).collect::<Vec<_>>();
        let handles = limited.into_iter().chain([rt.clone(), rt.clone(), rt.clone()]).collect();
        let slots = (0..SLOTS).map(|kind| RwLock::new(Datum::fresh(&rt, kind))).collect();
        Self { setting, rt, handles, slots, next_call: AtomicU64::new(1) }
    }

    /// The handle for a step's pick.
    pub(crate) fn handle(&self, pick: usize, is_blocking: bool) -> Runtime {
        let handle = &self.handles[pick % self.handles.len()];
        if is_blocking { handle.blocking() } else { handle.clone() }
    }

    /// A number for a call that nobody waits for at once.
    pub(crate) fn number(&self) -> u64 {
        self.next_call.fetch_add(1, Relaxed)
    }

    pub(crate) fn slot(&self, pick: usize) -> usize {
        pick % self.slots.len()
    }

    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    pub(crate) fn own(&self, slot: usize) -> RwLockWriteGuard<'_, Datum> {
        self.slots[slot].write()
    }

    pub(crate) fn shared(&self, slot: usize) -> RwLockReadGuard<'_, Datum> {
        self.slots[slot].read()
    }

    /// Is some of the datum missing, as far as can be told now?
    pub(crate) fn is_missing(&self, slot: usize) -> bool {
        let is_missing = |datum: &Datum| datum.meaning.root.any_leaf(|leaf| leaf == Leaf::Missing);
        self.slots[slot].try_read().is_some_and(|datum| is_missing(&datum))
    }

    /// Locks these slots, in an order that all threads keep; those that are `written` alone.
    pub(crate) fn lock(&self, slots: &[usize], written: impl Fn(usize) -> bool) -> Vec<(usize, Locked<'_>)> {
        let mut order = slots.to_vec();
        order.sort_unstable();
        order.dedup();
        let lock = |slot| match written(slot) {
            true => (slot, Locked::Own(self.own(slot))),
            false => (slot, Locked::Shared(self.shared(slot))),
        };
        order.into_iter().map(lock).collect()
    }

    /// Everything is dropped: nothing may be left on devices that are still there.
    pub(crate) fn end(self) {
        usable_pes(&self.rt, &self.setting);
        let Self { rt, slots, setting, .. } = self;
        drop(slots);
        for r in rt.resources() {
            // A release that failed is tried again at each look.
            let look = |_| {
                let left = rt.usage(r.id).unwrap().blocks;
                // Calls that were given up hold their data until their device comes back.
                if left > 0 && setting.trouble == Trouble::Limit {
                    std::thread::sleep(Duration::from_millis(5));
                }
                left
            };
            let left = (0..setting.patience()).map(look).find(|left| *left == 0);
            // A device that was lost has taken its blocks along.
            let is_lost = || setting.loses() && !usable_pes(&rt, &setting).contains(&r.name);
            assert!(left == Some(0) || is_lost(), "{} has leaked: {:?}", r.name, rt.usage(r.id));
        }
    }

    /// May this leaf turn out to be missing?
    pub(crate) fn may_be_missing(&self, leaf: Leaf) -> bool {
        match leaf {
            Leaf::Missing => true,
            Leaf::There(Trust::Doubt(_)) => self.setting.trouble != Trouble::None,
            Leaf::There(Trust::Done) => self.setting.loses(),
            Leaf::There(Trust::Host) => false,
        }
    }

    /// What was written now, if the call succeeds.
    pub(crate) fn written_by(&self, call: u64) -> Leaf {
        Leaf::There(if self.setting.trouble == Trouble::None { Trust::Done } else { Trust::Doubt(call) })
    }

    /// A read of a view has failed: was it allowed to? Learns from the states what is missing.
    pub(crate) fn judge_failed_read(&self, view: &View<u32>, part: &mut Part, error: &Error) {
        let is_missing = part.any_leaf(|leaf| leaf == Leaf::Missing);
        match error {
            Error::Uninitialised { .. } => {
                assert!(
                    part.any_leaf(|leaf| self.may_be_missing(leaf)),
                    "called missing, but was written: {error}\n{view:?}"
                );
                assert!(is_missing || self.setting.explains(error), "nothing that was planned: {error}");
                learn(view, part, &|leaf| assert!(self.may_be_missing(leaf), "{leaf:?} is missing: {error}\n{view:?}"));
            }
            error => assert!(self.setting.explains(error), "{error}"),
        }
    }
}

/// Marks leaves that nobody has.
fn learn(view: &View<u32>, part: &mut Part, check: &dyn Fn(Leaf)) {
    if part.parts.is_empty() {
        if view.valid().is_empty() {
            check(part.leaf);
            part.leaf = Leaf::Missing;
        }
        return;
    }
    for (fragment, part) in view.fragments().zip(&mut part.parts) {
        learn(fragment, part, check);
    }
}

/// Every PE that is still there does what it is asked for. Returns their names.
fn usable_pes(rt: &Runtime, setting: &Setting) -> Vec<Box<str>> {
    let mut usable = Vec::new();
    for name in rt.pes().iter().map(|pe| pe.name()) {
        let on = rt.on(name).unwrap();
        let works = || -> rimms::Result<()> {
            let (mut x, mut y) = (rt.alloc::<u32>(24)?, rt.alloc::<u32>(24)?);
            x.overwrite()?.fill(5)?;
            let copied = on.copy(&x, &mut y)?;
            rt.wait(copied)?;
            assert_eq!(y.read()?[..], [5; 24], "{name}");
            Ok(())
        };
        let is_final = |outcome: &_| matches!(outcome, Ok(()) | Err(Error::DeviceLost { .. }));
        match (0..setting.patience()).map(|_| works()).find(is_final) {
            Some(Ok(())) => usable.push(name.into()),
            Some(Err(e)) if setting.loses() && setting.explains(&e) => {}
            other => panic!("{name} is not usable afterwards: {other:?}"),
        }
    }
    usable
}
