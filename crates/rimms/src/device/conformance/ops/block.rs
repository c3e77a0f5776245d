//! A block of device memory, launched on by its owner alone.
#![allow(unsafe_code)]

use super::fail;
use crate::device::host::Host;
use crate::device::{Device, DeviceError, DeviceErrorKind, HostSource, HostTarget, Operand, Span};
use crate::op::{Call, ClLaunch, CuLaunch, Role, UserOpBuilder};

/// A block, given back when it is dropped.
pub(super) struct Block<'d> {
    device: &'d dyn Device,
    address: u64,
    bytes: usize,
}

impl<'d> Block<'d> {
    /// A block that holds `image`. `None` where the device can never hold so much.
    pub(super) fn new(device: &'d dyn Device, image: &[u8], at: &str) -> Option<Self> {
        let bytes = image.len();
        let address = match device.allocate(bytes as u64) {
            Ok(address) => address,
            Err(error) if matches!(error.kind, DeviceErrorKind::NeverFits { .. }) => return None,
            Err(error) => fail(&format!("{at}: {error}")),
        };
        let block = Self { device, address, bytes };
        block.store(image, at);
        Some(block)
    }

    /// Copies these bytes to its beginning.
    pub(super) fn store(&self, bytes: &[u8], at: &str) {
        if bytes.len() > self.bytes {
            fail("the suite's own bytes leave their block");
        }
        let to = Span::run(self.address, bytes.len());
        if let Err(error) = self.device.upload(&HostSource::from_slice(bytes), &to) {
            fail(&format!("{at}: {error}"));
        }
    }

    /// Copies bytes of another one, from here on, to its beginning.
    pub(super) fn take(&self, other: &Self, from: usize, bytes: usize, at: &str) {
        if bytes > self.bytes || from + bytes > other.bytes {
            fail("the suite's own bytes leave their block");
        }
        let from = Span::run(other.address + from as u64, bytes);
        if let Err(error) = self.device.copy_within(&from, &Span::run(self.address, bytes)) {
            fail(&format!("{at}: {error}"));
        }
    }

    /// Launches on operands inside this block. Their addresses are relative to its start, and no two overlap.
    pub(super) fn launch(&mut self, unit: usize, call: &Call, operands: &[(Span, Role)]) -> Result<(), DeviceError> {
        let mut end = 0;
        for (span, _) in operands {
            if span.address < end {
                fail("the suite's own operands overlap");
            }
            end = span.address + span.rows.extent() as u64;
        }
        if end > self.bytes as u64 {
            fail("the suite's own operands leave their block");
        }
        let is_host = self.device.as_any().is::<Host>();
        let operands: Vec<Operand<'_>> = operands
            .iter()
            .map(|(span, role)| {
                let span = Span { address: self.address + span.address, rows: span.rows };
                // SAFETY: seen to above, the span lies inside this live block, whose bytes `new` has all written, and
                // overlaps no other operand. The block is borrowed until the launch has returned and its address
                // was given to nobody else. That the address of a host's block has exposed provenance is the
                // device's to see to: it came out of its `allocate` as a number.
                if is_host { unsafe { Operand::in_host_memory(span, *role) } } else { Operand::on_device(span, *role) }
            })
            .collect();
        self.device.launch(unit, call, &operands)
    }

    /// What it holds now.
    pub(super) fn bytes(&self, at: &str) -> Vec<u8> {
        let mut image = vec![0; self.bytes];
        let from = Span::run(self.address, self.bytes);
        if let Err(error) = self.device.download(&from, &mut HostTarget::from_slice(&mut image)) {
            fail(&format!("{at}: {error}"));
        }
        image
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        let freed = self.device.free(self.address);
        // A second panic would hide the first.
        if let Err(error) = freed
            && !std::thread::panicking()
        {
            fail(&error.to_string());
        }
    }
}

/// The kernel of the suite's own op, in OpenCL C.
pub(super) fn with_opencl_kernel(op: UserOpBuilder) -> UserOpBuilder {
    const SOURCE: &str = "
        kernel void conformance(global const float *x, global float *y, global ulong *length, float factor) {
            size_t i = get_global_id(0);
            y[i] += factor * x[i];
            if (i == 0) length[0] = get_global_size(0);
        }";
    // SAFETY: an item for each element of y; the suite gives x as many, and one length.
    unsafe { op.on_opencl(SOURCE, "conformance", |c| Ok(ClLaunch::over([c.len(1)]).value(*c.params::<f32>()?))) }
}

/// The same in CUDA C.
pub(super) fn with_cuda_kernel(op: UserOpBuilder) -> UserOpBuilder {
    const SOURCE: &str = r#"
        extern "C" __global__ void conformance(
            const float *x, float *y, unsigned long long *length, unsigned long long n, float factor
        ) {
            unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
            if (i < n) y[i] += factor * x[i];
            if (i == 0) length[0] = n;
        }"#;
    // SAFETY: a thread for each element of y; the suite gives x as many, and one length.
    unsafe {
        op.on_cuda(SOURCE, "conformance", |c| {
            Ok(CuLaunch::over([c.len(1)]).value(c.len(1) as u64).value(*c.params::<f32>()?))
        })
    }
}
