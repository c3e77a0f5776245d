//! device/conformance.rs
