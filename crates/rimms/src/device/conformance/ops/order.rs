//! What is asked of a device one after the other comes one after the other, whatever it queues.

use super::block::Block;
use super::fail;
use crate::device::{Device, Span};
use crate::op::{Call, Fft, Role, SampleType, Scale, Zip, ZipOp};
use num_complex::Complex32;

/// Blocks that are in use at once.
const BLOCKS: usize = 5;
/// Launches and copies out of each unit.
const STEPS: usize = 300;
/// Points of an operand: the first that a unit does.
const LENGTHS: [usize; 4] = [2048, 1024, 64, 16];
const POINT: usize = size_of::<Complex32>();

/// Blocks are launched on, copied to and fetched in turns: a copy out has all that was done with its own block before, whatever
/// was queued on others, before and after that. Units that do none of [`Scale`], [`Fft`] and
/// [`Zip`] are left out, and so are all where the memory has no room for a few kilobytes.
///
/// ```
/// use rimms::device::{conformance, sim::Sim};
/// conformance::order(&Sim::fft("fft0", 1 << 20, Default::default()).unwrap());
/// ```
///
/// # Panics
/// Where a copy out brings something else.
pub fn order(device: &dyn Device) {
    let info = device.info();
    let room = device.limits().map_or(u64::MAX, |most| most.total);
    let has_room = |n: usize, call: &Call| (2 * BLOCKS * call.roles().len() * n * POINT) as u64 <= room;
    for (i, unit) in info.units.iter().enumerate() {
        let mut calls = LENGTHS.into_iter().flat_map(|n| calls(n).map(|call| (n, call)));
        let found = calls.find(|(n, call)| has_room(*n, call) && unit.capability.can(call, info.target));
        let Some((n, call)) = found else { continue };
        let at = format!("{call} on {}/{}", info.name, unit.name);
        let blocks = (0..BLOCKS).map_while(|number| Place::new(device, &call, n, number, &at));
        take_turns(&mut blocks.collect::<Vec<_>>(), i, &call, &at);
    }
}

/// Which block is next, and what becomes of it, differs from step to step.
fn take_turns(places: &mut [Place<'_>], unit: usize, call: &Call, at: &str) {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) as usize % below.max(1)
    };
    for _ in 0..STEPS {
        let others = random(places.len());
        places.rotate_left(others);
        let [place, other, ..] = places else { return };
        match random(6) {
            0 => _ = place.renew(call, at),
            1 => place.take(other, at),
            2 | 3 => place.look(at),
            _ => place.launch(unit, call, at),
        }
    }
    places.iter().for_each(|place| place.look(at));
}

/// Calls whose answer is the same everywhere, and exact.
fn calls(n: usize) -> [Call; 3] {
    let sample = SampleType::Complex;
    [
        Call::Scale(Scale { sample, factor: Complex32::new(2.0, 0.0), len: n, in_place: false }),
        Call::Zip(Zip { op: ZipOp::Add, sample, len: n, row: n }),
        // Of an impulse.
        Call::Fft(Fft { n, rows: 1, inverse: false, in_place: false }),
    ]
}

/// Operands of a call, one after the other in a block of their own.
struct Place<'d> {
    block: Block<'d>,
    /// What it has to hold.
    image: Vec<Complex32>,
    n: usize,
    value: f32,
}

impl<'d> Place<'d> {
    fn new(device: &'d dyn Device, call: &Call, n: usize, number: usize, at: &str) -> Option<Self> {
        let image = vec![Complex32::ZERO; n * call.roles().len()];
        let block = Block::new(device, bytemuck::cast_slice(&image), at)?;
        Some(Self { block, image, n, value: (number * STEPS) as f32 })
    }

    /// Bytes of an operand.
    fn size(&self) -> usize {
        self.n * POINT
    }

    /// Other values for the next launch. Gives the answer to it.
    fn renew(&mut self, call: &Call, at: &str) -> Complex32 {
        self.value += 1.0;
        let value = Complex32::new(self.value, -self.value);
        let inputs = self.image.len() - self.n;
        let inputs = &mut self.image[..inputs];
        let is_impulse = matches!(call, Call::Fft(_));
        inputs.fill(if is_impulse { Complex32::ZERO } else { value });
        inputs[0] = value;
        self.block.store(bytemuck::cast_slice(inputs), at);
        if is_impulse { value } else { value + value }
    }

    fn launch(&mut self, unit: usize, call: &Call, at: &str) {
        let answer = self.renew(call, at);
        let size = self.size();
        let operand = |(i, role): (usize, &Role)| (Span::run((i * size) as u64, size), *role);
        let operands: Vec<_> = call.roles().iter().enumerate().map(operand).collect();
        if let Err(error) = self.block.launch(unit, call, &operands) {
            fail(&format!("{at}: {error}"));
        }
        let output = self.image.len() - self.n;
        self.image[output..].fill(answer);
    }

    /// Another one's last operand as the first one.
    fn take(&mut self, other: &Self, at: &str) {
        let output = other.image.len() - other.n;
        self.block.take(&other.block, output * POINT, self.size(), at);
        self.image[..self.n].copy_from_slice(&other.image[output..]);
    }

    fn look(&self, at: &str) {
        let bytes = self.block.bytes(at);
        let found = bytes.chunks_exact(POINT).map(bytemuck::pod_read_unaligned::<Complex32>);
        // Answers differ by 1 at least from one launch to the next; how exact they are is no matter here.
        let is_off = |(found, wanted): (Complex32, &Complex32)| {
            let distance = (found - wanted).norm();
            distance.is_nan() || distance > 0.5
        };
        if let Some(i) = found.zip(&self.image).position(is_off) {
            let (operand, value) = (i * POINT / self.size(), self.value);
            fail(&format!(
                "{at}: a copy out did not come after what was asked for before: element {i}, operand {operand}, {value}"
            ));
        }
    }
}
