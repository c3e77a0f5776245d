//! Plans of cuFFT: many transforms of one length, side by side.
//!
//! Owns [`Plan`] and [`Plans`], where they are kept. A plan allocates nothing: all use one room in turn, since they run in order.
#![allow(unsafe_code)]

use super::library::{Code, CuFft, Result};
use super::raw::{Context, Stream};
use cudarc::cufft::sys::{cufftHandle, cufftType};
use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;

/// Plans that are kept; each takes some memory of the host's and the device's.
const KEPT: usize = 64;

fn done(code: u32) -> Result<()> {
    Code::of("cuFFT", code)
}

/// What a plan is for: so many transforms of `n` points, and how many points lie from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) n: c_int,
    pub(super) batch: c_int,
    pub(super) from: c_int,
    pub(super) to: c_int,
}

#[derive(Debug)]
pub(super) struct Plan {
    library: &'static CuFft,
    context: Arc<Context>,
    handle: cufftHandle,
    /// Bytes that it works in.
    pub(super) room: usize,
}

impl Plan {
    fn new(library: &'static CuFft, context: &Arc<Context>, stream: &Stream, shape: Shape) -> Result<Self> {
        let Shape { mut n, batch, from, to } = shape;
        let _here = context.enter()?;
        let mut handle = 0;
        // SAFETY: writes a number.
        done(unsafe { (library.cufftCreate)(&mut handle) })?;
        let mut plan = Self { library, context: context.clone(), handle, room: 0 };
        // SAFETY: a plan that was not made yet.
        done(unsafe { (library.cufftSetAutoAllocation)(handle, 0) })?;
        // Without them distances would not be looked at; of one dimension they are not used.
        let (mut from_embed, mut to_embed) = (n, n);
        // SAFETY: one dimension; writes a number.
        done(unsafe {
            (library.cufftMakePlanMany)(
                handle,
                1,
                &mut n,
                &mut from_embed,
                1,
                from,
                &mut to_embed,
                1,
                to,
                cufftType::CUFFT_C2C,
                batch,
                &mut plan.room,
            )
        })?;
        // SAFETY: a live stream, which outlives the plan; one type by two names.
        done(unsafe { (library.cufftSetStream)(handle, stream.raw().cast()) })?;
        Ok(plan)
    }

    /// Queues the transforms, which are not scaled.
    ///
    /// # Safety
    /// Both places lie in live blocks and have as many points as the shape says; `room` has as many bytes as the plan asks for.
    pub(super) unsafe fn run(&self, room: u64, from: u64, to: u64, is_inverse: bool) -> Result<()> {
        const FORWARD: c_int = -1;
        const INVERSE: c_int = 1;
        let _here = self.context.enter()?;
        let pointer = |address: u64| ptr::without_provenance_mut(address as usize);
        // SAFETY: the caller's.
        done(unsafe { (self.library.cufftSetWorkArea)(self.handle, pointer(room)) })?;
        let direction = if is_inverse { INVERSE } else { FORWARD };
        // SAFETY: the caller's.
        done(unsafe { (self.library.cufftExecC2C)(self.handle, pointer(from).cast(), pointer(to).cast(), direction) })
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let _here = self.context.enter();
        // SAFETY: ours, and given back once.
        unsafe { (self.library.cufftDestroy)(self.handle) };
    }
}

#[derive(Debug, Default)]
pub(super) struct Plans {
    kept: HashMap<Shape, Plan>,
}

impl Plans {
    pub(super) fn plan(
        &mut self,
        library: &'static CuFft,
        context: &Arc<Context>,
        stream: &Stream,
        shape: Shape,
    ) -> Result<&Plan> {
        if self.kept.len() >= KEPT && !self.kept.contains_key(&shape) {
            // What they have queued may still be running.
            stream.finish()?;
            self.kept.clear();
        }
        match self.kept.entry(shape) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                Ok(entry.insert(Plan::new(library, context, stream, shape)?))
            }
        }
    }
}
