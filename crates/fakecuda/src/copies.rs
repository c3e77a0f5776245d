//! Copies. Device ends have to lie in live blocks. What is pinned is read and written when the copy's turn comes; what is not, at once.

use crate::calls::{self, INVALID_VALUE, Whose, exports};
use crate::foreign::{copy, take};
use crate::state::{self, Handle, with};
use crate::stream::Stream;
use std::ffi::c_void;

const TO_DEVICE: usize = 0;
const TO_HOST: usize = 1;
const WITHIN: usize = 2;
const PEER: usize = 3;

/// One end.
#[derive(Clone, Copy)]
struct End {
    address: usize,
    pitch: usize,
    is_host: bool,
}

/// Checks both ends, and queues the copy of `rows` rows of `bytes` bytes.
fn queue(stream: &Stream, from: End, to: End, (rows, bytes): (usize, usize), direction: usize) -> Result<(), u32> {
    for end in [from, to] {
        let is_there = with(|state| (0..rows).all(|i| state.is_ours(end.address + i * end.pitch, bytes)));
        if !end.is_host && !is_there || rows > 1 && end.pitch < bytes {
            return Err(INVALID_VALUE);
        }
    }
    calls::moved(direction, rows * bytes);
    let is_pinned = |end: End| with(|state| (0..rows).all(|i| state.is_pinned(end.address + i * end.pitch, bytes)));
    let mut from = from;
    let mut kept = Vec::new();
    if from.is_host && !is_pinned(from) {
        // The driver has a copy of it when the call returns.
        kept = vec![0_u8; rows * bytes];
        let start = kept.as_mut_ptr().expose_provenance();
        (0..rows).for_each(|i| copy(from.address + i * from.pitch, start + i * bytes, bytes));
        from = End { address: start, pitch: bytes, ..from };
    }
    stream.queue(move || {
        (0..rows).for_each(|i| copy(from.address + i * from.pitch, to.address + i * to.pitch, bytes));
        drop(kept);
    });
    if to.is_host && !is_pinned(to) {
        stream.synchronize();
    }
    Ok(())
}

fn run(address: usize, is_host: bool) -> End {
    End { address, pitch: 0, is_host }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Side2D {
    x: usize,
    y: usize,
    kind: u32,
    host: *const c_void,
    device: u64,
    array: *const c_void,
    pitch: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Copy2D {
    from: Side2D,
    to: Side2D,
    bytes: usize,
    rows: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SidePeer {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    kind: u32,
    host: *const c_void,
    device: u64,
    array: *const c_void,
    context: Handle,
    pitch: usize,
    height: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CopyPeer {
    from: SidePeer,
    to: SidePeer,
    bytes: usize,
    rows: usize,
    depth: usize,
}

fn side(side: &Side2D) -> Result<End, u32> {
    let (address, is_host) = match side.kind {
        1 => (side.host.addr(), true),
        2 => (side.device as usize, false),
        _ => return Err(INVALID_VALUE),
    };
    Ok(End { address: address + side.y * side.pitch + side.x, pitch: side.pitch, is_host })
}

exports! { Whose::Context;
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle) {
        queue(&*state::stream(stream)?, run(from.addr(), true), run(to as usize, false), (1, bytes), TO_DEVICE)?;
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) {
        queue(&*state::stream(stream)?, run(from as usize, false), run(to.addr(), true), (1, bytes), TO_HOST)?;
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        queue(&*state::stream(stream)?, run(from as usize, false), run(to as usize, false), (1, bytes), WITHIN)?;
    }
    fn cuMemcpy2DAsync_v2(description: *const Copy2D, stream: Handle) {
        let Copy2D { from, to, bytes, rows } = take(description)?;
        let (from, to) = (side(&from)?, side(&to)?);
        let direction = match (from.is_host, to.is_host) {
            (true, false) => TO_DEVICE,
            (false, true) => TO_HOST,
            _ => WITHIN,
        };
        queue(&*state::stream(stream)?, from, to, (rows, bytes), direction)?;
    }
    fn cuMemcpyPeerAsync(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle) {
        state::device_of(to_context)?;
        state::device_of(from_context)?;
        queue(&*state::stream(stream)?, run(from as usize, false), run(to as usize, false), (1, bytes), PEER)?;
    }
    fn cuMemcpy3DPeerAsync(description: *const CopyPeer, stream: Handle) {
        let CopyPeer { from, to, bytes, rows, depth } = take(description)?;
        state::device_of(to.context)?;
        state::device_of(from.context)?;
        if (from.kind, to.kind, depth) != (2, 2, 1) || [from.x, from.y, from.z, to.x, to.y, to.z] != [0; 6] {
            return Err(INVALID_VALUE);
        }
        let end = |side: &SidePeer| End { address: side.device as usize, pitch: side.pitch, is_host: false };
        queue(&*state::stream(stream)?, end(&from), end(&to), (rows, bytes), PEER)?;
    }
}
