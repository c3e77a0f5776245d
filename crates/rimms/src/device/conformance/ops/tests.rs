//! The suite itself is held to account: it passes a device that is right, and finds each fault of one that is not.

use super::{OpsReport, ops, ops_with_seed};
use crate::device::host::kernels;
use crate::device::{
    Capability, Device, DeviceError, DeviceErrorKind, DeviceInfo, HostSource, HostTarget, Lengths, OpSupport, Operand,
    Operation, Rows, Span, UnitInfo, Usage,
};
use crate::op::{Call, Fft, KernelArgs, OpKind, SampleType, Target};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// What is wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    WritesInput,
    WritesBehindTheEnd,
    WritesBetweenRows,
    TakesTilesForRuns,
    LeavesTheLastElement,
    DoesNotScaleTheInverse,
    TransformsTheFirstRowOnly,
    RefusesWhatItDeclares,
    RunsAnotherRow,
    LosesPrecision,
}

/// A block of bytes, and kernels that work on copies out of it.
#[derive(Debug)]
struct Memory {
    info: DeviceInfo,
    bytes: Mutex<Vec<u8>>,
    blocks: Mutex<Vec<u64>>,
    fault: Fault,
}

/// A block starts here: an address that is no offset.
const BASE: u64 = 0x1000;

impl Memory {
    fn new(capacity: usize, units: Vec<Capability>, fault: Fault) -> Self {
        let units = units.into_iter().enumerate();
        let units = units.map(|(i, capability)| UnitInfo { name: format!("unit{i}").into(), capability }).collect();
        let info = DeviceInfo {
            name: "memory".into(),
            description: "for tests of the suite".into(),
            target: Target::Sim,
            capacity: Some(capacity as u64),
            shares_host_memory: false,
            units,
        };
        Self { info, bytes: Mutex::new(vec![0xEE; capacity]), blocks: Mutex::default(), fault }
    }

    fn error(&self, operation: Operation, kind: DeviceErrorKind) -> DeviceError {
        DeviceError::new(&self.info, operation, kind, "refused")
    }
}

fn row(span: &Span, i: usize) -> std::ops::Range<usize> {
    let start = (span.row(i) - BASE) as usize;
    start..start + span.rows.row_bytes
}

fn gather(bytes: &[u8], span: &Span) -> Vec<u8> {
    (0..span.rows.rows).map(|i| &bytes[row(span, i)]).collect::<Vec<_>>().concat()
}

fn scatter(bytes: &mut [u8], span: &Span, from: &[u8]) {
    from.chunks(span.rows.row_bytes).enumerate().for_each(|(i, part)| bytes[row(span, i)].copy_from_slice(part));
}

impl Device for Memory {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// One block at a time, at the start.
    fn allocate(&self, wanted: u64) -> Result<u64, DeviceError> {
        let capacity = self.info.capacity.unwrap();
        if wanted > capacity {
            return Err(self.error(Operation::Allocate, DeviceErrorKind::NeverFits { wanted, capacity }));
        }
        let mut blocks = self.blocks.lock().unwrap();
        assert!(blocks.is_empty(), "the suite leaks blocks");
        blocks.push(BASE);
        Ok(BASE)
    }

    fn free(&self, address: u64) -> Result<(), DeviceError> {
        let freed = self.blocks.lock().unwrap().pop();
        if freed == Some(address) { Ok(()) } else { Err(self.error(Operation::Free, DeviceErrorKind::Invalid)) }
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn upload(&self, from: &HostSource<'_>, to: &Span) -> Result<(), DeviceError> {
        scatter(&mut self.bytes.lock().unwrap(), to, from.whole().unwrap());
        Ok(())
    }

    fn download(&self, from: &Span, to: &mut HostTarget<'_>) -> Result<(), DeviceError> {
        to.whole().unwrap().copy_from_slice(&gather(&self.bytes.lock().unwrap(), from));
        Ok(())
    }

    fn copy_within(&self, _from: &Span, _to: &Span) -> Result<(), DeviceError> {
        Err(DeviceError::unsupported(&self.info, Operation::Copy))
    }

    fn launch(&self, unit: usize, call: &Call, operands: &[Operand<'_>]) -> Result<(), DeviceError> {
        let able = self.info.units[unit].capability.can(call, Target::Sim);
        if !able || (self.fault == Fault::RefusesWhatItDeclares && call.kind() == OpKind::Magnitude) {
            return Err(self.error(Operation::Launch, DeviceErrorKind::Unsupported));
        }
        let mut bytes = self.bytes.lock().unwrap();
        let seen = |operand: &Operand<'_>| match self.fault {
            Fault::TakesTilesForRuns => Span::run(operand.span().address, operand.span().rows.bytes()),
            _ => *operand.span(),
        };
        let mut staged: Vec<Vec<u64>> = Vec::new();
        for operand in operands {
            let mut room = vec![0_u64; operand.span().rows.bytes().div_ceil(8)];
            let from = gather(&bytes, &seen(operand));
            bytemuck::cast_slice_mut(&mut room)[..from.len()].copy_from_slice(&from);
            staged.push(room);
        }
        let mut args = KernelArgs::new();
        for (operand, room) in operands.iter().zip(&mut staged) {
            args.push(operand.role(), &mut bytemuck::cast_slice_mut(room)[..operand.span().rows.bytes()]);
        }
        kernels::run(call, Target::Sim, &mut args)
            .map_err(|e| DeviceError::new(&self.info, Operation::Launch, DeviceErrorKind::Kernel, e.0))?;
        drop(args);
        for (operand, room) in operands.iter().zip(&mut staged) {
            let span = seen(operand);
            let answer = &mut bytemuck::cast_slice_mut::<u64, u8>(room)[..span.rows.bytes()];
            if operand.role().writes() {
                self.spoil(call, &span, &mut bytes, answer);
                scatter(&mut bytes, &span, answer);
            } else if self.fault == Fault::WritesInput {
                bytes[(span.address - BASE) as usize] ^= 1;
            }
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Memory {
    /// What faults do to the answer.
    fn spoil(&self, call: &Call, span: &Span, bytes: &mut [u8], answer: &mut [u8]) {
        let Rows { rows, row_bytes, pitch } = span.rows;
        let start = (span.address - BASE) as usize;
        match (self.fault, call) {
            (Fault::WritesBehindTheEnd, _) => bytes[start + span.rows.extent()] = 0,
            (Fault::WritesBetweenRows, _) if rows > 1 && pitch > row_bytes => bytes[start + row_bytes] = 0,
            (Fault::LeavesTheLastElement, Call::Zip(_)) => {
                let last = answer.len() - 1;
                answer[last] = 0xFF;
                answer[last - 1] = 0xFF;
            }
            (Fault::DoesNotScaleTheInverse, Call::Fft(Fft { n, inverse: true, .. })) => {
                answer.chunks_exact_mut(4).for_each(|x| {
                    let unscaled = f32::from_ne_bytes(x.try_into().unwrap()) * *n as f32;
                    x.copy_from_slice(&unscaled.to_ne_bytes());
                });
            }
            (Fault::TransformsTheFirstRowOnly, Call::Fft(Fft { n, rows, .. })) if *rows > 1 => {
                answer[8 * n..].fill(0);
            }
            (Fault::RunsAnotherRow, Call::Fft(Fft { n, rows, .. })) if *rows > 1 => answer.rotate_left(8 * n),
            (Fault::LosesPrecision, Call::Fft(_) | Call::Scale(_)) => {
                // Half precision's mantissa.
                answer.chunks_exact_mut(4).for_each(|x| {
                    let short = u32::from_ne_bytes(x.try_into().unwrap()) & !0x1FFF;
                    x.copy_from_slice(&short.to_ne_bytes());
                });
            }
            _ => {}
        }
    }
}

fn run(fault: Fault) -> Result<OpsReport, String> {
    let device = Memory::new(1 << 20, vec![Capability::ALL], fault);
    catch_unwind(AssertUnwindSafe(|| ops(&device))).map_err(|payload| *payload.downcast::<String>().unwrap())
}

#[test]
fn a_device_that_is_right_passes() {
    let report = run(Fault::None).unwrap();
    assert!(report.launches > 5000, "{report}");
    println!("{report}");
    assert_eq!((report.refused, report.too_large), (0, 0), "{report}");
    assert!(report.untested.is_empty(), "{report}");
    assert_eq!(report.worst.len(), OpKind::BUILT_IN.len(), "{report}");
    // Arithmetic in single precision is never all exact: zeros here would mean that nothing was compared.
    for op in ["fft", "zip", "magnitude"] {
        assert!(report.worst[op] > 0.01, "{report}");
    }
}

#[test]
fn each_fault_is_found_and_named() {
    for (fault, words) in [
        (Fault::WritesInput, "in operand 0, which is only read"),
        (Fault::WritesBehindTheEnd, "outside all operands"),
        (Fault::WritesBetweenRows, "outside all operands"),
        (Fault::TakesTilesForRuns, "tiles"),
        (Fault::LeavesTheLastElement, "zip"),
        (Fault::DoesNotScaleTheInverse, "ifft of"),
        (Fault::TransformsTheFirstRowOnly, "fft of 2 rows"),
        (Fault::RunsAnotherRow, "fft of 2 rows"),
        (Fault::LosesPrecision, "is allowed"),
        (Fault::RefusesWhatItDeclares, "magnitude of 1 on memory/unit0"),
    ] {
        let message = run(fault).unwrap_err();
        assert!(message.contains(words), "{fault:?}: {message}");
    }
}

fn fft_block(lengths: Lengths) -> Capability {
    Capability::only([OpSupport { kind: OpKind::Fft, sample: Some(SampleType::Complex), lengths }])
}

#[test]
fn units_get_only_what_they_declare() {
    let powers = Lengths { min: 16, max: 2048, power_of_two: true };
    let copies = Capability::only([OpSupport { kind: OpKind::Copy, sample: None, lengths: Lengths::ANY }]);
    // The device answers everything else with an error, which would fail the suite.
    let device = Memory::new(1 << 20, vec![fft_block(powers), copies], Fault::None);
    let report = ops_with_seed(&device, 7);
    assert_eq!(report.seed, 7);
    assert!(report.refused > 0 && report.untested.is_empty(), "{report}");
    assert_eq!(report.worst.keys().copied().collect::<Vec<_>>(), ["copy", "fft"]);
}

#[test]
fn declared_limits_are_tried_and_holes_are_named() {
    // 600 is no length of the suite's own.
    let only = Lengths { min: 600, max: 600, power_of_two: false };
    let report = ops(&Memory::new(1 << 20, vec![fft_block(only)], Fault::None));
    assert!(report.launches > 0 && report.untested.is_empty(), "{report}");
    // A unit with a second op in lengths too long for the suite: said, not passed over.
    let lengths = Lengths { min: 1 << 20, max: 1 << 22, power_of_two: true };
    let both = Capability::only([
        OpSupport { kind: OpKind::Copy, sample: None, lengths: Lengths::ANY },
        OpSupport { kind: OpKind::Fft, sample: None, lengths },
    ]);
    let report = ops(&Memory::new(1 << 20, vec![both], Fault::None));
    assert_eq!(report.untested, ["unit0: fft"]);
    assert!(report.to_string().contains("not tested, no size fits: unit0: fft"), "{report}");
}

#[test]
fn small_memories_are_tested_with_what_fits() {
    let report = ops(&Memory::new(4096, vec![Capability::ALL], Fault::None));
    assert!(report.launches > 1000 && report.too_large > 1000, "{report}");
    let nothing = Memory::new(100, vec![Capability::ALL], Fault::None);
    let refused = catch_unwind(AssertUnwindSafe(|| ops(&nothing))).unwrap_err();
    assert!(refused.downcast_ref::<String>().unwrap().contains("nothing was tested"));
}
