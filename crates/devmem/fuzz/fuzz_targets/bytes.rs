//! `RUSTC_BOOTSTRAP=1 cargo fuzz run bytes` in `crates/devmem`: the program of `tests/bytes` on whatever bytes lead
//! somewhere new.
#![no_main]
#![allow(dropping_copy_types)]

#[path = "../../tests/bytes/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
