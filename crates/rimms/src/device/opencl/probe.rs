//! Which devices there are, and why there are no more.
//!
//! The loader is opened at run time. Whatever is missing (the loader, a driver,
//! devices of a driver, a compiler) becomes a line for a person; nothing here fails.

use super::OpenCl;
use super::driver::{Driver, Facts};
use super::icd;
use super::memory::Memory;
use super::peers::Peers;
use super::program::GROUP;
use super::raw::{self, Context, Id};
use cl3::device as of;
use cl3::error_codes::{CL_PLATFORM_NOT_FOUND_KHR, DLOPEN_RUNTIME_LOAD_FAILED};
use cl3::platform::{CL_PLATFORM_NAME, CL_PLATFORM_VERSION};
use std::sync::Arc;

/// What was found.
///
/// ```
/// let found = rimms::device::opencl::find();
/// // Either there are devices, or a reason why there are none.
/// assert!(!found.devices.is_empty() || !found.missing.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Found {
    /// Every device that can be used, `opencl0` first.
    pub devices: Vec<OpenCl>,
    /// What cannot be used, and why: one line each.
    pub missing: Vec<String>,
}

/// Every OpenCL device of this machine, with its driver's own memory.
///
/// ```
/// use rimms::{Runtime, device::opencl};
/// let found = opencl::find();
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
    let drivers = icd::folder();
    if let Some((file, why)) = icd::fatal(&drivers) {
        let then = "which is more than the loader can bear; remove it";
        found.missing.push(format!("no OpenCL: {} {why}, {then}", file.display()));
        return found;
    }
    match raw::platforms() {
        Ok(platforms) if !platforms.is_empty() => {
            platforms.into_iter().for_each(|p| found.platform(p, memory));
            found.missing.extend(icd::broken(&drivers));
        }
        Err(code) if code.0 == DLOPEN_RUNTIME_LOAD_FAILED => {
            let message = "no OpenCL: its loader, libOpenCL.so.1 (package ocl-icd-libopencl1), is not here";
            found.missing.push(message.into());
        }
        Err(code) if code.0 != CL_PLATFORM_NOT_FOUND_KHR => {
            found.missing.push(format!("no OpenCL: its loader lists no drivers: {code}"));
        }
        _ => {
            let files = icd::summary(&drivers);
            found.missing.push(format!("no OpenCL: its loader finds no driver that works; {files}"));
            found.missing.extend(icd::broken(&drivers));
        }
    }
    found
}

impl Found {
    fn platform(&mut self, platform: Id, memory: Memory) {
        let name = platform.platform_text(CL_PLATFORM_NAME);
        let devices = match platform.devices() {
            Ok(devices) if !devices.is_empty() => devices,
            Ok(_) => return self.missing.push(format!("OpenCL driver {name} has no device")),
            Err(code) => return self.missing.push(format!("OpenCL driver {name} lists no devices: {code}")),
        };
        let mut usable = Vec::new();
        for device in devices {
            match refused(device) {
                Some(why) => {
                    self.missing.push(format!("OpenCL driver {name}: {}: {why}", device.text(of::CL_DEVICE_NAME)))
                }
                None => usable.push(device),
            }
        }
        let version = platform.platform_text(CL_PLATFORM_VERSION);
        // One context for all: copies between them are direct. If the driver does not like that, one for each.
        let all = |devices: &[Id]| Context::of(devices).map(|context| (Arc::new(context), Arc::new(Peers::default())));
        let shared = all(&usable);
        for device in usable {
            let context = match &shared {
                Ok(shared) => Ok(shared.clone()),
                Err(_) => all(&[device]),
            };
            let made = context.and_then(|(context, peers)| Driver::new(device, Facts::of(device), context, peers));
            let made = made.map_err(|code| code.to_string());
            let made = made.and_then(|driver| OpenCl::new(self.devices.len(), driver, &name, &version, memory));
            match made {
                Ok(device) => self.devices.push(device),
                Err(why) => {
                    self.missing.push(format!("OpenCL driver {name}: {}: {why}", device.text(of::CL_DEVICE_NAME)))
                }
            }
        }
    }
}

/// Why a device cannot be used, if it cannot.
fn refused(device: Id) -> Option<String> {
    let version = device.text(of::CL_DEVICE_VERSION);
    if device.number(of::CL_DEVICE_AVAILABLE) == 0 {
        return Some("the driver says that it is not available".into());
    }
    if device.number(of::CL_DEVICE_COMPILER_AVAILABLE) == 0 {
        return Some("the driver has no compiler".into());
    }
    if (device.number(of::CL_DEVICE_ENDIAN_LITTLE) != 0) != cfg!(target_endian = "little") {
        return Some("its bytes are in another order than the host's".into());
    }
    if device.number(of::CL_DEVICE_MAX_WORK_GROUP_SIZE) < GROUP as u64 {
        return Some(format!("its groups are of less than {GROUP} work-items"));
    }
    let numbers: Vec<u32> = version.split([' ', '.']).filter_map(|part| part.parse().ok()).collect();
    match numbers[..] {
        [major, minor, ..] if (major, minor) >= (1, 2) => None,
        _ => Some(format!("it has {version:?}, OpenCL 1.2 is needed")),
    }
}
