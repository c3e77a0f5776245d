//! cuFFT's calls that are used: plans of many transforms of one dimension, of complex samples, by the CPU's transforms.

use crate::calls::{Whose, exports};
use crate::foreign::{copy, give, take};
use crate::state::{self, Handle, with as with_state};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

const INVALID_PLAN: u32 = 1;
const INVALID_VALUE: u32 = 4;
const C2C: c_uint = 41;
const POINT: usize = 8;

#[derive(Clone, Copy)]
struct Shape {
    n: usize,
    batch: usize,
    in_distance: usize,
    out_distance: usize,
}

#[derive(Clone, Copy, Default)]
struct Plan {
    shape: Option<Shape>,
    stream: usize,
    /// Whether it has what it needs: it was told to allocate nothing.
    has_room: bool,
}

static PLANS: LazyLock<Mutex<HashMap<c_int, Plan>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI32 = AtomicI32::new(1);

fn with<T>(plan: c_int, look: impl FnOnce(&mut Plan) -> Result<T, u32>) -> Result<T, u32> {
    look(PLANS.lock().get_mut(&plan).ok_or(INVALID_PLAN)?)
}

/// As new.
pub(crate) fn reset() {
    PLANS.lock().clear();
}

exports! { Whose::Library;
    fn cufftCreate(plan: *mut c_int) {
        let number = NEXT.fetch_add(1, Relaxed);
        PLANS.lock().insert(number, Plan::default());
        with_state(|state| state.others += 1);
        give(plan, number)?;
    }
    fn cufftPlan1d(plan: *mut c_int, n: c_int, kind: c_uint, batch: c_int) {
        if kind != C2C || n < 1 || batch < 1 {
            return Err(INVALID_VALUE);
        }
        let number = NEXT.fetch_add(1, Relaxed);
        let [n, batch] = [n, batch].map(|n| n as usize);
        let shape = Some(Shape { n, batch, in_distance: n, out_distance: n });
        PLANS.lock().insert(number, Plan { shape, stream: 0, has_room: true });
        with_state(|state| state.others += 1);
        give(plan, number)?;
    }
    fn cufftDestroy(plan: c_int) {
        PLANS.lock().remove(&plan).ok_or(INVALID_PLAN)?;
        with_state(|state| state.others -= 1);
    }
    fn cufftSetAutoAllocation(plan: c_int, is_automatic: c_int) {
        with(plan, |_| if is_automatic == 0 { Ok(()) } else { Err(INVALID_VALUE) })?;
    }
    fn cufftSetStream(plan: c_int, stream: Handle) {
        with(plan, |plan| {
            plan.stream = stream.addr();
            Ok(())
        })?;
    }
    fn cufftSetWorkArea(plan: c_int, area: *mut c_void) {
        let is_ours = with_state(|state| state.is_ours(area.addr(), 1));
        with(plan, |plan| {
            plan.has_room = is_ours;
            if is_ours { Ok(()) } else { Err(INVALID_VALUE) }
        })?;
    }
    fn cufftMakePlanMany(
        plan: c_int,
        rank: c_int,
        n: *mut c_int,
        in_embed: *mut c_int,
        in_stride: c_int,
        in_distance: c_int,
        out_embed: *mut c_int,
        out_stride: c_int,
        out_distance: c_int,
        kind: c_uint,
        batch: c_int,
        bytes: *mut usize,
    ) {
        let n = take(n)?;
        // Without these, distances are not looked at.
        let are_embedded = !in_embed.is_null() && !out_embed.is_null();
        if (rank, in_stride, out_stride, kind) != (1, 1, 1, C2C) || !are_embedded || n < 1 || batch < 1 {
            return Err(INVALID_VALUE);
        }
        let [n, batch, in_distance, out_distance] = [n, batch, in_distance, out_distance].map(|n| n as usize);
        with(plan, |plan| {
            plan.shape = Some(Shape { n, batch, in_distance, out_distance });
            Ok(())
        })?;
        give(bytes, n * POINT)?;
    }
    fn cufftExecC2C(plan: c_int, from: *mut c_void, to: *mut c_void, direction: c_int) {
        let plan = with(plan, |plan| Ok(*plan))?;
        let Some(Shape { n, batch, in_distance, out_distance }) = plan.shape else { return Err(INVALID_PLAN) };
        let (from, to) = (from.addr(), to.addr());
        let is_there = |start: usize, distance: usize| {
            with_state(|state| (0..batch).all(|i| state.is_ours(start + i * distance * POINT, n * POINT)))
        };
        if !plan.has_room || !is_there(from, in_distance) || !is_there(to, out_distance) {
            return Err(INVALID_VALUE);
        }
        let stream = state::stream(std::ptr::without_provenance_mut(plan.stream)).map_err(|_| INVALID_VALUE)?;
        stream.queue(move || {
            let transform = rimms_fft::plan_f32(n, direction == 1);
            let mut row = vec![rustfft::num_complex::Complex32::default(); n];
            for i in 0..batch {
                let here = row.as_mut_ptr().expose_provenance();
                copy(from + i * in_distance * POINT, here, n * POINT);
                transform.process(&mut row);
                copy(row.as_ptr().expose_provenance(), to + i * out_distance * POINT, n * POINT);
            }
        });
    }
}
