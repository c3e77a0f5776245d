//! device/faulty/mod.rs
