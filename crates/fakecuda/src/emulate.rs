//! Programs: kernels that were compiled for the CPU, or PTX, whose kernels do nothing here.

use crate::calls::INVALID_IMAGE;
use crate::foreign::{copy, slice};
use libloading::Library;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::Arc;

/// The first line of what our NVRTC makes: where the compiled library is.
pub(crate) const MARK: &str = "// fakecuda ";

/// What stands before that in what is no PTX, but the device's own code.
pub(crate) const OWN_CODE: &str = "// code ";

/// What a driver says of PTX that is newer than it is.
const UNSUPPORTED_PTX: u32 = 222;

pub(crate) enum Program {
    Compiled(Library),
    Ptx(String),
}

/// The arguments' sizes, up to a 0.
type Sizes = unsafe extern "C" fn() -> *const usize;
type Call = unsafe extern "C" fn(*const *const c_void, *const [u32; 3], *const [u32; 3], usize);

/// One kernel at a time: their variables in shared memory are the library's own.
static TURN: Mutex<()> = Mutex::new(());

impl Program {
    pub(crate) fn of(image: &str) -> Result<Self, u32> {
        let code = image.strip_prefix(OWN_CODE);
        if code.is_none() && std::env::var_os("FAKECUDA_OLD").is_some() {
            return Err(UNSUPPORTED_PTX);
        }
        if let Some(rest) = code.unwrap_or(image).strip_prefix(MARK) {
            // SAFETY: made by our NVRTC from a kernel's source; it has no initialisers that do anything.
            return unsafe { Library::new(rest.trim_end()) }.map(Self::Compiled).map_err(|_| INVALID_IMAGE);
        }
        let is_ptx = image.lines().any(|line| line.trim_start().starts_with(".version"));
        if is_ptx { Ok(Self::Ptx(image.to_owned())) } else { Err(INVALID_IMAGE) }
    }

    fn symbol<T: Copy>(library: &Library, what: &str, name: &str) -> Option<T> {
        let symbol = format!("fakecuda_{what}_{name}");
        // SAFETY: `nvrtc` defines these two kinds of functions, by these types.
        unsafe { library.get::<T>(symbol.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Compiled(library) => Self::symbol::<Sizes>(library, "sizes", name).is_some(),
            Self::Ptx(text) => text.contains(&format!(".entry {name}(")) || text.contains(&format!(".entry {name}\n")),
        }
    }

    /// What is to be done when the launch's turn comes. The arguments are copied now.
    pub(crate) fn launch(
        self: &Arc<Self>,
        name: &str,
        params: *const *const c_void,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
    ) -> Result<Box<dyn FnOnce() + Send>, u32> {
        let Self::Compiled(library) = &**self else { return Ok(Box::new(|| {})) };
        let sizes: Sizes = Self::symbol(library, "sizes", name).ok_or(INVALID_IMAGE)?;
        let call: Call = Self::symbol(library, "call", name).ok_or(INVALID_IMAGE)?;
        // SAFETY: gives a static array that ends with 0.
        let sizes = unsafe { sizes() };
        let count = (0..).take_while(|i| slice(sizes, i + 1)[*i] != 0).count();
        // Aligned for every type of argument.
        let arguments: Vec<Box<[u128]>> = (0..count)
            .map(|i| {
                let bytes = slice(sizes, count)[i];
                let mut kept = vec![0_u128; bytes.div_ceil(16)].into_boxed_slice();
                copy(slice(params, count)[i].expose_provenance(), kept.as_mut_ptr().expose_provenance(), bytes);
                kept
            })
            .collect();
        let program = self.clone();
        Ok(Box::new(move || {
            let _turn = TURN.lock();
            let pointers: Vec<*const c_void> = arguments.iter().map(|kept| kept.as_ptr().cast()).collect();
            // SAFETY: the kernel's own types of arguments; what it does with them its author vouches for.
            unsafe { call(pointers.as_ptr(), &grid, &block, shared as usize) };
            drop(program);
        }))
    }
}
