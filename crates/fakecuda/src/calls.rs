//! Every call that is made: counted, and failed where that is planned.

use crate::state;
use parking_lot::Mutex;
use std::collections::BTreeMap;

pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const OUT_OF_MEMORY: u32 = 2;
pub(crate) const NOT_INITIALIZED: u32 = 3;
pub(crate) const INVALID_DEVICE: u32 = 101;
pub(crate) const INVALID_IMAGE: u32 = 200;
pub(crate) const INVALID_CONTEXT: u32 = 201;
pub(crate) const PEER_ALREADY_ENABLED: u32 = 704;
pub(crate) const INVALID_HANDLE: u32 = 400;
pub(crate) const NOT_FOUND: u32 = 500;
pub(crate) const NOT_READY: u32 = 600;

/// After these nothing works any more in a context.
fn is_sticky(code: u32) -> bool {
    matches!(code, 700..=703 | 710..=720 | 214)
}

/// Whose call it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The driver's, outside of contexts.
    Driver,
    /// The driver's, in a context: none works once it is broken.
    Context,
    /// A library's, whose codes are others.
    Library,
}

struct Plan {
    name: Option<String>,
    /// How many calls are let pass.
    after: u64,
    code: u32,
}

#[derive(Default)]
struct Calls {
    by_name: BTreeMap<&'static str, u64>,
    total: u64,
    bytes: [u64; 4],
    plan: Option<Plan>,
    /// The call that failed as planned.
    failed: Option<&'static str>,
}

static CALLS: Mutex<Calls> =
    Mutex::new(Calls { by_name: BTreeMap::new(), total: 0, bytes: [0; 4], plan: None, failed: None });

/// What a library says of a failure that is planned: an internal error, by the numbers of cuFFT and NVRTC.
const INTERNAL: u32 = 5;

/// Runs a call.
pub(crate) fn made(name: &'static str, whose: Whose, run: impl FnOnce() -> Result<(), u32>) -> u32 {
    let failure = {
        let mut calls = CALLS.lock();
        *calls.by_name.entry(name).or_default() += 1;
        calls.total += 1;
        match &mut calls.plan {
            Some(plan) if plan.name.as_deref().is_none_or(|wanted| wanted == name) => {
                let code = (plan.after == 0).then_some(plan.code);
                plan.after = plan.after.saturating_sub(1);
                if code.is_some() {
                    (calls.plan, calls.failed) = (None, Some(name));
                }
                code
            }
            _ => None,
        }
    };
    match failure {
        Some(_) if whose == Whose::Library => return INTERNAL,
        Some(code) => {
            if is_sticky(code) && whose == Whose::Context {
                state::break_context(code);
            }
            return code;
        }
        None => {}
    }
    if whose == Whose::Context
        && let Some(code) = state::broken()
    {
        // What is given back goes all the same, as it would with the context.
        if ["Destroy", "Free", "Unload"].iter().any(|part| name.contains(part)) {
            let _ = run();
        }
        return code;
    }
    run().err().unwrap_or(0)
}

/// Makes the call after the next `after` ones, of this name or of any, fail.
pub(crate) fn plan(name: Option<String>, after: u64, code: u32) {
    let mut calls = CALLS.lock();
    (calls.plan, calls.failed) = (Some(Plan { name, after, code }), None);
}

/// The call that failed as was planned last.
pub(crate) fn failed() -> &'static str {
    CALLS.lock().failed.unwrap_or_default()
}

pub(crate) fn plan_nothing() {
    CALLS.lock().plan = None;
}

pub(crate) fn total() -> u64 {
    CALLS.lock().total
}

pub(crate) fn count(name: &str) -> u64 {
    CALLS.lock().by_name.get(name).copied().unwrap_or(0)
}

pub(crate) fn moved(direction: usize, bytes: usize) {
    CALLS.lock().bytes[direction] += bytes as u64;
}

pub(crate) fn bytes(direction: usize) -> u64 {
    CALLS.lock().bytes.get(direction).copied().unwrap_or(0)
}

/// Functions of a library: each counts, may be made to fail, and gives 0 or a code.
macro_rules! exports {
    ($whose:expr; $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::calls::made(stringify!($name), $whose, || -> Result<(), u32> {
                $body
                #[allow(unreachable_code)]
                Ok(())
            })
        }
    )*};
}
pub(crate) use exports;
