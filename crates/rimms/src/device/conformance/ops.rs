//! Every built-in op on every unit in many sizes, against the float64 reference.
//!
//! For each call that a unit's [`Capability`](crate::device::Capability)
//! declares: the operands are put into one block with guard zones around and
//! poison where the answer is to be, the call is launched, and the whole block
//! is read back. Written operands have to be what [`reference`] says, within
//! its bounds; every other byte, In operands and the gaps between the rows of
//! tiles included, has to be what it was. Each call runs with plain operands
//! and with tiles, for what is read and for what is written, at addresses that
//! are aligned for one element only.

mod block;
mod cases;
mod order;
#[cfg(test)]
mod tests;

use crate::device::{Device, DeviceErrorKind, Rows, Span};
use crate::op::reference::{self, Values};
use crate::op::{Call, OpKind, Role, Shape, Target, UserOp};
use block::Block;
use cases::{Case, Random};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use order::order;

/// Row lengths: powers of two, neighbours of them, primes, composites.
const SIZES: [usize; 17] = [1, 2, 3, 5, 8, 16, 17, 64, 100, 120, 127, 128, 240, 256, 1000, 1024, 2048];
/// Numbers of rows.
const ROWS: [usize; 4] = [1, 2, 3, 7];
/// Declared limits are tried too, up to here: the reference transform takes n² steps.
const LONGEST: usize = 4096;
/// Bytes between operands, and before the first and after the last.
const GUARD: usize = 64;
/// What nobody may touch.
const UNTOUCHED: u8 = 0xA5;
/// What has to be overwritten: NaN, as samples.
const POISON: u8 = 0xFF;
/// Of [`ops`].
const SEED: u64 = 0x5EED_0F0B5;

/// What [`ops`] did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpsReport {
    /// The seed of the inputs, for [`ops_with_seed`].
    pub seed: u64,
    /// Launches whose result was compared.
    pub launches: u64,
    /// Calls that a unit declares not to do.
    pub refused: u64,
    /// Calls whose operands the device's memory can never hold.
    pub too_large: u64,
    /// Launches on tiles that the unit does not reach where they lie, and refused without doing anything.
    pub misplaced: u64,
    /// By op, the largest error found as a fraction of the [bound](crate::op::reference::Bound).
    pub worst: BTreeMap<&'static str, f64>,
    /// What a unit declares, but in no size that was tried: `fft0: fft`.
    pub untested: Vec<String>,
}

impl fmt::Display for OpsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, launches, refused, too_large, misplaced, worst, untested } = self;
        write!(
            f,
            "{launches} launches compared, {refused} calls declared as not done, {too_large} too large, {misplaced} on tiles out \
             of reach, seed {seed:#x}"
        )?;
        for (op, error) in worst {
            write!(f, "\n{op}: largest error {error:.2} of the bound")?;
        }
        untested.iter().try_for_each(|what| write!(f, "\nnot tested, no size fits: {what}"))
    }
}

/// Runs every built-in op on every unit of `device` in many sizes, and compares with the reference.
///
/// The largest call takes half a MiB of the device's memory; a smaller device is tested with what fits.
///
/// ```
/// use rimms::device::{conformance, host::Host};
/// let report = conformance::ops(&Host::new(1));
/// assert!(report.launches > 1000 && report.untested.is_empty(), "{report}");
/// ```
///
/// # Panics
/// Where the device breaks the contract, saying with which call, on which unit and how; and where a unit could be
/// given nothing at all.
pub fn ops(device: &dyn Device) -> OpsReport {
    ops_with_seed(device, SEED)
}

/// The same with other inputs.
///
/// # Panics
/// As [`ops`].
pub fn ops_with_seed(device: &dyn Device, seed: u64) -> OpsReport {
    let mut suite = Suite {
        device,
        random: Random::new(seed),
        tested: BTreeSet::new(),
        report: OpsReport { seed, ..OpsReport::default() },
    };
    for n in sizes(device) {
        for rows in ROWS {
            cases::of(n, rows).into_iter().for_each(|case| suite.case(&case));
        }
    }
    for (rows, n) in [(16, 16), (17, 100), (64, 128), (128, 64), (100, 17)] {
        cases::transposes(n, rows).into_iter().for_each(|case| suite.case(&case));
    }
    suite.user_defined();
    suite.finish()
}

/// Those of the suite, and the limits that the units declare.
fn sizes(device: &dyn Device) -> BTreeSet<usize> {
    let supports = device.info().units.iter().filter_map(|unit| unit.capability.ops()).flatten();
    let limits = supports.flat_map(|op| [op.lengths.min, op.lengths.max]);
    SIZES.into_iter().chain(limits).filter(|n| (1..=LONGEST).contains(n)).collect()
}

/// Which operands are tiles.
#[derive(Clone, Copy)]
struct Layout {
    read: bool,
    written: bool,
}

impl Layout {
    const PLAIN: Self = Self { read: false, written: false };

    fn tiled(self, role: Role) -> bool {
        if role.writes() { self.written } else { self.read }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.read, self.written) {
            (false, false) => "plain operands",
            (true, false) => "tiles read",
            (false, true) => "tiles written",
            (true, true) => "tiles",
        })
    }
}

struct Suite<'d> {
    device: &'d dyn Device,
    random: Random,
    /// Unit and kind of what was launched.
    tested: BTreeSet<(usize, OpKind)>,
    report: OpsReport,
}

impl Suite<'_> {
    fn case(&mut self, case: &Case) {
        let shapes: Vec<Shape> = case.planes.iter().map(|p| Shape::new(p.rows * p.cols, p.element)).collect();
        if let Err(why) = case.call.check(&shapes) {
            fail(&format!("{}: the suite's own operands do not fit: {why}", case.call));
        }
        let inputs: Vec<Vec<u8>> = case.inputs(&mut self.random);
        // Not before a unit asks for it: a reference transform is slow.
        let mut want = None;
        for unit in 0..self.device.info().units.len() {
            let Some(name) = self.declared(unit, &case.call) else { continue };
            for layout in layouts(case) {
                let want = want.get_or_insert_with(|| {
                    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
                    reference::expected(&case.call, &inputs).unwrap_or_else(|why| fail(&why))
                });
                let at = format!("{} on {name} with {layout}, seed {:#x}", case.call, self.report.seed);
                let Some(error) = self.launch(unit, case, layout, &inputs, want, &at) else { continue };
                self.report.launches += 1;
                self.tested.insert((unit, case.call.kind()));
                let worst = self.report.worst.entry(case.call.kind().name()).or_default();
                *worst = worst.max(error);
            }
        }
    }

    /// The unit's name, if it declares that it can do the call.
    fn declared(&mut self, unit: usize, call: &Call) -> Option<Box<str>> {
        let info = self.device.info();
        let unit = info.units.get(unit)?;
        let name: Box<str> = format!("{}/{}", info.name, unit.name).into();
        let allowed = unit.capability.allows(call, info.target);
        if allowed.is_ok() != unit.capability.can(call, info.target) {
            fail(&format!("{name}: `can` and `allows` do not agree on {call}"));
        }
        if allowed.is_err() {
            self.report.refused += 1;
            return None;
        }
        Some(name)
    }

    /// Launches, and checks every byte. Gives the largest error as a fraction of the bound.
    fn launch(
        &mut self,
        unit: usize,
        case: &Case,
        layout: Layout,
        inputs: &[Vec<u8>],
        want: &Values,
        at: &str,
    ) -> Option<f64> {
        let (spans, bytes) = place(case, layout);
        let mut image = vec![UNTOUCHED; bytes];
        let mut inputs = inputs.iter();
        for (rows, role) in case.rows_of(&spans) {
            if role.reads() {
                let input = inputs.next().map_or(&[][..], Vec::as_slice);
                let parts = input.chunks(rows.rows.row_bytes.max(1));
                parts.enumerate().for_each(|(i, part)| image[row(rows, i)].copy_from_slice(part));
            } else {
                (0..rows.rows.rows).for_each(|i| image[row(rows, i)].fill(POISON));
            }
        }
        let Some(mut block) = Block::new(self.device, &image, at) else {
            self.report.too_large += 1;
            return None;
        };
        let operands: Vec<(Span, Role)> = case.rows_of(&spans).map(|(span, role)| (*span, role)).collect();
        if let Err(error) = block.launch(unit, &case.call, &operands) {
            // A device may not reach tiles wherever they lie. What lies plainly it has to reach.
            if error.kind == DeviceErrorKind::Unsupported && (layout.read || layout.written) {
                if block.bytes(at) != image {
                    fail(&format!("{at}: refused ({error}), and yet bytes have changed"));
                }
                self.report.misplaced += 1;
                return None;
            }
            fail(&format!("{at}: {error}"));
        }
        let found = block.bytes(at);
        drop(block);
        let mut worst = 0.0_f64;
        for (span, _) in case.rows_of(&spans).filter(|(_, role)| role.writes()) {
            let answer = (0..span.rows.rows).map(|i| &found[row(span, i)]).collect::<Vec<_>>().concat();
            match want.compare(&case.call, &answer) {
                Ok(error) => worst = worst.max(error),
                Err(why) => fail(&format!("{at}: {why}")),
            }
            // Seen to: what is compared below are all other bytes.
            (0..span.rows.rows).for_each(|i| image[row(span, i)].copy_from_slice(&found[row(span, i)]));
        }
        if found != image {
            let i = found.iter().zip(&image).position(|(found, image)| found != image).unwrap_or(image.len() - 1);
            let whose = operands.iter().position(|(span, _)| (0..span.rows.rows).any(|r| row(span, r).contains(&i)));
            let whose = whose.map_or("outside all operands".into(), |o| format!("in operand {o}, which is only read,"));
            fail(&format!("{at}: byte {i} {whose} was {:#04x} and is {:#04x}", image[i], found[i]));
        }
        Some(worst)
    }

    /// An op of the user's, with parameters, two outputs and one kernel for this kind of device.
    fn user_defined(&mut self) {
        let target = self.device.info().target;
        let op = UserOp::builder("conformance").input::<f32>().inout::<f32>().output::<u64>();
        let op = match target {
            Target::OpenCl => block::with_opencl_kernel(op),
            Target::Cuda => block::with_cuda_kernel(op),
            _ => op.kernel(target, |k| {
                let (factor, x) = (*k.params::<f32>()?, k.input::<f32>(0)?);
                let y = k.output::<f32>(1)?;
                y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
                k.output::<u64>(2)?.fill(y.len() as u64);
                Ok(())
            }),
        };
        let op = op.build().unwrap_or_else(|e| fail(&e.to_string()));
        let call = op.with(0.5_f32);
        for unit in 0..self.device.info().units.len() {
            let Some(name) = self.declared(unit, &call) else { continue };
            let at = format!("a user-defined op on {name}");
            let mut image = vec![UNTOUCHED; 4 * GUARD];
            image[..GUARD].copy_from_slice(bytemuck::cast_slice(&[3.0_f32; GUARD / 4]));
            image[GUARD..2 * GUARD].copy_from_slice(bytemuck::cast_slice(&[1.0_f32; GUARD / 4]));
            let Some(mut block) = Block::new(self.device, &image, &at) else {
                self.report.too_large += 1;
                continue;
            };
            let span = |i: usize, bytes| Span::run((i * GUARD) as u64, bytes);
            let operands = [(span(0, GUARD), Role::In), (span(1, GUARD), Role::InOut), (span(2, 8), Role::Out)];
            if let Err(error) = block.launch(unit, &call, &operands) {
                fail(&format!("{at}: {error}"));
            }
            image[GUARD..2 * GUARD].copy_from_slice(bytemuck::cast_slice(&[2.5_f32; GUARD / 4]));
            image[2 * GUARD..][..8].copy_from_slice(&(GUARD as u64 / 4).to_ne_bytes());
            if block.bytes(&at) != image {
                fail(&format!("{at}: its operands, or bytes around them, are not what the kernel writes"));
            }
            self.report.launches += 1;
        }
    }

    fn finish(mut self) -> OpsReport {
        for (i, unit) in self.device.info().units.iter().enumerate() {
            let none = !self.tested.iter().any(|(tested, _)| *tested == i);
            if none {
                fail(&format!("{}: nothing was tested, no call of the suite fits it: {}", unit.name, self.report));
            }
            let declares = |kind: OpKind| unit.capability.ops().is_none_or(|ops| ops.iter().any(|op| op.kind == kind));
            for kind in OpKind::BUILT_IN {
                if declares(kind) && !self.tested.contains(&(i, kind)) {
                    self.report.untested.push(format!("{}: {}", unit.name, kind.name()));
                }
            }
        }
        self.report
    }
}

/// All that differ for the case.
fn layouts(case: &Case) -> Vec<Layout> {
    let has = |written: bool| case.call.roles().iter().any(|role| role.writes() == written);
    let either = |there: bool| if there { &[false, true][..] } else { &[false] };
    let mut all = vec![Layout::PLAIN];
    all.extend(
        either(has(false))
            .iter()
            .flat_map(|&read| either(has(true)).iter().map(move |&written| Layout { read, written }))
            .filter(|l| l.read || l.written),
    );
    all
}

/// Where each operand lies in the block, and how long the block is.
fn place(case: &Case, layout: Layout) -> (Vec<Span>, usize) {
    let mut end = 0;
    let spans = case.planes.iter().zip(case.call.roles()).map(|(plane, role)| {
        let size = plane.element.size();
        let row_bytes = plane.cols * size;
        let line = (end + GUARD).next_multiple_of(GUARD);
        let span = if layout.tiled(*role) {
            // One element off the aligned place, and a gap after each row.
            let rows = Rows { rows: plane.rows, row_bytes, pitch: row_bytes + 3 * size };
            Span { address: (line + size) as u64, rows }
        } else {
            Span::run(line as u64, plane.rows * row_bytes)
        };
        end = span.address as usize + span.rows.extent();
        span
    });
    let spans = spans.collect();
    (spans, end + GUARD)
}

/// The bytes of row `i` in the block's image.
fn row(span: &Span, i: usize) -> std::ops::Range<usize> {
    let start = span.row(i) as usize;
    start..start + span.rows.row_bytes
}

/// The one way in which the suite says that the contract is broken.
#[track_caller]
#[allow(clippy::panic)]
fn fail(what: &str) -> ! {
    panic!("{what}")
}
