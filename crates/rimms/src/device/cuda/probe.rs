//! Which devices there are, and why there are no more.
//!
//! NVIDIA's libraries are opened at run time. Whatever is missing (the driver, a function of it, devices, the compiler, a library)
//! becomes a line for a person; nothing here fails.

use super::Cuda;
use super::library::{CuBlas, CuFft, Driver as Library, Missing};
use super::memory::Memory;
use super::raw::Id;

/// What was found.
///
/// ```
/// let found = rimms::device::cuda::find();
/// // Either there are devices, or a reason why there are none.
/// assert!(!found.devices.is_empty() || !found.missing.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Found {
    /// Every device that can be used, `cuda0` first.
    pub devices: Vec<Cuda>,
    /// What cannot be used, and why: one line each.
    pub missing: Vec<String>,
}

/// Every CUDA device of this machine, with its driver's own memory.
///
/// A GPU with drivers for CUDA and OpenCL is found by both: as `cuda0` here, and as one of
/// [`opencl`](crate::device::opencl)'s, each with memory of its own on it. A runtime may have either, or both.
///
/// ```
/// use rimms::{Runtime, device::cuda};
/// let found = cuda::find();
/// found.missing.iter().for_each(|why| eprintln!("{why}"));
/// let mut builder = Runtime::builder();
/// for device in found.devices {
///     builder = builder.device(device);
/// }
/// let rt = builder.build()?;
/// # Ok::<(), rimms::Error>(())
/// ```
pub fn find() -> Found {
    find_with(Memory::default())
}

/// The same with the memory managed as told.
pub fn find_with(memory: Memory) -> Found {
    let mut found = Found::default();
    let library = match Library::get() {
        Ok(library) => library,
        Err(Missing::Library(_)) => {
            found.missing.push("no CUDA: NVIDIA's driver, libcuda.so.1, is not here".into());
            return found;
        }
        Err(why) => {
            found.missing.push(format!("no CUDA: {why}"));
            return found;
        }
    };
    match Id::all(library) {
        Ok(ids) if !ids.is_empty() => {
            for (ordinal, id) in ids.into_iter().enumerate() {
                let made = id.map_err(|code| code.to_string());
                match made.and_then(|id| Cuda::new(found.devices.len(), id, memory)) {
                    Ok(device) => found.devices.push(device),
                    Err(why) => found.missing.push(format!("CUDA device {ordinal} cannot be used: {why}")),
                }
            }
        }
        Ok(_) => found.missing.push("no CUDA: the driver has no device".into()),
        Err(code) => found.missing.push(format!("no CUDA: the driver does not start: {code}")),
    }
    found.connect();
    found.limits();
    found
}

impl Found {
    /// Opens the ways between devices that have one.
    fn connect(&mut self) {
        for i in 0..self.devices.len() {
            let (before, rest) = self.devices.split_at_mut(i);
            let Some((device, after)) = rest.split_first_mut() else { continue };
            for peer in before.iter().chain(after.iter()) {
                let (here, there) = (&device.driver.context, &peer.driver.context);
                let reached = here.id.reaches(there.id).is_ok_and(|reaches| reaches);
                if reached && here.reach(there).and_then(|()| peer.memory.open_to(here)).is_ok() {
                    device.peers.push(there.id.device);
                }
            }
        }
    }

    /// Says what devices that are here cannot do.
    fn limits(&mut self) {
        let name = |device: &Cuda| device.info.name.to_string();
        for device in &self.devices {
            if let Some(why) = &device.without_compiler {
                self.missing.push(format!("{} can do nothing: {why}", name(device)));
            }
        }
        let Some(first) = self.devices.iter().find(|device| device.without_compiler.is_none()).map(name) else {
            return;
        };
        if let Err(why) = CuFft::get() {
            self.missing.push(format!("{first} makes no Fourier transforms: {why} (cuFFT, of the CUDA toolkit)"));
        }
        if let Err(why) = CuBlas::get() {
            let line = format!("{first} multiplies matrices with a plain kernel: {why} (cuBLAS, of the CUDA toolkit)");
            self.missing.push(line);
        }
    }
}
