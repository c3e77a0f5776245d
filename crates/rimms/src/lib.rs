//! rimms
pub mod coherence;
pub mod device;
mod error;
pub mod op;
pub use coherence::{MAX_RESOURCES, MemoryMode, ResourceId, ResourceSet, State};
pub use error::{Error, Result};
pub use num_complex::Complex32;
pub use op::{Peak, Sample, ZipOp};
