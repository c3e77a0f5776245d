//! One step of a program: a word of 64 bits means one, whatever the state it meets.

use crate::ops::Op;

/// What is done. Slots and views are chosen by the step's picks, modulo what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Call(Op),
    /// A call while a guard shows its first operand.
    CallUnderGuard(Op),
    /// From one fragment of a datum to another.
    Siblings(Op),
    /// The same call on all fragments of a datum, submitted together.
    Batch,
    Read,
    Update,
    Overwrite,
    /// A guard for writing that is dropped before anything is written.
    Abandon,
    Divide(u8),
    Join,
    /// The datum is dropped, whatever uses it, and another takes its place.
    Renew,
    /// Two data change hands.
    Swap,
    Wait,
    WaitAny,
    WaitAll,
    Finish,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    /// Data.
    pub(crate) slots: [usize; 3],
    /// Views of them.
    pub(crate) views: [usize; 3],
    /// Which PEs it is limited to.
    pub(crate) pe: usize,
    pub(crate) is_blocking: bool,
    pub(crate) value: u32,
}

impl From<u64> for Step {
    fn from(bits: u64) -> Self {
        let mut rest = bits;
        let mut take = |n: u64| {
            let part = rest % n;
            rest /= n;
            part as usize
        };
        let kind = take(64);
        let (slots, views) = ([take(64), take(64), take(64)], [take(64), take(64), take(64)]);
        let pe = take(16);
        let is_blocking = take(4) == 0;
        let more = take(8);
        // Spread, so that each step's number is its own.
        let value = (bits as u32).wrapping_mul(0x9e37_79b9) ^ (bits >> 32) as u32;
        let op = match more {
            0 => Op::Fill(value),
            1 => Op::Copy,
            2 => Op::Bump(value),
            3 => Op::Mix(value),
            4 => Op::Split(value),
            5 => Op::Fork(value),
            6 => Op::Blend(value),
            _ if slots[0] == 0 => Op::Refuse,
            _ => Op::Bump(value),
        };
        let kind = match kind {
            0..36 => Kind::Call(op),
            36 => Kind::CallUnderGuard(op),
            39 if more < 4 => Kind::Batch,
            37..40 => Kind::Siblings(if more % 2 == 0 { Op::Copy } else { Op::Blend(value) }),
            40..45 => Kind::Read,
            45..47 => Kind::Update,
            47..52 => Kind::Overwrite,
            52 if more == 0 => Kind::Abandon,
            52..55 => Kind::Divide(more as u8),
            55 if more < 3 => Kind::Renew,
            55 => Kind::Finish,
            56 | 57 => Kind::Join,
            58 => Kind::Read,
            59 => Kind::Swap,
            60 | 61 => Kind::Wait,
            62 if more % 2 == 0 => Kind::WaitAny,
            62 => Kind::WaitAll,
            _ => Kind::Wait,
        };
        Self { kind, slots, views, pe, is_blocking, value }
    }
}
