//! The AXI DMA of Xilinx's programmable logic, and a block for FFTs behind it.
//!
//! The DMA has two channels: one reads memory and sends it to the block as a
//! stream, the other writes to memory what comes back. In *direct register
//! mode* each is told an address and a length, and says in a status
//! register when it is done (product guide PG021, tables 2-5 to 2-18).
//!
//! One transform is one packet, so a row must fit into the length register, whose width is chosen when the
//! logic is built: 14 bits, 16,383 bytes, unless told otherwise.

mod dma;
mod fft;

pub use dma::AxiDma;
pub(super) use dma::{control, offset, status};
pub use fft::AxiFft;
pub(super) use fft::config;
