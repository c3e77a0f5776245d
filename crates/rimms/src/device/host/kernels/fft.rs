//! Fourier transforms of any length, in rows.
//!
//! Plans and scratch memory belong to the thread and are kept between calls:
//! from its second use on, a length costs neither planning nor allocation.
//! What is kept is bounded by [`MAX_PLANS`] and [`MAX_POINTS`]; beyond them the
//! plan whose last use is longest ago goes. The scratch memory is never larger
//! than the kept plans need.

use num_complex::Complex32;
use rimms_fft::Fft;
use std::cell::RefCell;
use std::sync::Arc;

/// Plans a thread keeps. A search among so few costs less than a hash.
const MAX_PLANS: usize = 64;
/// Samples of all kept plans together: a plan's tables are about as large as its row, so this is some 64 MiB.
/// A single longer plan is kept all the same.
const MAX_POINTS: usize = 1 << 23;
/// Samples of the rows that the inverse transform scales while they are still in the cache (32 KiB).
const CACHED: usize = 4096;

/// Transforms each row of `n` of `data`.
pub(super) fn in_place(data: &mut [Complex32], n: usize, inverse: bool) {
    if data.is_empty() {
        return;
    }
    with_plan(n, inverse, |plan, scratch| {
        if inverse {
            for rows in data.chunks_mut(cached_rows(n)) {
                plan.fft.process_with_scratch(rows, scratch.first(plan.in_place));
                scale(rows, n);
            }
        } else {
            plan.fft.process_with_scratch(data, scratch.first(plan.in_place));
        }
    });
}

/// Transforms each row of `n` of `x` into `out`, of the same length.
pub(super) fn out_of_place(x: &[Complex32], out: &mut [Complex32], n: usize, inverse: bool) {
    if x.is_empty() {
        return;
    }
    with_plan(n, inverse, |plan, scratch| {
        if inverse {
            for (x, out) in x.chunks(cached_rows(n)).zip(out.chunks_mut(cached_rows(n))) {
                plan.fft.process_immutable_with_scratch(x, out, scratch.first(plan.out_of_place));
                scale(out, n);
            }
        } else {
            plan.fft.process_immutable_with_scratch(x, out, scratch.first(plan.out_of_place));
        }
    });
}

/// Samples of whole rows of `n` that fit into the cache; one row at least.
fn cached_rows(n: usize) -> usize {
    n * (CACHED / n).max(1)
}

fn scale(rows: &mut [Complex32], n: usize) {
    // 1/n as f64 first: n beyond 2^24 is no exact f32.
    let factor = (1.0 / n as f64) as f32;
    bytemuck::cast_slice_mut::<_, f32>(rows).iter_mut().for_each(|x| *x *= factor);
}

struct Plan {
    n: usize,
    inverse: bool,
    fft: Arc<dyn Fft<f32>>,
    /// Scratch samples wanted, in place and out of place.
    in_place: usize,
    out_of_place: usize,
}

impl Plan {
    fn new(n: usize, inverse: bool) -> Self {
        let fft = rimms_fft::plan_f32(n, inverse);
        let (in_place, out_of_place) = (fft.get_inplace_scratch_len(), fft.get_immutable_scratch_len());
        Self { n, inverse, fft, in_place, out_of_place }
    }
}

#[derive(Default)]
struct Scratch(Vec<Complex32>);

impl Scratch {
    fn first(&mut self, len: usize) -> &mut [Complex32] {
        if self.0.len() < len {
            self.0.resize(len, Complex32::ZERO);
        }
        &mut self.0[..len]
    }
}

/// A thread's plans, the one used last first.
#[derive(Default)]
struct Plans {
    plans: Vec<Plan>,
    scratch: Scratch,
}

impl Plans {
    /// Brings the plan to the front.
    #[inline]
    fn find(&mut self, n: usize, inverse: bool) {
        match self.plans.iter().position(|p| p.n == n && p.inverse == inverse) {
            Some(0) => {}
            Some(i) => self.plans[..=i].rotate_right(1),
            None => self.add(n, inverse),
        }
    }

    #[cold]
    fn add(&mut self, n: usize, inverse: bool) {
        self.plans.insert(0, Plan::new(n, inverse));
        let mut points = 0_usize;
        let kept = self.plans.iter().take(MAX_PLANS).take_while(|p| {
            points = points.saturating_add(p.n);
            points <= MAX_POINTS
        });
        let kept = kept.count().max(1);
        if kept < self.plans.len() {
            self.plans.truncate(kept);
            let wanted = self.plans.iter().map(|p| p.in_place.max(p.out_of_place)).max().unwrap_or(0);
            self.scratch.0.truncate(wanted);
            self.scratch.0.shrink_to_fit();
        }
    }
}

thread_local! {
    static PLANS: RefCell<Plans> = RefCell::default();
}

fn with_plan(n: usize, inverse: bool, transform: impl FnOnce(&Plan, &mut Scratch)) {
    PLANS.with_borrow_mut(|kept| {
        kept.find(n, inverse);
        let Plans { plans, scratch } = kept;
        if let Some(plan) = plans.first() {
            transform(plan, scratch);
        }
    });
}

#[cfg(test)]
pub(super) fn kept() -> (usize, usize, usize) {
    PLANS.with_borrow(|p| (p.plans.len(), p.plans.iter().map(|p| p.n).sum(), p.scratch.0.capacity()))
}
