//! Compiled kernels, in the driver's hands.
#![allow(unsafe_code)]

use super::library::{CUfunction, CUmodule, Code, Result};
use super::raw::{Context, done, handle};
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Arc;

handle!(
    /// Compiled kernels.
    Module,
    CUmodule,
    cuModuleUnload
);

/// A kernel of a module that lives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: as the context's.
unsafe impl Send for Function {}
// SAFETY: as the context's.
unsafe impl Sync for Function {}

impl Module {
    /// # Errors
    /// What the driver says, and what its own compiler says beside that.
    pub(super) fn load(context: &Arc<Context>, code: &[u8]) -> Result<Self, (Code, String)> {
        use cudarc::driver::sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        let _here = context.enter().map_err(|code| (code, String::new()))?;
        // PTX is a text that ends with 0; of a device's own code the driver knows the end.
        let code = [code, &[0]].concat();
        let mut log = vec![0_u8; 16 << 10];
        let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len() - 1)];
        let mut raw = ptr::null_mut();
        // SAFETY: code that ends, and room for so many bytes of a log; both are read and written in the call alone.
        let code = unsafe {
            (context.driver().cuModuleLoadDataEx)(
                &mut raw,
                code.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let text = || CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |t| t.to_string_lossy().into());
        done(code).map_err(|code| (code, text()))?;
        Ok(Self { context: context.clone(), raw })
    }

    pub(super) fn function(&self, name: &str) -> Result<Option<Function>> {
        const NOT_FOUND: u32 = 500;
        let Ok(name) = CString::new(name) else { return Ok(None) };
        let _here = self.context.enter()?;
        let mut function = ptr::null_mut();
        // SAFETY: a live module and a text; writes a handle, which is the module's.
        match unsafe { (self.context.driver().cuModuleGetFunction)(&mut function, self.raw, name.as_ptr()) } {
            NOT_FOUND => Ok(None),
            code => done(code).map(|()| Some(Function(function))),
        }
    }
}
