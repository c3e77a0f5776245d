//! device/sim/mod.rs
