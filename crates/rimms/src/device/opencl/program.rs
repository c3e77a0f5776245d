//! Programs of one device: built on first use, each once, and kept on [disk](crate::device::cache).
//!
//! Owns [`Programs`]. A kernel has its arguments in itself, so whoever sets them and queues it has
//! the programs to himself meanwhile. A program that does not build is
//! not tried again. Those of ops that are gone go when another op [comes](Programs::expect).

use super::commands::Prepared;
use super::driver::Driver;
use super::raw::Program;
use crate::device::cache;
use crate::device::living::Living;
use crate::op::UserOp;
use std::collections::HashMap;
use std::ffi::CString;

/// Work-items of a group, of all built-in kernels: drivers that compile a kernel for each size of
/// its groups do so once.
pub(super) const GROUP: usize = 64;

/// What is compiled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Elements,
    Rows,
    Sums,
    ArgMax,
    Fft,
    /// The op of the user's with this number.
    User(u32),
}

macro_rules! source {
    ($file:literal) => {
        concat!(
            include_str!("kernels/words.cl"),
            include_str!("kernels/common.cl"),
            include_str!(concat!("kernels/", $file))
        )
    };
}

impl Family {
    /// The source of a built-in one.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Elements => source!("elements.cl"),
            Self::Rows => source!("rows.cl"),
            Self::Sums => source!("sums.cl"),
            Self::ArgMax => source!("argmax.cl"),
            Self::Fft => source!("fft.cl"),
            Self::User(_) => "",
        }
    }
}

#[derive(Debug)]
struct Built {
    program: Program,
    /// A few.
    kernels: Vec<(Box<str>, Prepared)>,
}

#[derive(Debug)]
pub(super) struct Programs {
    /// What a build depends on beside its source.
    driver: String,
    built: HashMap<Family, Result<Built, Box<str>>>,
    ops: Living,
}

impl Programs {
    /// `platform`: the driver's name and version.
    pub(super) fn new(driver: &Driver, platform: &str) -> Self {
        let facts = &driver.facts;
        let parts = [platform, &facts.name, &facts.version, &facts.driver_version];
        Self { driver: parts.join("\n"), built: HashMap::new(), ops: Living::default() }
    }

    /// A call of this op comes.
    pub(super) fn expect(&mut self, op: &UserOp) {
        // A driver keeps what its queued commands use.
        for gone in self.ops.expect(op) {
            self.built.remove(&Family::User(gone));
        }
    }

    /// A kernel, built if it was not yet.
    ///
    /// # Errors
    /// What the driver says of the source, or that it has no such kernel.
    pub(super) fn kernel(
        &mut self,
        driver: &Driver,
        family: Family,
        source: &str,
        name: &str,
    ) -> Result<&mut Prepared, Box<str>> {
        let key = &self.driver;
        let built = self
            .built
            .entry(family)
            .or_insert_with(|| build(driver, key, source).map(|program| Built { program, kernels: Vec::new() }));
        let Built { program, kernels } = built.as_mut().map_err(|why| why.clone())?;
        let at = match kernels.iter().position(|(known, _)| **known == *name) {
            Some(at) => at,
            None => {
                let kernel = CString::new(name).ok().and_then(|name| program.kernel(&name).ok());
                let kernel = kernel.ok_or_else(|| format!("there is no kernel named `{name}` in its source"))?;
                kernels.push((name.into(), Prepared::new(kernel)));
                kernels.len() - 1
            }
        };
        kernels.get_mut(at).map(|(_, kernel)| kernel).ok_or_else(|| "there is no such kernel".into())
    }
}

fn build(driver: &Driver, about: &str, source: &str) -> Result<Program, Box<str>> {
    let options = c"-cl-std=CL1.2";
    let key = format!("{about}\n{}\n{source}", options.to_string_lossy());
    if let Some(binary) = cache::load("opencl", &key)
        && let Ok(program) = driver.context.program_of_binary(driver.device, &binary)
        && program.build(driver.device, options).is_ok()
    {
        return Ok(program);
    }
    let program = driver.context.program(source).map_err(|code| format!("the driver takes no source: {code}"))?;
    program.build(driver.device, options).map_err(|code| {
        let log = program.log(driver.device);
        let log = if log.is_empty() { "(the driver says nothing more)" } else { &log };
        format!("its OpenCL C does not compile, {code}:\n{log}")
    })?;
    if let Some(binary) = program.binary() {
        cache::store("opencl", &key, &binary);
    }
    Ok(program)
}
