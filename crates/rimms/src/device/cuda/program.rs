//! Programs of one device: compiled on first use, each once, and kept on [disk](crate::device::cache).
//!
//! Owns [`Programs`]. A program that does not compile is not tried again.

use super::library::Code;
use super::module::{Function, Module};
use super::nvrtc::{Compiler, Form};
use super::raw::Context;
use crate::device::cache;
use crate::device::living::Living;
use crate::op::{CuSource, UserOp};
use std::collections::HashMap;
use std::sync::Arc;

/// Threads of a block, of kernels that share nothing among these.
pub(super) const BLOCK: usize = 256;
/// Of those that look for the largest together: the source says so too.
pub(super) const GROUP: usize = 64;

/// What a driver says of PTX that is newer than it is.
const UNKNOWN_PTX: u32 = 222;

/// What is compiled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Elements,
    Rows,
    Sums,
    ArgMax,
    /// The op of the user's with this number.
    User(u32),
}

macro_rules! source {
    ($file:literal) => {
        concat!(
            include_str!("kernels/words.cu"),
            include_str!("../opencl/kernels/common.cl"),
            include_str!(concat!("../opencl/kernels/", $file))
        )
    };
}

impl Family {
    /// The built-in ones, with their names.
    pub(super) const BUILT_IN: [(Self, &'static str); 4] = [
        (Self::Elements, "elements.cu"),
        (Self::Rows, "rows.cu"),
        (Self::Sums, "sums.cu"),
        (Self::ArgMax, "argmax.cu"),
    ];

    /// The source of a built-in one: OpenCL's, with CUDA's words.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Elements => source!("elements.cl"),
            Self::Rows => source!("rows.cl"),
            Self::Sums => source!("sums.cl"),
            Self::ArgMax => source!("argmax.cl"),
            Self::User(_) => "",
        }
    }

    fn name(self, kernel: &str) -> String {
        let built_in = Self::BUILT_IN.iter().find(|(family, _)| *family == self);
        built_in.map_or_else(|| format!("{kernel}.cu"), |(_, name)| (*name).to_owned())
    }
}

#[derive(Debug)]
struct Built {
    module: Module,
    functions: HashMap<Box<str>, Function>,
}

#[derive(Debug)]
pub(super) struct Programs {
    compiler: Option<Compiler>,
    built: HashMap<Family, Result<Built, Box<str>>>,
    ops: Living,
}

impl Programs {
    pub(super) fn new(compiler: Option<Compiler>) -> Self {
        Self { compiler, built: HashMap::new(), ops: Living::default() }
    }

    /// A call of this op comes. Gives the programs of those that are gone, to be dropped when no kernel of them runs.
    pub(super) fn expect(&mut self, op: &UserOp) -> Vec<Module> {
        let gone = self.ops.expect(op);
        gone.into_iter().filter_map(|id| self.built.remove(&Family::User(id))?.ok()).map(|built| built.module).collect()
    }

    /// A kernel, compiled if it was not yet.
    ///
    /// # Errors
    /// What the compiler says of the source, or that it has no such kernel.
    pub(super) fn kernel(
        &mut self,
        context: &Arc<Context>,
        family: Family,
        source: &CuSource<'_>,
        name: &str,
    ) -> Result<Function, Box<str>> {
        let compiler = self.compiler.as_ref();
        let build = || {
            let module = build(compiler, context, &family.name(name), source)?;
            Ok(Built { module, functions: HashMap::new() })
        };
        let built = self.built.entry(family).or_insert_with(build);
        let Built { module, functions } = built.as_mut().map_err(|why| why.clone())?;
        if let Some(function) = functions.get(name) {
            return Ok(*function);
        }
        let found = module.function(name).map_err(|code| code.to_string())?;
        let function = found.ok_or_else(|| {
            format!("there is no kernel named `{name}` in its source; in C++ one has to be declared extern \"C\"")
        })?;
        functions.insert(name.into(), function);
        Ok(function)
    }
}

fn build(
    compiler: Option<&Compiler>,
    context: &Arc<Context>,
    name: &str,
    source: &CuSource<'_>,
) -> Result<Module, Box<str>> {
    let refused = |(code, log): (Code, String)| {
        let log = if log.is_empty() { String::new() } else { format!(":\n{}", log.trim_end()) };
        format!("the driver does not take what was compiled, {code}{log}")
    };
    let text = match source {
        CuSource::C(text) => text,
        CuSource::Ptx(text) => {
            return Ok(Module::load(context, text.as_bytes()).map_err(refused)?);
        }
    };
    let compiler = compiler.ok_or("there is no compiler for its CUDA C: NVRTC is not here")?;
    let key = format!("{}\n{name}\n{text}", compiler.about);
    if let Some(kept) = cache::load("cuda", &key)
        && let Ok(module) = Module::load(context, &kept)
    {
        return Ok(module);
    }
    let mut made = compiler.compile(name, text, Form::Ptx)?;
    let loaded = match Module::load(context, &made) {
        Err((code, _)) if code.number == UNKNOWN_PTX => {
            made = compiler.compile(name, text, Form::Code)?;
            Module::load(context, &made)
        }
        loaded => loaded,
    };
    let module = loaded.map_err(refused)?;
    cache::store("cuda", &key, &made);
    Ok(module)
}
