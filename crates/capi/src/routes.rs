//! Where calls go: handles of the runtime, and which of them a thread's calls take.
#![allow(unsafe_code, non_snake_case)] // exported names; what a thread remembers of the runtime

use crate::admit::admit;
use crate::boundary::{call, text};
use crate::error::{Result, hete_Error};
use crate::settings::Started;
use parking_lot::Mutex;
use rimms::Runtime;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_char;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Two handles of the runtime whose calls go to the same PEs.
pub(crate) struct Routes {
    /// Whose calls return when they are done.
    pub(crate) blocking: Runtime,
    /// Whose calls return when they are accepted.
    pub(crate) queued: Runtime,
}

impl Routes {
    pub(crate) fn of(queued: Runtime) -> Self {
        Self { blocking: queued.blocking(), queued }
    }
}

/// Those that threads have asked for, by names of PEs. They stay where they are until the runtime ends.
pub(crate) struct Chosen {
    /// Another for each runtime, and never 0.
    runtime: u64,
    by_names: Mutex<HashMap<String, Box<Routes>>>,
}

impl Default for Chosen {
    fn default() -> Self {
        static RUNTIMES: AtomicU64 = AtomicU64::new(1);
        Self { runtime: RUNTIMES.fetch_add(1, Relaxed), by_names: Mutex::default() }
    }
}

/// What a thread has chosen, and of which runtime.
#[derive(Clone, Copy)]
struct Choice {
    runtime: u64,
    routes: NonNull<Routes>,
}

thread_local! {
    static CHOICE: Cell<Choice> = const { Cell::new(Choice { runtime: 0, routes: NonNull::dangling() }) };
}

impl Started {
    /// The handles that this thread's calls take.
    #[inline(always)]
    pub(crate) fn routes(&self) -> &Routes {
        let choice = CHOICE.get();
        if choice.runtime == self.chosen.runtime {
            // SAFETY: of this runtime, which keeps them as long as it is there.
            unsafe { choice.routes.as_ref() }
        } else {
            &self.all
        }
    }

    fn choose(&self, names: &str) -> Result<Choice> {
        let mut by_names = self.chosen.by_names.lock();
        if !by_names.contains_key(names) {
            by_names.insert(names.into(), Box::new(Routes::of(self.all.queued.on(names)?)));
        }
        let routes = by_names.get(names).map_or(NonNull::from(&self.all), |routes| NonNull::from(&**routes));
        Ok(Choice { runtime: self.chosen.runtime, routes })
    }
}

/// From now on this thread's calls go to these PEs only: names and kinds, with commas between, as for the setting `on`, which
/// does not count then. NULL: to those of the setting again. For one call, say it before that, and NULL after it.
///
/// It is forgotten when the runtime ends. `HETE_ERROR_UNKNOWN` where there is no such PE; a call that none of them can run is
/// `HETE_ERROR_NO_PE`.
///
/// # Safety
/// `pes` is NULL or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hete_On(pes: *const c_char) -> hete_Error {
    call(|| {
        let none = Choice { runtime: 0, routes: NonNull::dangling() };
        let choice = match pes.is_null() {
            true => none,
            // SAFETY: as the caller vouches.
            false => admit(())?.started().choose(unsafe { text("pes", pes) }?)?,
        };
        CHOICE.set(choice);
        Ok(())
    })
}
