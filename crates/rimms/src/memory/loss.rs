//! Devices that are gone.
//!
//! A device that reports [`Lost`](DeviceErrorKind::Lost) is given up at once, whoever hears of it: no
//! leaf is valid there any more; what had no other copy is uninitialised, with the
//! loss as the cause; everything else lives on. Blocks are forgotten without
//! calling the device.

use super::fit::device_error;
use super::node::Node;
use super::plan::host_is_current;
use super::residency::Removed;
use super::resources::Resources;
use crate::coherence::{Event, ResourceId, State};
use crate::device::{DeviceError, DeviceErrorKind};
use crate::error::Error;
use std::sync::Arc;

impl Resources {
    /// What a device's error is to the caller. Where the device is lost, so is what lies there.
    ///
    /// Called without locks.
    pub(crate) fn failure(&self, error: DeviceError, call: &str, pe: &str) -> Error {
        let lost = error.kind == DeviceErrorKind::Lost;
        let device = lost.then(|| self.ids().find(|r| self.device(*r).info().name == error.device)).flatten();
        let error = device_error(error, call, pe);
        if let Some(r) = device {
            self.lose(r, Arc::new(error.clone()));
        }
        error
    }

    /// The device of `r` is gone, for this reason. (The host never is.)
    ///
    /// Called without locks.
    pub(crate) fn lose(&self, r: ResourceId, cause: Arc<Error>) {
        if r.is_host() || !self.set_lost(r, cause) {
            return;
        }
        for datum in self.registry(r).data() {
            datum.root().forget_lost();
            let mut locked = datum.lock();
            let removed: Removed = locked.get().remove_all_on(self, r);
            // Whoever waits for a copy that may never end.
            locked.released();
            drop(removed);
        }
    }

    /// Why nothing can be done on `r`.
    #[cold]
    pub(crate) fn gone(&self, r: ResourceId) -> Error {
        match self.why_lost(r) {
            Some(cause) => Error::clone(cause),
            None => Error::DeviceLost {
                device: self.device(r).info().name.clone(),
                call: None,
                message: "what was allocated on it is no longer there".into(),
            },
        }
    }
}

impl Node {
    /// Lost devices hold nothing that is valid. Where a copy arrived while its device was being lost, this is found here.
    #[inline]
    pub(super) fn forget_lost(&self) {
        if self.datum().resources.is_any_lost() {
            self.forget_what_is_lost();
        }
    }

    #[cold]
    fn forget_what_is_lost(&self) {
        let datum = self.datum();
        let (resources, mode) = (&datum.resources, datum.mode);
        for r in resources.ids().filter(|r| resources.is_lost(*r)) {
            let mut locked = datum.lock();
            // The tree stays as it is while the lock is held.
            let _ = self.each_leaf(&mut |leaf| -> Result<(), ()> {
                if leaf.state().is_valid_on(r) {
                    // In mode `last-resource` the host may have the bytes although the flag does not say so.
                    leaf.change(|state| {
                        let left = mode.step(state, Event::Drop(r)).ok()?.state;
                        let on_host = left == State::UNINITIALISED && host_is_current(state);
                        Some(if on_host { State::owned(ResourceId::HOST) } else { left })
                    });
                    if let (true, Some(cause)) = (leaf.state().valid().is_empty(), resources.why_lost(r)) {
                        datum.has_failed.store(true, std::sync::atomic::Ordering::Relaxed);
                        locked.get().record(*leaf.region(), cause.clone());
                    }
                }
                Ok(())
            });
        }
    }
}
